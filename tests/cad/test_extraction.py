"""The script in a reply, as models write them."""

from __future__ import annotations

import textwrap

import pytest

from casemate.cad.extraction import extract

BOX = "import cadquery as cq\nresult = cq.Workplane().box(1, 2, 3)\n"
BALL = "import cadquery as cq\nresult = cq.Workplane().sphere(4)\n"

REPLIES = [
    (f"```python\n{BOX}```\n", BOX, "fence"),
    (f"Sure! Here it is:\n\n```py\n{BOX}```\n\nIt has three dimensions. Enjoy!\n", BOX, "fence"),
    (f"~~~\n{BOX}~~~", BOX, "fence"),
    (f"````python\n{BOX}````", BOX, "fence"),
    (f"```Python title=box.py\n{BOX}```", BOX, "fence"),
    (f"```python\r\n{BOX}```".replace("\n", "\r\n").replace("\r\r", "\r"), BOX, "fence"),
    (f"First:\n```python\n{BOX}```\nBetter:\n```python\n{BALL}```\n", BALL, "fence"),
    (f"```bash\npip install cadquery\n```\n```python\n{BOX}```\n", BOX, "fence"),
    (f"```python\n{BOX}```\nTo export:\n```python\nprint(result)\n```\n", BOX, "fence"),
    ("```python\nx = 1\n```\nand\n```python\ny = x\n```\n", "x = 1\n\ny = x\n", "fences"),
    (f"```\n{BOX}```\n", BOX, "fence"),
    (f"```python\n{BOX}", BOX, "open fence"),
    (f"```python\nx = 1\n```python\n{BOX}```\n", BOX, "fence"),
    (f"```python\n{BOX}```\nOr, to begin with:\n```python\nimport cadquery as cq\n```\n", BOX, "fence"),
    (
        "```python\n# first\nimport cadquery as cq\n```\nthen\n```python\nresult = cq.Workplane().box(1, 2, 3)\n```\n",
        "# first\nimport cadquery as cq\n\nresult = cq.Workplane().box(1, 2, 3)\n",
        "fences",
    ),
    (f"1. So:\n\n   ```python\n{textwrap.indent(BOX, '   ')}   ```\n2. Done.\n", BOX, "fence"),
    (
        f"- So:\n  ```python\n{textwrap.indent('if 1:' + chr(10) + '    x = 1' + chr(10) + BOX, '  ')}  ```\n",
        f"if 1:\n    x = 1\n{BOX}",
        "fence",
    ),
    (BOX, BOX, "bare"),
    (f"The script:\n\n{BOX}\nThis makes a box of the size that you asked for.\n", BOX, "bare"),
    (f"<think>maybe\n```python\n{BALL}```\n</think>\n```python\n{BOX}```", BOX, "fence"),
    (f"<think>I could write\n```python\n{BALL}```", "", "none"),
    ("I am sorry, I cannot do that.", "", "none"),
    ("", "", "none"),
    ('```json\n{"a": 1}\n```\n', "", "none"),
    ("```python\n\n```\n", "", "none"),
]


@pytest.mark.parametrize(("reply", "source", "how"), REPLIES)
def test_the_script_of_a_reply(reply: str, source: str, how: str) -> None:
    found = extract(reply)
    assert (found.source, found.how) == (source, how)


@pytest.mark.parametrize(
    "reply",
    [
        "```" + "a" * 200_000 + "`",
        "```" + " " * 200_000 + "`",
        "~~~" + " " * 100_000 + "a" * 100_000 + "`",
        "```" * 50_000,
        "<think>" * 30_000,
        "x = 1\n" * 40_000,
        "A b c d\n\n" * 30_000,
        "`" * 200_000,
    ],
)
def test_no_reply_takes_long(reply: str) -> None:
    extract(reply)
