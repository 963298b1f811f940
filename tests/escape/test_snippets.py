"""The kept attacks against the language and the libraries, with the gate on and with the gate off.

With it they are denied, and not one line of them has run. Without it they run as plain Python inside the walls, where
many of them work: that is the twin of the gate. What they must not have then is an effect outside the sandbox.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from gate.expected import ADMITTED, DENIED
from harness import DATA, confined

from casemate import Host, Reason, Stage

ATTACKS = DATA / "attacks"
KINDS = ("escapes", "cad", "lang", "guard", "result")
DENIALS = {name: code for name, code in DENIED.items() if name.split("/")[0] in KINDS}
HARMLESS = {name for name in ADMITTED if name.split("/")[0] in KINDS}
# Where the attacks would leave something on the host.
CANARIES = (
    "/var/tmp/casemate-escape", "/tmp/pwn.step", "/tmp/a.step", "/tmp/f.casadi", "/tmp/msg.log", "/tmp/vtkdir",
    "/tmp/ez.ini", "/tmp/d.pkl", "/tmp/target_outside",
)  # fmt: skip
# With the gate off these must be seen to work inside, or the sweep would prove nothing.
WORKS_INSIDE = {
    "escapes/bd_os.py": "PWN",
    "escapes/dict_mro.py": "PWN object via mro",
    "escapes/np_ctypeslib.py": "PWN",
    "lang/038.py": "open",
    "guard/002.py": "system",
    "cad/066.py": "patched",
    "result/022.py": "delete_all_leases",
}


@pytest.mark.parametrize("name", sorted(DENIALS))
def test_denied_before_one_line_has_run(name: str, host: Host, profile: str) -> None:
    source = b"print('MARKER')\n" + (ATTACKS / name).read_bytes()
    result = host.run(source if not _first_line_matters(name) else (ATTACKS / name).read_bytes(), profile)
    assert (result.outcome.reason, result.outcome.stage) == (Reason.POLICY, Stage.GATE)
    assert DENIALS[name] in {denial.code for denial in result.outcome.denials}
    assert result.stdout.total == 0
    assert result.artifacts == {}


def _first_line_matters(name: str) -> bool:
    return "coding" in (ATTACKS / name).read_text("latin-1").splitlines()[0]


@pytest.mark.parametrize("name", sorted(HARMLESS))
def test_admitted_ones_do_no_harm(name: str, host: Host, profile: str) -> None:
    from casemate import Deadline

    result = host.run((ATTACKS / name).read_bytes(), profile, deadline=Deadline.after(3))
    assert result.outcome.reason in (Reason.EXITED, Reason.LIMIT)
    assert not any(os.path.lexists(path) for path in CANARIES)


def test_without_the_gate_they_stay_inside_sandboxes_that_were_made_ahead(tmp_path: Path) -> None:
    assert not any(os.path.lexists(path) for path in CANARIES)
    with confined("sweep", "3", "1", *(str(ATTACKS / kind) for kind in KINDS)) as running:
        told = running.finish(600)
        # The sandboxes are gone, and the program has ended: nothing is left in the group.
        assert running.group.members() == ()
    seen = told["seen"]
    assert set(seen) == set(DENIALS) | HARMLESS
    assert all(result["ahead"] for result in seen.values())
    for name, text in WORKS_INSIDE.items():
        assert text in seen[name]["output"], (name, seen[name])
    for name, result in seen.items():
        assert told["token"] not in result["output"], name
        assert result["reason"] in ("exited", "signaled", "limit"), name
        if name.startswith("result/"):
            assert (result["verdict"], result["steps"]) == ("no_result", {}), name
    assert not [path for path in CANARIES if os.path.lexists(path)]
    assert told["last"] == [pytest.approx(6000)]
