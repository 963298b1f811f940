"""`casemate boundary`: what holds each property on this host, where, what checks it, and what is not covered."""

from __future__ import annotations

import argparse
from collections import Counter

from casemate.cli import documents, terminal
from casemate.cli.status import FAILED, WELL
from casemate.cli.verify_documents import BoundaryDocument
from casemate.runtime.doctor import examine
from casemate.verify.boundary import ENFORCED, MISSING, State, boundary

_STYLES = {ENFORCED: "green", MISSING: "red"}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Its arguments."""
    parser = commands.add_parser("boundary", help="say what the boundary is, and what of it is enforced on this host")
    parser.add_argument("--profile", default="cad", help="a name, FILE.toml or strongest (default: cad)")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output, and nothing else")
    parser.set_defaults(command=main)


def main(arguments: argparse.Namespace) -> int:
    """Run one job and show the table; 0 if every property is enforced, or lacks only what the profile permits."""
    with terminal.progress("running a job to see its layers", quiet=arguments.json):
        profile, enforcement, rows = boundary(arguments.profile)
    status = FAILED if any(row.state == MISSING for row in rows) else WELL
    if arguments.json:
        document = BoundaryDocument(
            profile.name, profile.digest, enforcement.image_digest, profile.isolation.runtime, dict(examine().host),
            enforcement.degraded, rows, status,
        )  # fmt: skip
        print(documents.dump(document))
        return status
    for row in rows:
        _show(row)
    terminal.say(f"profile {profile.name}, SHA-256 {profile.digest}")
    terminal.say(f"image {enforcement.image_digest}, runtime {profile.isolation.runtime}")
    terminal.say(", ".join(f"{name} {text}" for name, text in examine().host))
    return status


def _show(row: State) -> None:
    terminal.say(f"{row.property}: {row.state}", _STYLES.get(row.state, "yellow"))
    for holding in row.mechanisms:
        terminal.say(f"  {holding.where}: {holding.what}")
    families = Counter(name.partition(".")[0] for name in row.probes)
    tried = ", ".join(f"{family} ({count})" for family, count in families.items())
    terminal.say(f"  checked by: casemate verify --only {tried}")
    for layer in row.missing():
        terminal.say(f"  not on: {layer}", "red" if row.state == MISSING else "yellow")
    for text in row.not_held:
        terminal.say(f"  not held: {text}", "yellow")
    terminal.say(f"  not covered: {row.not_covered}", "dim")
