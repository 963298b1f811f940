"""The first stage: the gate, then the script, then its parts as files. Runs inside the wall, after lockdown.

Theory of operation. The source comes on descriptor 0 and is hostile from its first byte; the gate that reads it is held
to an address space and processor time of its own by the kernel. Its verdict is the first record on the report, written
before one line of the script runs; what the runtime reads after that is this process's claim, because from then on the
script can do here what it likes. So nothing below protects anybody but the honest: it finds their parts, tells them
what went wrong, and never fails because of what they did to their streams, their names or their exceptions.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import linecache
import os
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from types import CodeType
from typing import Any, Protocol

from casemate.gate import Denied, rules_named
from casemate.gate import check as gate_check
from casemate.guest import namespace, results
from casemate.guest.account import FILE, account, guarded, show
from casemate.guest.inputs import Inputs
from casemate.guest.namespace import Namespace
from casemate.guest.process import complain, prepare_streams, read_source, reseed
from casemate.guest.proxies import Library
from casemate.guest.report import Report
from casemate.guest.stages import refuse_by_error, stage

GATE_CPU = 2
"""Seconds of processor time for the gate."""
CLAIMED = "claimed"
"""The stage of a job whose own process writes and measures the parts: fast, and forgeable."""
RAN, RAISED, DENIED = 0, 1, 3
"""Exit codes."""
_RESERVE = 4 * 1024 * 1024
"""Bytes that are let go when the script has used up its memory, so that its account can be written."""


class Job(Protocol):
    """What this stage reads of `launcher.spec.GuestJob`."""

    @property
    def stage(self) -> str:
        """ "script", or CLAIMED."""

    @property
    def gate(self) -> str | None:
        """Name of the rule set, or None."""

    @property
    def workdir(self) -> str:
        """The job directory, which is the current one."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the files that the caller gave."""

    @property
    def address_space(self) -> int:
        """Bytes that the gate may use above what the process has."""

    @property
    def address_space_after(self) -> int:
        """RLIMIT_AS of the script."""

    @property
    def cpu_after(self) -> int:
        """RLIMIT_CPU of the script."""

    @property
    def budgets(self) -> tuple[tuple[str, float], ...]:
        """Seconds by stage."""


def run(job: Job) -> int:
    """Gate, execute, find the parts, hand them over; the exit code is as in RAN, RAISED, DENIED or the script's own."""
    refuse_by_error()
    report = Report()
    gated = _gate(report, job, read_source())
    if gated is None:
        return DENIED
    tree, text = gated
    lines = text.splitlines()
    linecache.cache[FILE] = (len(text), None, [line + "\n" for line in lines], FILE)
    _limit_script(job)
    reseed()
    prepare_streams()
    names = _namespace(job)
    reserve = bytearray(_RESERVE)
    try:
        with stage(report, "script", dict(job.budgets)):
            if tree is None:
                tree = ast.parse(text, FILE)
            tail = execute(tree, names.variables)
    except BaseException as error:
        del reserve
        return _raised(report, error, lines)
    finally:
        namespace.flush()
        _tell_fonts(report)
    left = results.Left(names.variables, names.shown, names.exported, tail, tree)
    try:
        with stage(report, "handover", dict(job.budgets)):
            _hand_over(report, job, left)
    except BaseException as error:
        report.write("error", stage="handover", **_account(error, lines))
        return RAISED
    finally:
        namespace.flush()
    return RAN


def check(job: Job) -> int:
    """The gate alone."""
    refuse_by_error()
    return DENIED if _gate(Report(), job, read_source()) is None else RAN


@functools.cache
def library(rules: str) -> Library:
    """The proxies of a rule set; the template makes them before it forks."""
    return Library(rules_named(rules).module_names)


def execute(tree: ast.Module, variables: dict[str, Any]) -> Any:
    """Run the tree that was checked; the value of its last line, if that is an expression, as a notebook shows it."""
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        exec(_code(tree, "exec"), variables)
        return None
    exec(_code(ast.Module(tree.body[:-1], tree.type_ignores), "exec"), variables)
    return eval(_code(ast.Expression(last.value), "eval"), variables)


def _code(tree: ast.Module | ast.Expression, mode: str) -> CodeType:
    code = compile(tree, FILE, mode, dont_inherit=True)
    assert isinstance(code, CodeType)
    return code


