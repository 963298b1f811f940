"""A tenant's jobs beside another tenant's attacks on the machine: every one of them is right.

`python -m escape.test_beside MINUTES` (`make soak`) does it for longer and prints how long the victim's jobs took.
"""

from __future__ import annotations

import sys
from typing import Any

from escape.test_program_snippets import PROGRAMS, PYTHON
from harness import confined

from casemate.bench.measure import Series


def soak(seconds: float, turn: float, *names: str) -> dict[str, Any]:
    """The victim's jobs alone and beside the attacks, `turn` seconds each, by turns."""
    files = [str(file) for file in sorted((PROGRAMS / "dos").glob("*.py")) if not names or file.stem in names]
    with confined("beside_attacks", PYTHON, str(seconds), str(turn), *files) as running:
        told: dict[str, Any] = running.finish(4 * seconds + 120)
        assert running.group.members() == ()
    return told


def test_a_fork_bomb_and_a_memory_hog_change_no_answer_of_another_tenants() -> None:
    told = soak(4, 4, "002", "012")
    assert told["wrong"] == []
    assert told["took"]["beside"]
    assert len(told["attacks"]) >= 2


def main(minutes: float) -> int:
    """Print the figures; 1 if a victim's job was wrong."""
    told = soak(60 * minutes, 20)
    alone, beside = (Series(name, tuple(told["took"][name])) for name in ("alone", "beside"))
    print(f"{len(told['attacks'])} attacks; {len(told['wrong'])} of the victim's jobs wrong {told['wrong'][:3]}")
    for series in (alone, beside):
        median, p99 = series.median * 1000, series.p99 * 1000
        print(f"{series.name}: {len(series.samples)} jobs, median {median:.1f} ms, p99 {p99:.1f} ms")
    print(f"beside ÷ alone: median {beside.median / alone.median:.2f}, p99 {beside.p99 / alone.p99:.2f} (aim 1.25)")
    return 1 if told["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
