"""A job that leaves what it can, and after its end one that looks for it; and the host, which looks too."""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING

from casemate.launcher import cgroups
from casemate.verify import look
from casemate.verify.answers import gathered
from casemate.verify.canaries import word
from casemate.verify.model import Probe, Seen
from casemate.verify.source import answers, assemble

if TYPE_CHECKING:
    from casemate.verify.stage import Stage

LEAVER = Probe("recovery.leaver", "", "", "", "", "", "")
_PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run")
GROUPS_GONE = 2.0
"""Seconds."""
DEPTH = 2
"""Directories below those that are looked into."""


def recovery(stage: Stage, probes: tuple[Probe, ...]) -> dict[str, Seen]:
    """Leave, end, look."""
    secret, name = word(), f"left-{secrets.token_hex(6)}"
    values = {**stage.values(), "secret": secret, "name": name}
    stage.run(assemble((), (), {}).text)  # the room stands, and its groups
    before = _groups(stage)
    leaving = assemble((LEAVER,), ("leaver",), values, body="leave()")
    first = stage.run(leaving.text)
    left = answers(first.stdout.text, leaving.nonces).get(LEAVER.id, {})
    lives = [f"process {pid} lives on" for pid in look.sandboxed(stage.host.keeper_pid or 0)]
    end = time.monotonic() + GROUPS_GONE
    while (groups := _groups(stage) - before) and time.monotonic() < end:  # the keeper tells first, and then removes
        time.sleep(0.02)
    outside = [*lives, *_on_host(name), *(f"the cgroup {group} is left" for group in sorted(groups))]
    # The second does not know the secret, only that there was one; and what its files were called.
    source = assemble(probes, ("finder",), {**stage.values(), "name": name})
    result = stage.run(source.text)
    blind = {
        "next": ""
        if left.get("refused") == "left"
        else f"the first job left nothing: {left or first.stderr.text[-300:]}"
    }
    found = gathered(stage, probes, source, result, {}, blind)
    for probe in probes:
        given = found[probe.id]
        effects = list(given.effects)
        if probe.witness == "census":
            effects += outside
        if secret in str(answers(result.stdout.text, source.nonces).get(probe.id, {})):
            effects.append("what the first job left came out of the second")
        found[probe.id] = Seen(given.answered, given.claim, given.refusal, tuple(effects), given.blind)
    return found


def _on_host(name: str) -> list[str]:
    """Files of that name."""
    found = []
    for place in _PLACES:
        for directory, names, files in os.walk(place):
            found += [f"{directory}/{entry} is there" for entry in (*names, *files) if name in entry]
            if directory.count("/") - place.count("/") >= DEPTH:
                names.clear()
    return found


def _groups(stage: Stage) -> set[str]:
    """Every cgroup that our keeper made below our own group."""
    tops = [Path(hierarchy.own) for hierarchy in cgroups.survey().hierarchies]
    made = [group for top in tops for group in top.glob(f"casemate-{stage.host.keeper_pid}-*")]
    return {directory for group in made for directory, _, _ in os.walk(group)}
