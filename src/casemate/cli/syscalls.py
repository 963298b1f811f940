"""`casemate syscalls show SET | trace SET JOB…`: a system call set with its reasons, and what real jobs need of it."""

from __future__ import annotations

import argparse
import os
import platform
from pathlib import Path

from casemate.cli import documents, policy_documents, terminal
from casemate.cli.status import FAILED, WELL
from casemate.control import tracing
from casemate.control.host import Host, Stock
from casemate.errors import Denied
from casemate.runtime import seccomp


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Its arguments."""
    parser = commands.add_parser("syscalls", help="show a system call set, or trace what jobs need of it")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    show = verbs.add_parser("show", help="the calls of a set, and who needs them")
    trace = verbs.add_parser(
        "trace", help="run jobs that you trust with next to no filter, and say what the set lacks and no longer needs"
    )
    for verb in (show, trace):
        verb.add_argument("set", choices=seccomp.shipped())
        verb.add_argument("--json", action="store_true", help="one JSON document on standard output, and nothing else")
    trace.add_argument("jobs", nargs="+", type=Path, metavar="JOB", help="a script, or a directory of them")
    trace.add_argument(
        "--profile",
        help="whose other walls they run behind (default: strongest for cad, else the one of the set's name)",
    )
    trace.add_argument("--record", type=Path, metavar="FILE", help="write the trace there, as --json would print it")
    show.set_defaults(command=_show)
    trace.set_defaults(command=_trace)


def _show(arguments: argparse.Namespace) -> int:
    found = seccomp.load(arguments.set)
    groups = tuple(policy_documents.SyscallGroupDocument(g.name, g.why, g.calls, g.kept) for g in found.groups)
    document = policy_documents.SyscallSetDocument(found.name, len(found.calls), groups, dict(found.variants), WELL)
    if arguments.json:
        print(documents.dump(document))
        return WELL
    terminal.say(f"{document.name}: {document.calls} calls")
    for call, rule in document.arguments.items():
        terminal.say(f"  {call}: {rule}")
    for group in groups:
        terminal.say(f"  {group.name}{' (kept without a trace)' if group.kept else ''}: {group.why}")
        terminal.say(f"      {' '.join(group.calls)}", "dim")
    return WELL


def _trace(arguments: argparse.Namespace) -> int:
    jobs = [path for job in arguments.jobs for path in (sorted(job.glob("*.py")) if job.is_dir() else [job])]
    if not jobs:
        raise Denied("no job there")
    profile = arguments.profile or ("strongest" if arguments.set == "cad" else arguments.set)
    with (
        Host(stock=Stock(size=0)) as host,
        terminal.progress("attaching strace", quiet=arguments.json) as progress,
    ):
        trace = tracing.trace(host, jobs, arguments.set, profile, progress)
    document = of_trace(trace, seccomp.load(arguments.set))
    if arguments.record:
        arguments.record.write_text(documents.dump(document) + "\n", "utf-8")
    if arguments.json:
        print(documents.dump(document))
    else:
        _say(document)
    return document.exit_status


def of_trace(trace: tracing.Trace, wanted: seccomp.CallSet) -> policy_documents.TraceDocument:
    """What `trace` prints: of each call at most three jobs that made it."""
    lacks = tuple(trace.lacking(wanted, unix=True, inet=True, pty=True))
    return policy_documents.TraceDocument(
        wanted.name,
        {"machine": platform.machine(), "kernel": os.uname().release, "libc": " ".join(platform.libc_ver())},
        dict(trace.jobs),
        {call: made[:3] for call, made in trace.calls.items()},
        {call: tracing.positions(call) for call in trace.words},
        dict(trace.words),
        lacks,
        tuple(trace.unneeded(wanted)),
        tuple(trace.needed(wanted)),
        FAILED if lacks else WELL,
    )


def _say(document: policy_documents.TraceDocument) -> None:
    terminal.say(f"{document.set}: {len(document.jobs)} jobs made {len(document.calls)} calls")
    for job, ended in document.jobs.items():
        terminal.say(f"  {job}: {ended}", "dim")
    for what, names, style in (
        ("lacks", document.lacks, "red"),
        ("has what none of these jobs needs", document.unneeded, "yellow"),
        ("keeps without a trace what one of these jobs needs", document.kept_but_seen, "yellow"),
    ):
        terminal.say(f"{document.set} {what}: {', '.join(names) or 'nothing'}", style if names else "green")
