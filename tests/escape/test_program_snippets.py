"""The kept attacks against a system, its limits, its output and its collector, as plain programs under `python`.

Each has a verdict: what it printed, how it ended, what was taken of what it left. Those against the kernel print
`PROBE HELD`, `OPEN`, `REACHED` or `REVIEW` (a list to look at); what is open for a reason is listed with that reason.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import DATA, confined

from casemate.launcher import cgroups

PROGRAMS = DATA / "programs"
CGROUPS = not cgroups.survey().missing
PYTHON = "python" if CGROUPS else "python-rlimit"
CANARIES = ("/tmp/pwn", "/abs", "/var/tmp/casemate-escape")
Seen = dict[str, dict[str, Any]]


def sweep(directory: str, seconds: float, first: str = "") -> Seen:
    """Run a directory of them; nothing of them is left afterwards, and an honest program still runs."""
    files = sorted(map(str, (PROGRAMS / directory).glob("*.py")))
    assert files
    with confined("sweep_programs", PYTHON, str(seconds), first, *files) as running:
        told = running.finish(600)
        assert running.group.members() == ()
    seen: Seen = told["seen"]
    assert {f"{directory}/{Path(file).stem}" for file in files} == set(seen)
    assert told["last"] == "42\n"
    for name, result in seen.items():
        assert result["ahead"], name
        assert told["token"] not in str(result["stdout"]) + result["stderr"], name
        assert result["reason"] in ("exited", "signaled", "limit"), (name, result)
    assert not [path for path in CANARIES if os.path.lexists(path)]
    return seen


OPEN_FOR_A_REASON = {
    "os/084": "descriptor 3 is the report, a pipe of its own; its bytes are claims",
    "os/094": "/proc/kmsg is the null device: it can be opened, and gives nothing",
    "os/098": "its cgroup is named relative to init's, in a namespace of its own: no name of the host's",
    "os/114": "its parent is outside its pid namespace and so 0, which is its own process group",
    "os/120": "the profile lets what was written be executed (with exec_writable = false: escape/test_programs.py)",
    "os/162": "sockets of the local family are its own, and what goes through them stays inside",
    "os/170": "locks on files of the image are seen by other live sandboxes of the room (docs/syscalls.md)",
}
REFUSED = {
    "os/106": "Permission denied: '/dev'", "os/118": "Operation not permitted",  # memfd_create
    "os/128": "Address family not supported", "os/160": "Address family not supported",
    "os/174": "Permission denied: '/run'",
}  # fmt: skip
"""Those that end with the refusal instead of printing it."""
LISTS: dict[str, Callable[[str], bool]] = {
    "os/086": lambda text: "(0, 0, '/dev/null'), (1, 1, 'pipe:" in text,
    "os/100": lambda text: "/tmp" in text and not any(f"'{path}'" in text for path in ("/", "/opt/casemate", "/proc")),
    "os/102": lambda text: text == "[]",  # set-id programs
    "os/112": lambda text: text == "[]",  # memory of the supervisor
    "os/122": lambda text: text == "['sh', 'bash']",
    "os/124": lambda text: text == "[b'']",  # what the environment block holds
    "os/164": lambda text: "True" not in text and text.count("Operation not") >= 3,  # extended attributes
    "os/176": lambda text: text == "[]",  # limits that can be raised
    "os/180": lambda text: text in ("True", "False"),  # the vsyscall page, which is the kernel's choice
}


def test_what_they_try_on_the_kernel_is_refused() -> None:
    seen = sweep("os", 10)
    for name, result in seen.items():
        text = result["stdout"][0].strip()
        word, _, told = text.removeprefix("PROBE ").partition(" ")
        if name == "os/076":  # an x32 number
            assert (result["reason"], result["signal"]) == ("signaled", 31), result
        elif name in REFUSED:
            assert REFUSED[name] in result["error"][1], (name, result)
        elif name in LISTS:
            assert word == "REVIEW", (name, text)
            assert LISTS[name](told), (name, text)
        elif name in OPEN_FOR_A_REASON:
            assert word in ("OPEN", "REACHED"), (name, text)
        else:
            assert word == "HELD", (name, text)
    assert len(seen) == 92


DOS: dict[str, tuple[object, ...]] = {
    # How it ends (a limit, an exit code, the name of an exception); several: whichever comes first.
    "dos/002": ("wall_time",), "dos/004": (0,), "dos/006": ("wall_time",), "dos/008": (0,),
    "dos/010": ("wall_time", "BlockingIOError"), "dos/012": ("wall_time", "memory", "BlockingIOError", "MemoryError"),
    "dos/014": ("OSError",), "dos/016": ("PermissionError",), "dos/018": ("OSError",),
    "dos/020": ("wall_time", "OSError"),
    "dos/022": ("OSError",), "dos/024": ("OSError",), "dos/026": ("OSError",), "dos/028": ("wall_time",),
    "dos/030": ("wall_time",), "dos/032": ("wall_time", "SyntaxError"), "dos/034": (0, "MemoryError"),
    "dos/036": ("wall_time", "memory", "RecursionError", "MemoryError", "SIGSEGV"), "dos/038": ("wall_time",),
    "dos/040": (0,), "dos/042": ("wall_time",), "dos/044": ("PermissionError",), "dos/046": (137,),
    "dos/048": ("wall_time",), "dos/050": (0,),
}  # fmt: skip
"""Each is ended at its limit or refused, in time, and whatever it started goes with it."""


def how(result: dict[str, Any]) -> object:
    if result["reason"] == "limit":
        return result["limit"]
    if result["reason"] == "signaled":
        return {11: "SIGSEGV", 24: "cpu_time"}.get(result["signal"], result["signal"])
    return result["error"][0] if result["error"] else result["exit_code"]


def test_what_they_exhaust_is_theirs_alone() -> None:
    seen = sweep("dos", 1)
    assert set(seen) == set(DOS)
    for name, result in seen.items():
        assert how(result) in DOS[name], (name, result)
        assert result["took"] < 20, (name, result["took"])
    if CGROUPS:
        assert seen["dos/002"]["refused"] == ["processes"]
        assert how(seen["dos/010"]) == "wall_time" or seen["dos/010"]["refused"] == ["processes"]
    assert seen["dos/022"]["refused"] == ["inodes"]


def test_what_they_print_is_bytes_and_counted() -> None:
    seen = sweep("output", 2)
    total = {name.removeprefix("output/"): result["stdout"][1] for name, result in seen.items()}
    cut = {name.removeprefix("output/") for name, result in seen.items() if result["stdout"][2]}
    assert cut == {"012", "014"}
    assert total["014"] == 10_000_001
    assert (total["004"], total["016"], total["020"]) == (32, 4000, 3 * ((1 << 20) // 3) + 1)
    assert how(seen["output/012"]) == "wall_time"
    assert (seen["output/022"]["signal"], seen["output/022"]["stdout"][0]) == (9, "partial")
    assert seen["output/002"]["stdout"][0].startswith("\x1b]8;;http://evil\x07")
    assert seen["output/026"]["stdout"][0] == "[False, False, False]\n"
    for name in ("006", "008", "010", "018"):  # forged lines are lines of stdout, and nothing else
        assert how(seen[f"output/{name}"]) == 0
        assert seen[f"output/{name}"]["files"] == {}


# What is taken of what they leave in out/; all else is left, and told.
TAKEN: dict[str, set[str]] = {
    "010": {"sh"}, "012": {"i"}, "020": {"\u00e9.step"}, "026": {"a.svg"}, "028": {"a.gltf"},
    "030": {"a.obj", "a.mtl"}, "032": {"s.3mf"}, "034": {"b.png"}, "036": {"a.csv"}, "038": {"x"},
    "042": {"empty.step", "result.json", "manifest.json"},
}  # fmt: skip
LEFT = {"002": 1, "006": 51, "008": 1, "018": 1, "020": 1, "022": 10, "024": 4}


def test_of_what_they_leave_only_inert_files_are_taken() -> None:
    seen = {
        name.removeprefix("artifact/"): result
        for name, result in sweep("artifact", 20, "import os; os.chdir('out')").items()
    }
    race = seen.pop("004")  # a name that a daemon swaps between a file and a link until the end
    assert set(race["files"]) <= {"n", "out.step"}
    assert set(race["files"].values()) <= {0, 2}  # its own files, written or about to be
    many = seen.pop("014")
    assert (many["limit"], many["files"]) == ("artifact_count", {})
    assert how(seen.pop("016")) == "FileNotFoundError"  # its name has a slash, so it could not even be made
    for name, result in seen.items():
        assert set(result["files"]) == TAKEN.get(name, set()), (name, result)
        assert len(result["left"]) == LEFT.get(name, 0), (name, result)
        assert all(text.isascii() and text.isprintable() for text in result["left"])
    assert seen["034"]["files"]["b.png"] < 1 << 20  # as it was left; nothing was unpacked
