"""The files of the tables: rendered, read back, and put in place of the present ones."""

from __future__ import annotations

import ast
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from casemate.errors import Denied, SandboxFault
from casemate.reach import decisions
from casemate.reach.decide import Table, Tables

WIDTH = 120


def files(tables: Tables, made_from: Sequence[str]) -> dict[str, str]:
    """File name → its text; `made_from` are the lines of its head that say where it comes from."""
    found = {
        "attributes": [("ALLOWED", "name -> the public classes and modules of the libraries and Python that have it",
                        tables.attributes)],
        "denied_reached": [("REACHED", "name -> the path that leads there: what it leads to", tables.reached)],
    }  # fmt: skip
    for surface in decisions.SURFACES:
        rows = (surface.constant, surface.note, tables.modules[surface.module])
        found.setdefault(surface.file, []).append(rows)
    return {f"{name}.py": _file(decisions.TITLES[name], made_from, rows) for name, rows in found.items()}


def _file(title: str, made_from: Sequence[str], rows: Sequence[tuple[str, str, Table]]) -> str:
    head = _wrapped(title, 3)
    parts = [f'"""{head[0]}', *head[1:], "", *made_from, '"""', ""]
    for constant, note, table in rows:
        parts += [f"#: {line}" for line in _wrapped(note, 3)]
        if constant == "REACHED" and not table:
            parts += [f"{constant}: dict[str, str] = {{}}", ""]
            continue
        lines = [f'    "{name}": "{why}",' for name, why in table.items()]
        parts += [f"{constant}{': dict[str, str]' if constant == 'REACHED' else ''} = {{", *lines, "}", ""]
    text = "\n".join(parts)
    _read_back(text, rows)
    return text


def _wrapped(text: str, used: int) -> list[str]:
    lines, line = [], ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > WIDTH - used:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def _read_back(text: str, rows: Sequence[tuple[str, str, Table]]) -> None:
    """Nothing but literals may be in there, and they must be what was meant."""
    try:
        found = _literals(text)
    except (SyntaxError, ValueError) as error:
        raise SandboxFault(f"a rendered table is not a table: {error}") from None
    if found != {constant: dict(table) for constant, _, table in rows}:
        raise SandboxFault("a rendered table reads otherwise than it was meant")


def _literals(text: str) -> dict[str, object]:
    head, *body = ast.parse(text).body
    if not (isinstance(head, ast.Expr) and isinstance(head.value, ast.Constant) and type(head.value.value) is str):
        raise ValueError("its head is no text")
    found: dict[str, object] = {}
    for statement in body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if isinstance(statement, ast.AnnAssign):
            target = statement.target
        if not isinstance(target, ast.Name) or not isinstance(statement, (ast.Assign, ast.AnnAssign)):
            raise ValueError(f"line {statement.lineno}")
        assert statement.value is not None
        found[target.id] = ast.literal_eval(statement.value)
    return found


def checkout(package: Path) -> Path:
    """The directory of the tables, if this package is a working copy that may be changed; raises Denied."""
    folder = package / "gate" / "tables"
    top = package.parent.parent
    if package.parent.name != "src" or not (top / "pyproject.toml").is_file() or not (top / ".git").exists():
        raise Denied(f"{package} is an installed package, not a checkout of the project: its tables are not rewritten")
    if not os.access(folder, os.W_OK):
        raise Denied(f"{folder} cannot be written")
    return folder


def write(folder: Path, texts: Mapping[str, str]) -> None:
    """Put the files in place: all are written and synced beside the present ones before the first is renamed."""
    made: list[tuple[Path, Path]] = []
    try:
        for name, text in texts.items():
            descriptor, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
            made.append((Path(temporary), folder / name))
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).chmod(0o644)
        for path, target in made:
            path.replace(target)
    finally:
        for path, _ in made:
            path.unlink(missing_ok=True)
