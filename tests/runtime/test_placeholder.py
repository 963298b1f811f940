"""Placeholders are libraries that the real loader takes, and whose functions end the process that calls one."""

from __future__ import annotations

import ctypes
import platform
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from casemate.errors import SandboxFault
from casemate.runtime import elf
from casemate.runtime.placeholder import links_of, placeholder

USER = next(
    path
    for path in sorted(Path(sysconfig.get_config_var("DESTSHARED")).glob("*.so"))
    if "libc.so.6" in links_of(path).needed and "PyList_New" in links_of(path).undefined
)


def make(tmp_path: Path, pattern: str) -> Path:
    path = tmp_path / "libc.so.6"
    path.write_bytes(placeholder("libc.so.6", pattern, (USER,)))
    return path


def test_links_of_a_real_extension_module() -> None:
    links = links_of(USER)
    assert "libc.so.6" in links.needed
    assert "PyList_New" in links.undefined
    assert not [name for name in links.undefined if name.startswith("PyInit_")]


def test_the_loader_finds_every_symbol(tmp_path: Path) -> None:
    path = make(tmp_path, "Py*")
    wanted = {name for name in links_of(USER).undefined if name.startswith("Py")}
    assert len(wanted) > 20
    library = ctypes.CDLL(str(path))
    assert {name for name in wanted if hasattr(library, name)} == wanted
    assert not hasattr(library, "PyNothing_OfThis")
    assert elf.is_shared(path)
    assert links_of(path).undefined == frozenset()


def test_a_call_ends_the_process(tmp_path: Path) -> None:
    program = f"import ctypes; ctypes.CDLL({str(make(tmp_path, 'Py*'))!r}).PyList_New(0)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -signal.SIGILL


def test_no_page_of_it_is_writable_and_executable(tmp_path: Path) -> None:
    path = make(tmp_path, "Py*")
    library = ctypes.CDLL(str(path))
    maps = [line.split()[1] for line in Path("/proc/self/maps").read_text("utf-8").splitlines() if str(path) in line]
    assert library is not None
    assert maps
    assert not [mode for mode in maps if "w" in mode and "x" in mode]
    stacks = [line for line in Path("/proc/self/maps").read_text("utf-8").splitlines() if line.endswith("[stack]")]
    assert [line.split()[1] for line in stacks] == ["rw-p"]


def test_only_symbols_of_the_library_s_own_users_are_exported(tmp_path: Path) -> None:
    path = tmp_path / "libother.so.1"
    path.write_bytes(placeholder("libother.so.1", "Py*", (USER,)))
    assert not hasattr(ctypes.CDLL(str(path)), "PyList_New")


def test_an_unknown_machine_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "pdp11")
    with pytest.raises(SandboxFault, match="pdp11"):
        placeholder("libc.so.6", "Py*", (USER,))
