"""Assembles the file tree of an image: interpreter, standard library, hash-locked wheels, all shared objects they need.

A closure is copied, never bound from the host, so that a room holds exactly what the image's digest covers, and a host
update cannot change a running sandbox. Everything here runs with the builder's own rights on packages that the
requirement file names by hash; no untrusted byte is involved.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from casemate.errors import SandboxFault
from casemate.runtime.elf import interpreter_of, is_shared, needed_libraries
from casemate.runtime.placeholder import placeholder
from casemate.runtime.process import run_tool
from casemate.runtime.recipe import Interpreter, Recipe

EPOCH = 315532800
"""1980-01-01: every mtime in an image, the first that a zip file can hold."""

STDLIB_OMIT = (
    "__pycache__",
    "config-*",
    "dist-packages",
    "ensurepip",
    "idlelib",
    "lib2to3",
    "site-packages",
    "sitecustomize.py",
    "test",
    "tests",
    "tkinter",
    "turtle.py",
    "turtledemo",
    "usercustomize.py",
    "_ctypes_test*.so",
    "_test*.so",
    "_tkinter*.so",
    "_xx*.so",
    "xxlimited*.so",
)
"""Names left out anywhere in the standard library: tests, windows, the host's own hooks, an installer."""

ETC = {
    "passwd": "root:x:0:0:root:/:/usr/sbin/nologin\nguest:x:1000:1000:guest:/tmp:/usr/sbin/nologin\n",
    "group": "root:x:0:\nguest:x:1000:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "fonts/fonts.conf": '<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "fonts.dtd">\n'
    "<fontconfig><dir>/usr/share/fonts</dir><cachedir>/tmp/.fontconfig</cachedir></fontconfig>\n",
}

MOUNT_POINTS = ("dev", "opt/casemate", "proc", "run", "tmp")
PLACEHOLDERS = "usr/lib/placeholders"
MERGED = ("bin", "lib", "lib64")
"""Top-level links into usr, since loaders and scripts know both spellings."""

PIP_ENVIRONMENT = re.compile(r"PIP_\w+|\w+_(proxy|PROXY)|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|HOME|XDG_\w+_HOME|PATH")
"""What pip may see of the builder's environment: where packages come from, and where to cache them."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """One tree in the making."""

    root: Path
    requirements: Path
    recipe: Recipe
    interpreter: Interpreter
    environment: Mapping[str, str]

    @property
    def site_packages(self) -> Path:
        """Where the wheels are while the tree is being made."""
        return self.root / self.interpreter.site_packages


def assemble(assembly: Assembly, progress: Callable[[str, float | None], None]) -> None:
    """Fill an empty directory with the image's tree; the steps' order is the table's."""
    done = 0.0
    for share, label, step in STEPS:
        progress(label, done)
        step(assembly)
        done += share


def lay_skeleton(assembly: Assembly) -> None:
    """Directories, mount points, the merged-usr links and the few files of /etc."""
    root = assembly.root
    for name in MOUNT_POINTS:
        (root / name).mkdir(parents=True)
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for name, text in ETC.items():
        (root / "etc" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "etc" / name).write_text(text, "utf-8")


def copy_interpreter(assembly: Assembly) -> None:
    """The interpreter as /usr/bin/python3 and its standard library, less `STDLIB_OMIT`."""
    _copy_file(assembly.interpreter.executable, assembly.root / "usr/bin/python3")
    source, target = assembly.interpreter.stdlib, assembly.root / assembly.interpreter.library
    for directory, names, files in os.walk(source):
        names[:] = [name for name in names if not _matches(name, STDLIB_OMIT)]
        for name in files:
            path = Path(directory, name)
            if not _matches(name, STDLIB_OMIT) and path.is_file():
                _copy_file(path, target / path.relative_to(source))
    assembly.site_packages.mkdir()


def copy_programs(assembly: Assembly) -> None:
    """Host programs that the recipe names, and other names for what is there."""
    folder = assembly.root / "usr/bin"
    for name, path in assembly.recipe.programs.found():
        _copy_file(path, folder / name)
    for name, target in assembly.recipe.programs.names:
        if not (folder / target).exists():
            raise SandboxFault(f"the name {name} would dangle: the image has no program {target}")
        (folder / name).symlink_to(target)


