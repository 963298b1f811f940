"""Scripts to try the gate with: bytes, words, honest scripts with damage, honest trees with others' parts in them."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from hypothesis import strategies as st

ROOT = Path(__file__).parent.parent
DATA = ROOT / "tests" / "data"
HONEST = [path.read_bytes() for folder in (DATA / "honest", ROOT / "examples") for path in sorted(folder.glob("*.py"))]
ATTACKS = [path.read_bytes() for path in sorted((DATA / "attacks").rglob("*.py"))]

FRAGMENTS = (
    "x y _x __x self A print exec type id open super super() import from as class def lambda if else for while in with "
    "try except finally return yield await async match case global nonlocal del pass break assert raise not and or is "
    "cq math np os cadquery build123d numpy exporters importers typing ocp_vscode Workplane Box label wrapped args "
    "__class__ __init__ __name__ __globals__ __builtins__ __casemate_import__ __own_class__ gi_frame format mro "
    "show_object show exit SystemExit Exception BaseException . , : ; = == += -> := * ** @ % ( ) [ ] { } \n \n\n "
    "0 1 1e9 10**9 'a' \"__main__\" '{0.x}' f'{x}' f'{x.__class__}' b'' ... # \\ \t '''"
)
WORDS = FRAGMENTS.split(" ")
SOUP = st.lists(st.sampled_from([*WORDS, "\n    ", "\n        ", "\n"]), max_size=60).map(" ".join)

NAMES = ("exec", "cq", "x", "_y", "__z", "type", "print", "super", "id", "np", "result", "__builtins__", "self")
ATTRIBUTES = ("wrapped", "os", "box", "_x", "__class__", "label", "args", "val", "format", "mro", "exporters")
VALUES = (0, -1, -1.5, 1e308, 10**6, 1 << 300, "x", "a.step", "{0.x}", "%s", "\ud800", "__main__", None, True, b"x", 1j)


@cache
def tree(source: bytes) -> ast.Module | None:
    """The tree of a source, or None where Python has none."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None


@cache
def _parts() -> tuple[list[ast.stmt], list[ast.expr]]:
    """Statements and expressions of the attacks."""
    nodes = [node for source in ATTACKS if (found := tree(source)) for node in ast.walk(found)]
    return [n for n in nodes if isinstance(n, ast.stmt)], [n for n in nodes if isinstance(n, ast.expr)]


def _copy(node: ast.AST) -> ast.AST:
    """Deep, and faster than copy.deepcopy."""
    made = node.__class__()
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            value = [_copy(item) if isinstance(item, ast.AST) else item for item in value]
        setattr(made, name, _copy(value) if isinstance(value, ast.AST) else value)
    return made


