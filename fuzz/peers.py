"""Hostile peers of the keeper: each process that has a channel to it, taken over, while others' jobs go on.

The keeper is the real one, and so are the rooms and sandboxes; in a copy of the package the launcher's code calls
hostile.py at certain places. programs/peers.py runs cases and judges them.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

from harness import confined, wait_until, weakened
from hypothesis import strategies as st
from launcher.examples import MESSAGES

from casemate.launcher import spec
from fuzz import wire

FUZZ = Path(__file__).parent
INIT, TEMPLATE, ZYGOTE = "launcher/init.py", "launcher/template.py", "launcher/zygote.py"
INNER = ("builder", "exec", "standing", "init", "placed", "guest", "locked")
"""Places in one sandbox: what is done there may end that sandbox, and nothing else."""
GUEST = ("guest", "locked")
OUTER = ("template", "forked", "zygote")
"""Places in the room: what is done there may end the room, and nothing outside of it."""
CALLER = "caller"
KEEPER = "keeper"
"""The caller's own channel, in both directions: what is sent there may end the keeper, in order."""


def _at(file: str, place: str, line: str, *, name: str, channel: str, after: bool = False, held: str = "") -> Any:
    indent = line[: len(line) - len(line.lstrip())]
    call = f'{indent}hostile.act("{place}", {channel}, {name}{held})\n'
    return (file, line + "\n", f"{line}\n{call}" if after else f"{call}{line}\n")


_STANDING = "        channel.send(spec.Standing(name, layers), (init, os.pidfd_open(os.getpid()), workdir))"
_HELD = ', {"init": init, "exec": os.pidfd_open(os.getpid()), "tree": workdir}'
EDITS = (
    (INIT, "from . import ", "from . import hostile, "),
    (TEMPLATE, "from . import ", "from . import hostile, "),
    (ZYGOTE, "from . import ", "from . import hostile, "),
    ("launcher/lockdown.py", "b64decode(_walls(site).seccomp,", 'b64decode(_walls(site).seccomp.partition("#")[0],'),
    (INIT, "    single = message.slot < 0\n",
     '    hostile.begin(message.walls)\n    hostile.act("builder", channel, message.id)\n'
     "    single = message.slot < 0\n"),
    (INIT, f"{_STANDING}\n",
     f'        hostile.act("exec", channel, name{_HELD})\n{_STANDING}\n'
     '        hostile.act("standing", channel, name)\n'),
    _at(INIT, "init", "    while (received := channel.receive()) is not None:", name="name", channel="channel"),
    _at(INIT, "placed", "        channel.send(spec.Placed(name))", name="name", channel="channel"),
    (TEMPLATE, "        setup.send(spec.Locked(message.id, layers))\n",
     '        hostile.act("guest", setup, message.id)\n        setup.send(spec.Locked(message.id, layers))\n'
     '        hostile.act("locked", setup, message.id)\n'),
    (TEMPLATE, "            try:\n                guests[",
     "            hostile.begin(message.walls)\n"
     '            hostile.act("template", channel, message.id, {"stdout": descriptors[1]})\n'
     "            try:\n                guests["),
    (TEMPLATE, "            finally:\n                spec.close_all(descriptors)\n",
     "            finally:\n                spec.close_all(descriptors)\n"
     '            hostile.act("forked", channel, message.id)\n'),
    (ZYGOTE, "    handshake = usermaps.Handshake()\n",
     '    hostile.begin(message.walls)\n    hostile.act("zygote", control, message.id)\n'
     "    handshake = usermaps.Handshake()\n"),
    # A peer that is silent is waited for as long as that; cases are many.
    ("launcher/execution.py", "SETUP_TIMEOUT = 20.0", "SETUP_TIMEOUT = 4.0"),
    ("launcher/execution.py", "EMPTY_TIMEOUT = 20.0", "EMPTY_TIMEOUT = 4.0"),
)  # fmt: skip


def package(directory: Path, more: tuple[tuple[str, str, str], ...] = ()) -> Path:
    """A copy of the package whose sandboxes can be hostile; `more` edits take a guard of the keeper's out."""
    made = weakened(directory, (*EDITS, *more))
    shutil.copy(FUZZ / "hostile.py", made / "launcher" / "hostile.py")
    return made


def run(package: Path, cases: list[bytes], directory: Path, timeout: float = 170.0) -> dict[str, Any]:
    """Run cases in the harness; {"said": {word: how many}, "wrong": [case, why] | None}."""
    file = directory / "cases"
    file.write_text(json.dumps([case.decode("latin-1") for case in cases]), "utf-8")
    with confined(str(FUZZ / "programs" / "peers"), str(package), str(file)) as running:
        told: dict[str, Any] = running.finish(timeout)
        assert told["wrong"] or wait_until(lambda: not running.group.members(), 5.0)
    return told


# --- cases ------------------------------------------------------------------------------------------------------------

DESCRIPTORS = ("null", "root", "pipe", "channel", "peer", "self", "dead", "init", "exec", "tree", "linger", "hidden")
_OTHERS = tuple(dataclasses.replace(m, id="{other}") for m in MESSAGES if isinstance(m, spec.Exited | spec.Fault))
_OWN = _OTHERS + tuple(dataclasses.replace(m, id="{id}") if hasattr(m, "id") else m for m in MESSAGES)


def text(message: spec.Message) -> str:
    """As it goes over the wire, for a case."""
    return spec.encode(message).decode("latin-1")


@st.composite
def _damaged(draw: st.DrawFn) -> str:
    value = json.loads(spec.encode(draw(st.sampled_from(_OWN))))
    for _ in range(draw(st.integers(1, 3))):
        wire.damage(draw, value)
    try:
        return json.dumps(value)
    except RecursionError:
        return "{"


_TEXTS = st.one_of(
    st.sampled_from([*map(text, _OWN)]),
    st.sampled_from([*map(text, _OWN)]),
    _damaged(),
    st.binary(max_size=40).map(lambda data: data.decode("latin-1")),
    st.sampled_from(["", "{", "x" * 1000, "[" * 50_000]),
)
_SENDS = st.builds(
    lambda text, kinds, times: {"do": "send", "text": text, "with": kinds, "times": times},
    _TEXTS,
    st.one_of(
        st.just([]),
        st.just(["init", "exec", "tree"]),
        st.lists(st.sampled_from(DESCRIPTORS), max_size=4),
        st.sampled_from(DESCRIPTORS).map(lambda kind: [kind] * 3),
        st.just(["null"] * 130),
    ),
    st.sampled_from([1, 1, 1, 2, 400]),
)
_ACTS = st.one_of(*[_SENDS] * 6, st.sampled_from(["exit", "stop", "shut", "write"]).map(lambda what: {"do": what}))
PEERS = st.builds(
    lambda place, acts: json.dumps({"place": place, "acts": acts}).encode(),
    st.sampled_from([*INNER * 2, *OUTER, CALLER, KEEPER]),
    st.lists(_ACTS, min_size=1, max_size=5),
)
