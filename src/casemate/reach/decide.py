"""From what the libraries have to tables: who owns a name, what is against it, and what differs from today's. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from casemate.errors import SandboxFault
from casemate.reach import decisions
from casemate.reach.report import Finding, Survey, fitting, is_name

OWNERS = 3
"""How many owners a reason names."""
Table = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Tables:
    """What is made: names with their reasons."""

    attributes: Table
    modules: Mapping[str, Table]
    reached: Table
    """Attribute names that the walk denies → what they lead to, and by which path."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Tables for an image, and every public name that is in none of them, with its reason."""

    tables: Tables
    denied: Table
    """By hand, and the image has them."""
    left_out: Table
    """Considered and not taken."""


@dataclass(frozen=True, slots=True)
class Found:
    """What walks met so far: names of attributes, and of modules as (module, name)."""

    attributes: Mapping[str, str] = field(default_factory=dict)
    modules: Mapping[tuple[str, str], str] = field(default_factory=dict)


def propose(survey: Survey, current: Tables, denied: Table, found: Found) -> Proposal:
    """The tables for what was surveyed; `current` says what was chosen by hand, `denied` what was refused so."""
    against, left = dict[str, str](), dict[str, str]()
    modules = {
        surface.module: _module(surface, survey, current, denied, found, against, left)
        for surface in decisions.SURFACES
    }
    owners = {name: list(owned) for name, owned in survey.owners.items()}
    for surface in decisions.SURFACES:
        if surface.module in _LIBRARIES:
            for name in modules[surface.module]:
                owners.setdefault(name, []).append(surface.module)
        parent, _, child = surface.module.rpartition(".")
        if parent in _LIBRARIES and surface.module in survey.modules:
            owners.setdefault(child, []).append(parent)
    attributes = {}
    for name in sorted(owners, key=lambda name: (name.lower(), name)):
        if not is_name(name):
            continue
        if name in denied:
            against[name] = denied[name]
        elif name in found.attributes:
            against[name] = found.attributes[name]
        elif why := _left(name, owners[name], current):
            left[name] = why
        else:
            attributes[name] = fitting(name, _reason(owners[name]))
    left = {name: why for name, why in left.items() if name not in attributes and name not in against}
    tables = Tables(attributes, modules, dict(sorted(found.attributes.items())))
    return Proposal(tables, dict(sorted(against.items())), dict(sorted(left.items())))


_LIBRARIES = ("cadquery", "cadquery.func", "cadquery.selectors", "build123d", "math", "numpy", "numpy.linalg",
              "numpy.random")  # fmt: skip
"""Modules that every rule set lets a script import: their names are names of attributes too."""


def _module(
    surface: decisions.Surface, survey: Survey, current: Tables, denied: Table, found: Found,
    against: dict[str, str], left: dict[str, str],
) -> dict[str, str]:  # fmt: skip
    chosen = current.modules.get(surface.module, {})
    taken = {}
    for name, (is_module, text) in sorted(survey.modules.get(surface.module, {}).items()):
        if not is_name(name) or f"{surface.module}.{name}" in _PATHS:
            continue
        if name in denied and name not in chosen:
            against[name] = denied[name]
        elif (surface.module, name) in found.modules:
            against[name] = found.modules[surface.module, name]
        elif is_module:
            against.setdefault(name, "a module or leads to one")
        elif not surface.whole and name not in chosen:
            left[name] = f"{surface.module}: a short list, chosen by hand"
        else:
            taken[name] = (fitting(name, text) if surface.whole else chosen[name]) or f"{surface.module}.{name}"
    return taken


_PATHS = frozenset(surface.module for surface in decisions.SURFACES)
_WHOLE = frozenset(surface.module for surface in decisions.SURFACES if surface.whole)


def _left(name: str, owners: Iterable[str], current: Tables) -> str:
    """Why a name is not taken, or an empty text."""
    if name in decisions.LEFT_NAMES:
        return decisions.LEFT_NAMES[name]
    if name in current.attributes:
        return ""
    reasons = [_against_owner(owner) for owner in owners]
    return "" if "" in reasons else reasons[0]


def _against_owner(owner: str) -> str:
    package = owner.partition(".")[0]
    if owner in decisions.LEFT_CLASSES:
        return f"{owner}: {decisions.LEFT_CLASSES[owner]}"
    if owner.rpartition(".")[2].startswith("_"):
        return f"{owner}: a private class"
    if package in decisions.PACKAGES or owner in _WHOLE:
        return ""
    return f"{owner}: of Python and other libraries only names that were chosen by hand"


def _reason(owners: Iterable[str]) -> str:
    """Who has a name: the library that scripts use most first."""
    order = ("cadquery", "build123d", "math", "numpy")

    def key(owner: str) -> tuple[int, str]:
        package = owner.partition(".")[0]
        return (order.index(package) if package in order else len(order), owner)

    known = sorted(set(owners), key=key)
    more = f" and {len(known) - OWNERS} more" if len(known) > OWNERS else ""
    return ", ".join(known[:OWNERS]) + more


def against(findings: Iterable[Finding], proposal: Proposal) -> Found:
    """The names that these findings deny: not those kept by hand, nor what lies beyond a name that is denied itself."""
    attributes, modules = dict[str, str](), dict[tuple[str, str], str]()
    counted = [finding for finding in findings if not _kept(finding)]
    blamed = {_last(finding) for finding in counted if finding.names}
    direct = [finding for finding in counted if not blamed & set(finding.names[:-1])]
    for finding in direct or counted:
        last, module = _last(finding), finding.root.rpartition(".")[0]
        reason = fitting(last, f"{finding.path}: {finding.what}")
        if finding.names and last in proposal.tables.attributes:
            attributes[last] = reason
        elif not finding.names and last in proposal.tables.modules.get(module, {}):
            modules[module, last] = reason
        else:
            raise SandboxFault(f"{reason}: no name of the tables leads there")
    return Found(attributes, modules)


def _kept(finding: Finding) -> bool:
    pattern, _ = decisions.KEPT.get(_last(finding), ("", ""))
    return finding.kind == "opens" and bool(pattern) and re.search(pattern, finding.what) is not None


def _last(finding: Finding) -> str:
    """The name that is to blame."""
    return finding.names[-1] if finding.names else finding.root.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Difference:
    """What changes in one table."""

    table: str
    added: Table
    removed: Table
    """Name → why it goes."""
    explained: Table
    """Names that stay and whose reason reads otherwise → the new one."""

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.explained)


def differences(current: Tables, proposal: Proposal) -> tuple[Difference, ...]:
    """Table by table, also those that are equal."""
    made, gone = proposal.tables, {**proposal.left_out, **proposal.denied}
    pairs = [("attributes", current.attributes, made.attributes), ("denied_reached", current.reached, made.reached)]
    pairs += [(module, current.modules.get(module, {}), table) for module, table in made.modules.items()]
    return tuple(
        Difference(
            table,
            {name: why for name, why in new.items() if name not in old},
            {name: gone.get(name, "the image has no such name") for name in old if name not in new},
            {name: why for name, why in new.items() if name in old and old[name] != why},
        )
        for table, old, new in pairs
    )
