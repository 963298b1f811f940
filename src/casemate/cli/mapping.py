"""`casemate map SOURCES…`: many scripts in, results.jsonl and files out."""

from __future__ import annotations

import argparse
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from casemate.batch import Batch, Cache, Done, Inputs, Output
from casemate.batch.keys import Terms
from casemate.cli import documents, terminal
from casemate.cli.map_documents import MapDocument
from casemate.cli.run import Tightened
from casemate.cli.status import FAILED, FAULT, WELL
from casemate.control.host import Host
from casemate.control.leases import LOCAL
from casemate.control.mapping import checked
from casemate.control.places import default_cache


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Its arguments."""
    parser = commands.add_parser("map", help="run many scripts, and keep their results")
    parser.add_argument(
        "sources", nargs="+", metavar="SOURCE",
        help="a script, a directory of *.py, a .jsonl or .parquet file, or - for JSONL on standard input",
    )  # fmt: skip
    parser.add_argument("--profile", default="cad", help="a profile's name or file (default: cad), or `strongest`")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="write results.jsonl and artifacts/")
    parser.add_argument("--jobs", type=_jobs, metavar="N", help="at a time (default: one a core)")
    parser.add_argument("--column", default="source", metavar="NAME", help="that holds the script (default: source)")
    parser.add_argument(
        "--limit", action=Tightened, default={}, metavar="NAME=NUMBER", help="a lower limit than the profile's"
    )
    parser.add_argument("--usage", action="store_true", help="tell of each row what it used, which no run repeats")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where results are kept (default: the user's own)")
    parser.add_argument("--no-cache", action="store_true", help="keep nothing, and take nothing that was kept")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output, and nothing else")
    parser.set_defaults(command=main)


def main(arguments: argparse.Namespace) -> int:
    """Map them; 0 if every row ran, whatever became of it."""
    began = time.monotonic()
    inputs = Inputs.of(arguments.sources, arguments.column)
    tally = Tally()
    with Host() as host:
        # What is refused is refused before anything is read or written.
        request = host.request(b"", arguments.profile, None, None, LOCAL, LOCAL, limits=arguments.limit)
        run = host.runner(arguments.profile, arguments.limit)
        cache = None if arguments.no_cache else Cache(arguments.cache or default_cache())
        with Output(arguments.out) as output:
            batch = Batch(run, Terms.of_request(request), output, cache, usage=arguments.usage)
            rows = batch.done(inputs.rows(), checked((), arguments.jobs))
            with closing(rows), _progress(inputs, quiet=arguments.json) as tell:
                for done in rows:
                    tally.add(done)
                    tell(tally)
    found = tally.document(str(output.results), cache.fault if cache else "", time.monotonic() - began)
    if arguments.json:
        print(documents.dump(found))
    else:
        _show(found)
    return found.exit_status


class Tally:
    """How many rows count as what, and where they came from."""

    def __init__(self) -> None:
        self.labels: Counter[str] = Counter()
        self.origins: Counter[str] = Counter()

    def add(self, done: Done) -> None:
        """One more."""
        self.labels[done.label] += 1
        self.origins["unread" if done.label.startswith("unreadable") else done.origin] += 1

    def failures(self) -> str:
        """The commonest of what is not ok."""
        return ", ".join(f"{name} {count:,}" for name, count in self.labels.most_common(6) if name != "ok")

    def status(self) -> int:
        """4 if a fault of ours left a row without a result, 1 if a row could not be read, else 0."""
        if self.labels["lost"] or self.labels["cancelled"]:
            return FAULT
        return FAILED if self.origins["unread"] else WELL

    def document(self, results: str, fault: str, seconds: float) -> MapDocument:
        """All of it."""
        return MapDocument(
            rows=self.labels.total(), ok=self.labels["ok"], counts=dict(self.labels.most_common()),
            ran=self.origins["run"], cached=self.origins["cache"], resumed=self.origins["partial"],
            unread=self.origins["unread"], cache_fault=fault, results=results, seconds=round(seconds, 3),
            exit_status=self.status(),
        )  # fmt: skip


def _show(found: MapDocument) -> None:
    made = found.rows - found.resumed
    rate = f" ({made / found.seconds:,.1f} a second)" if found.seconds and made else ""
    style = "green" if found.exit_status == WELL else "yellow"
    terminal.say(f"{found.rows:,} rows in {found.seconds:,.1f} s{rate}, {found.ok:,} ok", style)
    for name, count in found.counts.items():
        if name != "ok":
            terminal.say(f"  {name}: {count:,}")
    if found.cached or found.resumed:
        resumed = f"{found.resumed:,} there from a map that was broken off"
        terminal.say(f"  {found.cached:,} from the cache, {resumed}; {found.ran:,} ran")
    terminal.say(f"  {found.results}")
    if found.cache_fault:
        terminal.complain(f"casemate: results were not kept: {found.cache_fault}")


class _Rate(ProgressColumn):
    """Rows a second, of the last while."""

    def render(self, task: Task) -> Text:
        """Blank until it can be told."""
        return Text(f"{task.speed:,.1f} a second" if task.speed else "")


@contextmanager
def _progress(inputs: Inputs, *, quiet: bool) -> Iterator[Callable[[Tally], None]]:
    """A bar on a terminal with rate, time left and failures by reason; silent when piped."""
    if quiet or not terminal.watched():
        yield lambda _: None
        return
    columns = (
        BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn(),
        TextColumn("{task.fields[failures]}", markup=False),
    )  # fmt: skip
    with Progress(*columns, console=terminal.err, transient=True) as progress:
        task = progress.add_task("", total=None, failures="")
        # Counting reads what will be mapped once; on a stream nobody knows.
        threading.Thread(
            target=lambda: progress.update(task, total=inputs.count()), name="casemate-map-count", daemon=True
        ).start()
        yield lambda tally: progress.update(task, completed=tally.labels.total(), failures=tally.failures())


def _jobs(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: a whole number from 1 is needed")
    return value
