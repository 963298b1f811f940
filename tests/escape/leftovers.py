"""What a job can set that a later one could see: a table of rows, and the source that looks at all and sets all.

Each job looks, sets, and looks again, so every run shows that a setting took and what the next job finds of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass


class Untouched:
    """Whatever the first job found: a value that depends on the machine or on a library."""


UNTOUCHED = Untouched()


@dataclass(frozen=True)
class Row:
    """`look` is an expression, `leave` are statements; `pristine` is what a fresh sandbox shows, worked out by hand."""

    name: str
    look: str
    leave: str
    pristine: object
    held: bool = False
    """True: the walls let no job set it at all."""


IMPORTS = """
import array, atexit, builtins, codecs, contextlib, ctypes, decimal, errno, fcntl, gc, io, json, locale
import logging, math, os, resource, signal, socket, struct, sys, threading, time, warnings
"""
HELPERS = """
libc = ctypes.CDLL(None, use_errno=True)
libc.getenv.restype = ctypes.c_char_p
MARK = 0x6d61726b
JOB = os.getcwd()

def mask():
    old = os.umask(0o77)
    os.umask(old)
    return old

def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True

def called(result):
    return "there" if result >= 0 else errno.errorcode[ctypes.get_errno()]

def connects(name):
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(name)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "there"

def ticks(which):
    old = signal.setitimer(which, 0)
    signal.setitimer(which, *old)
    return old[0] > 0

def known(name):
    try:
        codecs.lookup_error(name)
    except LookupError:
        return False
    return True

def file_lock(command, kind):
    fd = os.open(os.__file__, os.O_RDONLY)
    try:
        told = fcntl.fcntl(fd, command, struct.pack("hhqqi4x", kind, 0, 0, 0, 0))
    except OSError as error:
        return errno.errorcode[error.errno]
    if command == 37:
        return fd
    os.close(fd)
    return "none" if struct.unpack("hhqqi4x", told)[0] == fcntl.F_UNLCK else "there"
