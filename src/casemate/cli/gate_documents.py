"""What `casemate gate` prints with `--json`."""

from __future__ import annotations

from dataclasses import dataclass

from casemate.reach.update import Update


@dataclass(frozen=True, slots=True)
class TableDifference:
    """What changes in one table: a module's, `attributes`, or `denied_reached`; name → reason."""

    table: str
    added: dict[str, str]
    removed: dict[str, str]
    explained: dict[str, str]
    """Names that stay, with another reason."""


@dataclass(frozen=True, slots=True)
class WalkDocument:
    """The last walk, which was whole and clean: what it looked at, and how far from where it began."""

    objects: int
    types: int
    depth: int
    rounds: int
    """Walks until one was clean."""


@dataclass(frozen=True, slots=True)
class GateUpdateDocument:
    """`casemate gate update`."""

    image: str
    digest: str
    versions: dict[str, str]
    equal: bool
    """True if the tables have the names that the image gives; reasons may read otherwise."""
    tables: tuple[TableDifference, ...]
    """Those that differ."""
    reached: dict[str, str]
    """Attribute names that the walk denies → the path that leads there, and to what."""
    denied: dict[str, str]
    """Names that the image has and that stay denied, with the reason of each; `reached` among them."""
    left_out: dict[str, str]
    """Names that the image has and that were not taken, with the reason of each."""
    walk: WalkDocument
    written: tuple[str, ...]
    """Files that were replaced."""
    exit_status: int


def of_update(found: Update, written: tuple[str, ...], status: int) -> GateUpdateDocument:
    """What `casemate gate update` prints."""
    proposal = found.proposal
    return GateUpdateDocument(
        found.image.name, found.image.digest, {"python": found.python, **found.versions}, found.equal,
        tuple(
            TableDifference(one.table, dict(one.added), dict(one.removed), dict(one.explained))
            for one in found.differences if one
        ),
        dict(proposal.tables.reached), dict(proposal.denied), dict(proposal.left_out),
        WalkDocument(found.walk.objects, found.walk.types, found.walk.depth, found.rounds), written, status,
    )  # fmt: skip
