"""The one place that starts processes on the host. It never starts untrusted code: that is the launcher's work.

Every process gets an explicit environment, no standard input and a deadline, and gives bounded output.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from casemate.errors import SandboxFault

OUTPUT_BYTES = 8 << 20
TAIL_BYTES = 2000


@dataclass(frozen=True, slots=True)
class CompletedOutput:
    """What a tool that ended with status 0 printed, each stream cut after `OUTPUT_BYTES`."""

    stdout: bytes
    stderr: bytes


def run_tool(
    argv: Sequence[str | Path], *, env: Mapping[str, str], cwd: Path | None = None, timeout: float
) -> CompletedOutput:
    """Run a host tool to its end; anything but exit status 0 within `timeout` seconds is a `SandboxFault`.

    The streams go to files, not pipes, so that a tool that prints without end fills neither memory nor a pipe, and a
    daemon that it leaves behind holds nobody up.
    """
    name = Path(argv[0]).name
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        try:
            completed = subprocess.run(
                [str(word) for word in argv],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=dict(env),
                cwd=cwd,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SandboxFault(f"{name} did not end within {timeout:g} s: {_tail(stderr)}") from None
        except OSError as error:
            raise SandboxFault(f"{name} cannot be started: {error.strerror}") from error
        if completed.returncode != 0:
            raise SandboxFault(f"{name} ended with status {completed.returncode}: {_tail(stderr) or _tail(stdout)}")
        return CompletedOutput(_head(stdout), _head(stderr))


# The launcher is executed, never imported by the service: a package of this name without our __init__, so that the
# keeper is the standard library and the launcher's own files.
_BOOT = """\
import sys, types
package = types.ModuleType("casemate")
package.__path__ = [sys.argv.pop(1)]
sys.modules["casemate"] = package
from casemate.launcher import {module}
sys.exit({module}.main(sys.argv[1:]))
"""


def _launcher(module: str, package: Path, arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-I", "-S", "-B", "-c", _BOOT.format(module=module), str(package), *arguments]


def start_keeper(package: Path, descriptors: tuple[int, int], arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the keeper in a session of its own, with an empty environment and its two descriptors.

    Its standard error is ours: what a template's libraries print while they load is for whoever runs the host.
    """
    numbers = [str(fd) for fd in descriptors]
    try:
        return subprocess.Popen(
            _launcher("keeper", package, [*numbers, *arguments]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={},
            cwd="/",
            pass_fds=descriptors,
            start_new_session=True,
        )
    except OSError as error:
        raise SandboxFault(f"the keeper cannot be started: {error}") from error


@contextmanager
def traced(pids: Sequence[int], output: Path, timeout: float) -> Iterator[None]:
    """Attach strace(1) to processes and all that they will fork; one line of numbers for each call goes to `output`.

    Raises SandboxFault if it is not attached within `timeout` seconds, or did not last until the end of the block.
    """
    attach = [word for pid in pids for word in ("-p", str(pid))]
    with tempfile.TemporaryFile() as stderr:
        try:
            tracer = subprocess.Popen(
                ["strace", "-f", "-q", "--pidns-translation", "-X", "raw", "-e", "raw=!clone,clone3,fork,vfork",
                 "-e", "signal=none", "-o", str(output), *attach],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            )  # fmt: skip
        except OSError as error:
            why = f"strace cannot be started ({error.strerror}); Debian has it in the package strace"
            raise SandboxFault(why) from error
        try:
            deadline = time.monotonic() + timeout
            while any(_tracer(pid) != tracer.pid for pid in pids):
                if tracer.poll() is not None or time.monotonic() > deadline:
                    raise SandboxFault(f"strace could not attach: {_tail(stderr)}")
                time.sleep(0.01)
            yield
            if tracer.poll() is not None:
                raise SandboxFault(f"strace ended before the jobs did: {_tail(stderr)}")
        finally:
            tracer.send_signal(signal.SIGINT)  # it lets go of what it traced, which goes on
            tracer.wait()


def _tracer(pid: int) -> int:
    """Who traces a process (proc(5), TracerPid); 0 also if it is gone."""
    try:
        text = Path(f"/proc/{pid}/status").read_text("utf-8")
    except OSError:
        return 0
    return int(text.partition("TracerPid:")[2].split()[0])


def wait(started: subprocess.Popen[bytes], timeout: float) -> bool:
    """Wait for a started process; False if it is still there after `timeout` seconds."""
    try:
        started.wait(timeout)
    except subprocess.TimeoutExpired:
        return False
    return True


def run_probe(package: Path) -> bytes:
    """Run the launcher's probe of this host; gives what it printed, a JSON object."""
    return run_tool(_launcher("probe", package, []), env={}, timeout=30.0).stdout


def _head(stream: IO[bytes]) -> bytes:
    stream.seek(0)
    return stream.read(OUTPUT_BYTES)


def _tail(stream: IO[bytes]) -> str:
    stream.seek(max(0, stream.seek(0, 2) - TAIL_BYTES))
    return stream.read(TAIL_BYTES).decode("utf-8", "replace").strip()
