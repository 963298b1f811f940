"""For any bytes at all: an answer, within its bounds, and in an admitted tree nothing but what the tables admit."""

from __future__ import annotations

import ast
import builtins
from pathlib import Path

from gate.room import CAD, MINIMAL, Admitted, Denied, check, codes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from casemate.gate import EXPORT, IMPORT, INPUT, OWN_CLASS, STAR, Rules
from casemate.gate.tables import limits

DATA = Path(__file__).parent.parent / "data"
HONEST = [path.read_bytes() for path in sorted((DATA / "honest").glob("*.py"))]
ATTACKS = [path.read_bytes() for path in sorted((DATA / "attacks").rglob("*.py"))]
#: what is denied wherever it stands; a coding cookie is one on the first two lines only
DENIED_ANYWHERE = [
    source
    for source in ATTACKS
    if isinstance(check(source, CAD), Denied) and codes(check(source, CAD)) != ["source.cookie"]
]
INJECTED = {EXPORT, IMPORT, INPUT, STAR}
RULES = st.sampled_from([CAD, MINIMAL])
relaxed = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

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


def holds(source: bytes, rules: Rules, inputs: frozenset[str] = frozenset()) -> Admitted | Denied:
    """Check a source and everything that must be true of the answer."""
    verdict = check(source, rules, inputs)
    if isinstance(verdict, Denied):
        _denied(verdict, source)
    else:
        assert isinstance(verdict, Admitted)
        _admitted(verdict, rules)
    return verdict


def _denied(verdict: Denied, source: bytes) -> None:
    assert 1 <= len(verdict.denials) <= limits.DENIALS + 1
    places = [(denial.line, denial.column) for denial in verdict.denials]
    assert places == sorted(places)
    lines = source.count(b"\n") + 1
    for denial in verdict.denials:
        assert denial.code
        assert denial.message
        assert 0 <= denial.line <= lines
        assert denial.column >= 0
        assert len(denial.name) <= 6 * limits.NAME
        assert len(denial.source_line) <= limits.SOURCE_LINE
        for text in (denial.message, denial.name, denial.source_line, denial.hint):
            assert text.replace("\t", "").isprintable()


def _admitted(verdict: Admitted, rules: Rules) -> None:
    compile(verdict.tree, "<script>", "exec")
    bound = {
        node.id for node in ast.walk(verdict.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for node in ast.walk(verdict.tree):
        assert type(node).__name__ in rules.nodes
        if isinstance(node, ast.Name):
            own = node.id.startswith("__own_") and node.id.endswith("__")
            assert not node.id.startswith("__") or node.id in INJECTED or own
            if node.id in rules.refused_builtins and hasattr(builtins, node.id):
                assert node.id in rules.shadowable_builtins
        elif isinstance(node, ast.Attribute):
            own = node.attr == OWN_CLASS or (node.attr.startswith("__own_") and node.attr.endswith("__"))
            assert not node.attr.startswith("_") or own or node.attr == "__init__"
            assert own or node.attr not in rules.denied_attributes
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            assert not node.decorator_list
            assert not node.name.startswith("__") or node.name == "__init__"
        elif isinstance(node, ast.arg):
            assert node.annotation is None
            assert not node.arg.startswith("__")
        elif isinstance(node, ast.keyword):
            assert node.arg is None or not node.arg.startswith("__")
        elif isinstance(node, ast.Constant):
            assert isinstance(node.value, int | float | str | bool | None)
    assert not bound & {"exec", "eval", "open", "super", "getattr", "globals"}


@relaxed
@given(st.binary(max_size=2_000), RULES)
def test_any_bytes(source: bytes, rules: Rules) -> None:
    holds(source, rules)


@relaxed
@given(st.text(max_size=500), RULES)
def test_any_text(source: str, rules: Rules) -> None:
    holds(source.encode("utf-8", "surrogatepass"), rules)


@relaxed
@given(SOUP, RULES)
def test_word_soup(source: str, rules: Rules) -> None:
    holds(source.encode(), rules, frozenset({"a"}))


@relaxed
@given(st.lists(SOUP.map(lambda text: text.replace("\n", " ")), min_size=2, max_size=12).map("\n".join), RULES)
def test_lines_of_soup(source: str, rules: Rules) -> None:
    holds(source.encode(), rules)


@relaxed
@given(st.sampled_from(HONEST + ATTACKS), st.data())
def test_damaged_scripts(source: bytes, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(source)))
        end = min(len(source), start + data.draw(st.integers(0, 12)))
        word = data.draw(st.sampled_from(WORDS) | st.just("")).encode() + data.draw(st.binary(max_size=2))
        source = source[:start] + word + source[end:]
    holds(source, CAD)


def joints(source: bytes) -> list[int]:
    """Line numbers before which other statements can stand without being inside a text or a bracket."""
    tree = ast.parse(source)
    return [0, *(statement.end_lineno for statement in tree.body if statement.end_lineno is not None)]


@relaxed
@given(st.sampled_from(HONEST), st.sampled_from(DENIED_ANYWHERE), st.data())
def test_an_attack_among_honest_lines(honest: bytes, attack: bytes, data: st.DataObject) -> None:
    lines = honest.split(b"\n")
    at = data.draw(st.sampled_from(joints(honest)))
    source = b"\n".join([*lines[:at], attack, *lines[at:]])
    assert isinstance(holds(source, CAD), Denied)


class Mutate(ast.NodeTransformer):
    """Swaps names, attributes and constants of an honest tree for others."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def _swap(self) -> bool:
        return self._data.draw(st.integers(0, 9)) == 0

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if self._swap():
            node.id = self._data.draw(st.sampled_from(["exec", "cq", "x", "_y", "__z", "type", "print", "super", "id"]))
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if self._swap():
            node.attr = self._data.draw(
                st.sampled_from(["wrapped", "os", "box", "_x", "__class__", "label", "args", "val"])
            )
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if self._swap():
            return ast.Constant(self._data.draw(st.sampled_from([0, -1.5, "x", None, 10**6, "__main__", 1e308])))
        return node


@relaxed
@given(st.sampled_from(HONEST), st.data())
def test_mutated_honest_trees(source: bytes, data: st.DataObject) -> None:
    tree = Mutate(data).visit(ast.parse(source))
    try:
        text = ast.unparse(tree)
    except (ValueError, RecursionError):
        return
    holds(text.encode(), CAD)


@relaxed
@given(st.sampled_from(HONEST))
def test_what_the_gate_wrote_is_refused_from_a_script(source: bytes) -> None:
    verdict = check(source, CAD)
    assert isinstance(verdict, Admitted)
    text = ast.unparse(verdict.tree)
    if "__casemate_" in text:
        assert isinstance(check(text.encode(), CAD), Denied)
