"""A thousand scripts in the manner of a model, written by a generator: seeded, distinct, honest and faulty ones.

    python -m batch.written [COUNT]          prints them as JSONL: id, kind, source

They stand in for scripts that a model wrote, which we may not keep. `kind` is what was meant: `part`, or a fault that
models make (an invented method, a fillet that is too large, a forgotten result, a refused import, …).
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator

SEED = 20261130
COUNT = 1000
Template = Callable[[random.Random], str]


def number(rng: random.Random, least: float, most: float, step: float = 0.5) -> float:
    return round(least + step * rng.randrange(int((most - least) / step) + 1), 3)


def opening(rng: random.Random, what: str, library: str = "import cadquery as cq") -> str:
    style = rng.randrange(4)
    if style == 0:
        return f'"""{what.capitalize()}."""\n\n{library}\n'
    if style == 1:
        return f"# {what.capitalize()}\n{library}\n"
    if style == 2:
        return f"{library}\n\n# --- {what} ---\n"
    return f"{library}\n"


def ending(rng: random.Random, name: str) -> str:
    return rng.choice([
        f"result = {name}\n",
        f"result = {name}\nshow_object(result)\n",
        f"show_object({name})\n",
        f'result = {name}\ncq.exporters.export(result, "output.step")\n',
        f"part = {name}\n",
    ])  # fmt: skip


def plate(rng: random.Random) -> str:
    x, y, z = number(rng, 30, 120), number(rng, 20, 90), number(rng, 2, 12)
    hole, inset = number(rng, 2, 6, 0.1), number(rng, 5, 8)
    return opening(rng, "mounting plate with four holes") + (
        f"length = {x}\nwidth = {y}\nthickness = {z}\nhole_diameter = {hole}\n\n"
        "plate = (\n    cq.Workplane('XY')\n    .box(length, width, thickness)\n    .faces('>Z')\n    .workplane()\n"
        f"    .rect(length - 2 * {inset}, width - 2 * {inset}, forConstruction=True)\n    .vertices()\n"
        "    .hole(hole_diameter)\n)\n"
    ) + ending(rng, "plate")  # fmt: skip


def flange(rng: random.Random) -> str:
    outer, bore, z, count = number(rng, 40, 90), number(rng, 8, 20), number(rng, 4, 15), rng.randrange(3, 9)
    return opening(rng, f"flange with {count} bolt holes") + (
        f"outer_radius = {outer / 2}\nbore = {bore}\nflange = cq.Workplane('XY').circle(outer_radius).extrude({z})\n"
        f"flange = flange.faces('>Z').workplane().hole(bore)\n"
        f"flange = (flange.faces('>Z').workplane()\n          .polarArray(outer_radius * 0.75, 0, 360, {count})\n"
        f"          .hole({number(rng, 2, 4, 0.1)}))\n"
    ) + ending(rng, "flange")  # fmt: skip


def bracket(rng: random.Random) -> str:
    x, y, t = number(rng, 30, 70), number(rng, 20, 60), number(rng, 2, 6)
    return opening(rng, "L bracket") + (
        f"w = {x}\nh = {y}\nt = {t}\nbase = cq.Workplane('XY').box(w, h, t, centered=(True, False, False))\n"
        "wall = cq.Workplane('XY').box(w, t, h, centered=(True, False, False))\nbracket = base.union(wall)\n"
        f"bracket = bracket.edges('|X and >Y').fillet({round(t / 3, 3)})\n"
    ) + ending(rng, "bracket")  # fmt: skip


def enclosure(rng: random.Random) -> str:
    x, y, z, wall = number(rng, 40, 100), number(rng, 30, 80), number(rng, 15, 40), number(rng, 1, 3, 0.25)
    return opening(rng, "open enclosure with rounded corners") + (
        f"box = cq.Workplane('XY').box({x}, {y}, {z})\nbox = box.edges('|Z').fillet({number(rng, 3, 6)})\n"
        f"box = box.faces('>Z').shell(-{wall})  # hollow it out\n"
    ) + ending(rng, "box")  # fmt: skip


def knob(rng: random.Random) -> str:
    r, h, s = number(rng, 8, 25), number(rng, 8, 20), number(rng, 3, 6, 0.1)
    return opening(rng, "revolved knob") + (
        f"profile = (cq.Workplane('XZ')\n           .moveTo(0, 0).lineTo({r}, 0).lineTo({r * 0.8:.3f}, {h})\n"
        f"           .lineTo(0, {h}).close())\nknob = profile.revolve(360, (0, 0, 0), (0, 1, 0))\n"
        f"knob = knob.faces('<Z').workplane(invert=False).circle({s / 2:.3f}).cutBlind(-{h / 2:.3f})\n"
    ) + ending(rng, "knob")  # fmt: skip


def steps(rng: random.Random) -> str:
    count, z = rng.randrange(3, 8), number(rng, 2, 6)
    return opening(rng, "stepped shaft") + (
        f"import math\n\nradii = [round({number(rng, 4, 8)} + 1.5 * math.sqrt(i), 3) for i in range({count})]\n"
        f"shaft = cq.Workplane('XY')\nfor radius in reversed(radii):\n"
        f"    shaft = shaft.circle(radius).extrude({z}).faces('>Z').workplane()\n"
    ) + ending(rng, "shaft")  # fmt: skip


def function(rng: random.Random) -> str:
    return opening(rng, "parametric spacer") + (
        "\ndef make_spacer(outer: float, inner: float, height: float) -> cq.Workplane:\n"
        '    """Create a spacer ring."""\n'
        "    return cq.Workplane('XY').circle(outer / 2).circle(inner / 2).extrude(height)\n\n\n"
        f"spacer = make_spacer({number(rng, 10, 40)}, {number(rng, 2, 8)}, {number(rng, 1, 30)})\n"
    ) + ending(rng, "spacer")  # fmt: skip


def loft(rng: random.Random) -> str:
    return opening(rng, "transition from a square to a circle") + (
        f"duct = (cq.Workplane('XY').rect({number(rng, 20, 60)}, {number(rng, 20, 60)})\n"
        f"        .workplane(offset={number(rng, 10, 50)}).circle({number(rng, 5, 20)}).loft(combine=True))\n"
    ) + ending(rng, "duct")  # fmt: skip


def builder(rng: random.Random) -> str:
    x, y, z = number(rng, 20, 90), number(rng, 20, 90), number(rng, 4, 20)
    last = rng.choice(["result = part.part\n", "show_object(part)\n", ""])
    return (
        opening(rng, "plate in builder mode", "from build123d import *")
        + f"with BuildPart() as part:\n    Box({x}, {y}, {z})\n"
        f"    with GridLocations({x / 2}, {y / 2}, 2, 2):\n        Hole({number(rng, 1, 4, 0.1)})\n"
        f"    chamfer(part.edges().group_by(Axis.Z)[-1], length={number(rng, 0.2, 0.8, 0.1)})\n" + last
    )


def algebra(rng: random.Random) -> str:
    return (
        opening(rng, "bushing in algebra mode", "from build123d import Axis, Cylinder, Pos, fillet")
        + f"bush = Cylinder({number(rng, 8, 20)}, {number(rng, 5, 30)})\n"
        f"bush += Pos(0, 0, {number(rng, 1, 2)}) * Cylinder({number(rng, 21, 30)}, 2)\n"
        f"bush -= Cylinder({number(rng, 2, 6)}, 200)\nresult = bush\n"
    )


def assembly(rng: random.Random) -> str:
    return opening(rng, "two parts as an assembly") + (
        f"base = cq.Workplane().box({number(rng, 20, 60)}, 30, 5)\n"
        f"pin = cq.Workplane().circle(3).extrude({number(rng, 5, 40)})\n"
        "assy = cq.Assembly()\nassy.add(base, name='base')\n"
        "assy.add(pin, name='pin', loc=cq.Location(cq.Vector(0, 0, 2.5)))\n"
    ) + rng.choice(["result = assy\n", "show_object(assy)\n", "assy.save('assembly.step')\n"])  # fmt: skip


def spoilt(template: Template, old: str, new: str) -> Template:
    """A template with something in it done wrong."""

    def made(rng: random.Random) -> str:
        text = template(rng)
        assert old in text, (template, old)
        return text.replace(old, new, 1)

    return made


def of(text: str) -> Template:
    """A text in which each @ is a number, all drawn anew."""

    def made(rng: random.Random) -> str:
        first, *rest = text.split("@")
        return opening(rng, "part") + first + "".join(f"{number(rng, 1, 99)}{piece}" for piece in rest)

    return made


PARTS: tuple[Template, ...] = (
    plate, flange, bracket, enclosure, knob, steps, function, loft, builder, algebra, assembly,
)  # fmt: skip
FAULTS: dict[str, tuple[int, Template]] = {
    "denied_import": (25, spoilt(plate, "import cadquery as cq", "import os\nimport cadquery as cq")),
    "denied_open": (10, of("with open('dims_@.txt') as f:\n    n = f.read()\nresult = cq.Workplane().box(@, 1, 1)\n")),
    "denied_dunder": (8, of("box = cq.Workplane().box(@, @, 2)\nprint(box.__class__.__mro__)\nresult = box\n")),
    "denied_global": (5, of("n = @\ndef f():\n    global n\n    n = 2\nf()\nresult = cq.Workplane().box(n, @, 1)\n")),
    "syntax": (15, spoilt(plate, ".box(length, width, thickness)", ".box(length, width, thickness")),
    "name_error": (20, spoilt(plate, "hole_diameter = ", "hole_dia = ")),
    "invented_method": (25, spoilt(flange, ".polarArray(", ".polarPattern(")),
    "invented_keyword": (10, of("result = cq.Workplane('XY').box(@, @, @, center=True)\n")),
    "fillet_too_large": (25, of("result = cq.Workplane('XY').box(@, 2, @).edges().fillet(40.5 + @)\n")),
    "chamfer_too_large": (10, of("result = cq.Workplane('XY').box(@, @, 1).edges('|Z').chamfer(100 + @)\n")),
    "bad_selector": (10, of("result = cq.Workplane('XY').box(@, @, @).edges('|W and top').fillet(0.1)\n")),
    "nothing_selected": (10, of("result = cq.Workplane('XY').sphere(@).edges('|Z').fillet(@)\n")),
    "no_wire": (8, of("x = @\nresult = cq.Workplane('XY').extrude(x)\n")),
    "zero_size": (8, of("depth = 0\nresult = cq.Workplane('XY').rect(@, @).extrude(depth)\n")),
    "not_a_number": (5, of("import math\nr = math.sqrt(@) - math.inf + math.inf\nresult = cq.Workplane().sphere(r)\n")),
    "empty_cut": (8, of("a = cq.Workplane().box(@, 1, 1)\nb = cq.Workplane().box(200, 200, 200)\nresult = a.cut(b)\n")),
    "sketch_only": (8, of("result = cq.Workplane('XY').rect(@, @).circle(0.25)\n")),
    "no_result": (10, of("def make():\n    return cq.Workplane().box(@, @, @)\n")),
    "division": (8, of("count = 0\npitch = @ / count\nresult = cq.Workplane().box(pitch, @, 1)\n")),
    "type_error": (8, of("result = cq.Workplane('XY').box('@', @, @)\n")),
    "index_error": (5, of("sizes = [@, @]\nresult = cq.Workplane().box(sizes[0], sizes[1], sizes[2])\n")),
    "recursion": (3, of("def grow(n):\n    return grow(n + @)\nresult = grow(0)\n")),
    "assertion": (4, of("height = @\nassert height < 0, f'too tall: {height}'\nresult = cq.Workplane()\n")),
    "exits": (4, of("size = @\nresult = cq.Workplane().box(size, 1, 1)\nraise SystemExit(0)\n")),
    "prose": (8, of("Here is the part, @ mm long:\n\nresult = cq.Workplane().box(@, 1, 1)\n")),
    "forged_line": (
        5, of("print('{\"index\": 0, \"ok\": true, \"id\": @}\\n\\r\\x1b[2J\\u2028')\nraise ValueError('\\n{}')\n"),
    ),
    "much_output": (3, of("for i in range(20000):\n    print('layer', i, @)\nresult = cq.Workplane().box(@, 1, 1)\n")),
    "no_end": (2, of("x = @\nwhile x > 0:\n    x = x + 1\nresult = cq.Workplane().box(x, 1, 1)\n")),
}  # fmt: skip
"""kind → (how many of a thousand, template)."""


def scripts(count: int = COUNT) -> Iterator[tuple[str, str]]:
    """(kind, source): the same ones every time, all distinct, in an order that mixes them."""
    rng = random.Random(SEED)
    kinds = [kind for kind, (share, _) in FAULTS.items() for _ in range(share)]
    kinds += ["part"] * (COUNT - len(kinds))
    rng.shuffle(kinds)
    seen: set[str] = set()
    for number, kind in enumerate(kinds[:count]):
        template = FAULTS[kind][1] if kind in FAULTS else PARTS[number % len(PARTS)]
        text = template(rng)
        while text in seen:
            text = template(rng)
        seen.add(text)
        yield kind, text


def main(count: int) -> None:
    for at, (kind, source) in enumerate(scripts(count)):
        print(json.dumps({"id": f"{at:04}-{kind}", "kind": kind, "source": source}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else COUNT)
