"""The program that tries: it plants what must not be reached, runs sandboxes, and says a line of JSON for each finding.

    run.py ──► stage (this; a network namespace without a way out) ──► Host ──► keeper ──► rooms, sandboxes
                 │ canaries: files, environment, descriptors, memory
                 └ impostors: listeners for every address there is, and an abstract socket

Started as a program, never imported by the library. As root, without a twin, it runs as the caller does: what is
verified is what the caller gets; only the network is its own, because a wall that is open must not let a probe out to a
real address. For a user, and for a twin, it is started in namespaces that have such a network (enclose.py).
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import functools
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from casemate.control import rendered, runs
from casemate.control.deadline import Deadline
from casemate.control.host import Host, Stock, strongest
from casemate.control.leases import LOCAL
from casemate.errors import CasemateError
from casemate.launcher import syscalls
from casemate.model import RunResult
from casemate.runtime.surface import ERRNO, Surface, answer, numbers
from casemate.verify import admitted, answers, batches, judge, look, network
from casemate.verify.canaries import Canaries, plant_decoys
from casemate.verify.model import Probe, Seen
from casemate.verify.network import Impostors
from casemate.verify.source import Source
from casemate.verify.tables import PROBES, SYSCALLS

DEADLINE = 60.0
"""Seconds that a batch may take; on a quiet machine it takes one or two."""
TOGETHER = 12
"""Probes that share a fork."""
TEMPLATE_BYTES = 8 << 30
"""More than any template has mapped: its limits are above what it has."""


@dataclasses.dataclass
class Stage:
    """What the scenarios of batches.py work with."""

    host: Host
    profile: str
    template: str | None
    canaries: Canaries
    impostors: Impostors
    host_arguments: Mapping[str, Any]
    """What a further Host must be made with."""
    stack: contextlib.ExitStack
    """Holds what lives as long as the stage."""
    together: int = TOGETHER
    machine: str = dataclasses.field(default_factory=lambda: os.uname().machine)

    _other: list[Host] = dataclasses.field(default_factory=list)

    def other_host(self) -> Host:
        """A second Host: another keeper with rooms and uids of its own, as another tenant has."""
        if not self._other:
            self._other.append(self.stack.enter_context(Host(stock=Stock(0), **self.host_arguments)))
            self.warm(self._other[0])
        return self._other[0]

    def warm(self, host: Host) -> None:
        """Have its room and template stand, which may take longer than a probe's deadline."""
        host.execute(dataclasses.replace(self.request(b""), deadline=None), runs.Cancellation(), lambda _: None)

    def request(
        self, source: bytes, limits: Mapping[str, float] | None = None, deadline: float = DEADLINE,
        host: Host | None = None, tenant: str = LOCAL, actor: str = LOCAL,
    ) -> runs.Request:  # fmt: skip
        """A hostile job: the gate is off, which only an internal request can say."""
        made = (host or self.host).request(
            source, self.profile, None, Deadline.after(deadline), tenant, actor, limits=limits, gate=False
        )
        plain = made.plan.profile.artifacts.inspection == "none"  # its own is as small
        return dataclasses.replace(made, template=self.template) if self.template and not plain else made

    def run(
        self, source: bytes, limits: Mapping[str, float] | None = None, deadline: float = DEADLINE,
        cancellation: runs.Cancellation | None = None, progress: Callable[[str], None] = lambda _: None,
        host: Host | None = None, tenant: str = LOCAL, actor: str = LOCAL,
    ) -> RunResult:  # fmt: skip
        """Run one hostile job and wait for what the keeper says of it."""
        request = self.request(source, limits, deadline, host, tenant, actor)
        return (host or self.host).execute(request, cancellation or runs.Cancellation(), progress)

    def run_and_look(
        self, source: Source, examine: Callable[[int], None], beside: frozenset[int] = frozenset()
    ) -> RunResult:
        """As `run`; while the guest waits to be seen, `examine` gets its host pid. Those in `beside` wait already."""
        results: list[Any] = []

        def work() -> None:
            try:
                results.append(self.run(source.text))
            except BaseException as error:
                results.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        keeper = self.host.keeper_pid
        while keeper is None and not results:
            keeper = self.host.keeper_pid
            thread.join(0.01)
        pid = look.until_seen(keeper or 0, DEADLINE, results, beside)
        if pid is not None:
            with contextlib.suppress(OSError):
                examine(pid)
            look.release(pid)
        thread.join()
        if isinstance(results[0], BaseException):
            raise results[0]
        assert isinstance(results[0], RunResult)
        return results[0]

    def counts(self, probes: Sequence[Probe]) -> bool:
        """Whether an effect that any of these may have had is held against each of them.

        Against the walls it is. A twin must show that its own attack works, and not its neighbour's.
        """
        return self.together > 1 or len(probes) == 1

    @property
    def surface(self) -> Surface:
        """The system calls that the profile admits."""
        return admitted.surface_of(self.host.admitted(self.profile))

    @property
    def most_source(self) -> int:
        """Bytes that a source may have."""
        return self.host.admitted(self.profile).limits.source_bytes

    def limits(self) -> dict[str, int]:
        """What the guest's /proc/PID/limits must not be above, by the kernel's names (proc_pid_limits(5))."""
        limits = self.host.admitted(self.profile).limits
        return {
            "Max core file size": 0, "Max locked memory": 0, "Max msgqueue size": 0, "Max pending signals": 1024,
            "Max open files": limits.open_files, "Max processes": limits.processes + rendered.PIDS_FIRST,
            "Max file size": limits.file_size, "Max cpu time": rendered.cpu_seconds(limits.cpu_time, cgroups=True),
            "Max address space": limits.address_space + TEMPLATE_BYTES, "Max data size": limits.data + TEMPLATE_BYTES,
        }  # fmt: skip

    @functools.cached_property
    def _calls(self) -> dict[str, object]:
        """What a probe may know of system calls; `odd_refusals`, by number, are errnos other than EPERM."""
        code = [self.surface.program]
        said = {n: answer(code, self.machine, n, (-1,) * 6) for n in range(answers.NUMBERS)}
        odd = {str(n): value for n, (kind, value) in said.items() if kind == ERRNO and value != errno.EPERM}
        refusals = {"socket": errno.EAFNOSUPPORT} | self.surface.refusals(SYSCALLS, self.machine)
        return {
            "numbers": numbers(SYSCALLS), "refusals": refusals,
            "numbers_end": answers.NUMBERS, "odd_refusals": odd, "allowed": sorted(self.surface.numbers),
        }  # fmt: skip

    def values(self) -> dict[str, object]:
        """What a probe may know: where to look, never what is there."""
        profile = self.host.admitted(self.profile)
        return {
            **self._calls, "places": [str(place.directory) for place in self.canaries.places],
            "abstract": self.impostors.abstract.decode("latin-1"), "caller": os.getpid(),
            "machine": self.machine, "keeper": self.host.keeper_pid or 0, "together": self.together,
            "masked": profile.proc.view == "masked",
            "families": [socket.AF_UNIX] if profile.limits.sockets else [],
            "variables": list(profile.environment.variables),
        }  # fmt: skip