def _bodies(module: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(module):
        for name in ("body", "orelse", "finalbody"):
            found = getattr(node, name, None)
            if isinstance(found, list) and found:
                yield found


def _slots(module: ast.AST, kind: type[ast.AST]) -> list[tuple[ast.AST, str, int]]:
    """Places that hold a node of a kind: its parent, the field, and the index there or -1."""
    found = []
    for node in ast.walk(module):
        for name, value in ast.iter_fields(node):
            if isinstance(value, kind):
                found.append((node, name, -1))
            elif isinstance(value, list):
                found += [(node, name, index) for index, item in enumerate(value) if isinstance(item, kind)]
    return found


def _put(slot: tuple[ast.AST, str, int], value: ast.AST) -> None:
    node, name, index = slot
    if index < 0:
        setattr(node, name, value)
    else:
        getattr(node, name)[index] = value


def _rename(module: ast.Module, chance: random.Random) -> None:
    kind, values, field = chance.choice([(ast.Name, NAMES, "id"), (ast.Attribute, ATTRIBUTES, "attr")])
    if found := [node for node in ast.walk(module) if isinstance(node, kind)]:
        setattr(chance.choice(found), field, chance.choice(values))


def _constant(module: ast.Module, chance: random.Random) -> None:
    if found := [node for node in ast.walk(module) if isinstance(node, ast.Constant)]:
        chance.choice(found).value = chance.choice(VALUES)


def _move(module: ast.Module, chance: random.Random) -> None:
    """A statement to another place, or a copy of it there."""
    bodies = list(_bodies(module))
    one, other = chance.choice(bodies), chance.choice(bodies)
    statement = chance.choice(one)
    if len(one) > 1 and chance.random() < 0.5:
        one.remove(statement)
    other.insert(chance.randint(0, len(other)), _copy(statement))  # type: ignore[arg-type]


def _swap(module: ast.Module, chance: random.Random) -> None:
    """An expression by another one of the same script."""
    slots = _slots(module, ast.expr)
    if slots:
        node, name, index = chance.choice(slots)
        value = getattr(node, name)
        _put(chance.choice(slots), _copy(value[index] if index >= 0 else value))


def _splice_statement(module: ast.Module, chance: random.Random) -> None:
    body = chance.choice(list(_bodies(module)))
    body.insert(chance.randint(0, len(body)), _copy(chance.choice(_parts()[0])))  # type: ignore[arg-type]


def _splice_expression(module: ast.Module, chance: random.Random) -> None:
    if slots := _slots(module, ast.expr):
        _put(chance.choice(slots), _copy(chance.choice(_parts()[1])))


_MUTATIONS: tuple[Callable[[ast.Module, random.Random], None], ...] = (_rename, _constant, _move, _swap)
_SPLICES = (_splice_statement, _splice_expression)


def mutated(source: bytes, seed: int, *, spliced: bool) -> bytes:
    """The source with a few changes in its tree; the source itself where no text says what became of it."""
    chance = random.Random(seed)
    found = tree(source)
    assert found is not None
    module = _copy(found)
    assert isinstance(module, ast.Module)
    try:
        for _ in range(chance.randint(1, 4)):
            chance.choice(_MUTATIONS)(module, chance)
        for _ in range(chance.randint(1, 2) if spliced else 0):
            chance.choice(_SPLICES)(module, chance)
        return ast.unparse(ast.fix_missing_locations(module)).encode("utf-8", "surrogatepass")
    except (ValueError, TypeError, AttributeError, RecursionError, IndexError):
        return source  # such a tree cannot be written down


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A script with words and bytes put in, or pieces taken out."""
    source = draw(st.sampled_from(HONEST + ATTACKS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(source)))
        end = min(len(source), start + draw(st.integers(0, 12)))
        word = draw(st.sampled_from(WORDS) | st.just("")).encode() + draw(st.binary(max_size=2))
        source = source[:start] + word + source[end:]
    return source


@st.composite
def repeated(draw: st.DrawFn) -> bytes:
    """Few characters, many times, up to the bound on a source: what is quadratic shows."""
    ends = st.sampled_from(["", " ", "\n", "é", "("])
    before, piece, after = ((draw(st.sampled_from(WORDS)) + draw(ends)).encode() for _ in range(3))
    count = min(1 << draw(st.integers(1, 17)), (256 * 1024 - 99) // max(1, len(piece)))
    return before + piece * count + after


_SEEDS = st.integers(0, (1 << 32) - 1)
TREES = st.builds(lambda source, seed: mutated(source, seed, spliced=False), st.sampled_from(HONEST), _SEEDS)
SPLICED = st.builds(lambda source, seed: mutated(source, seed, spliced=True), st.sampled_from(HONEST), _SEEDS)
SOURCES = st.one_of(
    st.binary(max_size=2_000),
    st.text(max_size=500).map(lambda text: text.encode("utf-8", "surrogatepass")),
    SOUP.map(str.encode),
    st.lists(SOUP.map(lambda text: text.replace("\n", " ")), max_size=12).map(lambda lines: "\n".join(lines).encode()),
    damaged(),
    repeated(),
    TREES,
    SPLICED,
)


def seeds() -> list[bytes]:
    """What coverage-guided fuzzing begins with."""
    return HONEST + ATTACKS
