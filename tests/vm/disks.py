"""The disks of the virtual machine: a small Debian, what changes seldom (interpreter, packages, images), the project.

    base-KEY/    disk, vmlinuz, initrd.img: made once from the host's own package sources
    data-KEY     ext4, read-only in the machine: python/, packages/, images/
    project.tar  the checkout, raw on a third disk

Nothing is mounted: `mkfs.ext4 -d` fills a file system from a directory. A disk is renamed into place when it is whole.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGES = (
    "dbus", "dbus-user-session", "initramfs-tools", "libpam-systemd", "libseccomp2", "linux-image-amd64", "python3",
    "systemd", "systemd-sysv", "zstd",
)  # fmt: skip
"""python3 brings the libraries that any CPython is linked with."""
SKIP = ("test", "tests", "idlelib", "tkinter", "ensurepip", "lib2to3", "turtledemo", "site-packages")
PROJECT = ("src", "tests", "examples", "profiles", "images", "bench", "docs", "scripts", "pyproject.toml", "Makefile")


@dataclass(frozen=True)
class Base:
    """A Debian with its kernel."""

    disk: Path
    kernel: Path
    initrd: Path


def _run(*argv: str | Path) -> None:
    ran = subprocess.run([*map(str, argv)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise SystemExit(f"{argv[0]} failed: {ran.stderr[-3000:]}")


def _key(parts: Iterable[str | bytes]) -> str:
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "big") + data)
    return state.hexdigest()[:12]


def _ext4(directory: Path, target: Path, spare: int) -> None:
    """A file system with what is in `directory`, and `spare` bytes free."""
    used = sum(4096 + path.lstat().st_size for path in directory.rglob("*"))
    size = (used * 11 // 10 + spare) >> 10
    options = ["-q", "-F", "-O", "^has_journal", "-m", "0", "-E", "lazy_itable_init=1"]
    _run(shutil.which("mkfs.ext4") or "/sbin/mkfs.ext4", *options, "-d", directory, target, f"{size}k")


def base(cache: Path, say: Callable[[str], None]) -> Base:
    """The Debian of the host's own package sources; made anew if those or what is put into it change."""
    lists = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]
    sources = [path for path in lists if path.suffix in (".list", ".sources") and path.is_file()]
    install = HERE / "install"
    key = _key([*PACKAGES, install.read_bytes(), *(path.read_bytes() for path in sources)])
    place = cache / f"base-{key}"
    made = Base(place / "disk", place / "vmlinuz", place / "initrd.img")
    if place.is_dir():
        return made
    say("building a Debian (once)")
    acquire = subprocess.run(["apt-config", "dump", "Acquire"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory(prefix=".base-", dir=cache) as temporary:
        building = Path(temporary)
        (building / "apt.conf").write_text(acquire, "utf-8")
        root = building / "root"
        # A mount namespace of its own: what it mounts meanwhile is nobody else's.
        _run(
            "unshare", "--mount", "--propagation", "private", "mmdebstrap", "--mode=root", "--variant=minbase",
            f"--include={','.join(PACKAGES)}", f"--aptopt={building / 'apt.conf'}",
            "--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*",
            "--dpkgopt=path-exclude=/usr/share/locale/*", f'--essential-hook={install} before "$1"',
            f'--customize-hook={install} after "$1"', "", root, *sources,
        )  # fmt: skip
        (building / "new").mkdir()
        for name, pattern in (("vmlinuz", "vmlinuz-*"), ("initrd.img", "initrd.img-*")):
            shutil.copy(max((root / "boot").glob(pattern)), building / "new" / name)
        _ext4(root, building / "new" / "disk", 2 << 30)
        (building / "new").rename(place)
    return made


def data(cache: Path, stores: Path, say: Callable[[str], None]) -> Path:
    """The interpreter that runs this, the packages of its environment, and the current images of a store."""
    links = sorted(path for path in stores.iterdir() if path.is_symlink())
    packages = Path(sys.prefix) / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    installed = sorted(path.name for path in packages.iterdir())
    target = cache / f"data-{_key([sys.version, sys.base_prefix, *installed, *(os.readlink(link) for link in links)])}"
    if target.is_file():
        return target
    say("building a disk with the interpreter, the packages and the images")
    with tempfile.TemporaryDirectory(prefix=".data-", dir=cache) as temporary:
        building = Path(temporary) / "root"
        _interpreter(building / "python")
        skip = shutil.ignore_patterns("mypy*", "pip", "ruff*")
        shutil.copytree(packages, building / "packages", symlinks=True, ignore=skip)
        (building / "images").mkdir()
        for link in links:
            _run("cp", "-a", stores / os.readlink(link), link, building / "images")
        _ext4(building, Path(temporary) / "disk", 64 << 20)
        (Path(temporary) / "disk").rename(target)
    return target


def _interpreter(place: Path) -> None:
    base_prefix = Path(sys.base_prefix)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    (place / "bin").mkdir(parents=True)
    shutil.copy2((base_prefix / "bin" / version).resolve(), place / "bin" / version)
    (place / "bin" / "python3").symlink_to(version)
    skip = shutil.ignore_patterns(*SKIP)
    shutil.copytree(base_prefix / "lib" / version, place / "lib" / version, ignore=skip, symlinks=True)
    for library in (base_prefix / "lib").glob("libpython*.so*"):
        shutil.copy2(library, place / "lib" / library.name)


def project(target: Path) -> Path:
    """The checkout as it is."""
    with tarfile.open(target, "w") as tar:
        for name in PROJECT:
            tar.add(ROOT / name, name)
    return target
