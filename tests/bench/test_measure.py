"""The arithmetic of the benchmark, by hand, and one round of each kind for real."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from casemate import Host
from casemate.bench import bare, cad, census, growth, jobs, report
from casemate.bench.measure import Figure, Series, Turns, ratio, tail
from casemate.cli.bench_documents import BenchDocument

PERCENTILES = [
    ((5.0, 1.0, 3.0), 0.5, 3.0),
    ((5.0, 1.0, 3.0), 0.99, 5.0),
    (tuple(float(n) for n in range(1, 101)), 0.99, 99.0),
    (tuple(float(n) for n in range(1, 201)), 0.99, 198.0),
    ((7.0,), 0.99, 7.0),
    ((2.0, 1.0), 0.01, 1.0),
]


@pytest.mark.parametrize(("samples", "share", "expected"), PERCENTILES)
def test_a_percentile_is_the_nearest_rank(samples: tuple[float, ...], share: float, expected: float) -> None:
    assert Series("x", samples).percentile(share) == expected


def test_a_ratio_is_median_over_median() -> None:
    figure = ratio("a ÷ b", Series("a", (0.004, 0.002, 0.003)), Series("b", (0.001, 0.002, 0.009)), 1.5)
    assert figure.value == 1.5
    assert figure.reached is True
    assert "3.0 ms (p99 4.0) ÷ 2.0 ms (p99 9.0)" in figure.detail


def test_a_tail_is_p99_over_the_median() -> None:
    assert tail("x", Series("x", (1.0, 2.0, 4.0)), 1.9).value == 2.0
    assert tail("x", Series("x", (1.0, 2.0, 4.0)), 1.9).reached is False


@pytest.mark.parametrize(
    ("better", "value", "reached"),
    [("lower", 2.0, True), ("lower", 2.1, False), ("higher", 2.0, True), ("higher", 1.9, False)],
)
def test_an_aim_is_a_bound(better: str, value: float, reached: bool) -> None:
    assert Figure("x", value, aim=2.0, better=better).reached is reached


def test_contenders_take_turns_that_turn_and_the_warm_up_is_thrown_away() -> None:
    order: list[str] = []

    def contender(name: str, told: object) -> object:
        order.append(name)
        return told

    ticks: list[None] = []
    found = Turns(2, warmup=1, tick=lambda: ticks.append(None)).interleaved(
        {
            "a": lambda: contender("a", float(len(order))),
            "b": lambda: contender("b", [1.0, 2.0]),
            "c": lambda: contender("c", {"x": 3.0, "y": [4.0]}),
        },
        pause=0.0,
    )
    assert order == ["a", "b", "c", "b", "c", "a", "c", "a", "b"]
    assert len(ticks) == 9
    assert found["a"].samples == (5.0, 7.0)
    assert found["b"].samples == (1.0, 2.0, 1.0, 2.0)
    assert (found["c.x"].samples, found["c.y"].samples) == ((3.0, 3.0), (4.0, 4.0))


def test_the_document_says_what_was_reached() -> None:
    where = report.Machine("2026-01-01T00:00+00:00", "Linux 6 x", "cpu", 2, 1024, 0.5, "3.11", "cgroup-cpu")
    figures = [Figure("one", 1.234, aim=1.0, detail="d"), Figure("two", 3.0, "MiB")]
    text = report.markdown(where, {"latency": figures}, ["a note"])
    assert "| one | 1.23 | ≤ 1 | no | d |" in text
    assert "| two | 3.00 MiB |  |  |  |" in text
    assert "- a note" in text


def test_descendants_are_counted() -> None:
    program = "import subprocess, sys; subprocess.Popen(['sleep', '60']); print('there', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert census.descendants(process.pid) == 1
        subprocess.run(["pkill", "-P", str(process.pid)], check=True)
        process.communicate()


def test_leftovers_see_what_is_left(tmp_path: Path) -> None:
    # Below a process of its own: this one may have a Host whose sandboxes come and go.
    with subprocess.Popen(["sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        before = census.leftovers(shell.pid, str(tmp_path))
        (tmp_path / "left").touch()
        shell.stdin.write(b"sleep 600 & echo there\n")
        shell.stdin.flush()
        shell.stdout.readline()
        difference = census.leftovers(shell.pid, str(tmp_path)) - before
        shell.communicate(b"kill $!\n")
    assert difference.processes == 1
    assert difference.temporary == 1


@pytest.mark.long
def test_growth_is_measured_here(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("POINTS", (0, 2)), ("CAD_LIVE", ()), ("SMALL_LIVE", (5,)), ("JOBS", 20), ("PEAKS", 1)):
        monkeypatch.setattr(growth, name, value)
    figures = list(growth.run(Turns(1, warmup=0)))
    assert figures[-1].name == "leftovers after 20 jobs"
    assert len(figures) == 4


@pytest.mark.long
def test_many_scripts_are_measured_here(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MIXED", 2), ("HANG", 1.0), ("SCRIPTS", 30), ("SETTLED", 10), ("FRESH", 2)):
        monkeypatch.setattr(cad, name, value)
    notes: list[str] = []
    with Host() as host:
        image = host.request("", "cad", None, None, "local", "local").image
    figures = list(cad.run(image, {"plate": jobs.REFERENCE}, notes, Turns(1, warmup=0)))
    assert notes == []
    named = {figure.name: figure.value for figure in figures}
    assert len(named) == len(figures) == 15
    assert min(value for name, value in named.items() if not name.startswith("growth")) > 0


def test_the_mix_is_what_it_says() -> None:
    scripts = cad.mix(100)
    assert scripts == cad.mix(100)
    assert sum("while True" in script for script in scripts) == 1
    kinds = Counter(re.sub(r"\d+", "N", script) for script in scripts)
    assert sorted(kinds.values(), reverse=True)[:4] == [23, 23, 22, 22]
    assert len(kinds) == 4 + 9 + 1


@pytest.mark.long
def test_a_worker_that_hangs_is_replaced() -> None:
    with Host() as host:
        image = host.request("", "cad", None, None, "local", "local").image
    with bare.workers("in-process", image, 1) as pool:
        pool.tried(["while True:\n    pass\n", "raise ValueError\n"], 1, 1.0)
        pool.run([jobs.REFERENCE], 1)


def test_a_suite_gives_a_document_of_the_schema(tmp_path: Path) -> None:
    out = tmp_path / "RESULTS.md"
    command = [sys.executable, "-m", "casemate.cli", "bench", "--json", "--rounds", "1", "--out", str(out)]
    ended = subprocess.run([*command, "--suite", "peers"], capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    told = json.loads(ended.stdout)
    TypeAdapter(BenchDocument).validate_python(told)
    assert set(told["suites"]) == {"peers"}
    assert "empty job in casemate, pool ÷ python3 -c pass" in out.read_text("utf-8")