def install_wheels(assembly: Assembly) -> None:
    """Unpack the locked wheels; pip checks every hash and resolves nothing."""
    environment = {k: v for k, v in assembly.environment.items() if PIP_ENVIRONMENT.fullmatch(k)}
    argv: list[str | Path] = [sys.executable, "-P", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    argv += ["--no-deps", "--require-hashes", "--only-binary=:all:", "--no-compile", "--no-input", "--no-user"]
    argv += ["--target", assembly.site_packages, "--requirement", assembly.requirements]
    run_tool(argv, env=environment, timeout=1800)


def arrange_packages(assembly: Assembly) -> None:
    """Fonts and links out of the wheels, then away with what `omit` names, then the stubs over the rest."""
    recipe, packages = assembly.recipe, assembly.site_packages
    for pattern in recipe.fonts_take:
        found = sorted((packages / recipe.fonts_from).glob(pattern))
        if not found:
            raise SandboxFault(f"no {pattern} in {recipe.fonts_from}: the image would have no font")
        for path in found:
            _copy_file(path, assembly.root / recipe.fonts_into / path.name)
    for name in _files(packages):
        if _matches(name, recipe.omit) and not _matches(name, recipe.keep):
            (packages / name).unlink()
    _drop_empty_directories(packages)
    if recipe.stubs is not None:
        for name in _files(recipe.stubs):
            if name.endswith(".py"):
                if (packages / name).exists():
                    raise SandboxFault(f"stub {name} would replace a file of a wheel")
                _copy_file(recipe.stubs / name, packages / name)
    for name, target in recipe.links:
        link, goal = assembly.root / name, packages / target
        if not goal.exists():
            raise SandboxFault(f"image link {name} would dangle: the wheels have no {target}")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(goal, link.parent))


def make_placeholders(assembly: Assembly) -> None:
    """Stand-ins for the libraries that the recipe calls absent."""
    folder = assembly.root / PLACEHOLDERS
    folder.mkdir()
    packages = assembly.site_packages
    users = tuple(packages / name for name in _files(packages) if is_shared(packages / name))
    for soname, pattern in assembly.recipe.absent:
        (folder / soname).write_bytes(placeholder(soname, pattern, users))


