"""Files, directories, JSONL and parquet as rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from casemate import Denied
from casemate.batch import Inputs, Why, parquet
from casemate.batch.rows import LONGEST_SOURCE


def read(*sources: Path | str, column: str = "source") -> list[tuple[str, object]]:
    """Place, and the source or why there is none."""
    found = Inputs.of([str(source) for source in sources], column).rows()
    return [(row.place, row.unreadable.reason if row.unreadable else row.source) for row in found]


def test_a_directory_gives_its_scripts_sorted(tmp_path: Path) -> None:
    for name in ("b.py", "a/z.py", "a/b/c.py", "c.txt", "a.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert read(tmp_path) == [(f"{tmp_path}/{name}", name.encode()) for name in ("a/b/c.py", "a/z.py", "a.py", "b.py")]


def test_links_and_what_is_no_file_are_left(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("secret")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "own.py").write_text("own")
    (inside / "link.py").symlink_to("../outside/secret.py")
    (inside / "linked").symlink_to("../outside")
    (inside / "loop").symlink_to(".")
    (inside / "dir.py").mkdir()
    os.mkfifo(inside / "fifo.py")
    assert read(inside) == [(f"{inside}/own.py", b"own")]
    assert read(outside) == [(f"{outside}/secret.py", b"secret")]  # the twin: it is there to be found
    assert read(inside / "link.py") == [(f"{inside}/link.py", b"secret")]  # the user named it


def test_a_script_is_its_bytes_whatever_they_are(tmp_path: Path) -> None:
    (tmp_path / "latin.py").write_bytes(b"x = '\xe9'\n")
    (tmp_path / "long.py").write_bytes(b"#" * (LONGEST_SOURCE + 1))
    (tmp_path / "most.py").write_bytes(b"#" * LONGEST_SOURCE)
    found = read(tmp_path)
    assert [what if isinstance(what, Why) else len(what) for _, what in found] == [8, Why.TOO_LONG, LONGEST_SOURCE]  # type: ignore[arg-type]


def test_a_name_that_is_no_text_has_a_place(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.py")).write_text("x")
    [(place, source)] = read(tmp_path)
    assert (place.encode(), source) == (os.fsencode(tmp_path) + b"/\\udcff.py", b"x")


def test_a_bad_line_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"source": "a"}\nnot json\n\n{"source": 7}\r\n{"source": "b"}')
    places = [(f"{path}:{n}", what) for n, what in ((1, b"a"), (2, Why.NOT_JSON), (4, Why.NOT_TEXT), (5, b"b"))]
    assert read(path) == places


def test_a_file_that_vanishes_is_a_row(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.py", "c.py"):
        (tmp_path / name).write_text('{"source": "a"}')
    inputs = Inputs.of([str(tmp_path / name) for name in ("a.jsonl", "b.py", "c.py")])
    (tmp_path / "a.jsonl").unlink()
    (tmp_path / "b.py").unlink()
    assert [row.unreadable and row.unreadable.reason for row in inputs.rows()] == [Why.NO_FILE, Why.NO_FILE, None]


def test_what_is_not_there_is_told_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Inputs.of([str(tmp_path / "missing.py")])
    with pytest.raises(Denied, match="once"):
        Inputs.of(["-", "-"])


def table(path: Path, columns: dict[str, object], **options: object) -> Path:
    pyarrow.parquet.write_table(pyarrow.table(columns), path, **options)
    return path


def test_parquet(tmp_path: Path) -> None:
    path = table(tmp_path / "x.parquet", {"prompt": ["p"] * 3, "id": [7, None, 9], "code": ["a", None, "ü"]})
    rows = list(Inputs.of([str(path)], "code").rows())
    assert [(row.place, row.id, row.source) for row in rows] == [
        (f"{path}#0", 7, b"a"), (f"{path}#1", None, None), (f"{path}#2", 9, "ü".encode()),
    ]  # fmt: skip
    assert rows[1].unreadable is not None
    assert rows[1].unreadable.reason is Why.NOT_TEXT
    assert Inputs.of([str(path), str(path)], "code").count() == 6


def test_parquet_of_other_types(tmp_path: Path) -> None:
    strings = pyarrow.array([b"ok", b"\xff"]).cast(pyarrow.binary())
    broken = pyarrow.StringArray.from_buffers(2, strings.buffers()[1], strings.buffers()[2])
    assert [what for _, what in read(table(tmp_path / "s.parquet", {"source": broken}))] == [b"ok", Why.NOT_UTF8]
    assert [what for _, what in read(table(tmp_path / "b.parquet", {"source": [b"\xff"]}))] == [b"\xff"]
    assert [what for _, what in read(table(tmp_path / "i.parquet", {"source": [1, 2]}))] == [Why.NOT_TEXT] * 2


def test_parquet_without_the_column_or_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = table(tmp_path / "x.parquet", {"code": ["a"]})
    with pytest.raises(Denied, match=r"no column 'source' .*it has code"):
        Inputs.of([str(path)])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(Denied, match=r"pip install 'casemate\[parquet\]'"):
        Inputs.of([str(path)], "code")


def test_a_row_group_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes a parquet file says how large its row groups are; the twin without a buffer takes all of it."""
    path = table(tmp_path / "x.parquet", {"source": [os.urandom(1000) for _ in range(20_000)]}, row_group_size=20_000)

    def most() -> int:
        before = pyarrow.total_allocated_bytes()
        return max(pyarrow.total_allocated_bytes() - before for _ in Inputs.of([str(path)]).rows())

    assert most() < 8 << 20
    monkeypatch.setattr(parquet, "CHUNK", 0)
    assert most() > 16 << 20


