"""The files: they read as what was meant or are not made, all are put in place or none, and only in a checkout."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from casemate.errors import Denied, SandboxFault
from casemate.reach import decisions, render, update
from casemate.reach.decide import Tables

HEAD = ("Made by `casemate gate update --write` from image cad,", "digest 0.")
PACKAGE = Path(__file__).parents[2] / "src" / "casemate"


def tables(**attributes: str) -> Tables:
    return Tables(attributes, {surface.module: {"a": "b"} for surface in decisions.SURFACES}, {})


def literals(text: str) -> dict[str, object]:
    return {
        (node.targets[0] if isinstance(node, ast.Assign) else node.target).id: ast.literal_eval(node.value)  # type: ignore
        for node in ast.parse(text).body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
    }


def test_today_s_tables_render_to_today_s_files() -> None:
    texts = render.files(update.current(), ())
    for name, text in texts.items():
        assert literals(text) == literals((PACKAGE / "gate" / "tables" / name).read_text("utf-8")), name
        assert all(len(line) <= 120 for line in text.splitlines()), name
    assert render.files(update.current(), ()) == texts


def test_the_files_say_what_they_were_made_from() -> None:
    for text in render.files(tables(box="cadquery.Workplane"), HEAD).values():
        document = ast.get_docstring(ast.parse(text))
        assert document is not None
        assert all(line in document for line in HEAD)


HOSTILE = ('x",\n    "os": "y', 'x"}\nimport os\nA = {"a": "b', "x\\", 'x" + "y', 'x"""')


@pytest.mark.parametrize("reason", HOSTILE)
def test_a_reason_that_is_more_than_a_reason_is_not_rendered(reason: str) -> None:
    with pytest.raises(SandboxFault):
        render.files(tables(box=reason), HEAD)


def test_the_twin_without_reading_back_gets_an_entry_of_the_library_s_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "_read_back", lambda text, rows: None)
    made = literals(render.files(tables(box=HOSTILE[0]), HEAD)["attributes.py"])
    assert made["ALLOWED"] == {"box": "x", "os": "y"}


def test_all_files_are_replaced_or_none(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("before")
    with pytest.raises(UnicodeEncodeError):
        render.write(tmp_path, {"a.py": "after", "b.py": "\ud800"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.py": "before", "b.py": "before"}
    render.write(tmp_path, {"a.py": "after", "b.py": "after"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.py": "after", "b.py": "after"}
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o644}


def checkout(top: Path) -> Path:
    package = top / "src" / "casemate"
    (package / "gate" / "tables").mkdir(parents=True)
    (top / "pyproject.toml").touch()
    (top / ".git").mkdir()
    return package


def test_a_checkout_is_written_to(tmp_path: Path) -> None:
    package = checkout(tmp_path)
    assert render.checkout(package) == package / "gate" / "tables"


@pytest.mark.parametrize("missing", ["pyproject.toml", ".git"])
def test_what_is_no_checkout_is_left_alone(tmp_path: Path, missing: str) -> None:
    package = checkout(tmp_path)
    path = tmp_path / missing
    path.rmdir() if path.is_dir() else path.unlink()
    with pytest.raises(Denied, match="not a checkout"):
        render.checkout(package)


def test_an_installed_package_is_left_alone(tmp_path: Path) -> None:
    package = tmp_path / "lib" / "site-packages" / "casemate"
    (package / "gate" / "tables").mkdir(parents=True)
    with pytest.raises(Denied, match="installed package"):
        render.checkout(package)


HEADS = ('x"""+str(open("/dev/null"))+"""', 'x"""\nimport os\n"""', 'x"""\nALLOWED = {"os": "y"}\n"""', 'x""" f"""{1}')


@pytest.mark.parametrize("head", HEADS)
def test_a_head_that_is_more_than_text_is_not_rendered(head: str) -> None:
    """Whoever imports the tables would run it, outside of every sandbox."""
    with pytest.raises(SandboxFault):
        render.files(tables(box="cadquery.Workplane"), (f"Python 3, {head} 1.0.",))


def test_the_twin_without_reading_back_runs_what_the_head_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "_read_back", lambda text, rows: None)
    ran: list[int] = []
    text = render.files(tables(), ('x"""+ran.append(1)+"""',))["attributes.py"]
    with pytest.raises(TypeError):
        exec(compile(text, "attributes.py", "exec"), {"ran": ran})
    assert ran == [1]
