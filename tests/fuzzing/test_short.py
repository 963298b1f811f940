"""A short, bounded run of every target, always of the same cases; and all that was ever found."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz import admitted, hunt, peers
from fuzz.judge import Judge
from fuzz.targets import TARGETS

COUNT = {"gate": 40, "wire": 100, "reports": 20, "trees": 150}
PEERS, SCRIPTS, RUN = 16, 24, 5


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_a_target(name: str) -> None:
    cases = [*(path.read_bytes() for path in hunt.kept(name)), *hunt.examples(TARGETS[name].cases, COUNT[name])]
    with Judge(name) as judge:
        told = judge.each(cases)
    assert [(case, one.wrong) for case, one in zip(cases, told, strict=True) if one.wrong] == []
    assert len(cases) >= COUNT[name] // 2
    assert len({word for one in told for word in one.said}) > 1  # neither refuses nor takes everything


def test_hostile_peers(tmp_path: Path) -> None:
    tame = b'{"place": "exec", "acts": []}'
    cases = [tame, *(path.read_bytes() for path in hunt.kept("peers")), *hunt.examples(peers.PEERS, PEERS)]
    told = peers.run(peers.package(tmp_path), cases, tmp_path, timeout=110)
    assert told["wrong"] is None
    assert sum(told["said"].values()) == len(cases)
    words = {word.split(": ")[1] for word in told["said"]}
    assert {"fault", "exited"} <= words


def test_what_is_admitted_has_no_effect_outside(tmp_path: Path) -> None:
    found = admitted.only(hunt.examples(admitted.SCRIPTS, SCRIPTS))
    scripts = [path.read_bytes() for path in hunt.kept("admitted")] + found[:RUN]
    assert len(found) >= 3
    told = admitted.run(scripts, tmp_path, timeout=110)
    assert told["wrong"] is None
    assert sum(told["said"].values()) == len(scripts)
