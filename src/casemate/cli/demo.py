"""`casemate demo EXAMPLES --out DIR`: every example, under the strongest profile that this host enforces."""

from __future__ import annotations

import argparse
from pathlib import Path

from casemate.cli import documents, terminal
from casemate.cli.run import write
from casemate.cli.status import FAILED, WELL, of_outcome
from casemate.control.host import Host, strongest
from casemate.errors import Denied


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Its arguments."""
    parser = commands.add_parser("demo", help="turn a directory of examples into STEP files")
    parser.add_argument("examples", type=Path)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output, and nothing else")
    parser.set_defaults(command=main)


def main(arguments: argparse.Namespace) -> int:
    """Run them all; 0 if every one gave a part."""
    scripts = sorted(arguments.examples.glob("*.py"))
    if not scripts:
        raise Denied(f"{arguments.examples}: no script there")
    runs: dict[str, documents.RunDocument] = {}
    with Host() as host:
        profile = strongest(host)
        if not arguments.json:
            terminal.say(f"profile {profile}: the strongest that this host enforces")
        for script in scripts:
            with terminal.progress(script.name, quiet=arguments.json) as progress:
                result = host.run(script.read_bytes(), profile, progress=progress)
            paths = write(result, arguments.out, script.stem)
            runs[script.name] = documents.of_run(result, paths, of_outcome(result.outcome))
            if not arguments.json:
                terminal.show(script.stem, result, paths)
    status = WELL if all(run.ok for run in runs.values()) else FAILED
    if arguments.json:
        print(documents.dump(documents.DemoDocument(profile, runs, status)))
    return status
