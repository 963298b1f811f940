"""Reads the arguments, calls the command, and turns what goes wrong into an exit status."""

from __future__ import annotations

import argparse
import importlib
import io
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import NoReturn

from casemate.cli import documents, terminal
from casemate.cli.status import FAULT, INTERRUPTED, USAGE, of_error
from casemate.errors import CasemateError

COMMANDS = {
    "run": "run", "map": "mapping", "check": "check", "cad": "cad", "policy": "policy", "gate": "gate",
    "syscalls": "syscalls", "image": "image", "doctor": "doctor", "boundary": "boundary", "verify": "verify",
    "demo": "demo", "bench": "bench", "schema": "schema",
}  # fmt: skip
"""Command → its module; in the order of the help."""


class _Usage(Exception):
    """Arguments that cannot be read; the parser has told how they should be."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        raise _Usage(message)


def _parser(first: str) -> argparse.ArgumentParser:
    parser = _Parser(prog="casemate", description="Runs model-generated code as if it were hostile.")
    parser.add_argument("--version", action="version", version=metadata.version("casemate"))
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    # What one command imports the others need not wait for.
    for name in [COMMANDS[first]] if first in COMMANDS else COMMANDS.values():
        importlib.import_module(f"casemate.cli.{name}").add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The command's exit status (docs/results.md)."""
    given = sys.argv[1:] if argv is None else list(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not if the caller closed it
            stream.reconfigure(errors="backslashreplace")
    try:
        arguments = _parser(given[0] if given else "").parse_args(given)
    except _Usage as error:
        return _fail("UsageError", str(error), USAGE, as_json="--json" in given)
    try:
        status: int = arguments.command(arguments)
    except CasemateError as error:
        return _fail(type(error).__name__, str(error), of_error(error), as_json=arguments.json)
    except KeyboardInterrupt:
        return _fail("KeyboardInterrupt", "interrupted", INTERRUPTED, as_json=arguments.json)
    except BrokenPipeError:
        return FAULT
    except OSError as error:
        return _fail(type(error).__name__, str(error), USAGE, as_json=arguments.json)
    return status


def _fail(kind: str, message: str, status: int, *, as_json: bool) -> int:
    if as_json:
        print(documents.dump(documents.ErrorDocument(kind, message, status)))
    else:
        terminal.complain(f"casemate: {message}")
    return status


if __name__ == "__main__":
    sys.exit(main())
