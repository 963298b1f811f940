"""Profiles and the host's ceiling, from files: what is shipped, what a path names, what the administrator owns."""

from __future__ import annotations

import errno
import functools
import os
import stat
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from casemate.errors import PolicyError
from casemate.policy import Ceiling, Names, Profile, parse, parse_ceiling
from casemate.policy.lines import MAX_BYTES
from casemate.runtime import seccomp

CEILING = Path("/etc/casemate/ceiling.toml")
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
"""Without waiting for a FIFO's writer (open(2))."""


def profile_names() -> tuple[str, ...]:
    """The profiles that are shipped."""
    return _shipped("profiles")


def load_profile(name: str) -> Profile:
    """A shipped profile by name, or any by its path; raises PolicyError."""
    if name in profile_names():
        return _parsed(_shipped_text(name), f"{name}.toml")
    path = Path(name)
    if path.suffix != ".toml":
        raise PolicyError(f"no profile {name!r}; there are {', '.join(profile_names())}")
    try:
        fd = _open(path, _READ)
    except (OSError, ValueError) as error:
        raise PolicyError(f"no profile {name!r}: {error}") from None
    return _parsed(_text(fd, str(path)), str(path))


def profile_text(name: str) -> str:
    """The TOML of a profile by name or path; raises PolicyError if it cannot be loaded."""
    loaded = load_profile(name)
    return _shipped_text(loaded.name) if name in profile_names() else Path(name).read_text("utf-8")


def load_ceiling(path: Path) -> Ceiling | None:
    """The host's ceiling, or None if there is no such file.

    It must be a regular file of root's (in a user namespace: of its uid 0's) that nobody else can write, in a directory
    of which the same is true: who can replace it could also take it away. Anything else is a PolicyError.
    """
    try:
        fd = _open(path, _READ | os.O_NOFOLLOW)
    except FileNotFoundError:
        if os.path.isdir(path.parent):
            _require_administrators(os.stat(path.parent), path.parent)
        return None
    except OSError as error:
        why = "it is a symbolic link" if error.errno == errno.ELOOP else str(error)
        raise PolicyError(f"the host's ceiling {path} cannot be read: {why}") from None
    text = _text(fd, str(path), _require_administrators)
    _require_administrators(os.stat(path.parent), path.parent)
    return _parsed_ceiling(text, str(path))


def admit(name: str, ceiling: Path) -> Profile:
    """A profile by name or path, if nothing of it is above the host's ceiling; raises PolicyError."""
    profile = load_profile(name)
    above = load_ceiling(ceiling)
    return above.cap(profile) if above else profile


@functools.cache
def names() -> Names:
    """What profiles may name: the images that can be built, the system call sets."""
    calls = {name: frozenset(seccomp.load(name).calls) for name in _shipped("profiles", "syscalls")}
    return Names(frozenset(_shipped("images")), calls)


@functools.lru_cache(64)
def _parsed(text: str, file: str) -> Profile:
    """Files are read anew for each job, and most jobs have the same."""
    return parse(text, file, names())


@functools.lru_cache(8)
def _parsed_ceiling(text: str, file: str) -> Ceiling:
    return parse_ceiling(text, file)


@functools.cache
def _shipped_text(name: str) -> str:
    return (resources.files("casemate") / "profiles" / f"{name}.toml").read_text("utf-8")


@functools.cache
def _shipped(*folders: str) -> tuple[str, ...]:
    directory = resources.files("casemate").joinpath(*folders)
    return tuple(sorted(file.name.removesuffix(".toml") for file in directory.iterdir() if file.name.endswith(".toml")))


def _require_administrators(found: os.stat_result, path: Path) -> None:
    if found.st_uid != 0 or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PolicyError(
            f"{path} belongs to uid {found.st_uid} with mode {stat.S_IMODE(found.st_mode):04o}: a host's ceiling and "
            "its directory are root's, and nobody else may write them (chown root, chmod go-w)"
        )


def _open(path: Path, flags: int) -> int:
    """A descriptor of a regular file; raises OSError, ValueError."""
    fd = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return fd


def _text(fd: int, file: str, require: Callable[[os.stat_result, Path], None] = lambda *_: None) -> str:
    """What is in a policy file, and one byte more than it may have; closes `fd`. Raises PolicyError."""
    with open(fd, "rb") as opened:
        require(os.fstat(fd), Path(file))
        try:
            data = opened.read(MAX_BYTES + 1)
        except OSError as error:
            raise PolicyError(f"{file}: {error}") from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PolicyError(f"{file}:{line}: byte 0x{data[error.start]:02x} is not UTF-8, as TOML must be") from None
