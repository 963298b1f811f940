"""What fuzzing found in the keeper: each case does harm again where its mending is taken out.

The cases themselves are in fuzz/corpus, and replayed by the short run.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from casemate.launcher import spec
from fuzz import hunt, peers

EXITED = "        made.guarded(lambda: made.on_exited("
REFUSED = "        if made is None or made.kind.room != room or not made.forked:\n            return False\n"
FOUND = {
    "keeper-killed-by-a-pidfd-of-itself": (
        "launcher/preparation.py",
        "            outside.stands((rights[0], rights[1]), rights[2], self._init.sender)\n",
        "            pass\n",
    ),
    "other-rooms-job-ended-by-a-template": (
        "launcher/executions.py",
        REFUSED + EXITED,
        "        if made is None:\n            return False\n" + EXITED,
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_twin_it_does_harm_without_the_mending(name: str, tmp_path: Path) -> None:
    case = (hunt.CORPUS / "peers" / name).read_bytes()
    told = peers.run(peers.package(tmp_path, (FOUND[name],)), [case], tmp_path)
    assert told["wrong"] is not None


OUT_OF_TURN = {
    "exec": spec.Standing("another", ()),
    "placed": spec.Placed("another"),
    "guest": spec.Locked("another", ()),
    "init": spec.Placed("{id}"),
}
"""Place, and a message that is well-formed and not for now."""


def test_a_message_of_another_or_out_of_turn_is_a_fault(tmp_path: Path) -> None:
    cases = [json.dumps({"place": place, "acts": [send(message)]}).encode() for place, message in OUT_OF_TURN.items()]
    told = peers.run(peers.package(tmp_path), cases, tmp_path)
    assert told == {"said": dict.fromkeys([f"{place}: fault" for place in OUT_OF_TURN], 1), "wrong": None}


def send(message: spec.Message) -> dict[str, object]:
    kinds = ["init", "exec", "tree"] if isinstance(message, spec.Standing) else []
    return {"do": "send", "text": peers.text(message), "with": kinds, "times": 1}
