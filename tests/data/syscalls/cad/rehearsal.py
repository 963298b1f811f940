# What a guest does while it waits in the stock (launcher/template.py, guest/warm.py), which a trace does not keep.
import select

from casemate.guest import warm

for _ in warm.rehearse():
    assert not select.select([1], [], [1], 0)[0]
result = None
