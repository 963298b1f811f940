"""What people run instead of a sandbox, as a program: `worker.py MODE SITE_PACKAGES PACKAGE`, with no wall around it.

    in-process   import everything once, then execute every script in this process (the fastest there is)
    fork         warm up as a template does, then fork a child for every script, which does what a guest does
    once         a fresh process for one script: import, execute, end as Python ends

Requests are lines of JSON on standard input (the source of a script), answers are lines on standard output: the seconds
that it took in here, or an error.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Job:
    """What `casemate.guest.script.run` reads of a job."""

    workdir: str
    stage: str = "claimed"
    gate: str | None = "cad"
    inputs: tuple[str, ...] = ()
    address_space: int = 1 << 40
    address_space_after: int = 1 << 40
    cpu_after: int = 1 << 30
    budgets: tuple[tuple[str, float], ...] = (("handover", 1e6), ("step", 1e6), ("facts", 1e6))


def execute(source: str) -> None:
    """The script, and a STEP of what it calls `result` or `part` if it wrote none itself."""
    names: dict[str, Any] = {"__name__": "__main__"}
    if "show_object" in source:
        names["show_object"] = lambda *_, **__: None
    exec(compile(source, "script.py", "exec"), names)
    if ".step" not in source:
        export(names)


def export(names: dict[str, Any]) -> None:
    """As a caller would: by the library that the object is of."""
    found = next((names[name] for name in ("result", "part", "assembly") if name in names), None)
    if found is None:
        raise LookupError("the script leaves no result, part or assembly")
    for number, shape in enumerate(found if isinstance(found, list) else [found]):
        _export(shape, f"part{number}.step")


def _export(shape: Any, path: str) -> None:
    if type(shape).__module__.startswith("build123d"):
        import build123d

        build123d.export_step(getattr(shape, "part", shape), path)
        return
    import cadquery

    if isinstance(shape, cadquery.Assembly):
        shape.export(path)
    else:
        cadquery.exporters.export(shape, path)


def in_process() -> Callable[[str], None]:
    """Warm as one can be without a sandbox: imported, one thread for OCCT."""
    import cadquery
    from OCP.OSD import OSD_ThreadPool

    OSD_ThreadPool.DefaultPool_s(1)
    assert cadquery
    with contextlib.suppress(ImportError):
        import build123d

        assert build123d
    return execute


def forking() -> Callable[[str], None]:
    """The template's own warm-up and the guest's own code, without a wall."""
    from casemate.guest import script, warm
    from casemate.launcher import memory

    warm.cad()
    memory.settle()

    def run(source: str) -> None:
        fd = os.memfd_create("source")
        os.write(fd, source.encode())
        os.lseek(fd, 0, 0)
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                null = os.open("/dev/null", os.O_WRONLY)
                os.dup2(fd, 0)
                for number in (1, 2, 3):
                    os.dup2(null, number)
                os.makedirs("out", exist_ok=True)
                code = script.run(Job(os.getcwd()))
            finally:
                os._exit(code)
        os.close(fd)
        _, status = os.waitpid(pid, 0)
        if status:
            raise RuntimeError(f"the child ended with {status}")

    return run


def main(mode: str, site_packages: str, package: str) -> None:
    """Serve, or run the one script."""
    sys.path.append(site_packages)
    ours = types.ModuleType("casemate")  # the guest's code without the library that starts sandboxes
    ours.__path__ = [package]
    sys.modules["casemate"] = ours
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory(prefix="casemate-bench-") as directory:
        os.chdir(directory)
        if mode == "once":
            execute(sys.stdin.read())
            return
        run = in_process() if mode == "in-process" else forking()
        print("ready", file=answers, flush=True)
        for line in sys.stdin:
            began = time.perf_counter()
            try:
                run(json.loads(line))
                print(time.perf_counter() - began, file=answers, flush=True)
            except Exception as error:
                print(f"{type(error).__name__}: {error}".replace("\n", " "), file=answers, flush=True)
        os.chdir("/")


if __name__ == "__main__":
    main(*sys.argv[1:])
