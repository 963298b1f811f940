"""`casemate cad score GENERATED --reference REF`: how near generated shapes are to what was wanted."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from casemate.cad import pairs, plots
from casemate.cad.protocols import ALIGNMENTS, DEFAULT, NORMALISATIONS, PROTOCOLS, protocol
from casemate.cad.score import Score, Scores, score
from casemate.cad.summaries import Spread
from casemate.cli import cad_documents, documents, terminal
from casemate.cli.run import writable
from casemate.cli.status import FAILED, FAULT, WELL
from casemate.control.host import Host
from casemate.errors import Denied

_ROWS = (
    ("Chamfer distance ×10³", "chamfer", 1e3), ("point cloud distance", "point_cloud", 1),
    ("Hausdorff distance", "hausdorff", 1), ("IoGT", "iogt", 1), ("IoU", "iou", 1),
    ("volume error", "volume_error", 1), ("box error", "box_error", 1),
)  # fmt: skip
_SHOWN = 20
"""Shapes that are told of one by one on a terminal."""


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Its arguments."""
    parser = actions.add_parser("score", help="compare generated shapes with references, as the benchmarks do")
    what = "a STEP file or a script, a directory of them, or JSON lines"
    parser.add_argument("generated", type=Path, metavar="GENERATED", help=f"{what}; scripts are run")
    parser.add_argument("--reference", type=Path, required=True, metavar="REF", help=f"{what}, matched by name or id")
    parser.add_argument(
        "--protocol", choices=PROTOCOLS, default=DEFAULT, help=f"whose way of comparing (default: {DEFAULT})"
    )
    parser.add_argument("--normalise", choices=NORMALISATIONS, help="another normalisation than the protocol's")
    parser.add_argument("--align", choices=ALIGNMENTS, help="another alignment than the protocol's")
    parser.add_argument("--points", type=int, metavar="NUMBER", help="points on each surface (default: the protocol's)")
    parser.add_argument("--seed", type=int, default=0, metavar="NUMBER", help="of all that is random (default: 0)")
    parser.add_argument("--profile", default="cad", help="a CAD profile's name or file (default: cad), or `strongest`")
    parser.add_argument(
        "--jobs", type=int, metavar="NUMBER", help="pairs at a time (default: one for each core of this process)"
    )
    parser.add_argument("--plots", type=Path, metavar="DIR", help="draw the distributions there, one PNG for a metric")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output, and nothing else")
    parser.set_defaults(command=main)


def main(arguments: argparse.Namespace) -> int:
    """Score; 0 if every reference could be measured, 1 if one could not, 4 if a pair was lost."""
    chosen = protocol(arguments.protocol)
    settings = chosen.settings(
        points=arguments.points, seed=arguments.seed, normalise=arguments.normalise, align=arguments.align
    )  # fmt: skip
    if arguments.plots:
        plots.require()
        writable(arguments.plots)
    found = pairs.match(arguments.generated, arguments.reference)
    jobs = len(os.sched_getaffinity(0)) if arguments.jobs is None else arguments.jobs
    if jobs < 1:
        raise Denied(f"--jobs {jobs}: at least one is needed")
    columns = (TextColumn("scoring"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        Host() as host,
        Progress(*columns, console=terminal.err, disable=arguments.json or not terminal.watched()) as bar,
    ):
        task = bar.add_task("", total=len(found))
        scores = score(
            host, found, by=chosen, settings=settings, profile=arguments.profile, jobs=jobs,
            progress=lambda _: bar.advance(task),
        )  # fmt: skip
    paths = plots.draw(scores, arguments.plots) if arguments.plots else {}
    reasons = {one.reason for one in scores.scores if one.state == "unscored"}
    status = FAULT if "lost" in reasons else FAILED if reasons else WELL
    if arguments.json:
        print(documents.dump(cad_documents.of_scores(scores, {k: str(v) for k, v in paths.items()}, status)))
    else:
        _show(scores, {name: str(path) for name, path in paths.items()})
    return status


def _show(scores: Scores, paths: dict[str, str]) -> None:
    given = scores.settings
    terminal.say(
        f"{scores.protocol}: {given.points} points, seed {given.seed}, normalised {given.normalise}, "
        f"aligned {given.align}, profile {scores.profile}"
    )
    few = [one for one in scores.scores if one.state != "valid" or one.message or len(scores.scores) == 1][:_SHOWN]
    for one in few:
        _show_one(one)
    table = Table(title="over the valid shapes: median / mean", title_justify="left")
    named = [(name or "(none)", summed) for name, summed in scores.by_difficulty.items()]
    groups = [("all", scores.overall), *named]  # a difficulty may be called "all" too
    table.add_column("")
    for name, _ in groups:
        table.add_column(Text(terminal.inert(name)), justify="right")
    table.add_row("shapes", *(str(summed.count) for _, summed in groups))
    table.add_row("valid", *(str(summed.valid) for _, summed in groups))
    table.add_row("invalidity ratio", *(_percent(summed.invalidity_ratio) for _, summed in groups))
    for heading, metric, factor in _ROWS:
        table.add_row(heading, *(_spread(summed.metrics[metric], factor) for _, summed in groups))
    terminal.out.print(table)
    for name, spread in scores.overall.penalised.items():
        terminal.say(f"  {name} over all, invalid ones penalised: median {_number(spread.median)}")
    if scores.overall.estimated:
        terminal.say(f"  {scores.overall.estimated} IoU by rays, for want of a boolean that can be believed", "yellow")
    if scores.overall.reasons:
        terminal.say("  invalid: " + ", ".join(f"{why} ×{n}" for why, n in scores.overall.reasons.items()), "yellow")
    if scores.overall.unscored:
        terminal.say(f"  {scores.overall.unscored} without a score, and in no ratio", "red")
    for metric, path in paths.items():
        terminal.say(f"  {metric}: {path}")


def _show_one(one: Score) -> None:
    style = {"valid": "", "invalid": "yellow", "unscored": "red"}[one.state]
    why = ": ".join(filter(None, (one.reason, one.message)))
    terminal.say(f"{one.id}: {one.state}{f', {why}' if why else ''}", style)
    if one.iou_note:
        terminal.say(f"  IoU by {one.iou_samples} rays, ± {_number(one.iou_error)}: {one.iou_note}", "yellow")


def _percent(ratio: float | None) -> str:
    return "–" if ratio is None else f"{100 * ratio:.2f} %"


def _spread(spread: Spread, factor: float) -> str:
    if spread.median is None or spread.mean is None:
        return "–"
    return f"{_number(spread.median * factor)} / {_number(spread.mean * factor)}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
