"""The script in a model's reply, found by its text alone: nothing is parsed as Python outside a sandbox."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(
    r"^(?P<indent>[ \t]*+)(?P<marks>`{3,}+|~{3,}+)[ \t]*+(?P<language>[\w+#.-]*+)[^\n`]*+$", re.MULTILINE
)
"""An opening or closing code fence (CommonMark 0.31, 4.5); possessive, or a line that is none takes quadratic time."""
_LIBRARY = re.compile(r"^[ \t]*(?:import|from)[ \t]+(?:cadquery|build123d)\b", re.MULTILINE)
_CODE = re.compile(r"^(?:import|from)[ \t]+\w|^[A-Za-z_]\w*[ \t]*=[^=]|^with[ \t]+\w+\(", re.MULTILINE)
_WORK = re.compile(r"^[ \t]*(?!import\b|from\b|#)\S", re.MULTILINE)
"""A line that does more than import: a fence of imports alone belongs to those after it."""
_PYTHON = ("python", "py", "python3", "cadquery", "build123d")
_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Extracted:
    """A script, "" if there is none, and how it was found: `fence`, `fences`, `open fence`, `bare` or `none`."""

    source: str
    how: str


@dataclass(frozen=True, slots=True)
class _Block:
    language: str
    text: str
    closed: bool


def extract(reply: str) -> Extracted:
    """The script of a reply: fenced, in several fences, with prose around, without a fence, or cut off.

    Of several fences the last that imports a CAD library, and does more than import, is a whole script by itself;
    without such a one, all fences that may be Python are taken together, in order.
    """
    text = _THINKING.sub("", reply.replace("\r\n", "\n"))
    blocks = [block for block in _blocks(text) if block.text.strip()]
    wanted = [block for block in blocks if block.language in _PYTHON] or [b for b in blocks if not b.language]
    whole = [block for block in wanted or blocks if _LIBRARY.search(block.text) and _WORK.search(block.text)]
    if whole:
        return Extracted(whole[-1].text, "fence" if whole[-1].closed else "open fence")
    if wanted:
        how = "fences" if len(wanted) > 1 else "fence" if wanted[0].closed else "open fence"
        return Extracted("\n".join(block.text for block in wanted), how)
    if not blocks and (start := _CODE.search(text)):
        return Extracted(_without_prose(text[start.start() :]), "bare")
    return Extracted("", "none")


def _blocks(text: str) -> list[_Block]:
    found: list[_Block] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence["marks"][0] == opened["marks"][0] and len(fence["marks"]) >= len(opened["marks"]):
            found.append(_Block(opened["language"].lower(), _inside(text, opened, fence.start()), closed=True))
            # A fence with a language does not close one: a model that forgot to close began anew.
            opened = fence if fence["language"] else None
    if opened is not None:
        found.append(_Block(opened["language"].lower(), _inside(text, opened, len(text)), closed=False))
    return found


def _inside(text: str, opened: re.Match[str], end: int) -> str:
    """What stands between, without the indentation of the opening fence (CommonMark 0.31, 4.5)."""
    inside = text[opened.end() + 1 : end]
    width = len(opened["indent"])
    return re.sub(rf"^[ \t]{{1,{width}}}", "", inside, flags=re.MULTILINE) if width else inside


def _without_prose(text: str) -> str:
    """Up to the first paragraph that begins like a sentence: a capital, then words without an operator."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if number and not lines[number - 1].strip() and re.match(r"[A-Z][\w']*(?: [\w',-]+){2,}[ .:!,]", line):
            return "\n".join(lines[:number]).rstrip() + "\n"
    return text
