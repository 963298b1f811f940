"""`casemate verify`: tries to break the boundary on this host, and says what was held."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from casemate.cli import documents, terminal, verify_documents
from casemate.cli.run import writable
from casemate.cli.status import FAILED, WELL
from casemate.verify import judge, report, run
from casemate.verify.model import Report, Settings, Verdict

_STYLES = {Verdict.HELD: "green", Verdict.DECLARED_OPEN: "yellow"}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Its arguments."""
    parser = commands.add_parser("verify", help="try to break the boundary on this host")
    parser.add_argument("--profile", default="cad", help="a name, FILE.toml or strongest (default: cad)")
    parser.add_argument("--runtime", help="let this one build the profile's outer wall")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="ID", help="probes, families, or effect-free (default: all)"
    )
    parser.add_argument(
        "--twins", action="store_true",
        help="for test hosts: show as well that each attack works with its guard taken out, in a harness",
    )  # fmt: skip
    parser.add_argument(
        "--disposable-host", action="store_true",
        help="with --twins, as root in a virtual machine that is thrown away: also those that change the whole host",
    )  # fmt: skip
    parser.add_argument("--report", type=Path, metavar="FILE", help="write a report there, as HTML")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output, and nothing else")
    parser.set_defaults(command=main)


def main(arguments: argparse.Namespace) -> int:
    """Verify; 0 if every probe was held or is declared open, else 1."""
    if arguments.report:
        if arguments.report.is_dir():
            raise IsADirectoryError(f"{arguments.report} is a directory: --report takes a file")
        if not arguments.report.absolute().parent.is_dir():
            raise NotADirectoryError(f"{arguments.report.absolute().parent} is no directory")
        writable(arguments.report.absolute().parent)
    if arguments.twins and not arguments.json:
        terminal.complain("--twins is for test hosts: it attacks sandboxes whose guards were taken out")
    if arguments.disposable_host and not (arguments.twins and os.geteuid() == 0):
        raise PermissionError("--disposable-host goes with --twins, as root")
    settings = Settings(
        arguments.profile, arguments.runtime, tuple(arguments.only), arguments.twins,
        disposable=arguments.disposable_host,
    )  # fmt: skip
    with _progress(quiet=arguments.json) as progress:
        found = run.verify(settings, progress)
    if arguments.report:
        arguments.report.write_text(report.html(found, metadata.version("casemate")), "utf-8")
    status = WELL if found.ok else FAILED
    if arguments.json:
        print(documents.dump(verify_documents.of_verification(found, status)))
    else:
        _show(found)
    return status


@contextmanager
def _progress(*, quiet: bool) -> Iterator[run.Progress]:
    """A bar, where somebody looks."""
    if quiet or not terminal.watched():
        if not quiet:
            terminal.complain("trying; the whole suite takes a minute or two")
        yield lambda *_: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=terminal.err, transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda name, done, total: bar.update(task, description=name, completed=done, total=total)


def _show(found: Report) -> None:
    for family in dict.fromkeys(item.family for item in found.findings):
        mine = [item for item in found.findings if item.family == family]
        held = sum(item.verdict is Verdict.HELD for item in mine)
        terminal.say(f"{family}: {held} of {len(mine)} held", "green" if held == len(mine) else "")
        for item in mine:
            if item.verdict is not Verdict.HELD:
                terminal.say(f"  {item.id}: {item.verdict}: {item.what}", _STYLES.get(item.verdict, "red"))
                terminal.say(f"      {item.evidence}")
    words = ", ".join(f"{count} {name}" for name, count in judge.counts(found.findings).items() if count)
    terminal.say(f"profile {found.profile}: {words}, in {found.seconds:.0f} s", "green" if found.ok else "red")
    for text in found.not_held:
        terminal.say(f"  not held, says the profile: {text}", "yellow")
