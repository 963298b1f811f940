"""Probes that are a whole job each: how the keeper says that it ended, what it counted, and what is left of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TYPE_CHECKING

from casemate.control import runs
from casemate.control.host import Host
from casemate.errors import CasemateError
from casemate.verify import expect, look
from casemate.verify.answers import told
from casemate.verify.model import Probe, Seen
from casemate.verify.source import answers, assemble

if TYPE_CHECKING:
    from casemate.verify.stage import Stage

PATIENCE = 6.0
"""Seconds past its deadline after which a job is cancelled: only one whose deadline was taken out gets there."""
LOOKS = 8
"""At what lives on: what forks and ends all the time is not seen by each."""


def jobs(stage: Stage, probes: tuple[Probe, ...]) -> dict[str, Seen]:
    """Run them, one at a time on each of two Hosts: what lives below a keeper when its job is over was left by that."""
    free: SimpleQueue[Host] = SimpleQueue()
    for host in (stage.host, stage.other_host()):
        free.put(host)

    def one(probe: Probe) -> Seen:
        host = free.get()
        try:
            return _job(stage, host, probe)
        except (CasemateError, OSError) as error:
            return Seen(False, refusal=f"{type(error).__name__}: {error}")
        finally:
            free.put(host)

    with ThreadPoolExecutor(2) as pool:
        return dict(zip((probe.id for probe in probes), pool.map(one, probes), strict=True))


def _job(stage: Stage, host: Host, probe: Probe) -> Seen:
    source = assemble(
        (probe,), ("jobs", probe.family), stage.values(), body=f"NAME = {probe.id!r}\n{probe.code}\ntell('end')"
    )
    cancellation = runs.Cancellation()
    timer = threading.Timer(probe.deadline + PATIENCE, cancellation.request)
    timer.start()
    before = set(_living(stage, host, probe).values())  # in a twin: where what an earlier probe left lives
    try:
        result = stage.run(
            source.text, dict(probe.limits), probe.deadline, cancellation, _canceller(probe, cancellation), host
        )
    finally:
        timer.cancel()
    answer = answers(result.stdout.text, source.nonces).get(probe.id)
    refusal = f"{answer.get('refused', '')} {answer.get('detail', '')}".strip() if answer else ""
    wrong, blind = expect.violations(probe.expect, result, refusal)
    looks = LOOKS if probe.witness == "census" else 1
    living = {pid: space for _ in range(looks) for pid, space in _living(stage, host, probe).items()}
    left = [f"process {pid} lives on" for pid, space in living.items() if space not in before]
    files = "".join(artifact.data.decode("latin-1") for artifact in result.artifacts.values())
    effects = [*wrong, *stage.canaries.shown(result.stdout.text + result.stderr.text + files), *left]
    ended = f"{refusal}; {told(result.outcome)}".strip("; ")
    answered = answer is not None or expect.certain(probe.expect, result)
    return Seen(answered, answer.get("got", "") if answer else "", ended, tuple(effects), blind)


def _living(stage: Stage, host: Host, probe: Probe) -> dict[int, str]:
    """What lives in a sandbox below its keeper, and in which pid namespace: each sandbox has one of its own.

    In a twin of what is to leave something not the first of a namespace, which is ours, and lives on whether it left
    anything or not.
    """
    ours = stage.together == 1 and probe.family == "processes"
    living = look.sandboxed(host.keeper_pid or 0)
    return {pid: look.namespace(pid, "pid") for pid in living if not (ours and look.is_first(pid))}


def _canceller(probe: Probe, cancellation: runs.Cancellation) -> Callable[[str], None]:
    """For a job that is to be cancelled: half a second after its script began."""

    def progress(step: str) -> None:
        if step == "script" and "cancelled" in probe.expect:
            threading.Timer(0.5, cancellation.request).start()

    return progress
