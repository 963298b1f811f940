"""Programs of the host in an image: which are taken, what is told if they are not there, and what is left behind."""

from __future__ import annotations

import dataclasses
import os
import stat
from pathlib import Path

import pytest
from runtime.test_images import OWN, SOURCE, SYSTEM, assembly

from casemate.errors import SandboxFault
from casemate.runtime import images, recipe
from casemate.runtime.closure import copy_programs
from casemate.runtime.recipe import Interpreter, Programs, Recipe


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The host's only directory of programs: a tool, another one behind a link, and a file that is no program."""
    place = tmp_path / "bin"
    place.mkdir()
    for name in ("tool", "other"):
        (place / name).write_text(f"#!/bin/sh\necho {name}\n")
        (place / name).chmod(0o755)
    (place / "link").symlink_to("other")
    (place / "text").write_text("no program")
    monkeypatch.setattr(recipe, "PROGRAMS", str(place))
    return place


def test_the_first_that_is_there_and_what_is_optional(shelf: Path) -> None:
    programs = Programs(take=("tool",), optional=("link", "nowhere"), first=(("awk", ("gawk", "link", "tool")),))
    assert programs.found() == (("tool", shelf / "tool"), ("awk", shelf / "other"), ("link", shelf / "other"))


def test_all_that_a_host_lacks_is_told_at_once(shelf: Path) -> None:
    programs = Programs(take=("tool", "text", "nowhere"), first=(("sh", ("dash", "bash")),))
    with pytest.raises(SandboxFault, match="text, nowhere, dash or bash; install their packages"):
        programs.found()


def image(root: Path, programs: Programs) -> Path:
    (root / "usr/bin").mkdir(parents=True)
    made = assembly(root)
    copy_programs(dataclasses.replace(made, recipe=dataclasses.replace(made.recipe, programs=programs)))
    return root / "usr/bin"


def test_programs_are_copied_without_their_privileges(shelf: Path, tmp_path: Path) -> None:
    (shelf / "tool").chmod(0o6711)
    made = image(tmp_path / "root", Programs(take=("tool", "link"), names=(("alias", "tool"),)))
    assert sorted(os.listdir(made)) == ["alias", "link", "tool"]
    assert stat.S_IMODE((made / "tool").stat().st_mode) == 0o755
    assert not (made / "link").is_symlink()
    assert os.readlink(made / "alias") == "tool"


def test_a_name_of_nothing_is_refused(shelf: Path, tmp_path: Path) -> None:
    with pytest.raises(SandboxFault, match="alias would dangle"):
        image(tmp_path / "root", Programs(names=(("alias", "tool"),)))


def test_a_recipe_with_an_unknown_table_of_programs_is_refused(tmp_path: Path) -> None:
    text = (SOURCE / "python.toml").read_text("utf-8")
    assert text.count("\noptional = ") == 1
    for spoiled in ("surprise = []\noptional = ", "option = "):
        (tmp_path / "python.toml").write_text(text.replace("\noptional = ", f"\n{spoiled}"), "utf-8")
        with pytest.raises(SandboxFault, match="cannot be read"):
            Recipe.load(tmp_path / "python.toml")


def test_the_python_image_is_what_was_built() -> None:
    found = images.find("python", [SYSTEM] if os.geteuid() == 0 else [OWN, SYSTEM])
    images.verify(found)
    wanted = Recipe.load(SOURCE / "python.toml")
    assert found.inputs == images.inputs_digest(SOURCE / "python.txt", wanted, Interpreter.running())
    there = {path.name for path in (found.root / "usr/bin").iterdir()}
    assert {"python3", "python", "sh", "awk", "sort", "grep", "tar"} <= there
    assert not {"mount", "su", "passwd", "newgrp", "chroot", "kill", "ssh", "pip", "pip3"} & there
