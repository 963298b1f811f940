"""The machine, the figures, and how they are written down."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from casemate.bench.measure import Figure


@dataclass(frozen=True, slots=True)
class Machine:
    """Where and when the figures were taken."""

    date: str
    kernel: str
    processor: str
    cores: int
    memory_mib: int
    load: float
    """Load average of the last minute, when the run began: what else ran here."""
    python: str
    profile_layers: str


def machine(layers: str) -> Machine:
    """This one, now; `layers` says what the sandboxes stand on here."""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        models = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    with open("/proc/meminfo", encoding="ascii") as file:
        total = int(file.readline().split()[1]) >> 10
    return Machine(
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes"),
        kernel=f"{platform.system()} {platform.release()} {platform.machine()}",
        processor=models[0] if models else platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        memory_mib=total,
        load=os.getloadavg()[0],
        python=platform.python_version(),
        profile_layers=layers,
    )


def markdown(where: Machine, suites: Mapping[str, Sequence[Figure]], notes: Sequence[str]) -> str:
    """The results as a document."""
    lines = [
        "# Results of `casemate bench`",
        "",
        f"{where.date}, {where.kernel}, {where.processor}, {where.cores} cores, {where.memory_mib} MiB, Python "
        f"{where.python}; load average at the start {where.load:.1f}. Sandboxes stand on: {where.profile_layers}.",
        "",
        "Medians of interleaved rounds of one run. What is divided by, and what each line means, is in "
        "docs/performance.md.",
    ]
    for suite, figures in suites.items():
        lines += ["", f"## {suite}", "", "| | measured | aim | reached | of |", "|---|---|---|---|---|"]
        lines += [
            f"| {figure.name} | {value(figure)} | {aim(figure)} | {reached(figure)} | {figure.detail} |"
            for figure in figures
        ]
    if notes:
        lines += ["", "## Notes", "", *(f"- {note}" for note in notes)]
    return "\n".join(lines) + "\n"


def value(figure: Figure) -> str:
    """As people read it."""
    unit = "" if figure.unit == "ratio" else f" {figure.unit}"
    return f"{figure.value:.2f}{unit}"


def aim(figure: Figure) -> str:
    """`≤ x` or `≥ x`."""
    if figure.aim is None:
        return ""
    return f"{'≤' if figure.better == 'lower' else '≥'} {figure.aim:g}"


def reached(figure: Figure) -> str:
    """Yes, no, or nothing."""
    return {None: "", True: "yes", False: "no"}[figure.reached]
