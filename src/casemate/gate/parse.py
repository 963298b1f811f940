"""Text to tree, and the bounds on the tree. Nothing here recurses but the parser itself, which has its own limits.

CPython's parser answers nesting with MemoryError, RecursionError or SyntaxError, never with a crash; constants are
folded in the compiler, after the gate.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings

from .tables import limits
from .verdict import Findings

_DEEP = "the script is nested too deeply"
#: nodes without a place of their own: contexts and operators, which the parser shares between trees
MARKS = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
_SENTENCE = 200
_WORD = re.compile(r"[(\"`]?[^\W\d_]+(?:['’-][^\W\d_]+)*[\"`)]?[,.:;!?]?|\d+")
_FLATTEN = "split the expression over several assignments"


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly inside a node that have a place of their own."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [item for item in value if isinstance(item, ast.AST) and not isinstance(item, MARKS)]
        elif isinstance(value, ast.AST) and not isinstance(value, MARKS):
            found.append(value)
    return found


def parse(text: str, findings: Findings) -> ast.Module | None:
    """The tree, within its bounds, or None with the finding that says why not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, "<script>", "exec")
    except SyntaxError as error:
        syntax(error, findings)
        return None
    except (RecursionError, MemoryError):
        findings.deny_at("limit.depth", 0, 0, _DEEP, hint=_FLATTEN)
        return None
    except (ValueError, OverflowError, SystemError) as error:
        findings.deny_at("source.syntax", 0, 0, f"the parser refuses the script: {error}")
        return None
    return tree if _bounded(tree, findings) else None


def syntax(error: SyntaxError, findings: Findings) -> None:
    """Record a syntax error of the parser or of the compiler."""
    message = str(error.msg or "invalid syntax")
    code, hint = "source.syntax", ""
    if "too many nested" in message or "too many levels of indentation" in message:
        code, hint = "limit.depth", _FLATTEN
    elif "Exceeds the limit" in message:
        code, message, hint = "limit.integer", "the integer has too many digits", "write it as a float"
    elif "Missing parentheses" not in message and _no_code(findings.first_line(error.lineno or 0)):
        hint = "send the code alone, without Markdown fences or prose"
    findings.deny_at(code, error.lineno or 0, (error.offset or 1) - 1, message[:300], hint=hint)


def _no_code(line: str) -> bool:
    """True for a Markdown fence or heading and for a line that reads like a sentence."""
    if line.startswith(("```", "~~~", "**")):
        return True
    words = line[:_SENTENCE].split()
    sentence = len(words) > 2 and all(_WORD.fullmatch(word) for word in words) and not keyword.iskeyword(words[0])
    return sentence and (len(words) > 3 or line.endswith((":", ".", "!")))


def _bounded(tree: ast.Module, findings: Findings) -> bool:
    """Depth and number of nodes; the links of a fluent chain count once, not as an attribute and a call each."""
    count = 0
    stack: list[tuple[ast.AST, int, int]] = [(tree, 0, 0)]
    while stack:
        node, depth, raw = stack.pop()
        count += 1
        if depth > limits.DEPTH or raw > limits.RAW_DEPTH:
            findings.deny("limit.depth", node, f"{_DEEP}: {limits.DEPTH} levels are allowed", hint=_FLATTEN)
            return False
        if count > limits.NODES:
            message = f"the script has more than {limits.NODES} syntax nodes"
            findings.deny("limit.nodes", node, message, hint="write loops and functions in place of repeated lines")
            return False
        step = 0 if isinstance(node, ast.Attribute) else 1
        stack += [(child, depth + step, raw + 1) for child in children(node)]
    return True
