"""The outer wall made by others: the same jobs and attacks, what each says of itself, broken runtimes, and the end.

A runtime that makes less than it was told is played by a program that changes the bundle and then calls the real one.
Each such change is refused; its twin, where the read-backs are taken out, shows that it would have stood.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import BLIND, confined, until_script_runs, wait_until, weakened
from processes import descendants
from runtimes import INSTALLED, profile_under, require, stand_in
from stocked import open_request, run, waiting

from casemate import Host, PolicyError, Stock
from casemate.control.places import default_state
from casemate.control.runs import Request
from casemate.runtime import connection
from casemate.runtime import runtimes as installed

SERVED = b"print('served')\nraise SystemExit(0)\n"
needs_groups = pytest.mark.skipif(os.geteuid() != 0, reason="the attacks' profile needs root or a delegated cgroup")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="stand-ins are written for root's walls")


# --- the same jobs under each -----------------------------------------------------------------------------------------


@needs_groups
@pytest.mark.parametrize("name", INSTALLED)
def test_the_same_jobs_end_the_same_way(name: str, tmp_path: Path) -> None:
    require(name)
    with confined("under_runtime", profile_under(tmp_path, name)) as running:
        found = running.finish(110)
    assert found["seen"] == {
        "part": ["exited", None, None, "part", None],
        "denied": ["policy", None, None, None, None],
        "wrong": ["exited", None, None, "no_result", "ZeroDivisionError"],
        "killed": ["signaled", None, 9, None, None],
        "clock": ["limit", "wall_time", 9, None, None],
        "memory": ["limit", "memory", 9, None, None],
        "cancelled": ["cancelled", None, 9, None, None],
        "attack": ["exited", None, None, "no_result", "SystemExit"],
        "volume": pytest.approx(6000),
    }
    assert found["reached"] == "[[], [], 1000, []]\n"
    assert found["degraded"] == []
    layers: dict[str, Any] = found["layers"]
    assert all(on for on, _ in layers.values())
    theirs = {layer for layer, (_, detail) in layers.items() if detail.endswith(f", by {name}")}
    assert theirs == {
        "room.user", "room.rlimits", "room.namespaces", "room.pid", "room.cgroupns", "room.hostname", "room.loopback",
        "room.capabilities", "room.no_new_privs", "room.seccomp",
    }  # fmt: skip
    assert layers["room.runtime"][1].startswith(f"{name}: {name} version ")
    assert layers["room.cgroup"][1].endswith(", by the keeper")
    assert {"room.session", "room.identity", "room.mounts", "keeper.room"} <= layers.keys()
    # One filter more than the room's: the guest's own, which `keeper.outside` has compared.
    assert (layers["room.seccomp"][1].split()[0], layers["guest.seccomp"][1].split()[0]) == ("1", "2")


# --- runtimes that do not do what they are told -----------------------------------------------------------------------


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keeper's patience with a runtime, cut short."""
    changed = weakened(tmp_path, [("launcher/oci.py", "SECONDS = 20.0\n", "SECONDS = 1.0\n")])
    monkeypatch.setattr(connection, "PACKAGE", changed)


def refusal(tmp_path: Path, command: Path) -> str:
    """What a job is told under a profile whose runtime is `command`."""
    with Host(runtimes={"crun": command}, stock=Stock(size=0)) as host:
        return refused(host, open_request(host, SERVED, "light", profile_under(tmp_path, "crun")))


def refused(host: Host, request: Request) -> str:
    """What this job is told; nothing of its room is left."""
    with pytest.raises(PolicyError) as caught:
        run(host, request)
    assert wait_until(lambda: not descendants(host.keeper_pid or 0), 5.0), descendants(host.keeper_pid or 0)
    return str(caught.value)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("print('no such luck', file=sys.stderr)\nsys.exit(1)", "crun ended with status 1: no such luck"),
        ("sys.exit(0)", "crun ended with status 0"),
        ("os.kill(os.getpid(), 9)", "crun ended with status -9"),
        ("time.sleep(1000)", "crun made no room within 1 s"),
        # Says that it runs, as `state` would be answered, and starts nothing; what it left behind must end too.
        (
            "if os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)\nprint('running')\nsys.exit(0)",
            "status 0: running",
        ),
    ],
    ids=["fails", "does nothing", "dies", "hangs", "lies"],
)
def test_a_broken_runtime_is_a_refusal(tmp_path: Path, body: str, told: str) -> None:
    assert told in refusal(tmp_path, stand_in(tmp_path, body))