def test_damaged_parquet_is_a_row_and_the_next_source_is_read(tmp_path: Path) -> None:
    path = table(tmp_path / "x.parquet", {"source": ["a" * 1000, "b"]}, compression="none", use_dictionary=False)
    data = path.read_bytes()
    (tmp_path / "none.parquet").write_bytes(b"no parquet")
    (tmp_path / "cut.parquet").write_bytes(data[:100])
    (tmp_path / "y.py").write_text("y")
    for name in ("none", "cut"):
        damaged = tmp_path / f"{name}.parquet"
        assert read(damaged, tmp_path / "y.py") == [(str(damaged), Why.DAMAGED), (f"{tmp_path}/y.py", b"y")]


@pytest.mark.parametrize("at", range(4, 1000, 37))
def test_a_flipped_byte_of_parquet_never_ends_the_batch(tmp_path: Path, at: int) -> None:
    path = table(tmp_path / "x.parquet", {"source": [f"{n}" * 20 for n in range(9)], "id": list(range(9))})
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 0xA5
    path.write_bytes(data)
    try:
        found = read(path, __file__)
    except Denied:
        return  # the footer names no such column any more
    assert found[-1] == (__file__, Path(__file__).read_bytes())


def test_a_count_for_time_left(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x")
    (tmp_path / "rows.jsonl").write_text("\n".join([json.dumps({"source": "x"})] * 5))
    assert Inputs.of([str(tmp_path), str(tmp_path / "rows.jsonl")]).count() == 6
    assert Inputs.of(["-"]).count() is None


def test_a_directory_may_be_as_deep_as_the_kernel_lets_it(tmp_path: Path) -> None:
    depth, at = 1_500, os.open(tmp_path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=at)
        below, at = at, os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(below)
    os.close(os.open("a.py", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)
    try:
        [row] = Inputs.of([str(tmp_path)]).rows()
        assert row.place.endswith("/d" * depth + "/a.py")
    finally:
        subprocess.run(["rm", "-r", "--", str(tmp_path / "d")], check=True)  # shutil.rmtree, and pytest, would recurse
