"""Pictures of a part from the lines of `Host.outline`: SVG for a file, braille dots for a terminal."""

from __future__ import annotations

import itertools

from casemate.control.outlining import Outline

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of a braille pattern by row and column (Unicode, U+2800)."""
_BLANK = 0x2800
MARGIN, STROKE = 120, 12


def svg(outline: Outline) -> str:
    """An SVG image that holds one path and no text, style, link or script."""
    moves = ("M" + "L".join(f"{x} {outline.size - y}" for x, y in line) for line in outline.lines)
    box = f"{-MARGIN} {-MARGIN} {outline.size + 2 * MARGIN} {outline.size + 2 * MARGIN}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}">'
        f'<path d="{"".join(moves)}" fill="none" stroke="#1f3a5f" stroke-width="{STROKE}" stroke-linejoin="round"/>'
        "</svg>\n"
    )


def braille(outline: Outline, columns: int = 48) -> str:
    """Lines of text, at most `columns` wide and half as high, with two by four dots in each character."""
    width, height = columns * 2, columns * 2
    cells: dict[tuple[int, int], int] = {}
    for line in outline.lines:
        scaled = [(x * (width - 1) / outline.size, (outline.size - y) * (height - 1) / outline.size) for x, y in line]
        for (x0, y0), (x1, y1) in itertools.pairwise(scaled):
            steps = max(1, round(max(abs(x1 - x0), abs(y1 - y0))))
            for number in range(steps + 1):
                x = round(x0 + (x1 - x0) * number / steps)
                y = round(y0 + (y1 - y0) * number / steps)
                cells[y // 4, x // 2] = cells.get((y // 4, x // 2), 0) | _DOTS[y % 4][x % 2]
    if not cells:
        return ""
    rows = range(min(row for row, _ in cells), max(row for row, _ in cells) + 1)
    return "\n".join(
        "".join(chr(_BLANK + cells.get((row, column), 0)) for column in range(columns)).rstrip(chr(_BLANK))
        for row in rows
    )