"""
PLACES = (
    "/", "/dev", "/dev/mqueue", "/dev/shm", "/etc", "/home", "/opt", "/opt/casemate", "/proc", "/root", "/run",
    "/run/lock", "/srv", "/sys", "/tmp", "/usr", "/usr/lib", "/usr/local", "/var", "/var/lib", "/var/tmp", ".",
)  # fmt: skip
WRITABLE = ["/dev/shm", "/tmp", "."]  # the first is a link to the second

EVERYWHERE = (
    Row("module attribute", "hasattr(math, 'mark')", "math.mark = 1", False),
    Row("loaded modules", "'mark' in sys.modules", "sys.modules['mark'] = sys", False),
    Row("builtins", "hasattr(builtins, 'mark')", "builtins.mark = 1", False),
    Row("environment", "sorted(os.environ)", "os.environ['MARK'] = '1'", []),
    Row("environment of C", "libc.getenv(b'MARK') is None", "libc.setenv(b'MARK', b'1', 1)", True),
    Row("umask", "mask()", "os.umask(0)", 0o077),
    Row(
        "files in every place",
        f"[place for place in {PLACES!r} if os.path.lexists(os.path.join(JOB, place, 'mark'))]",
        f"for place in {PLACES!r}:\n    with contextlib.suppress(OSError):\n"
        "        open(os.path.join(JOB, place, 'mark'), 'w').close()",
        [],
    ),
    Row(
        "files of other kinds",
        "[sorted(set(os.listdir('/tmp')) - {'mark', os.path.basename(os.getcwd())}), sorted(os.listdir('.'))]",
        "os.mkdir('/tmp/directory')\nopen('.hidden', 'w').write('x')\nopen('/tmp/.hidden', 'w').write('x')",
        [[], []],
    ),
    Row(
        "memory of the tmpfs",
        "sum(os.lstat(os.path.join('/tmp', name)).st_blocks for name in os.listdir('/tmp')) >= 2048",
        "open('/tmp/big', 'wb').write(bytes(1 << 20))",
        False,
    ),
    Row("descriptors", "[fd for fd in range(256) if is_open(fd)]", "os.dup(1)", [0, 1, 2, 3]),
    Row(
        # SIGPIPE and SIGXFSZ are ignored, so that a gone reader and a full file are errors of the call.
        "signal handlers",
        "[int(n) for n in signal.valid_signals() if signal.getsignal(n) != signal.SIG_DFL]",
        "signal.signal(signal.SIGUSR1, print)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)",
        [13, 25],
    ),
    Row(
        "blocked signals",
        "sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, [])))",
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])",
        [],
    ),
    Row(
        "timers",
        "[ticks(n) for n in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)]",
        "for n in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):\n    signal.setitimer(n, 1000)",
        [False, False, False],
    ),
    Row(
        # open_files and file_size of the profile.
        "resource limits",
        "[resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_FSIZE)]",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))",
        [[256, 256], [134217728, 134217728]],
    ),
    Row("recursion limit", "sys.getrecursionlimit()", "sys.setrecursionlimit(50000)", 1000),
    Row("switch interval", "sys.getswitchinterval()", "sys.setswitchinterval(1.0)", 0.005),
    Row("digits of an integer", "sys.get_int_max_str_digits()", "sys.set_int_max_str_digits(0)", 4300),
    Row(
        "threads",
        "len(os.listdir('/proc/self/task'))",
        "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()",
        1,
    ),
    Row(
        "garbage collector",
        "[gc.isenabled(), gc.get_threshold() == (1, 2, 3), gc.get_debug(), len(gc.callbacks)]",
        "gc.disable()\ngc.set_threshold(1, 2, 3)\ngc.callbacks.append(lambda *_: None)",
        [True, False, 0, 0],
    ),
    Row("decimal context", "decimal.getcontext().prec", "decimal.getcontext().prec = 5", 28),
    Row("locale", "locale.setlocale(locale.LC_NUMERIC)", "locale.setlocale(locale.LC_NUMERIC, 'C.UTF-8')", "C"),
    Row("time zone", "time.tzname", "libc.setenv(b'TZ', b'XYZ5', 1)\ntime.tzset()", ["UTC", "UTC"]),
    Row("warning filters", "warnings.filters[0][0] == 'error'", "warnings.simplefilter('error')", False),
    Row(
        "standard input",
        "sys.stdin is sys.__stdin__",
        "sys.stdin = io.StringIO()",
        True,
    ),
    Row(
        "hooks of the interpreter",
        "[sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.getprofile() is None]",
        "sys.excepthook = sys.displayhook = print\nsys.setprofile(lambda *_: None)",
        [True, True, True],
    ),
    Row("exit functions", "atexit._ncallbacks()", "atexit.register(print)", UNTOUCHED),
    Row(
        "import hooks and path",
        "[print in sys.meta_path, print in sys.path_hooks, '/tmp/mark' in sys.path, "
        "'/tmp/mark' in sys.path_importer_cache]",
        "sys.meta_path.append(print)\nsys.path_hooks.append(print)\nsys.path.append('/tmp/mark')\n"
        "sys.path_importer_cache['/tmp/mark'] = None",
        [False] * 4,
    ),
    Row("codec errors", "known('mark')", "codecs.register_error('mark', print)", False),
    Row("logging", "logging.getLogger().level", "logging.getLogger().setLevel(7)", 30),
    Row("socket timeout", "socket.getdefaulttimeout()", "socket.setdefaulttimeout(1.0)", None),
    # F_OFD_GETLK and F_OFD_SETLK (fcntl(2)) on a file of the image, which is the same file in every sandbox.
    Row("file locks", "file_lock(36, fcntl.F_WRLCK)", "file_lock(37, fcntl.F_RDLCK)", "EPERM", held=True),
    Row(
        "System V shared memory",
        "called(libc.shmget(MARK, 0, 0))",
        "libc.shmget(MARK, 4096, 0o1600)",
        "EPERM",
        held=True,
    ),
    Row("System V semaphores", "called(libc.semget(MARK, 0, 0))", "libc.semget(MARK, 1, 0o1600)", "EPERM", held=True),
    Row("System V messages", "called(libc.msgget(MARK, 0))", "libc.msgget(MARK, 0o1600)", "EPERM", held=True),
    Row(
        "POSIX messages",
        "called(libc.mq_open(b'/mark', os.O_RDONLY))",
        "libc.mq_open(b'/mark', os.O_CREAT | os.O_RDWR, 0o600, None)",
        "EPERM",
        held=True,
    ),
    Row(
        "abstract sockets",
        "connects('\\0mark')",
        "with contextlib.suppress(OSError):\n    kept = socket.socket(socket.AF_UNIX)\n"
        "    kept.bind('\\0mark')\n    kept.listen()",
        "EAFNOSUPPORT",
        held=True,
    ),
)  # fmt: skip

CAD_IMPORTS = """
import build123d, cadquery, contextvars, numpy
from OCP.Font import Font_FontMgr
from OCP.Interface import Interface_Static
from OCP.Message import Message
from OCP.OSD import OSD_ThreadPool
"""
CAD = (
    Row("numpy's printing", "numpy.get_printoptions()['precision']", "numpy.set_printoptions(precision=2)", 8),
    Row("numpy's errors", "numpy.geterr()['divide']", "numpy.seterr(divide='ignore')", "warn"),
    Row(
        "unit of STEP files",
        "Interface_Static.CVal_s('write.step.unit')",
        "Interface_Static.SetCVal_s('write.step.unit', 'INCH')",
        "MM",
    ),
    Row(
        "OCCT's messages",
        "Message.DefaultMessenger_s().Printers().Size()",
        "Message.DefaultMessenger_s().ChangePrinters().Clear()",
        1,
    ),
    Row("OCCT's threads", "OSD_ThreadPool.DefaultPool_s().NbThreads()", "OSD_ThreadPool.DefaultPool_s().Init(3)", 1),
    Row(
        "OCCT's fonts",
        "Font_FontMgr.GetInstance_s().GetAvailableFonts().Size()",
        "Font_FontMgr.GetInstance_s().ClearFontDataBase()",
        UNTOUCHED,
    ),
    Row("cadquery's classes", "hasattr(cadquery.Workplane, 'mark')", "cadquery.Workplane.mark = print", False),
    Row("a patched method", "cadquery.Shape.Volume is print", "cadquery.Shape.Volume = print", False),
    Row(
        "build123d's context",
        "[variable.name for variable in contextvars.copy_context() if 'Scope' in variable.name]",
        "build123d.BuildPart().__enter__()",
        [],
    ),
)

TEMPLATES = {"light": (IMPORTS, EVERYWHERE), "cad": (IMPORTS + CAD_IMPORTS, CAD + EVERYWHERE)}

_JOB = """
here = dict(globals())
def look():
    seen = {}
    for name, text, _ in ROWS:
        try:
            seen[name] = eval(text, here)
        except BaseException as error:
            seen[name] = repr(error)
    return seen
def tell(seen):
    os.write(1, json.dumps(seen).encode() + b"\\n")
tell(look())
for name, _, text in ROWS:
    exec(text, here)
tell(look())
raise SystemExit(0)
"""


def source(template: str) -> str:
    """A job that tells what it finds, sets everything, and tells what it then finds: two lines of JSON."""
    imports, rows = TEMPLATES[template]
    table = [(row.name, row.look, row.leave) for row in rows]
    return f"{imports}{HELPERS}ROWS = {json.loads(json.dumps(table))!r}\n{_JOB}"
