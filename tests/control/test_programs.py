"""Plain programs really run: what they print, leave, return and are refused, under `python` and `strict`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from policy.written import text_of

from casemate import Denied, Host, Reason, Stage
from casemate.launcher import cgroups

CGROUPS = not cgroups.survey().missing
"""Without them the profile is `python-rlimit`, and nothing enforces `strict`."""
PYTHON = "python" if CGROUPS else "python-rlimit"
NEEDS_CGROUP = pytest.mark.skipif(not CGROUPS, reason="needs memory, pids and cpu controllers")


@dataclass(frozen=True)
class Program:
    """An honest program, and what it must give."""

    name: str
    source: str
    stdout: str = ""
    stderr: str = ""
    code: int = 0
    files: dict[str, bytes] = field(default_factory=dict)


PROGRAMS = (
    Program("prints", "print('hello')\nprint(2 ** 100)", "hello\n1267650600228229401496703205376\n"),
    Program("nothing", ""),
    Program("is the main module", "print(__name__, __import__('__main__').__name__)", "__main__ __main__\n"),
    Program("unicode", "print('añb → 🙂', ascii('é'))\nopen('out/größe.txt', 'w').write('ß')",
            "añb → 🙂 '\\xe9'\n", files={"größe.txt": "ß".encode()}),
    Program("another encoding", "# coding: latin-1\nprint(len('é'))", "2\n"),  # given as UTF-8: two latin-1 letters
    Program("files, flat and nested", "import os\nos.makedirs('out/a/b')\nopen('out/a/b/c.bin', 'wb').write(bytes(3))\n"
            "open('out/x (1).csv', 'w').write('1,2')\nopen('not taken', 'w').write('x')",
            files={"a/b/c.bin": b"\0\0\0", "x (1).csv": b"1,2"}),
    Program("stdin is empty", "import sys\nprint(repr(sys.stdin.read()))", "''\n"),
    Program("its place", "import os, sys\nprint(sys.argv, os.getcwd() == os.path.dirname(__file__), "
            "os.listdir('out'))\nprint(open(__file__).readline(), end='')", "['script.py'] True []\nimport os, sys\n"),
    Program("environment", "import os\nprint(dict(os.environ) == {'HOME': '/tmp', 'LANG': 'C.UTF-8',"
            " 'PATH': '/usr/bin:/bin'})", "True\n"),
    Program("standard library", """
import json, sqlite3, zoneinfo, datetime, tempfile, decimal, hashlib, ssl, ctypes, asyncio, re, dataclasses, enum, lzma
db = sqlite3.connect("x.db")
db.execute("create table t (a)")
db.executemany("insert into t values (?)", [(1,), (2,)])
db.commit()
zone = zoneinfo.ZoneInfo("Europe/Vienna")
print(db.execute("select sum(a) from t").fetchone(), datetime.datetime(2026, 7, 1, tzinfo=zone).utcoffset())
print(json.dumps({"a": [1]}), decimal.Decimal("0.1") * 3, hashlib.sha256(b"").hexdigest()[:8])
with tempfile.TemporaryDirectory() as place:
    print(place.startswith("/tmp/"))
async def later():
    await asyncio.sleep(0.001)
    return 5
print(asyncio.run(later()), len(lzma.decompress(lzma.compress(bytes(100)))))
""", '(3,) 2:00:00\n{"a": [1]} 0.3 e3b0c442\nTrue\n5 100\n'),
    Program("shell tools", """
import subprocess
print(subprocess.check_output("printf 'b\\na\\nb\\n' | sort | uniq -c | awk '{print $2, $1}'", shell=True, text=True))
print(subprocess.run("exit 3", shell=True).returncode, subprocess.getoutput("echo $HOME; ls /usr/bin/sed"))
print(subprocess.run(["python3", "-c", "import sys; print(sys.stdin.read())"], input="in", text=True,
                     capture_output=True).stdout, end="")
subprocess.run("mkdir -p t/u; echo 1 > t/u/f; find t -name f | xargs grep -c 1; sed s/1/2/ t/u/f; tar czf out/t.tgz t;"
               "mkfifo p; (echo through > p &); cat p; test -c /dev/null; readlink -f /bin/sh >&2", shell=True)
""", "a 1\nb 2\n\n3 /tmp\n/usr/bin/sed\nin\n1\n2\nthrough\n", "/usr/bin/sh\n", files={"t.tgz": b"\x1f\x8b"}),
    Program("a program that was just written", """
import os, subprocess
open("tool", "w").write("#!/bin/sh\\necho ran $1\\n")
os.chmod("tool", 0o755)
print(subprocess.check_output(["./tool", "it"], text=True), end="")
""", "ran it\n"),
    Program("threads and processes", """
import threading, multiprocessing, concurrent.futures
seen = []
workers = [threading.Thread(target=seen.append, args=(n,)) for n in range(8)]
[w.start() for w in workers]; [w.join() for w in workers]
print(sorted(seen))
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(abs, [-1, 2]))
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(sum(pool.map(len, ["a", "bc"])))
def late():
    import time
    time.sleep(0.05)
    print("late")
