"""What an image is made from: its recipe (images/NAME.toml, beside the requirement file) and the interpreter."""

from __future__ import annotations

import shutil
import sys
import sysconfig
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casemate.errors import SandboxFault

PROGRAMS = "/usr/bin:/bin"
"""Where programs of the host are looked for."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Which programs of the host an image gets, all into /usr/bin; `first`: name, and candidates for it in order."""

    take: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    first: tuple[tuple[str, tuple[str, ...]], ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    """Other names of programs that are in the image."""

    @classmethod
    def of(cls, table: dict[str, Any]) -> Programs:
        """Read strictly, as the recipe."""
        programs = cls(
            take=tuple(table.pop("take")),
            optional=tuple(table.pop("optional")),
            first=tuple((name, tuple(candidates)) for name, candidates in table.pop("first").items()),
            names=tuple(table.pop("names").items()),
        )
        if table:
            raise KeyError(", ".join(table))
        return programs

    def found(self) -> tuple[tuple[str, Path], ...]:
        """Name in the image, and file of this host; raises SandboxFault with all that this host does not have."""
        wanted = [(name, (name,)) for name in self.take] + list(self.first)
        there = [(name, _first(candidates)) for name, candidates in wanted]
        if missing := [
            " or ".join(candidates) for (_, candidates), (_, path) in zip(wanted, there, strict=True) if not path
        ]:
            listed = ", ".join(missing)
            raise SandboxFault(f"programs that this host does not have in {PROGRAMS}: {listed}; install their packages")
        there += [(name, _first((name,))) for name in self.optional]
        return tuple((name, path) for name, path in there if path)


def _first(candidates: tuple[str, ...]) -> Path | None:
    paths = (shutil.which(name, path=PROGRAMS) for name in candidates)
    return next((Path(path).resolve() for path in paths if path), None)


@dataclass(frozen=True, slots=True)
class Recipe:
    """What `images/NAME.toml` says about an image beyond its requirement file."""

    stubs: Path | None
    imports: tuple[str, ...]
    fonts_from: str
    fonts_take: tuple[str, ...]
    fonts_into: str
    links: tuple[tuple[str, str], ...]
    absent: tuple[tuple[str, str], ...]
    omit: tuple[str, ...]
    keep: tuple[str, ...]
    programs: Programs

    @classmethod
    def load(cls, path: Path) -> Recipe:
        """Read the file strictly: an unknown or missing key is an error."""
        try:
            document: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
            fonts, omit = document.pop("fonts"), document.pop("omit")
            stubs = str(document.pop("stubs"))
            recipe = cls(
                stubs=path.parent / stubs if stubs else None,
                imports=tuple(document.pop("imports")),
                fonts_from=fonts.pop("from"),
                fonts_take=tuple(fonts.pop("take")),
                fonts_into=fonts.pop("into"),
                absent=tuple(document.pop("absent").items()),
                links=tuple(document.pop("links").items()),
                omit=tuple(omit.pop("patterns")),
                keep=tuple(omit.pop("keep")),
                programs=Programs.of(document.pop("programs")),
            )
        except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
            raise SandboxFault(f"image recipe {path.name} cannot be read: {error!r}") from error
        if document or fonts or omit:
            raise SandboxFault(f"image recipe {path.name} has unknown keys: {', '.join([*document, *fonts, *omit])}")
        return recipe


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python that runs this, which is also the one that is copied."""

    executable: Path
    stdlib: Path
    library: str
    version: str

    @classmethod
    def running(cls) -> Interpreter:
        """Describe the interpreter under a virtual environment, if there is one."""
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return cls(
            executable=Path(sys.executable).resolve(),
            stdlib=Path(sysconfig.get_path("stdlib")),
            library=f"usr/{sys.platlibdir}/python{version}",
            version=sys.version.split()[0],
        )

    @property
    def site_packages(self) -> str:
        """Where the image keeps wheels, relative to its root."""
        return f"{self.library}/site-packages"
