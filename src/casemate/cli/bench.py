"""`casemate bench`: what the walls cost on this machine, as ratios measured in one run."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from casemate.bench import report, suites
from casemate.bench.latency import examples_in
from casemate.bench.measure import ROUNDS, Figure, Turns
from casemate.cli import bench_documents, documents, terminal
from casemate.cli.run import writable
from casemate.cli.status import WELL
from casemate.control.host import Host

EXAMPLES = Path("examples")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Its arguments."""
    parser = commands.add_parser("bench", help="measure what the walls cost here, beside the same work without them")
    parser.add_argument(
        "--suite", choices=suites.NAMES, action="append", help="one suite; may be repeated (default: all)"
    )
    parser.add_argument("--examples", type=Path, default=EXAMPLES, metavar="DIR", help="scripts of the example set")
    parser.add_argument("--rounds", type=rounds, default=ROUNDS, metavar="N", help="of each comparison (default: 20)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the results there, as Markdown")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output, and nothing else")
    parser.set_defaults(command=main)


def rounds(text: str) -> int:
    """A positive number."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("at least one round is needed")
    return value


def _tick(progress: Callable[[str], None], suite: str, count: Iterator[int]) -> None:
    progress(f"{suite}: {next(count)} turns")


def main(arguments: argparse.Namespace) -> int:
    """Measure; always 0: a figure that misses its aim is a result."""
    if arguments.out:
        if arguments.out.is_dir():
            raise IsADirectoryError(f"{arguments.out} is a directory; --out is a file")
        writable(arguments.out.parent)
    if not arguments.examples.is_dir() and arguments.examples != EXAMPLES:
        raise FileNotFoundError(f"{arguments.examples}: no such directory")
    notes: list[str] = []
    found: dict[str, tuple[Figure, ...]] = {}
    with Host() as host:
        request = host.request("", "cad", None, None, "local", "local")
    degraded = request.plan.degraded
    where = report.machine(", ".join(layer for layer in request.plan.profile.layers.required if layer not in degraded))
    examples = examples_in(arguments.examples)
    for suite in arguments.suite or suites.NAMES:
        if not arguments.json:
            terminal.say(suite)
        with terminal.progress(suite, quiet=arguments.json) as progress:
            turns = Turns(arguments.rounds, tick=partial(_tick, progress, suite, itertools.count(1)))
            for figure in suites.run(suite, request.image, examples, notes, turns):
                found[suite] = (*found.get(suite, ()), figure)
                if not arguments.json:
                    terminal.say(_line(figure))
                if arguments.out:  # at once: a run takes long, and what was measured stays measured
                    arguments.out.write_text(report.markdown(where, found, notes), "utf-8")
    if arguments.json:
        print(documents.dump(bench_documents.BenchDocument(where, found, tuple(notes), WELL)))
    else:
        for note in notes:
            terminal.say(f"note: {note}")
    return WELL


def _line(figure: Figure) -> str:
    return f"  {report.value(figure):>10}  {report.aim(figure):<8} {report.reached(figure):<4} {figure.name}"
