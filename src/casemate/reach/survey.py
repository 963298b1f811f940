"""Runs our own programs in a sandbox of the image, and gives what they say as frozen values."""

from __future__ import annotations

import dataclasses
import json
import secrets
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

from casemate.control import runs
from casemate.control.host import Host
from casemate.errors import SandboxFault
from casemate.gate.tables import builtins
from casemate.model import Reason
from casemate.reach import decisions, report
from casemate.runtime.images import Image

OBJECTS, DEPTH, SECONDS = 500_000, 16, 40.0
"""Bounds of a walk; today's needs 25,000 objects, 4 steps and 8 s."""
WALL_TIME = 55.0
"""Seconds for a job, imports not counted: beyond the walk's own bound, for a property that never comes back."""
PARTS = ("danger", "names", "samples", "walk", "report")


def survey(host: Host, image: Image) -> report.Survey:
    """What the libraries of the image have; raises SandboxFault."""
    modules: dict[str, Any] = {surface.module: None for surface in decisions.SURFACES}
    return report.survey(_run(host, image, "survey", {"modules": modules}))


def walk(host: Host, image: Image, modules: Mapping[str, Iterable[str]], attributes: Iterable[str]) -> report.Walk:
    """What can be reached through these names of modules and attributes; raises SandboxFault."""
    values = {
        "modules": {module: sorted(names) for module, names in modules.items()},
        "attributes": sorted(attributes),
        "bounds": {"objects": OBJECTS, "depth": DEPTH, "seconds": SECONDS},
    }
    return report.walk(_run(host, image, "reached", values))


def source(what: str, nonce: str, values: Mapping[str, Any]) -> str:
    """The text of the job that calls `what`."""
    config = {
        "nonce": nonce,
        "origins": sorted(decisions.ORIGINS),
        "uses": "|".join(decisions.USES),
        "calls": decisions.CALLS,
        "returns": decisions.RETURNS,
        "kept_methods": sorted(decisions.KEPT_METHODS),
        "builtins": sorted({**builtins.ADMITTED, **builtins.EXCEPTIONS}),
        "packages": sorted(decisions.PACKAGES),
        "classes": sorted(decisions.CLASSES),
        "plumbing": sorted(decisions.PLUMBING),
        "beside": {module: list(names) for module, names in decisions.BESIDE.items()},
        "versions": list(decisions.VERSIONS),
        **values,
    }
    inside = resources.files("casemate.reach") / "inside"
    parts = [f"import json\n\nCONFIG = json.loads({json.dumps(config)!r})"]
    parts += [(inside / f"{name}.py").read_text("utf-8") for name in PARTS]
    return "\n\n".join([*parts, f"told({what}())", ""])


def _run(host: Host, image: Image, what: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """One job behind the walls of the strongest CAD profile, without the gate: it is our program."""
    nonce = secrets.token_hex(16)
    text, limits = source(what, nonce, values), {"wall_time": WALL_TIME}
    made = host.request(text, "strongest", None, None, "local", "local", limits=limits, gate=False)
    result = host.execute(dataclasses.replace(made, image=image), runs.Cancellation(), lambda _: None)
    outcome = result.outcome
    if outcome.reason is not Reason.EXITED or outcome.exit_code != 0:
        last = result.stderr.text.strip().splitlines()[-1:] or [""]
        raise SandboxFault(f"{what}: the program in the sandbox did not end well: {outcome.message} {last[0][:300]}")
    if result.stdout.truncated:
        raise SandboxFault(f"{what}: the report is larger than {len(result.stdout.data)} bytes")
    lines = result.stdout.text.rstrip("\n").splitlines()
    return report.parse(lines[-1] if lines else "", nonce)
