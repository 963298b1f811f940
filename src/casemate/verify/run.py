"""Starts the stage, gathers what it found, and, where asked, shows by twins that attacks work with the guard off."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from casemate.control.host import Host, strongest
from casemate.control.places import default_store, default_stores
from casemate.control.profiles import load_profile, profile_text
from casemate.errors import PolicyError, SandboxFault
from casemate.runtime.doctor import examine
from casemate.verify import harness, judge, temporary
from casemate.verify.canaries import VARIABLE, word
from casemate.verify.guards import IN_VM, out
from casemate.verify.model import VM, Finding, Probe, Report, Settings, Verdict
from casemate.verify.tables import PROBES, selected

STAGE = "casemate.verify.stage"
AT_ONCE = 2
"""Harnesses at a time, of one core each."""
Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many probes are done, and how many there are."""


def verify(settings: Settings, progress: Progress = lambda *_: None) -> Report:
    """Run the suite under one profile; raises PolicyError or SandboxFault if it cannot run here."""
    if settings.runtime is None:
        return _verify(settings, progress)
    with _directory() as directory:
        profile = _under(settings.runtime, settings.profile, directory)
        return _verify(dataclasses.replace(settings, profile=profile, runtime=None), progress)


def _under(runtime: str, profile: str, directory: Path) -> str:
    """The profile with another runtime, as a file; the outer wall is all that differs."""
    if profile == "strongest":
        with Host() as host:
            profile = strongest(host)
    loaded = load_profile(profile)
    if loaded.isolation.runtime == runtime:
        return profile
    text, name = profile_text(profile), f"{loaded.name}-{runtime}"
    for row, value in (("name", name), ("runtime", runtime)):
        line = f"{row} = {json.dumps(value)}"
        text, count = re.subn(rf'(?m)^{row}\s*=\s*"[^"\n]*"', lambda _, line=line: line, text)  # type: ignore[misc]
        if count != 1:
            raise PolicyError(f"profile {profile!r} has {count} lines of {row}")
    file = directory / f"{name}.toml" if re.fullmatch(r"[a-z]+", runtime) else directory / "profile.toml"
    file.write_text(text, "utf-8")
    file.chmod(0o644)
    if load_profile(str(file)).isolation.runtime != runtime:
        raise PolicyError(f"profile {profile!r}: the line of its runtime is not written as the shipped ones are")
    return str(file)


def _verify(settings: Settings, progress: Progress) -> Report:
    with Host() as host:
        request = host.request("", settings.profile, None, None, "local", "local")
        profile, image = request.plan.profile, request.image
    probes = selected(settings.only, profile, root=os.geteuid() == 0)
    runtime = profile.isolation.runtime
    began, clock = datetime.datetime.now(datetime.UTC), time.monotonic()
    environment = _environment()
    total = len(probes) * (2 if settings.twins else 1)
    findings: dict[str, Finding] = {}
    with _stage(settings, probes, environment) as started:
        for found in _findings(started, (profile.digest, image.digest)):
            findings[found.id] = found
            progress(found.id, len(findings), total)
    if settings.twins:
        _show_twins(
            settings, probes, findings, environment, lambda name, count: progress(name, len(probes) + count, total)
        )
    return Report(
        profile.name, profile.digest, image.digest, runtime, examine().host, began.isoformat(timespec="seconds"),
        round(time.monotonic() - clock, 2), tuple(findings[probe.id] for probe in probes), profile.layers.not_held,
        settings.only, settings.twins,
        () if settings.only else tuple(sorted({probe.id for probe in PROBES} - {probe.id for probe in probes})),
    )  # fmt: skip


@contextlib.contextmanager
def _stage(settings: Settings, probes: tuple[Probe, ...], environment: Mapping[str, str]) -> Iterator[harness.Started]:
    """The stage with nothing taken out: for root as it is, for a user in namespaces that are made around it.

    A user cannot make a network namespace without a user namespace, in which root's files are nobody's.
    """
    order: dict[str, object] = {"profile": _absolute(settings.profile), "template": settings.template}
    order |= {"probes": [probe.id for probe in probes], "together": True}
    with contextlib.ExitStack() as stack:
        if os.geteuid() == 0:
            arguments = [json.dumps({**order, "network": True})]
            yield stack.enter_context(harness.plain(STAGE, arguments, environment))
            return
        package = harness.weakened(stack.enter_context(_directory()), (harness.SHIFTED,))
        arguments = [json.dumps({**order, "network": False})]
        yield stack.enter_context(
            harness.harness(STAGE, arguments, package, environment, None, _shown(settings.profile))
        )


def _directory() -> AbstractContextManager[Path]:
    """For a copy of the package that every uid of ours can read."""
    return temporary.directory(Path("/var/tmp"), 0o755)


def _absolute(profile: str) -> str:
    """A profile by name, or by a path that holds in another directory."""
    return str(Path(profile).absolute()) if profile.endswith(".toml") else profile


