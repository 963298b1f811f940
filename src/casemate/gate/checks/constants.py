"""Sizes of what the source writes out: integers, powers, shifts, repetitions, texts, format widths.

The compiler folds constant expressions only within narrow bounds of its own (ast_opt.c: 128 bits, 4096 characters), so
it is the run that would suffer; what is computed from variables is left to the walls.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any

from ..context import Context
from ..scopes import Place
from ..tables import limits

Number = int | float

_TOO_WIDE = "the width of a format is too large"
_DIGITS = re.compile(r"\d{4,}")


class Constants:
    """Folds the constant expressions of one script, bounded, inner ones first."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._values: dict[int, Number] = {}

    def check_all(self, places: list[Place]) -> None:
        """Check every place; children come after their parents in the list."""
        for place in reversed(places):
            node = place.node
            if isinstance(node, ast.Constant):
                self._constant(node, place)
            elif isinstance(node, ast.UnaryOp):
                self._unary(node)
            elif isinstance(node, ast.BinOp):
                self._binary(node)
            elif isinstance(node, ast.Call):
                self._pow(node, place)

    def _deny(self, code: str, node: ast.AST, message: str, hint: str) -> None:
        self._context.findings.deny(code, node, message, hint=hint)

    def _constant(self, node: ast.Constant, place: Place) -> None:
        value = node.value
        if isinstance(value, str):
            if len(value) > limits.STRING:
                self._deny("limit.string", node, f"a text has {len(value)} characters", "write a shorter text")
            if _format_spec(place) and _wide(value):
                self._deny("limit.format", node, _TOO_WIDE, f"at most {limits.FORMAT_WIDTH}")
        elif isinstance(value, int | float):
            if isinstance(value, int) and value.bit_length() > limits.INTEGER_BITS:
                message = f"an integer has {value.bit_length()} bits; {limits.INTEGER_BITS} are allowed"
                self._deny("limit.integer", node, message, "write it as a float")
            else:
                self._values[id(node)] = value

    def _unary(self, node: ast.UnaryOp) -> None:
        value = self._values.get(id(node.operand))
        if value is not None and isinstance(node.op, ast.USub | ast.UAdd):
            self._values[id(node)] = -value if isinstance(node.op, ast.USub) else value

    def _binary(self, node: ast.BinOp) -> None:
        left, right = self._values.get(id(node.left)), self._values.get(id(node.right))
        if isinstance(node.op, ast.Mult):
            self._repeat(node, left, right)
        text = node.left.value if isinstance(node.left, ast.Constant) else None
        if isinstance(node.op, ast.Mod) and isinstance(text, str) and _wide(text):
            self._deny("limit.format", node.left, _TOO_WIDE, f"at most {limits.FORMAT_WIDTH}")
        if isinstance(node.op, ast.Pow | ast.LShift) and not self._exponent(node, left, right):
            return
        if left is not None and right is not None:
            self._fold(node, left, right)

    def _exponent(self, node: ast.expr, base: Number | None, exponent: Number | None) -> bool:
        still = (0,) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.LShift) else (0, 1, -1)
        if exponent is None or base in still or isinstance(base, float) or abs(exponent) <= limits.EXPONENT:
            return True
        message = f"the exponent is larger than {limits.EXPONENT}"
        self._deny("limit.exponent", node, message, "use floats: 2.0 ** n")
        return False

    def _fold(self, node: ast.BinOp, left: Number, right: Number) -> None:
        bits = max(_bits(left), _bits(right))
        if isinstance(node.op, ast.Pow):
            bits = int(_bits(left) * max(abs(right), 1)) if abs(right) <= limits.EXPONENT else 0
        elif isinstance(node.op, ast.LShift):
            bits += int(abs(right)) if abs(right) <= limits.EXPONENT else 0
        elif isinstance(node.op, ast.Mult):
            bits = _bits(left) + _bits(right)
        exact = isinstance(left, int) and isinstance(right, int)
        if exact and bits > limits.FOLDED_BITS:
            message = f"the result has about {bits} bits; {limits.FOLDED_BITS} are allowed"
            self._deny("limit.integer", node, message, "use floats")
            return
        operation = _OPERATIONS.get(type(node.op))
        if operation is not None:
            try:
                value = operation(left, right)
            except (ArithmeticError, ValueError, TypeError):
                return
            if isinstance(value, int | float):
                self._values[id(node)] = value

    def _repeat(self, node: ast.BinOp, left: Number | None, right: Number | None) -> None:
        for holder, times in ((node.left, right), (node.right, left)):
            length = _length(holder)
            if length and times is not None and length * times > limits.REPEAT:
                message = f"a repetition makes more than {limits.REPEAT} items"
                self._deny("limit.repeat", node, message, "make fewer")

    def _pow(self, node: ast.Call, place: Place) -> None:
        power = isinstance(node.func, ast.Name) and node.func.id == "pow" and place.scope.resolve("pow") is None
        if power and len(node.args) == 2:
            base, exponent = (self._values.get(id(argument)) for argument in node.args)
            self._exponent(node, base, exponent)


_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}


def _bits(value: Number) -> int:
    return value.bit_length() if isinstance(value, int) else 64


def _length(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return len(node.value)
    return len(node.elts) if isinstance(node, ast.List | ast.Tuple) else 0


def _wide(text: str) -> bool:
    return any(len(digits) > 9 or int(digits) > limits.FORMAT_WIDTH for digits in _DIGITS.findall(text))


def _format_spec(place: Place) -> bool:
    """True for the text after the colon of a replacement field."""
    parent = place.parent
    return parent is not None and isinstance(parent.node, ast.JoinedStr) and parent.field == "format_spec"
