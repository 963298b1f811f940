"""`casemate image build NAME` and `casemate image show NAME`."""

from __future__ import annotations

import argparse
import os
from importlib import resources
from pathlib import Path

from casemate.cli import documents, terminal
from casemate.cli.status import WELL
from casemate.control.places import default_store, default_stores
from casemate.errors import Denied
from casemate.runtime import images


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Its arguments."""
    parser = commands.add_parser("image", help="prepare the read-only file tree that sandboxes see")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    for action, text in (("build", "build it, unless it is there already"), ("show", "say which one is in use")):
        sub = actions.add_parser(action, help=text)
        sub.add_argument("name", help="cad, or python")
        sub.add_argument("--store", type=Path, default=None, help=f"default: {default_store()}")
        sub.add_argument("--json", action="store_true", help="one JSON document on standard output, and nothing else")
        sub.set_defaults(command=build if action == "build" else show)
        if action == "build":
            sub.add_argument("--rebuild", action="store_true", help="build it in any case")


def build(arguments: argparse.Namespace) -> int:
    """Build an image from its locked requirement file."""
    with resources.as_file(resources.files("casemate") / "images" / f"{arguments.name}.txt") as requirements:
        if not requirements.is_file():
            raise Denied(f"no image {arguments.name!r}: there is no {requirements.name}")
        with terminal.progress(f"building image {arguments.name}", quiet=arguments.json) as progress:

            def tell(text: str, share: float | None) -> None:
                progress(text if share is None else f"{text} ({share:.0%})")

            image = images.build(
                arguments.name,
                store=arguments.store or default_store(),
                requirements=requirements,
                progress=tell,
                environment=os.environ,
                rebuild=arguments.rebuild,
            )
    return _tell(image, as_json=arguments.json)


def show(arguments: argparse.Namespace) -> int:
    """Find an image as a run would, and read every byte of it."""
    stores = (arguments.store,) if arguments.store else default_stores()
    image = images.find(arguments.name, stores)
    images.verify(image)
    return _tell(image, as_json=arguments.json)


def _tell(image: images.Image, *, as_json: bool) -> int:
    if as_json:
        document = documents.ImageDocument(image.name, image.digest, str(image.root), image.created, image.python, WELL)
        print(documents.dump(document))
    else:
        terminal.say(f"{image.name}: {image.root}", "green")
        terminal.say(f"  digest {image.digest}, Python {image.python}, made {image.created}")
    return WELL
