"""Finds the part among what a script left behind, in the order in which people write scripts.

`result`, then what was shown, then what the script exported itself, then the usual names, then a guess, which is told
as a notice. Pure: what counts as geometry is asked of `kind_of`.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

USUAL_NAMES = ("part", "model", "assembly", "assy", "solid", "body", "obj", "r")
_PLAIN_NAMES = frozenset({"result", "r", "obj", "_"})
"""Names that say nothing about the part; another name of the same object is better."""
MAX_NAME = 60
_DEPTH = 4
_OWN = re.compile(r"^__own_(\w+)__$")
"""How the gate spells the attributes of the script's own classes."""
SOLID, CHAIN = 4, 3
"""`shapes.Kind`: a solid, and a selection whose chain has one."""

KindOf = Callable[[object], int | None]


@dataclass(frozen=True, slots=True)
class Shown:
    """One object given to show_object, show or debug, or to an export that was taken out."""

    value: Any
    name: str = ""
    debug: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """One value that becomes a part."""

    value: Any
    name: str
    source: str


@dataclass(frozen=True, slots=True)
class Found:
    """The candidates in order; with none, `message` says what to do about it."""

    candidates: tuple[Candidate, ...] = ()
    notices: tuple[tuple[str, str], ...] = ()
    message: str = ""


@dataclass(frozen=True, slots=True)
class Left:
    """What a script left: its globals, what it showed and exported, the value of its last expression, its tree."""

    variables: Mapping[str, Any]
    shown: Sequence[Shown] = ()
    exported: Sequence[Shown] = ()
    tail: Any = None
    tree: ast.Module = field(default_factory=lambda: ast.Module([], []))


def find(left: Left, kind_of: KindOf) -> Found:
    """The parts of a script."""
    notices: list[tuple[str, str]] = []
    explicit = [Shown(left.variables.get("result"))]
    named = _given(explicit, kind_of, "result", notices) or _flat(explicit[0], kind_of)[:1]
    if named:
        return Found(tuple(_candidates(named, left.variables, "result")), tuple(notices))
    for source, given in (("show_object", left.shown), ("export", left.exported)):
        chosen = _given(given, kind_of, source, notices)
        if chosen:
            return Found(tuple(_candidates(chosen, left.variables, source)), tuple(notices))
    for name in USUAL_NAMES:
        usual = _flat(Shown(left.variables.get(name), "" if name in _PLAIN_NAMES else name), kind_of, CHAIN)
        if usual:
            return _usual(left, kind_of, name, usual, notices)
    guess = _guess(left, kind_of)
    if guess is not None:
        where, values = guess
        notices.append(("result.guessed", f"no `result`: {where} was taken for it"))
        return Found(tuple(_candidates(values, left.variables, "guess")), tuple(notices))
    return _flat_shapes(left, kind_of, notices)


def _usual(left: Left, kind_of: KindOf, name: str, usual: list[Shown], notices: list[tuple[str, str]]) -> Found:
    """What a usual name holds, unless the script went on to make another solid from it; others are told."""
    made, others = _later(left, kind_of, name)
    if made:
        told = f"no `result`: `{made}`, which was made from `{name}`, was taken for it"
        notices.append(("result.guessed", told))
        found = [Shown(left.variables[made], made)]
        return Found(tuple(_candidates(found, left.variables, "guess")), tuple(notices))
    if others:
        told = f"no `result`: `{name}` was taken for it, not `{others[-1]}`, which is a solid too"
        notices.append(("result.elsewhere", told))
    return Found(tuple(_candidates(usual, left.variables, name)), tuple(notices))


def _later(left: Left, kind_of: KindOf, name: str) -> tuple[str, list[str]]:
    """Of the globals assigned after a name: the last solid that was made from it, and the solids that were not."""
    steps = list(_assigned(left.tree.body))
    start = max((number for number, (targets, _) in enumerate(steps) if name in targets), default=-1)
    held = left.variables.get(name)
    derived, made, others = {name}, "", dict[str, None]()
    for targets, mentioned in steps[start + 1 :]:
        for target in targets:
            value = left.variables.get(target)
            kind = kind_of(value) or 0
            if kind < CHAIN or value is held:
                continue
            others.pop(target, None)
            if derived & mentioned:
                derived.add(target)
                made = target if kind >= SOLID else made
                continue
            derived.discard(target)
            made = "" if made == target else made
            if kind >= SOLID:
                others[target] = None
    return made, list(others)


def _flat_shapes(left: Left, kind_of: KindOf, notices: list[tuple[str, str]]) -> Found:
    """No solid anywhere: a sketch that was shown, exported or named still says more than nothing."""
    every = [*left.shown, *left.exported, *(Shown(left.variables.get(name), name) for name in USUAL_NAMES)]
    every += [Shown(value, name) for name, value in _by_last_use(left)][::-1]
    for given in every:
        values = _flat(given, kind_of, 1)
        if values:
            return Found(tuple(_candidates(values[:1], left.variables, "guess")), tuple(notices))
    return Found(message=_nothing(left))


def _given(given: Sequence[Shown], kind_of: KindOf, source: str, notices: list[tuple[str, str]]) -> list[Shown]:
    flat = [item for shown in given for item in _flat(shown, kind_of)]
    solids = [item for item in flat if (kind_of(item.value) or 0) >= CHAIN]
    kept = [item for item in solids if not item.debug] or solids
    if kept and len(kept) < len(flat):
        number = f"{len(flat) - len(kept)} of {len(flat)}"
        notices.append(("result.dropped", f"{number} in {source} were left out: no solids, or shown for debugging"))
    return kept


