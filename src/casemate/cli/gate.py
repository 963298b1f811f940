"""`casemate gate update`: the gate's tables of names, made from the libraries of an image."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from casemate.cli import documents, gate_documents, terminal
from casemate.cli.status import FAILED, WELL
from casemate.control.host import Host, Stock
from casemate.control.places import default_stores
from casemate.reach import render
from casemate.reach import update as reach
from casemate.runtime import images

PACKAGE = Path(__file__).parents[1]


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Its arguments."""
    parser = commands.add_parser("gate", help="make the gate's tables from the libraries of an image")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    update = verbs.add_parser("update", help="show what an image's libraries would change in the gate's tables")
    update.add_argument("--image", default="cad", metavar="NAME", help="whose libraries (default: cad)")
    what = update.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="exit with 1 if the tables are not what the image gives")
    what.add_argument("--write", action="store_true", help="replace the tables of this checkout")
    update.add_argument("--json", action="store_true", help="one JSON document on standard output, and nothing else")
    update.set_defaults(command=main)


def main(arguments: argparse.Namespace) -> int:
    """Show, check or write; 1 only for a check that finds a difference."""
    folder = render.checkout(PACKAGE) if arguments.write else None
    image = images.find(arguments.image, default_stores())
    with (
        Host(stock=Stock(size=0)) as host,
        terminal.progress("starting", quiet=arguments.json) as progress,
    ):
        found = reach.update(host, image, progress)
    written: tuple[str, ...] = ()
    if folder is not None and any(found.differences):
        texts = render.files(found.proposal.tables, found.made_from())
        render.write(folder, texts)
        written = tuple(sorted(texts))
    status = FAILED if arguments.check and not found.equal else WELL
    document = gate_documents.of_update(found, written, status)
    if arguments.json:
        print(documents.dump(document))
    else:
        _say(document)
    return status


def _say(document: gate_documents.GateUpdateDocument) -> None:
    versions = ", ".join(f"{name} {version}" for name, version in document.versions.items())
    terminal.say(f"{document.image}: {versions}")
    for table in document.tables:
        terminal.say(f"{table.table}:")
        for sign, names, style in (("+", table.added, "green"), ("-", table.removed, "red")):
            for name, why in names.items():
                terminal.say(f"  {sign} {name}: {why}", style)
        if table.explained:
            terminal.say(f"  {len(table.explained)} names stay with another reason", "dim")
    for name, why in document.reached.items():
        terminal.say(f"denied, because of what it leads to: {name}: {why}", "red")
    for what, names in (("stay denied", document.denied), ("are left out", document.left_out)):
        terminal.say(f"{len(names)} names of the libraries {what}:")
        for why, count in Counter(names.values()).most_common():
            few = [name for name, reason in names.items() if reason == why][:8]
            terminal.say(f"  {why}: {', '.join(few)}{' ...' if count > len(few) else ''}", "dim")
    walk = document.walk
    terminal.say(
        f"walked {walk.objects} objects of {walk.types} types, {walk.depth} steps deep: clean in round {walk.rounds}"
    )
    if document.written:
        terminal.say(f"wrote {', '.join(document.written)}", "green")
    elif document.equal:
        terminal.say("the tables are what the image gives", "green")
    else:
        terminal.say("the tables are not what the image gives", "yellow")
