"""`Host`: what a caller holds. Keeps a keeper and its templates warm, and runs jobs on them from any thread."""

from __future__ import annotations

import asyncio
import math
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from casemate.control import mapping, outcomes, outlining, runs, scoring
from casemate.control.deadline import Deadline
from casemate.control.leases import LOCAL, Leases
from casemate.control.places import default_state, default_stores
from casemate.control.profiles import CEILING, admit
from casemate.errors import Busy, Denied, PolicyError, SandboxFault
from casemate.model import RunResult
from casemate.policy import HostFacts, Profile, decide, tighten
from casemate.policy.runtimes import layer
from casemate.runtime import capacity, images
from casemate.runtime import runtimes as installed
from casemate.runtime.connection import UID_RANGE
from casemate.runtime.doctor import examine
from casemate.runtime.rooms import Rooms, Standing, Stock, Template

TEMPLATES = {
    "cad": Template("cad", "casemate.guest.warm:cad", "casemate.guest.warm:rehearse"),
    "light": Template("light", "casemate.guest.light:warm", ""),
    "program": Template("program", "casemate.guest.program:warm", ""),
}
STRONGEST = ("cad", "cad-rlimit")
"""CAD profiles, strongest first."""
PLAIN = ("python", "python-rlimit")
"""The same of plain programs."""
ARUNS = 64
"""How many `arun`s of one Host run at a time, each in a thread of its own."""