def _gate(report: Report, job: Job, source: bytes) -> tuple[ast.Module | None, str] | None:
    """The admitted tree and its text; None if denied. With the gate off there is no tree yet."""
    began = time.monotonic()
    if job.gate is None:
        _gate_record(report, True, (), (), began)
        return None, source.decode("utf-8", "replace")
    _limit_gate(job)
    try:
        verdict = gate_check(source, rules_named(job.gate), frozenset(job.inputs))
    except MemoryError:
        excess = {"code": "limit.memory", "message": "the source needs more memory than the gate has"}
        _gate_record(report, False, (excess,), (), began)
        return None
    if isinstance(verdict, Denied):
        _gate_record(report, False, tuple(map(dataclasses.asdict, verdict.denials)), (), began)
        return None
    _gate_record(report, True, (), tuple(map(dataclasses.asdict, verdict.notices)), began)
    return verdict.tree, verdict.text


def _gate_record(
    report: Report,
    admitted: bool,
    denials: Sequence[Mapping[str, Any]],
    notices: Sequence[Mapping[str, Any]],
    began: float,
) -> None:
    seconds = round(time.monotonic() - began, 6)
    report.write("gate", admitted=admitted, denials=denials, notices=notices, omitted=0, seconds=seconds)


def _limit_gate(job: Job) -> None:
    _soften(resource.RLIMIT_CPU, GATE_CPU)
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[0])
    except OSError:  # no /proc here: the launcher's own limit stands
        return
    _soften(resource.RLIMIT_AS, pages * resource.getpagesize() + job.address_space)


def _limit_script(job: Job) -> None:
    _soften(resource.RLIMIT_AS, job.address_space_after)
    _soften(resource.RLIMIT_CPU, job.cpu_after)


def _soften(kind: int, value: int) -> None:
    """Set the soft limit, within the hard one, which is the launcher's."""
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _namespace(job: Job) -> Namespace:
    inputs = Inputs(job.workdir, job.inputs)
    if job.gate is None:
        return Namespace(namespace.every_builtin(), None, inputs)
    return Namespace(namespace.permitted_builtins(rules_named(job.gate).builtins), library(job.gate), inputs)


def _raised(report: Report, error: BaseException, lines: Sequence[str]) -> int:
    told = _account(error, lines)
    report.write("error", stage="script", **told)
    if not isinstance(error, SystemExit):
        complain(show(error, lines, told))
        return RAISED
    where = f"line {told['line']}: " if told["line"] else ""
    ended = f"{where}the script ended itself before its result could be taken; take out exit() and SystemExit"
    report.write("noparts", verdict="no_result", message=ended)
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code) & 0xFF
    complain(guarded(lambda: str(code), "(no message)") + "\n")
    return RAISED


def _account(error: BaseException, lines: Sequence[str]) -> dict[str, Any]:
    """Also when there is no memory left even for that, or the script left the interpreter in pieces."""
    try:
        return account(error, lines)
    except BaseException:
        return {"type": "Exception", "message": "", "line": 0, "source_line": "", "function": "", "hint": ""}


def _tell_fonts(report: Report) -> None:
    fonts = sys.modules.get("casemate.guest.fonts")
    watch = None if fonts is None else fonts.watched()
    for asked, taken in {} if watch is None else dict(watch.substitutions).items():
        if taken:
            message = f"the font {asked!r} is not in this image; text was set in {taken!r}"
        else:
            message = f"the font {asked!r} is not in this image, and no other took its place"
        report.write("notice", code="font.substituted", message=message, line=0)


def _hand_over(report: Report, job: Job, left: results.Left) -> None:
    if "OCP" not in sys.modules:  # then nothing can be geometry, and the libraries may not even be there
        report.write("noparts", verdict="no_result", message=results.find(left, lambda _: None).message)
        return
    from casemate.guest import handover, shapes

    found = results.find(left, shapes.kind_of)
    parts, notices = handover.parts_of(found.candidates)
    notices = [*found.notices, *notices, *handover.elsewhere(parts, left)]
    for code, message in notices:
        report.write("notice", code=code, message=message, line=0)
    if parts:
        written = handover.write(parts, job.workdir)
        report.write("handover", parts=written)
        if job.stage == CLAIMED:
            from casemate.guest import inspect

            folder = os.path.join(job.workdir, inspect.OUTPUT)
            inspect.inspect(report, job, written, folder, reread=False)  # what it read back could be forged too
    elif found.candidates:
        empty = f"`{found.candidates[0].name or 'result'}` holds no geometry yet; build a solid on it"
        report.write("noparts", verdict="no_solid", message=empty)
    else:
        report.write("noparts", verdict="no_result", message=found.message)