def test_a_missing_or_silent_runtime_is_a_refusal(tmp_path: Path) -> None:
    profile = profile_under(tmp_path, "crun")
    with (
        Host(runtimes={"crun": tmp_path / "nothing"}) as host,
        pytest.raises(PolicyError, match=r"'crun': .*No such file"),
    ):
        host.run("x = 1\n", profile)
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\nexit 1\n", "utf-8")
    broken.chmod(0o700)
    with (
        Host(runtimes={"crun": broken}) as host,
        pytest.raises(PolicyError, match="'crun': broken ended with status 1"),
    ):
        host.run("x = 1\n", profile)


WITHOUT_WALLS = """
bundle = sys.argv[sys.argv.index("--bundle") + 1]
config = json.load(open(f"{bundle}/config.json"))
root = config["root"]["path"]
for mount in config["mounts"]:
    if mount["type"] == "bind":
        subprocess.run(["mount", "--rbind", mount["source"], root + mount["destination"]], check=True)
subprocess.run(["mount", "-t", "proc", "proc", root + "/proc"], check=True)
os.chroot(root)
os.chdir("/")
os.execve(config["process"]["args"][0], config["process"]["args"], {})
"""


@as_root
def test_a_runtime_that_makes_no_wall_is_refused(tmp_path: Path) -> None:
    told = refusal(tmp_path, stand_in(tmp_path, WITHOUT_WALLS))
    assert "what crun made is not the wall that it should be" in told
    assert "user: still in the old namespace: user" in told


def less(directory: Path) -> Path:
    """A runtime that changes the bundle as the file `change` beside it says, and then does what the real one does."""
    found = installed.find("crun")
    body = f"""
bundle = sys.argv[sys.argv.index("--bundle") + 1]
made = json.load(open(f"{{bundle}}/config.json"))
linux, process = made["linux"], made["process"]
def share(kind):
    linux["namespaces"] = [row for row in linux["namespaces"] if row["type"] != kind]
exec(open({str(directory / "change")!r}).read())
json.dump(made, open(f"{{bundle}}/config.json", "w"))
os.execv({found.command!r}, sys.argv)
"""
    return stand_in(directory, body)


CHANGES = {
    "network": ("share('network')", "still in the old namespace: net"),
    "ipc": ("share('ipc')", "still in the old namespace: ipc"),
    "cgroup": ("share('cgroup')", "still in the old namespace: cgroup"),
    "filter": ("del linux['seccomp']", "seccomp: mode is 0"),
    "wide filter": ("linux['seccomp']['defaultAction'] = 'SCMP_ACT_ALLOW'", "lets sched_rr_get_interval through"),
    "privileges": ("process['noNewPrivileges'] = False", "no_new_privs is off"),
    "capabilities": (
        "for names in ('bounding', 'effective', 'permitted'):\n"
        "    process['capabilities'][names].append('CAP_NET_ADMIN')",
        "capabilities: Cap",
    ),
    "limits": ("process['rlimits'][0].update(soft=4096, hard=4096)", "rlimits: rlimit"),
    "name": ("made['hostname'] = 'tenant-17'", "host name not set"),
    "mount": (
        "made['mounts'].append({'destination': '/tmp/etc', 'type': 'bind', 'source': '/etc', 'options': ['bind']})",
        "mount table: ['/tmp/etc'] unexpected",
    ),
}
"""What is changed, and how the refusal names it. In the twin each of these stands."""
HEAVIER = {
    "pid": (
        "share('pid')\n"
        "made['mounts'][0].update(type='bind', source='/proc', options=['rbind'])",  # else the kernel refuses it
        "pid: pid is ",
    ),
    "uts": ("share('uts')\ndel made['hostname']", "still in the old namespace: uts"),
    "user": ("share('user')\nlinux.pop('uidMappings')\nlinux.pop('gidMappings')", "still in the old namespace: user"),
    "maps": (
        "for row in (*linux['uidMappings'], *linux['gidMappings']):\n    row['hostID'] = 0\n"
        # Else that uid cannot read what it is started with.
        "code = bundle + '/code'\n"
        "subprocess.run(['mount', '-o', 'remount,bind,rw', code], check=True)\n"
        "subprocess.run(['chmod', '-R', 'a+rX', code], check=True)",
        "its uid, gid and groups are 0",
    ),
}
"""Those whose twin would touch the host."""


@pytest.fixture(scope="module")
def lessened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Host, Request, Path]]:
    """A Host whose runtime makes less than it is told, a request under it, and the file that says what."""
    require("crun")
    directory = tmp_path_factory.mktemp("less")
    with Host(runtimes={"crun": less(directory)}, stock=Stock(size=0)) as host:
        yield host, open_request(host, SERVED, "light", profile_under(directory, "crun")), directory / "change"


@as_root
@pytest.mark.parametrize("change", [*CHANGES, *HEAVIER])
def test_less_than_the_wall_is_refused(change: str, lessened: tuple[Host, Request, Path]) -> None:
    host, request, file = lessened
    edit, named = (CHANGES | HEAVIER)[change]
    file.write_text(edit, "utf-8")
    told = refused(host, request)
    assert "what crun made is not the wall that it should be" in told
    assert named in told