def _shown(profile: str) -> list[Path]:
    """What a stage in namespaces of its own must see of the host: images, and a profile that is a file."""
    files = [Path(_absolute(profile))] if profile.endswith(".toml") else []
    return [*(store for store in default_stores() if store.is_dir()), *files]


def twin_findings(
    guards: Iterable[str], probes: tuple[Probe, ...], profile: str, environment: Mapping[str, str],
    *, beyond: bool = False,
) -> dict[str, Finding]:  # fmt: skip
    """What probes find with guards taken out (guards.out), in the harness; raises NoHarness where there is none."""
    with _directory() as directory:
        edits = out(*guards, beyond=beyond)
        package = harness.weakened(directory, (*edits, harness.BLIND, harness.SHIFTED))
        order: dict[str, object] = {"profile": _absolute(profile), "template": "light", "network": False}
        order |= {"probes": [probe.id for probe in probes], "together": False}  # an attack that works changes things
        arguments = [json.dumps(order)]
        with harness.harness(STAGE, arguments, package, environment, harness.Bounds(), _shown(profile)) as started:
            return {found.id: found for found in _findings(started, abandon=True)}


def _vm_twins(
    probes: tuple[Probe, ...], profile: str, environment: Mapping[str, str]
) -> dict[str, Finding]:  # fmt: skip
    """What they find with guards taken out and nothing around them: on a host that is thrown away."""
    found: dict[str, Finding] = {}
    for family, guards in IN_VM.items():
        mine = [probe.id for probe in probes if probe.family == family]
        if not mine:
            continue
        order = {"profile": _absolute(profile), "template": "light", "network": True, "probes": mine, "together": False}
        with _directory() as directory:
            package = harness.weakened(directory, (*out(*guards), harness.BLIND))
            with harness.plain(STAGE, [json.dumps(order)], environment, package) as started:
                found |= {one.id: one for one in _findings(started)}
    return found


def _show_twins(
    settings: Settings, probes: tuple[Probe, ...], findings: dict[str, Finding], environment: Mapping[str, str],
    progress: Callable[[str, int], None],
) -> None:  # fmt: skip
    """Each guard by itself, as many at a time as there are cores for harnesses, which have one each.

    What is not open then is tried once more with what else the profile closes.
    """

    def tried(guard: str) -> tuple[dict[str, Finding], frozenset[str], str]:
        mine = tuple(probe for probe in probes if probe.twin == guard)
        if guard == VM:
            try:
                return (_vm_twins(mine, settings.profile, environment) if settings.disposable else {}), frozenset(), ""
            except SandboxFault as fault:
                return {}, frozenset(), str(fault)
        twins: dict[str, Finding] = {}
        alone: frozenset[str] = frozenset()
        why = ""
        for beyond in (False, True):
            alone = frozenset(name for name, twin in twins.items() if twin.verdict is Verdict.OPEN)
            left = tuple(probe for probe in mine if probe.id not in alone)
            try:
                twins |= twin_findings((guard,), left, settings.profile, environment, beyond=beyond) if left else {}
            except SandboxFault as fault:
                why = str(fault)
        return twins, frozenset(twins) - alone, why

    guards = tuple(dict.fromkeys(probe.twin for probe in probes))
    done = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for guard, (twins, second, why) in zip(guards, pool.map(tried, guards), strict=True):
            for probe in (probe for probe in probes if probe.twin == guard):
                held, twin = findings[probe.id], twins.get(probe.id)
                findings[probe.id] = (
                    judge.in_vm(held) if guard == VM and not settings.disposable
                    else judge.with_twin(held, twin, why, beyond=probe.id in second)
                )  # fmt: skip
                done += 1
                progress(probe.id, done)


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    if os.geteuid() != 0:
        kept["XDG_DATA_HOME"] = str(default_store().parents[1])  # wherever the home directory is in there
    return {**kept, VARIABLE: word(), "PYTHONDONTWRITEBYTECODE": "1"}


def _findings(
    started: harness.Started, digests: tuple[str, str] | None = None, *, abandon: bool = False
) -> Iterator[Finding]:
    """What the stage finds; raises SandboxFault if it does not come to its end, or has another profile or image.

    With `abandon` it need not clean up: what is left of weakened sandboxes ends with the harness.
    """
    assert started.process.stdout is not None
    done, seen = False, None
    for line in started.process.stdout:
        told: dict[str, Any] = json.loads(line)
        if "finding" in told:
            found = dict(told["finding"])
            yield Finding(**{**found, "verdict": Verdict(found["verdict"])})
        if "profile" in told:
            seen = (told["digest"], told["image"])
        done = done or "done" in told
        if digests and seen != digests and (done or seen is not None):
            raise SandboxFault("the profile or its image was changed while it was verified")
        if done and abandon:
            return
    if not done:
        raise SandboxFault(f"the stage did not come to its end: {started.complaint()}")