def own_network() -> None:
    """Enter a network namespace that nothing leads out of."""
    syscalls.unshare(syscalls.CLONE_NEWNET)
    network.isolate()


def perform(stage: Stage, probes: tuple[Probe, ...], say: Callable[[Mapping[str, object]], None]) -> None:
    """Batch after batch; what fails as a whole makes its probes inconclusive."""
    not_held = stage.host.admitted(stage.profile).layers.not_held
    for name, scenario in batches.BATCHES.items():
        mine = tuple(probe for probe in probes if probe.batch == name)
        if not mine:
            continue
        try:
            seen = scenario(stage, mine)
        except (CasemateError, OSError) as error:
            seen = {probe.id: Seen(False, refusal=f"{type(error).__name__}: {error}") for probe in mine}
        for probe in mine:
            found = judge.finding(probe, seen.get(probe.id, Seen(False)), not_held)
            say({"finding": dataclasses.asdict(found)})


def _ceiling(of_host: bool) -> dict[str, Any]:
    """In the harness root's file is nobody's, and would be refused; the profile was admitted outside."""
    return {} if of_host else {"ceiling": Path("/casemate-verify/none")}


def main(argv: list[str]) -> int:
    """Arguments: one JSON object, `{"profile", "template", "probes", "network", "together"}`."""
    order = json.loads(argv[0])
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # nothing that a library prints is taken for a finding
    if order["network"]:
        own_network()

    def say(what: Mapping[str, object]) -> None:
        print(json.dumps(what), file=out, flush=True)

    with contextlib.ExitStack() as stack:
        if not order["network"]:
            plant_decoys()
        canaries = Canaries()
        stack.callback(canaries.close)
        impostors = stack.enter_context(Impostors(os.urandom(8).hex()))
        arguments = _ceiling(order["network"])
        host = stack.enter_context(Host(stock=Stock(0), **arguments))
        together = TOGETHER if order["together"] else 1
        chosen_profile = strongest(host) if order["profile"] == "strongest" else order["profile"]
        stage = Stage(host, chosen_profile, order["template"], canaries, impostors, arguments, stack, together)
        stage.warm(host)
        image = stage.request(b"").image
        profile = host.admitted(chosen_profile)
        say(
            {
                "profile": profile.name,
                "digest": profile.digest,
                "image": image.digest,
                "not_held": profile.layers.not_held,
            }
        )
        wanted = frozenset(order["probes"])
        chosen = tuple(admitted.under(probe, profile) for probe in PROBES if probe.id in wanted)
        perform(stage, chosen, say)
        say({"done": True})  # before what is left of weakened sandboxes holds anybody up
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
