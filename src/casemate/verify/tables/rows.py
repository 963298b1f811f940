"""Short ways to write the rows of the tables."""

from __future__ import annotations

from collections.abc import Mapping

from casemate.verify.model import Probe

KERNEL, CONTROL = "kernel surface", "control plane"
HOST_FILES, TENANTS, CREDENTIALS, METADATA = "host files", "other tenants' files", "credentials", "platform metadata"
EGRESS, CPU, MEMORY, DISK, PROCESSES = "egress", "CPU", "memory", "disk", "processes"
TIME, SURVIVAL, REUSE, ARTIFACTS, IDENTITY = "time", "survival after the end", "reuse", "artifacts", "identity"


def slug(text: str) -> str:
    """A path or address as the end of an id."""
    return "".join(c if c.isalnum() else "-" for c in text.strip("/").lower()).strip("-")


def each(
    family: str, table: Mapping[str, str], *, what: str, row: str, code: str, twin: str, witness: str, batch: str,
    trace: str = "", unless: str = "",
) -> tuple[Probe, ...]:  # fmt: skip
    """A probe for each entry, name → text; `{}` in `what`, `code` and `trace` is its value."""
    return tuple(
        Probe(
            f"{family}.{name}", what.replace("{}", value), row, code.replace("{}", value), twin, witness, batch,
            trace.replace("{}", value), unless=unless,
        )
        for name, value in table.items()
    )  # fmt: skip