threading.Thread(target=late).start()
""", "[0, 1, 2, 3, 4, 5, 6, 7]\n[1, 2]\n3\nlate\n"),
    Program("spawned processes", """
import multiprocessing
def double(n):
    return 2 * n
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(double, [4]))
""", "[8]\n"),
    Program("a local server", """
import os, socket, threading
server = socket.socket(socket.AF_UNIX)
server.bind("s"); server.listen()
threading.Thread(target=lambda: server.accept()[0].sendall(b"hi")).start()
client = socket.socket(socket.AF_UNIX); client.connect("s")
print(client.recv(9))
""", "b'hi'\n"),
    Program("a terminal", """
import os, pty, sys, termios
ours, theirs = os.openpty()
pid = os.fork()
if pid == 0:
    os.setsid()
    os.close(os.open(os.ttyname(theirs), os.O_RDWR))
    for n in range(3):
        os.dup2(theirs, n)
    os.execv("/bin/sh", ["sh", "-c", "test -t 0 && stty size && tty"])
os.waitpid(pid, 0)
termios.tcsetattr(theirs, termios.TCSANOW, termios.tcgetattr(theirs))
told = b""
while told.count(b"\\n") < 2:
    told += os.read(ours, 100)
print(told)
""", "b'0 0\\r\\n/dev/pts/0\\r\\n'\n"),
    Program("sees its own processes", """
import os, subprocess
names = subprocess.getoutput("ps -eo comm=").split()
print(sorted(set(names) - {"ps", "sh"}) != [], len(names) <= 3, os.cpu_count() > 0)
""", "True True True\n"),
    Program("its streams by name", "import os\nprint(os.system('echo out > /dev/stdout; echo err > /dev/stderr'))",
            "out\n0\n", "err\n"),
    Program("exit code", "import sys\nprint('x')\nsys.exit(7)", "x\n", code=7),
    Program("exit with a message", "raise SystemExit('no good')", "", "no good\n", 1),
    Program("exit builtin", "exit(4)", code=4),
    Program("code above 255", "import sys\nsys.exit(258)", code=2),
    Program("atexit", "import atexit\natexit.register(print, 'bye')\nprint('hi')", "hi\nbye\n"),
    Program("leaves at once", "import os\nos.write(1, b'raw')\nos._exit(9)", "raw", code=9),
    Program("child that falls through", """
import os
if pid := os.fork():
    os.waitpid(pid, 0)
    print("parent")
else:
    raise ValueError("in the child")
""", "parent\n", "ValueError"),
    Program("closed streams", "import os\nprint('before')\nos.close(1)\nos.close(2)\nos.close(0)", "before\n"),
    Program("takes our descriptor", "import os\nos.closerange(3, 200)\nf = open('out/f', 'wb')\nf.write(b'mine')\n"
            "print(f.fileno())", "3\n", files={"f": b"mine"}),
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_an_honest_program(program: Program, host: Host) -> None:
    result = host.run(program.source, PYTHON)
    told = (result.outcome, result.stdout.text, result.stderr.text[-2000:])
    assert result.outcome.reason is Reason.EXITED, told
    assert result.outcome.exit_code == program.code, told
    assert result.stdout.text == program.stdout, told
    assert program.stderr in result.stderr.text, told
    assert result.ok is (program.code == 0)
    assert (result.parts, result.outcome.verdict, result.outcome.denials, result.trusted) == ((), None, (), False)
    assert set(result.artifacts) == set(program.files), result.warnings
    for name, data in program.files.items():
        assert result.artifacts[name].data.startswith(data)
    assert result.warnings == ()


def test_an_exception_is_told_on_stderr_and_as_a_value(host: Host) -> None:
    result = host.run("def f(n):\n    return 1 / n\n\nprint('before')\nf(0)\n", PYTHON)
    assert (result.outcome.reason, result.outcome.exit_code, result.ok) == (Reason.EXITED, 1, False)
    assert result.stdout.text == "before\n"
    assert result.stderr.text == (
        "Traceback (most recent call last):\n"
        '  File "script.py", line 5, in <module>\n    f(0)\n'
        '  File "script.py", line 2, in f\n    return 1 / n\n           ~~^~~\n'
        "ZeroDivisionError: division by zero\n"
    )
    error = result.outcome.error
    assert error is not None
    assert (error.type, error.message, error.line, error.source_line) == (
        "ZeroDivisionError", "division by zero", 2, "    return 1 / n",
    )  # fmt: skip
    assert result.outcome.message == "ZeroDivisionError: division by zero (line 2)"


@pytest.mark.parametrize(
    "source", ["x = (\n", "\0", "\xff".encode("latin-1"), "def f(:\n  pass", b"# coding: nothing\n"]
)
def test_what_does_not_compile_is_the_programs_fault(source: str | bytes, host: Host) -> None:
    result = host.run(source, PYTHON)
    assert (result.outcome.reason, result.outcome.exit_code) == (Reason.EXITED, 1)
    assert result.outcome.error is not None
    assert result.outcome.error.type in ("SyntaxError", "ValueError")
    assert result.outcome.error.type in result.stderr.text


def test_inputs_are_in_its_directory_and_can_be_imported(host: Host) -> None:
    inputs = {"data.csv": b"1,2", "helper.py": b"def three():\n    return 3\n"}
    result = host.run("import helper\nprint(helper.three(), open('data.csv').read())", PYTHON, inputs)
    assert result.stdout.text == "3 1,2\n"
    assert result.artifacts == {}


def test_files_of_a_program_that_failed_are_taken_too(host: Host) -> None:
    result = host.run("open('out/log', 'w').write('so far')\nraise SystemExit(2)", PYTHON)
    assert (result.outcome.exit_code, result.artifacts["log"].data) == (2, b"so far")


def test_forged_records_change_nothing(host: Host) -> None:
    source = """
