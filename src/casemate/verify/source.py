"""Makes the source of a hostile job: what to try, as a literal, and the plain Python that tries it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources

from casemate.verify.model import Probe

MARK = 15
"""The descriptor that, when it is what 1 is, says "look at me now"; below every profile's open_files."""
END = "end"
_PROBES = "probes"


@dataclass(frozen=True, slots=True)
class Source:
    """A job's source, and the random word that each answer must carry, by probe id."""

    text: bytes
    nonces: Mapping[str, str] = field(repr=False)


def plain(name: str) -> str:
    """The text of `probes/NAME.py`."""
    return (resources.files("casemate.verify") / _PROBES / f"{name}.py").read_text("utf-8")


def assemble(
    probes: Iterable[Probe], helpers: Iterable[str], values: Mapping[str, object], *, look: bool = False,
    body: str = "run_probes()",
) -> Source:  # fmt: skip
    """The source that tries `probes` one after the other; `values` join its CONFIG."""
    chosen = tuple(probes)
    nonces = {name: secrets.token_hex(8) for name in (*(probe.id for probe in chosen), END)}
    config = {
        "nonces": nonces, "probes": [[probe.id, probe.code, probe.isolated] for probe in chosen],
        "look": look, "mark": MARK, **values,
    }  # fmt: skip
    parts = [f"import json\nCONFIG = json.loads({json.dumps(config)!r})", plain("prelude")]
    parts += [plain(name) for name in helpers]
    return Source("\n\n".join([*parts, body, "raise SystemExit(0)", ""]).encode(), nonces)


def answers(stdout: str, nonces: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """By probe id, the first line that carries its random word; anything else in the output is not an answer."""
    found: dict[str, dict[str, str]] = {}
    for line in stdout.splitlines():
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if not isinstance(answer, dict) or not all(isinstance(value, str) for value in answer.values()):
            continue
        name = answer.get("probe", "")
        if name in nonces and answer.get("nonce") == nonces[name] and name not in found:
            found[name] = answer
    return found
