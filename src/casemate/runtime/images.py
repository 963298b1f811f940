"""The image store: builds images, finds them, and checks that they are what was built.

    STORE/cad -> cad-0123456789ab       the current one, swapped atomically
    STORE/cad-0123456789ab/root/        the tree, read-only in every room
    STORE/cad-0123456789ab/image.json   its digest and what it was made from
    STORE/.build-*                      one that is being built; a killed build leaves no more than this
    STORE/.lock                         held by the one builder

A store may be written only by root or by the user who reads it: whoever writes an image decides what the trusted part
of a sandbox is. `find` checks that cheaply on every start; `verify` reads every byte.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from casemate.errors import Denied, SandboxFault
from casemate.runtime import manifest
from casemate.runtime.closure import Assembly, assemble
from casemate.runtime.recipe import Interpreter, Recipe

FORMAT = 1
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Image:
    """An image that is in a store."""

    name: str
    digest: str
    root: Path
    created: str
    """ISO 8601, UTC."""
    python: str
    """Version of the interpreter, which is /usr/bin/python3 in the image."""
    site_packages: str
    """Absolute path in the image of the directory with its packages."""
    inputs: str
    """Digest of what the image was made from; see `inputs_digest`."""


def build(
    name: str,
    *,
    store: Path,
    requirements: Path,
    progress: Callable[[str, float | None], None],
    environment: Mapping[str, str],
    rebuild: bool = False,
) -> Image:
    """Build an image and make it the current one of its name; give the present one if it was made from the same inputs.

    `environment` is the builder's: pip gets from it where packages come from. `rebuild` builds in any case.
    """
    _check_name(name)
    recipe = Recipe.load(requirements.with_suffix(".toml"))
    interpreter = Interpreter.running()
    inputs = inputs_digest(requirements, recipe, interpreter)
    store.mkdir(mode=0o755, parents=True, exist_ok=True)
    _check_owner(store)
    with _only_builder(store, progress):
        present = _read(store / name) if (store / name).is_symlink() and not rebuild else None
        if present is not None and present.inputs == inputs:
            return present
        for stale in store.glob(".build-*"):
            shutil.rmtree(stale)
        with tempfile.TemporaryDirectory(prefix=".build-", dir=store) as temporary:
            place = Path(temporary)
            root = place / "root"
            root.mkdir()
            assemble(Assembly(root, requirements, recipe, interpreter, environment), progress)
            progress("computing the digest", 0.96)
            digest = manifest.digest(manifest.scan(root))
            facts = {
                "format": FORMAT,
                "name": name,
                "digest": digest,
                "created": datetime.now(UTC).isoformat(timespec="seconds"),
                "python": interpreter.version,
                "site_packages": f"/{interpreter.site_packages}",
                "inputs": inputs,
            }
            (place / "image.json").write_text(json.dumps(facts, indent=2) + "\n", "utf-8")
            (place / "image.json").chmod(0o444)
            _install(place, store / f"{name}-{digest[:12]}")
        link = store / f".link-{name}"
        link.unlink(missing_ok=True)
        link.symlink_to(f"{name}-{digest[:12]}")
        link.replace(store / name)
        progress("done", 1.0)
        return _read(store / name)


def find(name: str, stores: Sequence[Path]) -> Image:
    """Give the current image of that name from the first store that has one."""
    _check_name(name)
    for store in stores:
        if (store / name).is_symlink():
            _check_owner(store)
            return _read(store / name)
    searched = ", ".join(str(store) for store in stores)
    raise SandboxFault(f"there is no image {name!r} in {searched}; build it with: casemate image build {name}")


def verify(image: Image) -> None:
    """Read every byte of an image and compare its digest; a difference is a `SandboxFault`."""
    found = manifest.digest(manifest.scan(image.root))
    if found != image.digest:
        raise SandboxFault(
            f"image {image.name!r} was changed after it was built (digest {found[:12]}, not {image.digest[:12]}); "
            f"build it again: casemate image build {image.name} --rebuild"
        )


def inputs_digest(requirements: Path, recipe: Recipe, interpreter: Interpreter) -> str:
    """SHA-256 over requirement file, recipe, stubs, interpreter, host programs and the code that assembles them."""
    code = [Path(__file__).with_name(f"{name}.py") for name in ("closure", "elf", "placeholder", "recipe")]
    files = [requirements, requirements.with_suffix(".toml"), interpreter.executable, *code]
    if recipe.stubs is not None:
        files += sorted(recipe.stubs.rglob("*.py"))
    files += [path for _, path in recipe.programs.found()]
    state = hashlib.sha256(f"{FORMAT} {interpreter.version}\n".encode())
    for path in files:
        with path.open("rb") as stream:
            state.update(f"{path.name} {hashlib.file_digest(stream, 'sha256').hexdigest()}\n".encode())
    return state.hexdigest()


def _install(place: Path, target: Path) -> None:
    """Move a finished tree to its final name; of one with the same digest that is there, only the facts change."""
    if target.exists():
        (place / "image.json").replace(target / "image.json")
        return
    place.chmod(0o755)
    place.rename(target)
    place.mkdir()  # so that the temporary directory's own clean-up finds something


def _read(link: Path) -> Image:
    """Read and check the image that a store's link names."""
    name = link.name
    remedy = f"casemate image build {name} --rebuild"
    place = link.parent / os.readlink(link)
    if place.parent != link.parent:
        raise SandboxFault(f"image link {link} leads out of its store")
    try:
        facts = json.loads((place / "image.json").read_bytes())
        if facts["format"] != FORMAT:
            raise ValueError(f"format {facts['format']}, not {FORMAT}")
        image = Image(
            name=facts["name"],
            digest=facts["digest"],
            root=place / "root",
            created=facts["created"],
            python=facts["python"],
            site_packages=facts["site_packages"],
            inputs=facts["inputs"],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SandboxFault(f"image {name!r} is damaged: {error}; build it again: {remedy}") from error
    for path in (place, place / "image.json", image.root):
        _check_owner(path)
    if image.name != name or not DIGEST.fullmatch(image.digest) or place.name != f"{name}-{image.digest[:12]}":
        raise SandboxFault(f"image {name!r} is damaged: its name and digest do not match; build it again: {remedy}")
    return image


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise Denied(f"{name!r} is no image name: lower-case letters, digits and single hyphens")


def _check_owner(path: Path) -> None:
    status = path.lstat()
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SandboxFault(f"{path} can be written by someone else than root and you: nothing in it can be trusted")


@contextmanager
def _only_builder(store: Path, progress: Callable[[str, float | None], None]) -> Iterator[None]:
    """Hold the store's lock; flock(2) is let go by the kernel when a builder dies."""
    with (store / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another build", None)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
