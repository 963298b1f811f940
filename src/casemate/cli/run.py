"""`casemate run SCRIPT`: script in, files, outcome and facts out."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from casemate.cli import documents, terminal
from casemate.cli.status import of_outcome
from casemate.control.deadline import Deadline
from casemate.control.files import write_file
from casemate.control.host import Host, Stock
from casemate.control.leases import LOCAL
from casemate.errors import Denied
from casemate.model import RunResult
from casemate.runtime.workspace import check_inputs


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Its arguments."""
    parser = commands.add_parser("run", help="run a script in a sandbox and write what it made")
    parser.add_argument("script", help="a file, or - for standard input")
    parser.add_argument("--profile", default="cad", help="a profile's name or file (default: cad), or `strongest`")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write the artifacts there")
    parser.add_argument(
        "--input", action="append", default=[], type=Path, metavar="FILE", help="a file for the job directory"
    )
    parser.add_argument("--deadline", type=seconds, metavar="SECONDS", help="less time than the profile's wall_time")
    parser.add_argument(
        "--limit", action=Tightened, default={}, metavar="NAME=NUMBER", help="a lower limit than the profile's"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output, and nothing else")
    parser.set_defaults(command=main)


def main(arguments: argparse.Namespace) -> int:
    """Run it; the exit status."""
    name, source = read_script(arguments.script)
    inputs = read_inputs(arguments.input)
    if arguments.out:
        writable(arguments.out)
    # One more than the first: the second sandbox is made ready while the script runs.
    with Host(stock=Stock(size=1)) as host, terminal.progress("starting", quiet=arguments.json) as progress:
        progress("template")
        # What is refused is refused before anything is warmed.
        request = host.request(source, arguments.profile, inputs, None, LOCAL, LOCAL, limits=arguments.limit)
        check_inputs(request.inputs, request.plan.profile.limits.upload_bytes)
        host.warm(arguments.profile, arguments.limit)
        deadline = Deadline.after(arguments.deadline) if arguments.deadline is not None else None
        result = host.run(source, arguments.profile, inputs, deadline, limits=arguments.limit, progress=progress)
    paths = write(result, arguments.out, name) if arguments.out else {}
    status = of_outcome(result.outcome)
    if arguments.json:
        print(documents.dump(documents.of_run(result, paths, status)))
    else:
        terminal.show(name, result, paths)
    return status


class Tightened(argparse.Action):
    """Gathers NAME=NUMBER, each name once; which names and numbers there may be, the profile says."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        """One more of them."""
        name, _, text = str(values).partition("=")
        given = getattr(namespace, self.dest)
        try:
            value: float = float(text) if set(text) & set(".einEIN") else int(text)
        except ValueError:
            parser.error(f"{option} {values}: NAME=NUMBER is needed")
        if name in given:
            parser.error(f"{option} {name}: given twice")
        setattr(namespace, self.dest, {**given, name: value})


def seconds(text: str) -> float:
    """A positive, finite number."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: a positive number of seconds is needed")
    return value


def writable(directory: Path) -> None:
    """Make the directory and try it, before a job's work could be lost; raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=directory, prefix=".casemate-"):
        pass


def read_script(argument: str) -> tuple[str, bytes]:
    """A name for it, and its bytes."""
    if argument == "-":
        return "script", sys.stdin.buffer.read()
    path = Path(argument)
    return path.stem, path.read_bytes()


def read_inputs(paths: list[Path]) -> dict[str, bytes]:
    """The files of `--input`, by name."""
    inputs = {path.name: path.read_bytes() for path in paths}
    if len(inputs) != len(paths):
        raise Denied("two inputs have the same name")
    return inputs


def write(result: RunResult, directory: Path, stem: str) -> dict[str, str]:
    """Write the artifacts, whole or not at all: STEM.step for a single part, STEM-NAME for several.

    A plain program's files keep their names and directories.
    """
    directory.mkdir(parents=True, exist_ok=True)
    paths: dict[str, str] = {}
    for name, artifact in result.artifacts.items():
        if result.outcome.verdict is None:
            target = directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
        else:
            target = directory / (f"{stem}{Path(name).suffix}" if len(result.artifacts) == 1 else f"{stem}-{name}")
        write_file(target, artifact.data)
        paths[name] = str(target)
    return paths
