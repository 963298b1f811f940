import signal
import time
import tempfile
import traceback
import warnings
import datetime
import os
import sys

import cadquery as cq

time.sleep(0.01)
print(time.time() > 0, time.perf_counter() > 0, time.process_time() > 0, datetime.datetime.now().year)
warnings.warn("as others do")
try:
    1 / 0
except ZeroDivisionError:
    traceback.print_exc()
fired = []
signal.signal(signal.SIGALRM, lambda *_: fired.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.01)
while not fired:
    time.sleep(0.01)
with tempfile.TemporaryDirectory(dir=".") as place, open(os.path.join(place, "x"), "w+") as file:
    file.write("text" * 100_000)
    file.flush()
    os.fsync(file.fileno())
    file.seek(0)
    file.truncate(10)
    os.rename(os.path.join(place, "x"), os.path.join(place, "y"))
    assert os.listdir(place) == ["y"]
print(os.getcwd(), sys.platform, os.getpid() > 0, os.cpu_count(), sys.stdin.read() == "", sys.stdout.isatty())
result = cq.Workplane().box(1, 2, 3)
