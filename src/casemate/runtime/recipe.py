"""What an image is made from: its recipe (images/NAME.toml, beside the requirement file) and the interpreter."""

from __future__ import annotations

import sys
import sysconfig
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casemate.errors import SandboxFault


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

    @classmethod
    def load(cls, path: Path) -> Recipe:
        """Read the file strictly: an unknown or missing key is an error."""
        try:
            document: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
            fonts, omit = document.pop("fonts"), document.pop("omit")
            recipe = cls(
                stubs=path.parent / str(document.pop("stubs")),
                imports=tuple(document.pop("imports")),
                fonts_from=fonts.pop("from"),
                fonts_take=tuple(fonts.pop("take")),
                fonts_into=fonts.pop("into"),
                absent=tuple(document.pop("absent").items()),
                links=tuple(document.pop("links").items()),
                omit=tuple(omit.pop("patterns")),
                keep=tuple(omit.pop("keep")),
            )
        except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
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
