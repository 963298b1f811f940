"""Two sandboxes at once: one that holds what must not be reached, and one that reaches for it.

The victim plants a secret in every place that it has, says so by waiting to be seen, and is let go when the attacker is
through; then it says what it noticed, and does a little honest work. It is another actor's of the same tenant, or
another tenant's, on the same Host or on one of its own: a keeper, rooms and uids of their own.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from casemate.control import runs
from casemate.control.host import Host
from casemate.control.leases import LOCAL
from casemate.errors import CasemateError
from casemate.model import Reason, RunResult
from casemate.verify import look
from casemate.verify.answers import gathered, told
from casemate.verify.canaries import word
from casemate.verify.model import Probe, Seen
from casemate.verify.source import answers, assemble

if TYPE_CHECKING:
    from casemate.verify.stage import Stage

STANDING = 15.0
VICTIM = Probe("neighbours.victim", "", "", "", "", "", "")


@dataclass
class Victim:
    """A job that waits in a thread of its own."""

    stage: Stage
    host: Host
    tenant: str
    secret: str
    results: list[RunResult | BaseException] = field(default_factory=list)
    pid: int | None = None

    def __enter__(self) -> Victim:
        values = {**self.stage.values(), "secret": self.secret}
        self.source = assemble((VICTIM,), ("victim",), values, body="stand()")
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        while self.host.keeper_pid is None and not self.results:
            self._thread.join(0.005)
        self.pid = look.until_seen(self.host.keeper_pid or 0, STANDING, self.results)
        return self

    def _run(self) -> None:
        try:
            result = self.stage.run(
                self.source.text, None, 60.0, runs.Cancellation(), host=self.host, tenant=self.tenant, actor="beside"
            )
            self.results.append(result)
        except BaseException as error:
            self.results.append(error)

    def release(self) -> None:
        """Let it work, and wait until it has ended."""
        if self.pid is not None:
            look.release(self.pid)
            self.pid = None
        self._thread.join()

    def __exit__(self, *_: object) -> None:
        self.release()

    def noticed(self) -> str:
        """What is wrong with how it ended, or with what it says that it noticed."""
        result = self.results[0]
        if isinstance(result, BaseException):
            return f"the victim was lost: {result}"
        answer = answers(result.stdout.text, self.source.nonces).get(VICTIM.id, {})
        if result.outcome.reason is not Reason.EXITED or result.outcome.exit_code != 0:
            return f"the victim ended as {told(result.outcome)}"
        return "" if answer.get("refused") == "well" else f"the victim says: {answer or 'nothing'}"


def beside(
    *, tenant: str = LOCAL, other_host: bool = False
) -> Callable[[Stage, tuple[Probe, ...]], dict[str, Seen]]:  # fmt: skip
    """The scenario with a victim of this tenant."""

    def scenario(stage: Stage, probes: tuple[Probe, ...]) -> dict[str, Seen]:
        host = stage.other_host() if other_host else stage.host
        secret = word()
        source = assemble(probes, ("neighbour",), {**stage.values(), "victim_word": secret[-8:]}, look=True)
        seen: dict[str, str] = {}
        looked: list[str] = []
        with Victim(stage, host, tenant, secret) as victim:
            if victim.pid is None:
                raise CasemateError(f"the victim never stood: {victim.results}")
            theirs = look.take(victim.pid)

            def examine(pid: int) -> None:
                ours = look.take(pid)
                looked.append("yes")
                seen.update({p.id: _common(p.trace, ours, theirs) for p in probes if p.witness == "look"})
                victim.release()  # it works, and ends, while the attacker holds what it took

            result = stage.run_and_look(source, examine, beside=frozenset({victim.pid}))
        noticed = victim.noticed()
        harming = [probe for probe in probes if probe.witness == "victim"]
        blind = {"look": "" if looked else "nobody could look at both from outside"}
        found = gathered(stage, probes, source, result, seen, blind)
        for probe in probes:
            before = found[probe.id]
            effects = list(before.effects)
            if secret in result.stdout.text:
                given = answers(result.stdout.text, source.nonces).get(probe.id, {})
                effects += ["the victim's secret came out"] if secret in str(given) else []
            if noticed and probe in harming and stage.counts(harming):
                effects.append(noticed)
            found[probe.id] = dataclasses.replace(before, effects=tuple(effects))
        return found

    return scenario


def _common(trace: str, ours: look.Look, theirs: look.Look) -> str:
    """What both share: "ns KIND", or "uid"."""
    kind, _, name = trace.partition(" ")
    if kind == "ns":
        return f"both are in {ours.namespaces[name]}" if ours.namespaces[name] == theirs.namespaces[name] else ""
    if kind == "uid":
        return f"both have uid {ours.status['Uid'].split()[0]}" if ours.status["Uid"] == theirs.status["Uid"] else ""
    return ""