import json, os
def tell(**record):
    data = json.dumps(record).encode()
    os.write(3, len(data).to_bytes(4, "big") + data)
tell(kind="error", stage="script", type="Forged", message="x", line=1, source_line="", function="", hint="")
tell(kind="part", name="part", verdict="part", file="part.step", facts=None, message="")
tell(kind="gate", admitted=False, denials=[], notices=[], seconds=0.0)
open("out/f", "w").write("x")
"""
    result = host.run(source, PYTHON)
    assert result.ok
    assert (result.outcome.stage, result.outcome.error, result.parts) == (Stage.DONE, None, ())
    assert set(result.artifacts) == {"f"}


def test_there_is_no_gate_and_nothing_to_check(host: Host) -> None:
    with pytest.raises(Denied, match="no gate"):
        host.check("print(1)", PYTHON)


def test_every_row_is_among_the_layers(host: Host) -> None:
    result = host.run("", PYTHON)
    seen = {layer.name: layer for layer in result.enforcement.layers}
    assert not [name for name in seen if name.startswith("inspect.")]
    assert seen["guest.environment"].detail == "HOME, LANG, PATH"
    assert "down" in seen["init.loopback"].detail
    assert "masks over /proc" in seen["exec.mounts"].detail
    assert result.enforcement.degraded == (() if CGROUPS else ("cgroup-memory", "cgroup-pids", "cgroup-cpu"))


def test_python_rlimit_holds_on_this_host_too(host: Host) -> None:
    result = host.run("import os\nprint(os.popen('echo shell').read(), end='')", "python-rlimit")
    assert (result.ok, result.stdout.text) == (True, "shell\n")


LOOPBACK = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b"hi")).start()
print(socket.create_connection(server.getsockname()).recv(9))
print(socket.has_ipv6 and socket.create_server(("::1", 0), family=socket.AF_INET6).getsockname()[0])
"""


def test_a_loopback_that_is_up_carries_a_server_and_its_client(host: Host, tmp_path: Path) -> None:
    text = text_of(PYTHON)
    assert text.count('loopback = "down"') == 1
    mine = tmp_path / "mine.toml"
    mine.write_text(text.replace('loopback = "down"', 'loopback = "up"'), "utf-8")
    result = host.run(LOOPBACK, str(mine))
    assert result.stdout.text == "b'hi'\n::1\n", result
    assert "up" in next(layer.detail for layer in result.enforcement.layers if layer.name == "init.loopback")
    refused = host.run(LOOPBACK, PYTHON)
    assert refused.outcome.error is not None
    assert "Address family not supported" in refused.outcome.error.message


@NEEDS_CGROUP
@pytest.mark.parametrize(
    ("source", "stdout"),
    [
        ("print(sum(range(10)), 2 ** 0.5)", "45 1.4142135623730951\n"),
        ("import math, json, fractions\nprint(math.factorial(20), json.dumps([fractions.Fraction(1, 3) * 3 == 1]))",
         "2432902008176640000 [true]\n"),
        ("print(open('numbers').read())", "1 2 3\n"),
        ("print(len(sorted(range(1_000_000), key=lambda n: -n)))", "1000000\n"),
    ],
)  # fmt: skip
def test_strict_does_arithmetic(source: str, stdout: str, host: Host) -> None:
    result = host.run(source, "strict", {"numbers": b"1 2 3"})
    assert (result.outcome.reason, result.outcome.exit_code) == (Reason.EXITED, 0), (result.outcome, result.stderr.text)
    assert result.stdout.text == stdout
    assert result.artifacts == {}


@NEEDS_CGROUP
def test_strict_tells_an_exception(host: Host) -> None:
    result = host.run("def f():\n    return [][1]\nf()\n", "strict")
    assert (result.outcome.exit_code, result.outcome.error and result.outcome.error.type) == (1, "IndexError")
    assert 'File "script.py", line 2, in f\n    return [][1]' in result.stderr.text
