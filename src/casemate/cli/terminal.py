"""What a person sees. Text that came from a sandbox is shown without anything that a terminal would obey.

Results go to standard output, progress and complaints to standard error; progress only where both are terminals.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from casemate.model import Outcome, Part, Reason, RunResult, Stream

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

_STEPS = {
    "template": "warming up the template", "gate": "building the sandbox", "script": "running the script",
    "inspect": "building the second sandbox", "step": "writing and measuring the STEP",
}  # fmt: skip
_SHOWN = 4000


def inert(text: str) -> str:
    """The text with control, bidirectional and other format characters as visible escapes; newlines and tabs stay."""
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") else _escape(c)
        for c in text
    )


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def say(text: str, style: str = "") -> None:
    """One line of a result; where a text from a sandbox has lines of its own, they stay indented below it."""
    out.print(Text(inert(text).replace("\n", "\n      | "), style=style))


def draw(text: str) -> None:
    """Lines that belong below one another, as they are."""
    out.print(Text(inert(text)))


def complain(text: str) -> None:
    """One line on standard error."""
    err.print(Text(inert(text), style="red"))


def watched() -> bool:
    """Whether both streams are terminals; one that the caller closed is None (sys.stdout)."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdout, sys.stderr))


@contextmanager
def progress(first: str, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A spinner with the step that is under way; silent when piped."""
    if quiet or not watched():
        yield lambda _: None
        return
    with err.status(Text(first)) as status:
        yield lambda name: status.update(Text(inert(step(name))))


def step(name: str) -> str:
    """What a person calls it."""
    return _STEPS.get(name, name)


def _headline(outcome: Outcome) -> tuple[str, str]:
    if outcome.ok:
        return "part" if outcome.verdict else "exited well", "green"
    words = [str(outcome.reason)]
    if outcome.limit:
        words.append(str(outcome.limit))
    if outcome.exit_code not in (None, 0):
        words.append(f"with status {outcome.exit_code}")
    if outcome.verdict:
        words.append(f"({outcome.verdict})")
    return f"{' '.join(words)} in stage {outcome.stage}", "red" if outcome.reason is not Reason.CANCELLED else "yellow"


def show(name: str, result: RunResult, paths: dict[str, str]) -> None:
    """The outcome, the parts with their facts, where the files are, and what was printed."""
    headline, style = _headline(result.outcome)
    say(f"{name}: {headline}", style)
    if result.outcome.message and not result.outcome.denials:
        say(f"  {result.outcome.message}")
    for denial in result.outcome.denials:
        where = f"line {denial.line}, column {denial.column}" if denial.line else "source"
        say(f"  {where}: {denial.code}: {denial.message}")
        if denial.source_line:
            say(f"      {denial.source_line}")
        if denial.hint:
            say(f"      hint: {denial.hint}")
    error = result.outcome.error
    if error is not None and error.source_line:
        say(f"  line {error.line}: {error.source_line}")
    if error is not None and error.hint:
        say(f"  hint: {error.hint}")
    if not result.trusted and (result.parts or result.artifacts):
        words = (
            "file and facts are the script's own claim" if result.parts else "the files are as the program left them"
        )
        say(f"  {words}", "yellow")
    for part in result.parts:
        show_part(part, paths)
    for artifact in () if result.parts else result.artifacts.values():
        say(f"  {artifact.name}: {artifact.size} bytes, {paths.get(artifact.name, 'not written, for want of --out')}")
    for notice in result.warnings:
        say(f"  {notice.code}: {notice.message}" + (f" (line {notice.line})" if notice.line else ""), "yellow")
    _show_stream("stdout", result.stdout)
    if not result.ok or result.outcome.verdict is None:
        _show_stream("stderr", result.stderr)


def show_part(part: Part, paths: dict[str, str]) -> None:
    """A part with its facts, and where its file is."""
    target = paths.get(part.artifact or "", "not written, for want of --out" if part.artifact else "no file")
    say(f"  {part.name}: {part.verdict}, {target}")
    if part.facts is not None:
        facts = part.facts
        x0, y0, z0, x1, y1, z1 = facts.bounding_box
        say(f"    volume {facts.volume:.3f} mm³, area {facts.area:.3f} mm², {'valid' if facts.valid else 'invalid'}")
        say(f"    box {x1 - x0:.3f} × {y1 - y0:.3f} × {z1 - z0:.3f} mm")
        counts = f"solids {facts.solids}, shells {facts.shells}, faces {facts.faces}, edges {facts.edges}"
        say(f"    {counts}, round holes {facts.holes}")


def _show_stream(name: str, stream: Stream) -> None:
    if not stream.total:
        return
    text = stream.text[:_SHOWN]
    more = f" (cut; {stream.total} bytes in all)" if stream.truncated or len(stream.text) > _SHOWN else ""
    say(f"  {name}{more}:", "dim")
    for line in text.splitlines():
        say(f"    {line}")
