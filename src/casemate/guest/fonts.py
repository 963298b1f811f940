"""Tells when a text was set in another font than the script asked for, which OCCT does in silence.

Both libraries look fonts up through their own reference to OCCT's `Font_FontMgr`; those references are replaced by one
object that passes everything on and compares the family that was asked for with the one that came.
"""

from __future__ import annotations

import os
from typing import Any

import build123d.text
import cadquery.occ_impl.shapes
from OCP.Font import Font_FontMgr
from OCP.TCollection import TCollection_AsciiString

FONT_ROOT = "/usr/share/fonts"
"""Where the image keeps its one family."""
_MOST = 16


class FontWatch:
    """Stands in for the class `Font_FontMgr` and for its one instance."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager
        self.substitutions: dict[str, str] = {}
        """Family asked for → family taken."""

    def GetInstance_s(self) -> FontWatch:
        """The instance, which is this object too."""
        return self

    def FindFont(self, name: Any, *rest: Any) -> Any:
        """As OCCT's; keeps note of a substitution."""
        font = self._manager.FindFont(name, *rest)
        asked = name.ToCString()
        taken = "" if font is None else font.FontName().ToCString()
        if taken.casefold() != asked.casefold() and len(self.substitutions) < _MOST:
            self.substitutions[asked] = taken
        return font

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)


def register(root: str = FONT_ROOT) -> FontWatch:
    """Load the image's fonts into OCCT, which needs no fontconfig for that, and start watching."""
    manager = Font_FontMgr.GetInstance_s()
    for folder, _, files in sorted(os.walk(root)):
        for file in sorted(files):
            if file.endswith((".ttf", ".otf")):
                font = manager.CheckFont(TCollection_AsciiString(os.path.join(folder, file)).ToCString())
                if font is not None:
                    manager.RegisterFont(font, False)
    watch = FontWatch(manager)
    cadquery.occ_impl.shapes.Font_FontMgr = watch
    build123d.text.Font_FontMgr = watch
    return watch


def watched() -> FontWatch | None:
    """The watch of this process, if its template started one."""
    watch = cadquery.occ_impl.shapes.Font_FontMgr
    return watch if isinstance(watch, FontWatch) else None
