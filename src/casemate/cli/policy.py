"""`casemate policy lint | show | explain | diff`: what a profile says, and whether it says it well."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from casemate.cli import documents, policy_documents, terminal
from casemate.cli.policy_documents import FaultDocument, Value
from casemate.cli.status import FAILED, WELL
from casemate.control.profiles import CEILING, admit, load_profile, names
from casemate.errors import Fault, PolicyError
from casemate.policy import diff, explain
from casemate.policy.rows import tables

_STYLE = {"tighter": "green", "looser": "red", "different": "yellow"}
_LABELS = {
    "bounds": "bounds", "unit": "unit", "kind": "kind", "enforced_by": "enforced by", "program_sees": "program sees",
    "counted": "counted", "without_cgroup": "without a cgroup", "source": "source",
}  # fmt: skip


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Its arguments."""
    parser = commands.add_parser("policy", help="check, show, explain and compare profiles")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    lint = actions.add_parser("lint", help="say with file and line what is wrong with profiles; 0 if nothing is")
    lint.add_argument("files", nargs="+", metavar="FILE", help="a profile's file, or the name of a shipped one")
    lint.add_argument(
        "--ceiling",
        type=Path,
        default=None,
        metavar="FILE",
        help=f"another ceiling than {CEILING}, which may be absent",
    )
    lint.set_defaults(command=main_lint)
    show = actions.add_parser("show", help="print every row of a profile")
    show.add_argument("name", help="a profile's name or file")
    show.set_defaults(command=main_show)
    about = actions.add_parser("explain", help="say of a limit what it bounds, who enforces it and what is seen of it")
    about.add_argument("limit", help="a row of [limits], as `memory`")
    about.set_defaults(command=main_explain)
    compare = actions.add_parser("diff", help="print the rows that differ, and where the second profile is tighter")
    compare.add_argument("first", help="a profile's name or file")
    compare.add_argument("second", help="the same")
    compare.set_defaults(command=main_diff)
    for action in (lint, show, about, compare):
        action.add_argument(
            "--json", action="store_true", help="one JSON document on standard output, and nothing else"
        )


def main_lint(arguments: argparse.Namespace) -> int:
    """Load each; 0 if every one loads under the host's ceiling, else 1."""
    if arguments.ceiling is not None:
        arguments.ceiling.stat()  # no ceiling is not what was meant
    files = tuple(_lint(name, arguments.ceiling or CEILING) for name in arguments.files)
    status = WELL if all(file.ok for file in files) else FAILED
    if arguments.json:
        print(documents.dump(policy_documents.PolicyLintDocument(files, status)))
        return status
    for file in files:
        if file.ok:
            terminal.say(f"{file.file}: {file.name}, version {file.version}, digest {file.digest}", "green")
        for fault in file.faults:
            terminal.say(fault.text, "red")
    return status


def _lint(name: str, ceiling: Path) -> policy_documents.LintedFile:
    try:
        profile = admit(name, ceiling)
    except PolicyError as error:
        faults = tuple(map(_fault, error.faults)) or (FaultDocument(name, 0, "", str(error), str(error)),)
        return policy_documents.LintedFile(name, False, None, None, None, faults)
    return policy_documents.LintedFile(name, True, profile.name, profile.profile.version, profile.digest, ())


def main_show(arguments: argparse.Namespace) -> int:
    """Print it."""
    profile = load_profile(arguments.name)
    rows = {
        table: {key: _value(profile.value(f"{table}.{key}")) for key in kind.model_fields} for table, kind in tables()
    }
    document = policy_documents.PolicyDocument(
        profile.name, profile.profile.version, profile.digest, profile.profile.description, rows, WELL
    )
    if arguments.json:
        print(documents.dump(document))
        return WELL
    terminal.say(f"{profile.name}, version {document.version}: {document.description}", "green")
    terminal.say(f"digest {profile.digest}")
    for table, values in rows.items():
        for key, value in values.items():
            if table != "profile":
                terminal.say(f"  {f'{table}.{key}':30} {_text(value)}")
    return WELL


def main_explain(arguments: argparse.Namespace) -> int:
    """Print what is known of a limit."""
    name = arguments.limit.removeprefix("limits.")
    known = explain(name)
    document = policy_documents.PolicyExplainDocument(limit=name, **dataclasses.asdict(known), exit_status=WELL)
    if arguments.json:
        print(documents.dump(document))
        return WELL
    terminal.say(f"limits.{name}", "green")
    for field, label in _LABELS.items():
        terminal.say(f"  {label:17} {getattr(document, field)}")
    return WELL


def main_diff(arguments: argparse.Namespace) -> int:
    """Print the rows that differ; 0 whether any does or not."""
    first, second = load_profile(arguments.first), load_profile(arguments.second)
    rows = tuple(
        policy_documents.DifferenceDocument(found.row, _value(found.first), _value(found.second), found.second_is)
        for found in diff(first, second, names().syscalls)
    )
    if arguments.json:
        print(documents.dump(policy_documents.PolicyDiffDocument(arguments.first, arguments.second, rows, WELL)))
        return WELL
    if not rows:
        terminal.say(f"{arguments.first} and {arguments.second} differ in no row")
    for row in rows:
        text = f"{row.row}: {_text(row.first)} → {_text(row.second)}"
        terminal.say(f"{text} ({row.second_is})", _STYLE[row.second_is])
    return WELL


def _fault(fault: Fault) -> FaultDocument:
    return FaultDocument(fault.file, fault.line, fault.row, fault.message, str(fault))


def _value(value: object) -> Value:
    """A row's value: all there are in a profile."""
    if isinstance(value, tuple):
        return tuple(map(str, value))
    assert isinstance(value, bool | int | float | str)
    return value


def _text(value: Value) -> str:
    """As TOML has it."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:_}"
    return f'"{value}"' if isinstance(value, str) else str(value)
