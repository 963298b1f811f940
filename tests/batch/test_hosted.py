"""Maps through real sandboxes: neighbours of poisoned scripts, kept results, and what a sandbox sees of the cache."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from batch.written import FAULTS, scripts

from casemate import Host
from casemate.batch import Batch, Cache, Done, Output, Row
from casemate.batch.keys import Terms
from casemate.control.leases import LOCAL

BOX = "import cadquery as cq\nresult = cq.Workplane().box(1, 2, {})\n"
POISON = {
    "import os\nos.kill(1, 9)\n": "policy",
    "raise ValueError('\\n{\"index\": 7}\\n')\n": "raised",
    "exit(0)\n": "raised",
    "print('{\"ok\": true}\\n' * 50)\nprint('\\x1b[2J\\r\\n\\u2028')\nx = 1\n": "no_result",
    "def f(n):\n    return f(n + 1)\nf(0)\n": "raised",
    "result = 'not a shape'\n": "no_result",
    "(" * 200: "policy",
    "": "no_result",
}


def mapped(
    host: Host, profile: str, sources: Iterator[str], directory: Path, cache: Path | None, *, usage: bool = False
) -> list[Done]:
    terms = Terms.of_request(host.request(b"", profile, None, None, LOCAL, LOCAL))
    given = (Row(f"rows:{n}", None, source.encode()) for n, source in enumerate(sources))
    with Output(directory) as output:
        kept = None if cache is None else Cache(cache)
        return list(Batch(host.runner(profile), terms, output, kept, usage=usage).done(given, 2))


def test_a_thousand_rows_of_a_poisoned_mix(host: Host, profile: str, tmp_path: Path) -> None:
    """Each honest row gives its own part, whatever stands beside it; each poisoned one its own reason."""
    poison = list(POISON)
    sources = [BOX.format(n % 3 + 1) if n % 2 else poison[n // 2 % len(poison)] for n in range(1000)]
    done = mapped(host, profile, iter(sources), tmp_path / "o", tmp_path / "c")
    for n, (source, one) in enumerate(zip(sources, done, strict=True)):
        assert one.label == POISON.get(source, "ok"), (n, source, one.row)
        if one.row["ok"]:
            [part] = one.row["result"]["parts"]
            assert part["facts"]["volume"] == pytest.approx(2 * (n % 3 + 1))
    assert Counter(one.origin for one in done) == {"run": len(poison) + 3, "cache": 1000 - len(poison) - 3}
    lines = (tmp_path / "o" / "results.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["index"] for line in lines] == list(range(1000))
    # Without the cache a second time, each distinct one: the very same rows.
    distinct = list(dict.fromkeys(sources))
    again = mapped(host, profile, iter(distinct), tmp_path / "p", None)
    first = {one.row["sha256"]: one.row["result"] for one in done}
    assert [first[one.row["sha256"]] for one in again] == [one.row["result"] for one in again]
    assert {one.origin for one in again} == {"run"}


@pytest.mark.long
def test_a_sample_of_the_written_scripts_twice(host: Host, profile: str, tmp_path: Path) -> None:
    """`make map-check` does it with all of them."""
    chosen: dict[str, str] = {}
    for kind, source in scripts():
        if kind != "no_end":
            chosen.setdefault(kind, source)
    assert len(chosen) == len(FAULTS)  # all faults but the endless one, and a part
    first = mapped(host, profile, iter(chosen.values()), tmp_path / "a", None)
    mapped(host, profile, iter(chosen.values()), tmp_path / "b", None)
    assert (tmp_path / "a" / "results.jsonl").read_bytes() == (tmp_path / "b" / "results.jsonl").read_bytes()
    assert sorted(os.listdir(tmp_path / "a" / "artifacts")) == sorted(os.listdir(tmp_path / "b" / "artifacts"))
    ended = dict(zip(chosen, (one.label for one in first), strict=True))
    assert {kind for kind, label in ended.items() if label == "ok"} == {"part", "much_output"}
    assert {kind for kind, label in ended.items() if label == "policy"} >= {"denied_import", "denied_open", "syntax"}


SEES = """
import os, sys
for path in {paths!r}:
    try:
        print(os.listdir(path))
    except OSError as error:
        print(error.errno)
print([name for name, _, _ in os.walk("/") if "results" in name or "casemate" in name])
"""


def test_no_sandbox_sees_the_cache_or_the_results(host: Host, tmp_path: Path) -> None:
    cache, out = tmp_path / "cache", tmp_path / "out"
    name = next((name for name in ("python", "python-rlimit") if _enforced(host, name)), None)
    if name is None:
        pytest.skip("no profile for plain programs is enforced here")
    source = SEES.format(paths=[str(cache), str(out), str(tmp_path), str(Path.home() / ".cache")])
    [done] = mapped(host, name, iter([source]), out, cache)
    assert done.row["result"]["stdout"]["text"].splitlines() == ["2"] * 4 + ["[]"]
    # The twin: the same program outside sees both.
    assert os.listdir(cache)
    assert os.listdir(out)


def _enforced(host: Host, name: str) -> bool:
    from casemate import PolicyError

    try:
        host.request(b"", name, None, None, LOCAL, LOCAL)
    except PolicyError:
        return False
    return True


def test_a_plain_programs_files_are_kept_by_content(host: Host, tmp_path: Path) -> None:
    if not _enforced(host, "python"):
        pytest.skip("python is not enforced here")
    source = (
        "import os\nos.makedirs('out/deep')\nfor name, text in [('out/deep/a.txt', 'a'), ('out/b.tar.gz', 'b'),"
        " ('out/no suffix', 'c'), ('out/x.TooLongASuffix', 'd')]:\n    open(name, 'w').write(text)\n"
    )
    row: dict[str, Any]
    for directory in ("o", "p"):
        [done] = mapped(host, "python", iter([source]), tmp_path / directory, tmp_path / "c", usage=True)
        row = done.row
        paths = {name: file["path"] for name, file in row["result"]["artifacts"].items()}
        assert {name: (tmp_path / directory / path).read_text() for name, path in paths.items()} == {
            "deep/a.txt": "a", "b.tar.gz": "b", "no suffix": "c", "x.TooLongASuffix": "d",
        }  # fmt: skip
        assert [Path(paths[name]).suffix for name in sorted(paths)] == [".gz", ".txt", "", ""]
        assert row["usage"]["wall"] > 0
    assert done.origin == "cache"