def copy_libraries(assembly: Assembly) -> None:
    """Every shared object that an ELF file of the tree needs and no wheel brings, then the loader and its cache."""
    root = assembly.root
    loader = Path(interpreter_of(root / "usr/bin/python3"))
    _copy_file(loader, root / _merged(loader))
    inside = {Path(name).name for name in _files(root) if ".so" in name}
    host: dict[str, Path] = {}
    missing: dict[str, str] = {}
    for name in [name for name in _files(root) if is_shared(root / name)]:
        for library in needed_libraries(loader, root / name, root / PLACEHOLDERS):
            if library.path is None:
                if library.name not in inside:
                    missing[library.name] = name
            elif not library.path.is_relative_to(root):
                host[library.name] = library.path
    if missing:
        listed = ", ".join(f"{library} (for {file})" for library, file in sorted(missing.items()))
        raise SandboxFault(f"shared objects that this host does not have: {listed}; install the packages that own them")
    folders = {f"/{PLACEHOLDERS}"}
    for name, path in sorted(host.items()):
        target = _merged(path.with_name(name))
        folders.add(f"/{target.parent}")
        _copy_file(path, root / target)
    (root / "etc/ld.so.conf").write_text("".join(f"{folder}\n" for folder in sorted(folders)), "utf-8")
    ldconfig = shutil.which("ldconfig", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if ldconfig is None:
        raise SandboxFault("ldconfig is missing on this host; it comes with the C library (Debian: libc-bin)")
    run_tool([ldconfig, "-X", "-i", "-r", root], env={}, timeout=60)
    shutil.rmtree(root / "var", ignore_errors=True)
    _copy_locale(root)


def compile_packages(assembly: Assembly) -> None:
    """Byte code for every module: unchecked hashes, so that neither times nor the build's path are in it."""
    root = assembly.root
    argv: list[str | Path] = [sys.executable, "-I", "-m", "compileall", "-q", "-f"]
    argv += ["--invalidation-mode", "unchecked-hash", "-s", root, "-p", "/", root / assembly.interpreter.library]
    run_tool(argv, env={}, timeout=900)


def try_imports(assembly: Assembly) -> None:
    """Import what the recipe names, from the tree alone, and count threads: a template with two could not be forked.

    It runs on the host's loader, since an ordinary user may have no way into the tree but a sandbox.
    """
    program = (
        "import importlib, os, sys\n"
        "sys.path.append(sys.argv[1])\n"
        "for name in sys.argv[2:]: importlib.import_module(name)\n"
        "threads = len(os.listdir('/proc/self/task'))\n"
        "threads == 1 or sys.exit(f'{threads} threads are left by the imports')\n"
    )
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        environment["LD_LIBRARY_PATH"] = str(assembly.root / PLACEHOLDERS)
        argv: list[str | Path] = [sys.executable, "-I", "-S", "-B", "-c", program, assembly.site_packages]
        run_tool([*argv, *assembly.recipe.imports], env=environment, timeout=300)


def seal(assembly: Assembly) -> None:
    """Modes 0755, 0555 and 0444 and one mtime, so that the tree's digest depends on its contents alone."""
    for directory, names, files in os.walk(assembly.root, topdown=False):
        for name in [*names, *files]:
            path = Path(directory, name)
            if not path.is_symlink():
                executable = path.is_dir() or path.stat().st_mode & 0o100
                path.chmod((0o755 if path.is_dir() else 0o555) if executable else 0o444)
            os.utime(path, (EPOCH, EPOCH), follow_symlinks=False)
    assembly.root.chmod(0o755)
    os.utime(assembly.root, (EPOCH, EPOCH))


STEPS: tuple[tuple[float, str, Callable[[Assembly], None]], ...] = (
    (0.01, "laying the skeleton", lay_skeleton),
    (0.05, "copying the interpreter", copy_interpreter),
    (0.01, "copying programs", copy_programs),
    (0.39, "installing the wheels", install_wheels),
    (0.03, "arranging packages and fonts", arrange_packages),
    (0.03, "making placeholders", make_placeholders),
    (0.10, "copying shared objects", copy_libraries),
    (0.28, "compiling", compile_packages),
    (0.04, "importing", try_imports),
    (0.02, "sealing", seal),
)
"""Share of the time, label, step."""


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _files(root: Path) -> Iterator[str]:
    """Every file below `root`, sorted, as a list that may be changed while it is walked."""
    found = [str(Path(directory, name).relative_to(root)) for directory, _, names in os.walk(root) for name in names]
    yield from sorted(found)


def _drop_empty_directories(root: Path) -> None:
    for directory, _, _ in os.walk(root, topdown=False):
        if directory != str(root) and not os.listdir(directory):
            os.rmdir(directory)


def _copy_file(source: Path, target: Path) -> None:
    """Copy contents and the executable bit; owners, times, extended attributes and file capabilities stay behind."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755 if source.stat().st_mode & 0o111 else 0o644)


def _merged(path: Path) -> Path:
    """Where a host library goes: its own place if that is a system directory, else /usr/lib; relative to the root."""
    parts = path.parts[1:]
    if parts[0] in MERGED:
        parts = ("usr", *parts)
    if parts[0] == "usr" and parts[1] in MERGED:
        return Path(*parts)
    return Path("usr/lib", path.name)


def _copy_locale(root: Path) -> None:
    """C.UTF-8 as files, for a C library that wants them (glibc before 2.35, and as distributed by Debian)."""
    for name in ("C.utf8", "C.UTF-8"):
        source = Path("/usr/lib/locale", name)
        if source.is_dir():
            for path in _files(source):
                _copy_file(source / path, root / "usr/lib/locale" / name / path)
