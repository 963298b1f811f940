"""Every limit fires on an attack that means to pass it, and the twin passes it with the limit taken out.

All of them run in the harness, whose own cgroup is what stops the twins.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness import attack, attacks

from casemate import Limit, Reason
from casemate.launcher import cgroups

PROFILES = Path(__file__).parents[2] / "profiles"
CGROUPS = not cgroups.survey().missing
"""Without them the profile is `cad-rlimit`, which names what it does not hold."""
NEEDS_CGROUP = pytest.mark.skipif(not CGROUPS, reason="cad-rlimit says by name that it does not hold this")
NO_READ_BACK = ("launcher/mounts.py", "    if not bounded:", "    if False:")
NPROC = ("launcher/lockdown.py", "(resource.RLIMIT_NPROC, walls.processes)", "(resource.RLIMIT_NPROC, 4096)")

# Each prints "refused ERRNO HOW-FAR" or "passed HOW-FAR", and ends itself.
REFUSED = """
import os, time
done = 0
try:
    while done < {enough}:
        {step}
        done += 1
except OSError as error:
    print("refused", error.errno, done)
else:
    print("passed", done)
raise SystemExit(0)
"""


def refused(step: str, enough: int) -> str:
    """The source of an attack that takes one more, again and again."""
    return REFUSED.format(step=step, enough=enough)


BYTES = refused("open(f'f{done}', 'wb').write(bytes(1 << 20))", 400)
INODES = refused("os.mkdir(f'd{done}')", 20000)
FILE_SIZE = refused("os.ftruncate(os.open('x', os.O_CREAT | os.O_WRONLY), 1 << 40)", 1)
OPEN_FILES = refused("os.dup(1)", 2000)
FORKS = refused("os.fork() or (time.sleep(60), os._exit(0))", 200)


MEMFD = refused("os.write(os.memfd_create('x'), bytes(1 << 20))", 3000)
REPORT = "import os\nwhile True:\n    os.write(3, bytes(65536))\n"
# Those that need no guard out and no profile of their own.
PLAIN = {
    "bytes": BYTES,
    "inodes": INODES,
    "file size": "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n" + FILE_SIZE,
    "open files": OPEN_FILES,
    "forks": FORKS,
    "memfd": MEMFD,
    "report": REPORT,
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What came of them, one after the other on one Host."""
    return attacks(PLAIN, tmp_path_factory.mktemp("limits"))


def words(seen: dict[str, object]) -> list[str]:
    """What the attack printed."""
    stdout = seen["stdout"]
    assert isinstance(stdout, list)
    return str(stdout[0]).split()


def test_many_files_fill_only_the_tmpfs(told: dict[str, dict[str, Any]]) -> None:
    word, errno, done = words(told["bytes"])
    assert (word, errno) == ("refused", "28")
    assert 250 <= int(done) <= 256  # disk_bytes is 256 MiB


def test_twin_many_files_without_the_bound(tmp_path: Path) -> None:
    edit = ("launcher/mounts.py", 'f"size={walls.disk_bytes},', 'f"size=1g,')
    assert words(attack(BYTES, tmp_path, without=(edit, NO_READ_BACK))) == ["passed", "400"]


def test_a_million_files_end_at_the_inodes(told: dict[str, dict[str, Any]]) -> None:
    word, errno, done = words(told["inodes"])
    assert (word, errno) == ("refused", "28")
    assert int(done) < 4096


def test_twin_a_million_files_without_the_bound(tmp_path: Path) -> None:
    edit = ("launcher/mounts.py", "nr_inodes={walls.inodes},", "nr_inodes=100000,")
    assert words(attack(INODES, tmp_path, without=(edit, NO_READ_BACK))) == ["passed", "20000"]


def test_a_sparse_file_of_a_terabyte_ends_the_process(told: dict[str, dict[str, Any]]) -> None:
    assert words(told["file size"]) == ["refused", "27", "0"]


def test_twin_a_sparse_file_without_the_limit(tmp_path: Path) -> None:
    edit = ("launcher/lockdown.py", "(resource.RLIMIT_FSIZE, walls.file_size)", "(resource.RLIMIT_FSIZE, 1 << 62)")
    assert words(attack(FILE_SIZE, tmp_path, without=(edit,))) == ["passed", "1"]


def test_open_files_are_refused(told: dict[str, dict[str, Any]]) -> None:
    # 256 in the profile, of which four are taken.
    assert words(told["open files"]) == ["refused", "24", "252"]


def test_twin_open_files_without_the_limit(tmp_path: Path) -> None:
    edit = ("launcher/lockdown.py", "(resource.RLIMIT_NOFILE, walls.open_files)", "(resource.RLIMIT_NOFILE, 4096)")
    assert words(attack(OPEN_FILES, tmp_path, without=(edit,))) == ["passed", "2000"]


def test_a_fork_bomb_is_refused_and_dies_with_its_execution(told: dict[str, dict[str, Any]]) -> None:
    seen = told["forks"]
    word, errno, done = words(seen)
    assert (word, errno) == ("refused", "11")
    assert int(done) <= 34  # 32 processes, and as a user init and exec have the same uid
    assert seen["reason"] == Reason.EXITED