@as_root
def test_twin_without_read_backs_less_would_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("crun")
    edits = [
        ("launcher/steps.py", "seen = step.verify(site)", 'seen = "?" if place is Place.ROOM else step.verify(site)'),
        ("launcher/behind.py", "    return (*layers, *beside)", "    return layers"),
        ("launcher/behind.py", "        if int(seen[name], 16) & ~most:", "        if False:"),
        ("launcher/behind.py", '    if seen["Seccomp"] != "2":', "    if False:"),
        ("launcher/behind.py", "        os.sched_rr_get_interval(0)\n", "        raise PermissionError\n"),
        ("launcher/behind.py", "{lockdown.see_no_new_privs(site)}", "unseen"),
        ("launcher/outside.py", '    if status["NSpid"][1:] != ["1"]:', "    return ()\n    if False:"),
        BLIND,
    ]  # fmt: skip
    monkeypatch.setattr(connection, "PACKAGE", weakened(tmp_path, edits))
    changes = "\n".join(edit for name, (edit, _) in CHANGES.items() if name != "wide filter")
    (tmp_path / "change").write_text(changes, "utf-8")
    with Host(runtimes={"crun": less(tmp_path)}, stock=Stock(size=0)) as host:
        request = open_request(host, SERVED, "light", profile_under(tmp_path, "crun"))
        assert run(host, request).stdout.text == "served\n"


# --- the end ----------------------------------------------------------------------------------------------------------


def on_the_host() -> set[str]:
    """What a runtime could leave: mounts, what stands where runtimes keep their state, and whose its streams are."""
    places = ("/run/crun", "/run/runc", "/run/bundle", "/run/state")
    files = {f"{place}/{name}" for place in places if os.path.isdir(place) for name in os.listdir(place)}
    owners = {f"{node} of {os.stat(node).st_uid}" for node in ("/dev/null", "/dev/zero", "/dev/full", "/dev/random")}
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return files | owners | {line.split(" ", 3)[3] for line in file}


def recorded(keeper: int) -> list[str]:
    """What a keeper has claimed."""
    return [name for name in os.listdir(default_state()) if name.startswith(f"keeper-{keeper}-")]


@needs_groups
@pytest.mark.parametrize(("runtime", "whom"), [("crun", "keeper"), ("crun", "monitor"), ("runc", "runtime")])
def test_a_kill_leaves_nothing(runtime: str, whom: str, tmp_path: Path) -> None:
    require(runtime)
    before = on_the_host()
    with confined("hang_light", profile_under(tmp_path, runtime)) as attack:
        keeper = until_script_runs(attack)
        assert wait_until(lambda: waiting(keeper), 10)
        made = [
            path for top in attack.group.directories() for path in Path(top).glob("casemate-[0-9]*") if path.is_dir()
        ]
        assert made
        os.kill({"keeper": keeper, **below(keeper, runtime)}[whom], signal.SIGKILL)
        # The caller is told (SandboxFault) and ends; everything else has ended before that.
        assert attack.process.wait(20) != 0
        assert wait_until(lambda: not attack.group.members(), 2.0), attack.group.members()
        served(tmp_path, "native")  # whose keeper sweeps first
        assert not any(path.exists() for path in made)
        assert recorded(keeper) == []
    assert on_the_host() <= before


def served(tmp_path: Path, runtime: str) -> int:
    """Run a job under a runtime, on a Host that is closed after it; its keeper's pid."""
    with Host(stock=Stock(size=0)) as host:
        request = open_request(host, SERVED, "light", profile_under(tmp_path, runtime))
        assert run(host, request).stdout.text == "served\n"
        assert host.keeper_pid is not None
        assert recorded(host.keeper_pid)
        # The host sees nothing of what the monitor mounted.
        assert not {path for path in on_the_host() if "bundle" in path or path.startswith("/run/state")}
        return host.keeper_pid


def below(keeper: int, runtime: str) -> dict[str, int]:
    """The monitor and the runtime of a keeper's one room."""
    for pid in descendants(keeper):
        stat = ""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # another may have ended since
            stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
        if stat.partition("(")[2].rpartition(")")[0] == runtime:
            return {"runtime": pid, "monitor": int(stat.rpartition(")")[2].split()[1])}
    raise AssertionError("no runtime below the keeper")


@pytest.mark.parametrize("runtime", INSTALLED)
def test_a_host_that_is_closed_leaves_nothing(runtime: str, tmp_path: Path) -> None:
    require(runtime)
    before = on_the_host()
    keeper = served(tmp_path, runtime)
    assert not descendants(keeper)
    assert recorded(keeper) == []
    assert on_the_host() <= before
