"""`casemate check SCRIPT`: the gate alone, inside the wall."""

from __future__ import annotations

import argparse
from pathlib import Path

from casemate.cli import documents, terminal
from casemate.cli.run import read_inputs, read_script
from casemate.cli.status import DENIED, FAULT, WELL
from casemate.control.host import Host, Stock
from casemate.model import Reason


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Its arguments."""
    parser = commands.add_parser("check", help="say what the gate makes of a script; nothing of it runs")
    parser.add_argument("script", help="a file, or - for standard input")
    parser.add_argument("--profile", default="cad", help="a profile's name or file (default: cad), or `strongest`")
    parser.add_argument("--input", action="append", default=[], type=Path, metavar="FILE", help="a file that it reads")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output, and nothing else")
    parser.set_defaults(command=main)


def main(arguments: argparse.Namespace) -> int:
    """Check it; 0 if admitted, 3 if not."""
    name, source = read_script(arguments.script)
    with Host(stock=Stock(size=0)) as host, terminal.progress("checking", quiet=arguments.json):
        result = host.check(source, arguments.profile, read_inputs(arguments.input))
    outcome = result.outcome
    admitted = outcome.reason is Reason.EXITED and outcome.exit_code == 0
    # A source that makes the gate run out of time or memory, or crash, is not admitted.
    status = WELL if admitted else FAULT if outcome.reason is Reason.LOST else DENIED
    if arguments.json:
        print(documents.dump(documents.CheckDocument(admitted, outcome.denials, outcome, result.warnings, status)))
    elif admitted:
        terminal.say(f"{name}: admitted", "green")
        for notice in result.warnings:
            terminal.say(f"  {notice.code}: {notice.message}", "yellow")
    else:
        terminal.show(name, result, {})
    return status