@NEEDS_CGROUP
def test_forks_that_only_the_cgroup_refuses_are_counted_outside(tmp_path: Path) -> None:
    seen = attack(FORKS, tmp_path, without=(NPROC,))
    word, errno, done = words(seen)
    assert (word, errno) == ("refused", "11")
    assert int(done) <= 32
    assert seen["refused"] == ["processes"]


def test_twin_a_fork_bomb_without_either(tmp_path: Path) -> None:
    pids = (
        "launcher/cgroups.py",
        '"pids.max", "pids.max", str(processes), str(processes)',
        '"pids.max", "pids.max", "300", "300"',
    )
    assert words(attack(FORKS, tmp_path, without=(NPROC, pids))) == ["passed", "200"]


CHILDREN = """
import os, time
for n in range(8):
    if os.fork() == 0:
        kept = bytearray(500 << 20)
        for at in range(0, len(kept), 4096):
            kept[at] = 1
        open(f"full-{n}", "w").close()
        time.sleep(60)
        os._exit(0)
while not all(os.path.exists(f"full-{n}") for n in range(8)):
    time.sleep(0.01)
"""


@NEEDS_CGROUP
def test_memory_of_children_together_is_the_cgroups(tmp_path: Path) -> None:
    seen = attack(CHILDREN, tmp_path, seconds=60)
    assert (seen["reason"], seen["limit"]) == (Reason.LIMIT, Limit.MEMORY)


@NEEDS_CGROUP
def test_twin_memory_of_children_without_the_cgroup(tmp_path: Path) -> None:
    # The harness's own group stops it then; the job's is not even asked.
    edit = (
        "launcher/cgroups.py",
        "str(memory), str(memory))\n        bounded",
        'str(1 << 40), "max")\n        bounded',
    )
    seen = attack(CHILDREN.replace("range(8)", "range(6)"), tmp_path, seconds=60, without=(edit, MEMSW))
    assert seen["limit"] != Limit.MEMORY
    assert seen["memory"] > 2 << 30


MEMSW = ("launcher/cgroups.py", '_write(f"{directory}/{name}", str(value))', "continue")


def test_memory_in_a_memfd_cannot_be_taken(told: dict[str, dict[str, Any]]) -> None:
    assert words(told["memfd"])[:2] == ["refused", "1"]


PRINTS = """
import os
block = b"x" * 65536
for _ in range(16 * 10240):
    os.write(1, block)
raise SystemExit(0)
"""


def test_ten_gigabytes_of_prints_are_counted_and_cut(tmp_path: Path) -> None:
    seen = attack(PRINTS, tmp_path, seconds=100, timeout=200)
    _, total, truncated = seen["stdout"]
    assert total == 10 << 30
    assert truncated
    assert seen["reason"] == Reason.EXITED


BURN = """
import os
for _ in range(3):
    if os.fork() == 0:
        break
n = 0
while True:
    n += 1
"""


def _short(directory: Path, name: str) -> str:
    text = (PROFILES / f"{name}.toml").read_text("utf-8")
    assert text.count("cpu_time = 60.0") == 1
    path = directory / "short.toml"
    path.write_text(text.replace("cpu_time = 60.0", "cpu_time = 2.0"), "utf-8")
    return str(path)


@NEEDS_CGROUP
def test_cpu_time_of_all_processes_together(tmp_path: Path) -> None:
    seen = attack(BURN, tmp_path, profile=_short(tmp_path, "cad"), seconds=30)
    assert (seen["reason"], seen["limit"]) == (Reason.LIMIT, Limit.CPU_TIME)
    assert seen["cpu"] < 4.0  # four processes: none of them alone had reached its RLIMIT_CPU


# Nine tenths of its two seconds, by the clock that the cgroup's counter follows, and then its own end.
ALMOST = """
import os, time
while time.process_time() < 1.8:
    pass
os.kill(os.getpid(), 9)
"""
FORGED: tuple[str, str, str] = ("launcher/meter.py", "killed = self._group is None and ", "killed = ")


@NEEDS_CGROUP
def test_who_kills_itself_before_the_bound_has_met_no_limit(tmp_path: Path) -> None:
    seen = attack(ALMOST, tmp_path, profile=_short(tmp_path, "cad"), seconds=30)
    assert (seen["reason"], seen["limit"], seen["signal"]) == (Reason.SIGNALED, None, 9)


@NEEDS_CGROUP
def test_twin_with_the_slack_of_ticks_it_would_be_its_own_verdict(tmp_path: Path) -> None:
    seen = attack(ALMOST, tmp_path, profile=_short(tmp_path, "cad"), seconds=30, without=(FORGED,))
    assert (seen["reason"], seen["limit"]) == (Reason.LIMIT, Limit.CPU_TIME)


def test_twin_cpu_time_without_the_cgroups_clock(tmp_path: Path) -> None:
    edit = ("launcher/execution.py", "        self.group = group\n", "        self.group = None\n")
    seen = attack(BURN, tmp_path, profile=_short(tmp_path, "cad-rlimit"), seconds=4, without=(edit,))
    assert (seen["reason"], seen["limit"]) == (Reason.LIMIT, Limit.WALL_TIME)


def test_a_report_flood_ends_the_job(told: dict[str, dict[str, Any]]) -> None:
    seen = told["report"]
    assert (seen["reason"], seen["limit"]) == (Reason.LIMIT, Limit.REPORT_BYTES)