def _flat(shown: Shown, kind_of: KindOf, least: int = 0, depth: int = _DEPTH) -> list[Shown]:
    """The geometry in a value, out of lists, tuples, sets and dicts; an item keeps its key or the name given."""
    value = shown.value
    kind = kind_of(value)
    if kind is not None:
        return [shown] if kind >= least else []
    if depth == 0 or not isinstance(value, (list, tuple, set, frozenset, dict)):
        return []
    pairs = list(value.items()) if isinstance(value, dict) else [(shown.name, item) for item in value]
    return [
        found
        for name, item in pairs
        for found in _flat(Shown(item, name if isinstance(name, str) else "", shown.debug), kind_of, least, depth - 1)
    ]


def _candidates(values: Sequence[Shown], variables: Mapping[str, Any], source: str) -> Iterator[Candidate]:
    for shown in values:
        yield Candidate(shown.value, shown.name or variable_name(shown.value, variables), source)


def variable_name(value: object, variables: Mapping[str, Any]) -> str:
    """The name of the global that holds this very object; a telling one if there are several; else empty."""
    names = [name for name, held in list(variables.items()) if held is value and not name.startswith("__")]
    return next((name for name in names if name not in _PLAIN_NAMES), "")


def _guess(left: Left, kind_of: KindOf) -> tuple[str, list[Shown]] | None:
    last = left.tree.body[-1] if left.tree.body else None
    by_use = list(_by_last_use(left))
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Name):
        values = _flat(Shown(left.tail, last.value.id), kind_of, CHAIN)
        if values:
            return f"the last line, `{last.value.id}`,", values
    for least in (SOLID, CHAIN):
        for name, value in by_use:
            kind = kind_of(value)
            if kind is not None and kind >= least:
                return f"the last variable that holds a solid, `{name}`,", [Shown(value, name)]
    values = _flat(Shown(left.tail), kind_of, CHAIN)
    if values:
        return "the value of the last line", values
    for name, value in by_use:
        values = _flat(Shown(value), kind_of, CHAIN)
        if values:
            return f"the last list of solids, `{name}`,", values
    for name, value in by_use:
        values = [Shown(held, name) for held in _attributes(value) if (kind_of(held) or 0) >= CHAIN]
        if values:
            return f"a solid that the object `{name}` holds", values[-1:]
    return None


def _attributes(value: object) -> list[Any]:
    """What an object of the script's own class holds, the usual names last, because the last one is taken."""
    if type(value).__module__ != "__main__" or not hasattr(value, "__dict__"):
        return []
    held = {_OWN.sub(r"\1", name): item for name, item in vars(value).items()}
    order = [name for name in held if name not in ("result", *USUAL_NAMES)]
    order += [name for name in reversed(("result", *USUAL_NAMES)) if name in held]
    return [held[name] for name in order]


def _by_last_use(left: Left) -> Iterator[tuple[str, Any]]:
    """Globals, the one that the source assigns last first; a `with … as x` is finished where its block ends."""
    order: dict[str, None] = {}
    for name in _targets(left.tree.body):
        order.pop(name, None)
        order[name] = None
    rest = [name for name in left.variables if name not in order and not name.startswith("__")]
    for name in reversed([*rest, *order]):
        if name in left.variables:
            yield name, left.variables[name]


def _targets(body: Sequence[ast.stmt]) -> Iterator[str]:
    for targets, _ in _assigned(body):
        yield from targets


def _assigned(body: Sequence[ast.stmt]) -> Iterator[tuple[list[str], set[str]]]:
    """The names that each statement assigns and those that it mentions, in source order."""
    for statement in body:
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            yield from _assigned(statement.body)
            inside = _mentioned(statement)
            for item in statement.items:
                if item.optional_vars is not None:
                    yield list(_names(item.optional_vars)), inside
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = [name for target in targets for name in _names(target)]
            mentioned = _mentioned(statement.value) if statement.value is not None else set()
            yield names, mentioned | set(names if isinstance(statement, ast.AugAssign) else ())
        elif isinstance(statement, (ast.If, ast.For, ast.While, ast.Try)):
            for blocks in ("body", "handlers", "orelse", "finalbody"):
                for part in getattr(statement, blocks, []):
                    yield from _assigned(part.body if isinstance(part, ast.ExceptHandler) else [part])


def _mentioned(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}


def _names(target: ast.expr) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _nothing(left: Left) -> str:
    calls = [node.func for node in ast.walk(left.tree) if isinstance(node, ast.Call)]
    called = {function.id for function in calls if isinstance(function, ast.Name)}
    for statement in reversed(left.tree.body):
        if isinstance(statement, ast.FunctionDef) and statement.name not in called:
            name = statement.name
            return f"the script defines {name}() but never calls it; end it with `result = {name}(…)`"
    return "the script left no shape; assign the part to `result`, or pass it to show_object(…)"


def slug(name: str) -> str:
    """A name as a file name: ASCII, at most 60 characters, beginning with a letter or digit, never empty."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    safe = re.sub(r"\.{2,}", ".", re.sub(r"[^A-Za-z0-9._-]+", "-", plain))
    return safe.lstrip("-._")[:MAX_NAME].rstrip("-.") or "part"


def unique(names: Iterable[str]) -> list[str]:
    """Slugs, the second of a kind with -2 and so on; told apart without regard to case, as some file systems do."""
    taken: set[str] = set()
    out = []
    for name in names:
        base = slug(name)
        free, number = base, 1
        while free.lower() in taken:
            number += 1
            suffix = f"-{number}"
            free = base[: MAX_NAME - len(suffix)] + suffix
        taken.add(free.lower())
        out.append(free)
    return out
