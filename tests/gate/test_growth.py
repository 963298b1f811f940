"""Sources that grew faster than their size: each costs at most a small multiple of a plain one."""

from __future__ import annotations

import time

import pytest

from casemate.gate import check
from casemate.gate.rules import rules_named

CAD = rules_named("cad")
PLAIN = "x = [" + "1, " * 18_000 + "0]"
PATTERNS = {
    "chains at a module": "import numpy as np\n" + "\n".join("np.pi" + ".x" * 190 for _ in range(95)),
    "chains at nothing": "import numpy as np\n" + "\n".join("np" + ".a" * 190 for _ in range(95)),
    "one place refused often": '"' + "\u00e9" * 100_000 + '";' + ";".join("f" + "()" * 95 for _ in range(195)),
    "deep loads": "[" * 90 + "id," * 18_000 + "0" + "]" * 90 + "\n" + "id=1\n" * 64,
    "nested formats": "x=" + '"{}".format(' * 60 + "[" + "1," * 18_000 + "0]" + ")" * 60,
    "one dict unpacked often": "d = {" + ",".join(f"'a{n}': 1" for n in range(4_000)) + "}\n" + "f(**d)\n" * 1_500,
    "one field often": "x = 1\nprint(" + ",".join('"' + "{0}" * 2_000 + '".format(x)' for _ in range(8)) + ")",
}


def seconds(source: str) -> float:
    best = 1e9
    for _ in range(2):
        start = time.process_time()
        check(source.encode(), CAD)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_it_costs_little_more_than_a_plain_source(name: str) -> None:
    assert len(PATTERNS[name].encode()) < 256 * 1024
    assert seconds(PATTERNS[name]) < 8 * seconds(PLAIN) + 0.2