class Host:
    """Runs jobs; use it in a `with` block, or call `close()`. Safe from several threads; a forked child needs its own.

    `stores` are searched for images in order (default: the user's own, then the system's); `state` is the directory of
    the keeper's claims; `uids` is (first, count) of the host uids that sandboxes may have, as root; `stock` says how
    many sandboxes are kept ready ahead of demand; `ceiling` is the administrator's file above which no profile may go;
    `runtimes` are executables of OCI runtimes by their names in profiles (default: those in system directories).
    """

    def __init__(
        self,
        *,
        stores: Sequence[Path] | None = None,
        state: Path | None = None,
        uids: tuple[int, int] = UID_RANGE,
        stock: Stock | None = None,
        ceiling: Path = CEILING,
        runtimes: Mapping[str, Path] | None = None,
    ) -> None:
        self._stores = tuple(stores) if stores is not None else default_stores()
        self._rooms = Rooms(state or default_state(), uids, stock)
        self._leases = Leases()
        self._ceiling = ceiling
        self._lock = threading.Lock()
        self._facts: HostFacts | None = None
        self._named = dict(runtimes or {})
        self._runtimes: dict[str, installed.Found] = {}
        self._threads = ThreadPoolExecutor(ARUNS, "casemate-arun")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill what runs, end the keeper, and wait until nothing of it is left; raises SandboxFault if that fails."""
        self._rooms.close()
        self._threads.shutdown(wait=False)

    @property
    def keeper_pid(self) -> int | None:
        """Process id of the keeper, None before the first job."""
        return self._rooms.keeper_pid

    def run(
        self, source: str | bytes, profile: str = "cad", inputs: Mapping[str, bytes] | None = None,
        deadline: Deadline | float | None = None, *, limits: Mapping[str, float] | None = None, tenant: str = LOCAL,
        actor: str = LOCAL, progress: Callable[[str], None] = lambda _: None,
    ) -> RunResult:  # fmt: skip
        """Run one script and wait for its result.

        `profile` is a name, a file, or "strongest": the strongest CAD profile that this host enforces. `inputs` are
        files that the job finds in its working directory, name → bytes. `deadline` is a point in time that several runs
        may share (a `Deadline`), or seconds from now: the job gets no more than what is left until then, nor more than
        its profile's `wall_time`. `limits` are rows of the profile's `[limits]` to be tightened, name → number. Raises
        Denied (a bad profile, limit, input or host), Busy, SandboxFault; what the script did wrong is in `outcome`.
        """
        return self.execute(
            self.request(source, profile, inputs, deadline, tenant, actor, limits=limits), runs.Cancellation(), progress
        )

    def warm(self, profile: str = "cad", limits: Mapping[str, float] | None = None) -> None:
        """Start what the first job under this profile would wait for: the keeper, a room, a warm template, a stock."""
        request = self.request("", profile, None, None, LOCAL, LOCAL, limits=limits)
        ground = self.ground(request)
        runs.demand(request, ground)
        ground.release()

    def check(self, source: str | bytes, profile: str = "cad", inputs: Mapping[str, bytes] | None = None) -> RunResult:
        """The gate alone, inside the wall: `outcome.reason` is `exited` if admitted, `policy` with `denials` if not."""
        request = self.request(source, profile, inputs, None, LOCAL, LOCAL, check_only=True)
        return self.execute(request, runs.Cancellation(), lambda _: None)

    async def arun(
        self, source: str | bytes, profile: str = "cad", inputs: Mapping[str, bytes] | None = None,
        deadline: Deadline | float | None = None, *, limits: Mapping[str, float] | None = None, tenant: str = LOCAL,
        actor: str = LOCAL,
    ) -> RunResult:  # fmt: skip
        """As `run`, without blocking the event loop; cancelling the task kills the job.

        ARUNS of them run at a time; the time that a later one waits for its turn counts against its deadline.
        """
        self._rooms.require_open()
        cancellation = runs.Cancellation()
        until = Deadline.after(deadline) if isinstance(deadline, (int, float)) else deadline
        submitted = self._threads.submit(
            lambda: self.execute(
                self.request(source, profile, inputs, until, tenant, actor, limits=limits),
                cancellation,
                lambda _: None,
            )
        )
        waiting = asyncio.wrap_future(submitted)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            cancellation.request()
            submitted.cancel()
            await asyncio.wait([waiting])
            raise

    def map(
        self,
        sources: Iterable[str | bytes],
        profile: str = "cad",
        *,
        jobs: int | None = None,
        limits: Mapping[str, float] | None = None,
    ) -> Iterator[RunResult]:
        """Run many scripts, `jobs` at a time (default: one a core); results in the order of the sources.

        `sources` is taken as results are consumed, in a thread of its own, so it may be endless and may wait; what it
        raises is raised here after the results of what it gave before. A fault of ours is a result with the reason
        `lost` and never ends the others; Denied (a bad profile or host) is raised.
        """
        return mapping.ordered(sources, self.runner(profile, limits), mapping.checked(sources, jobs))

    def map_completed(
        self,
        sources: Iterable[str | bytes],
        profile: str = "cad",
        *,
        jobs: int | None = None,
        limits: Mapping[str, float] | None = None,
    ) -> Iterator[tuple[int, RunResult]]:
        """As `map`, but (index of the source, result) as they complete."""
        return mapping.completed(sources, self.runner(profile, limits), mapping.checked(sources, jobs))

    def amap(
        self,
        sources: Iterable[str | bytes],
        profile: str = "cad",
        *,
        jobs: int | None = None,
        limits: Mapping[str, float] | None = None,
    ) -> AsyncIterator[tuple[int, RunResult]]:
        """As `map_completed`, without blocking the event loop."""
        return mapping.asynchronous(sources, self.runner(profile, limits), mapping.checked(sources, jobs))

    def runner(
        self, profile: str = "cad", limits: Mapping[str, float] | None = None
    ) -> Callable[[str | bytes, runs.Cancellation], RunResult]:
        """What the maps run each source with: a fault of ours is a result with the reason `lost`.

        A bad profile or host is refused here, before anything runs.
        """
        first = self.request("", profile, None, None, LOCAL, LOCAL, limits=limits)

        def run(source: str | bytes, cancellation: runs.Cancellation) -> RunResult:
            try:
                request = self.request(source, profile, None, None, LOCAL, LOCAL, limits=limits)
                return self.execute(request, cancellation, lambda _: None)
            except (Busy, SandboxFault) as fault:
                self._rooms.require_open()  # a closed Host ends the map
                return outcomes.lost(uuid.uuid4().hex[:16], first.plan, first.image, str(fault))

        return run

    @capacity.descriptors()
    def request(
        self, source: str | bytes, profile: str, inputs: Mapping[str, bytes] | None, deadline: Deadline | float | None,
        tenant: str, actor: str, *, limits: Mapping[str, float] | None = None, gate: bool = True,
        check_only: bool = False,
    ) -> runs.Request:  # fmt: skip
        """Resolve names to values: the profile as tightened, this host's plan for it, the image."""
        if not isinstance(source, (str, bytes)):
            raise TypeError(f"a source is text or bytes, not {type(source).__name__}")
        if deadline is not None and not isinstance(deadline, (Deadline, int, float)):
            raise TypeError(f"a deadline is a Deadline or seconds, not {type(deadline).__name__}")
        self._rooms.require_open()
        until = Deadline.after(deadline) if isinstance(deadline, (int, float)) else deadline
        loaded = tighten(self.admitted(strongest(self) if profile == "strongest" else profile), limits or {})
        try:
            plan = decide(loaded, self.facts(loaded.isolation.runtime))
        except PolicyError as refusal:
            raise PolicyError(f"{refusal}{self._alternative(loaded)}", refusal.faults) from None
        if until is not None and math.isnan(until.at):
            raise Denied("a deadline that is not a number")  # every comparison with it would be false
        plain = loaded.artifacts.inspection == "none"
        if plain and check_only:
            raise Denied(f"profile {loaded.name!r} has no gate, so there is nothing to check")
        data = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
        return runs.Request(
            source=data, plan=plan, image=self._image(loaded.filesystem.image), inputs=dict(inputs or {}),
            deadline=until, tenant=tenant, actor=actor, gate=gate, check_only=check_only,
            template="program" if plain else "light" if check_only else "cad",
        )  # fmt: skip

    @capacity.descriptors()
    def execute(
        self, request: runs.Request, cancellation: runs.Cancellation, progress: Callable[[str], None]
    ) -> RunResult:
        """Run a resolved request."""

        def standing() -> Standing:
            return self.ground(request, None if request.deadline is None else request.deadline.left())

        return runs.run(request, self._leases, standing, cancellation, progress)

    @capacity.descriptors()
    def compare(
        self, generated: Sequence[bytes], reference: bytes, settings: scoring.Settings, profile: str = "cad",
        cancellation: runs.Cancellation | None = None, *, limits: Mapping[str, float] | None = None,
    ) -> scoring.Comparison:  # fmt: skip
        """Compare a generated shape, given as one or several STEP files, with a reference (see `casemate.cad.score`).

        Raises Denied, Busy, SandboxFault; what is wrong with the files is in the comparison.
        """
        files = scoring.inputs(tuple(generated), reference)
        request = self.request("", profile, files, None, LOCAL, LOCAL, limits=limits)
        return scoring.compare(
            request, settings, self._leases, lambda: self.ground(request), cancellation or runs.Cancellation()
        )

    @capacity.descriptors()
    def outline(self, part: bytes, profile: str = "cad", deadline: Deadline | float | None = None) -> outlining.Outline:
        """The visible edges of a STEP file's part, drawn in a sandbox (`casemate.cad.picture` makes pictures of it).

        It takes no longer than until the deadline, nor than the profile's `wall_time`. Raises Denied, Busy,
        SandboxFault, TimeoutError (no room stood in time); a part that cannot be drawn gives no lines.
        """
        request = self.request("", profile, {outlining.PART: part}, deadline, LOCAL, LOCAL)
        until = request.deadline
        return outlining.outline(
            request, self._leases, lambda: self.ground(request, None if until is None else until.left())
        )

    def ground(self, request: runs.Request, patience: float | None = None) -> Standing:
        """The room for a request with its warm template (see `Rooms.standing`); its `release` is the caller's."""
        runtime = request.plan.profile.isolation.runtime
        outer = installed.NATIVE if runtime == "native" else installed.outer(self._runtime(runtime))
        return self._rooms.standing(request.image, TEMPLATES[request.template], outer, patience)

    @capacity.descriptors()
    def admitted(self, profile: str) -> Profile:
        """A profile by name or path, if nothing of it is above this host's ceiling; raises PolicyError."""
        return admit(profile, self._ceiling)

    @capacity.descriptors()
    def facts(self, runtime: str = "native") -> HostFacts:
        """What this host can enforce, and whether it has this runtime; probed once."""
        self._rooms.require_own_process()
        with self._lock:
            if self._facts is None:
                self._facts = HostFacts(examine().layers)
            facts = self._facts
        if runtime == "native":
            return facts
        return HostFacts((*facts.layers, (layer(runtime), self._runtime(runtime).reason)))

    def _runtime(self, name: str) -> installed.Found:
        with self._lock:
            if name not in self._runtimes:
                self._runtimes[name] = installed.find(name, self._named.get(name))
            return self._runtimes[name]

    def _alternative(self, refused: Profile) -> str:
        """What to say of a weaker profile that this host does enforce; it is never taken unasked."""
        if refused.isolation.runtime != "native":
            return ""
        plain = refused.artifacts.inspection == "none"
        try:
            name = strongest(self, PLAIN if plain else STRONGEST)
        except PolicyError:
            return ""
        if name == refused.name or self.admitted(name).kernel.syscalls != refused.kernel.syscalls:
            return ""
        return f". Profile {name!r} is enforceable here; it names what it does not hold"

    def _image(self, name: str) -> images.Image:
        """The one that has this name now: it may have been built anew since the last job."""
        return images.find(name, self._stores)


def strongest(host: Host, names: Sequence[str] = STRONGEST) -> str:
    """The first of these profiles that this host can enforce; raises PolicyError if there is none."""
    refusals = []
    for name in names:
        try:
            decide(host.admitted(name), host.facts())
        except Denied as refusal:
            refusals.append(str(refusal))
        else:
            return name
    raise PolicyError("; ".join(refusals))


__all__ = ["Host", "Stock", "SandboxFault", "strongest"]
