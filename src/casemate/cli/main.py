"""Reads the arguments, calls the command, and turns what goes wrong into an exit status."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import NoReturn

from casemate.cli import (
    bench,
    boundary,
    cad,
    check,
    demo,
    doctor,
    documents,
    gate,
    image,
    mapping,
    policy,
    run,
    syscalls,
    terminal,
    verify,
)
from casemate.cli.status import FAULT, INTERRUPTED, USAGE, of_error
from casemate.errors import CasemateError


class _Usage(Exception):
    """Arguments that cannot be read; the parser has told how they should be."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        raise _Usage(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="casemate", description="Runs model-generated code as if it were hostile.")
    parser.add_argument("--version", action="version", version=metadata.version("casemate"))
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in (run, mapping, check, cad, policy, gate, syscalls, image, doctor, boundary, verify, demo, bench):
        module.add(commands)
    schema = commands.add_parser("schema", help="print the JSON Schema of every --json document")
    schema.add_argument("--json", action="store_true", help="it always is")
    schema.set_defaults(command=_schema)
    return parser


def _schema(_: argparse.Namespace) -> int:
    print(json.dumps(documents.schema(), indent=2))
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """The command's exit status (docs/results.md)."""
    given = sys.argv[1:] if argv is None else list(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not if the caller closed it
            stream.reconfigure(errors="backslashreplace")
    try:
        arguments = _parser().parse_args(given)
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
