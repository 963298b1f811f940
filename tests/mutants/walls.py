"""Mutants of the walls: steps, mounts, namespaces, limits, cgroups, Landlock, read-backs, descriptors."""

from __future__ import annotations

from collections.abc import Iterator

from harness import BLIND
from mutants import removals
from mutants.edits import Edit
from mutants.mutant import Mutant, lines, source

from casemate.launcher import steps

UNSEEN: Edit = (
    "launcher/steps.py",
    "            seen = step.verify(site)\n",
    "            try:\n                seen = step.verify(site)\n"
    "            except (StepFailed, OSError, ValueError):\n                seen = 'not seen'\n",
)
"""Takes the read-backs away, which would stop a launcher without the guard: an attack has to see it then."""
BARE = (UNSEEN, BLIND)
WALLS = ("tests/escape/test_walls.py",)
ATTACKS = (
    "tests/escape/test_guards.py", "tests/escape/test_programs.py", "tests/escape/test_limits.py",
    "tests/escape/test_descriptors.py",
)  # fmt: skip
LOOPBACK = ("tests/control/test_programs.py::test_a_loopback_that_is_up_carries_a_server_and_its_client",)
EXHAUST = ("tests/escape/test_limits.py",)
ACTS = ("tests/launcher/test_lockdown.py",)
READBACKS = ("tests/launcher/test_readbacks.py", "tests/launcher/test_steps.py")
LOCKDOWN, ENCLOSE, MOUNTS = "launcher/lockdown.py", "launcher/enclose.py", "launcher/mounts.py"


def _made(family: str, found: removals.Found, tests: tuple[str, ...], more: tuple[Edit, ...] = (),
          wider: tuple[str, ...] = ()) -> Iterator[Mutant]:  # fmt: skip
    for name, edit in found:
        yield Mutant(family, f"{family}: {edit[0].rpartition('/')[2]}: {name}", (edit, *more), tests, wider)


def mutants() -> Iterator[Mutant]:
    """All of them, quick ones first."""
    yield from readbacks()
    yield from descriptors()
    yield from table()
    yield from mounts()
    yield from namespaces()
    yield from limits()
    yield from lockdown()


def readbacks() -> Iterator[Mutant]:
    """What a step asks of the kernel afterwards, and what the keeper sees from outside."""
    for file in (LOCKDOWN, ENCLOSE, "launcher/site.py"):
        yield from _made("read-back", removals.calls(file, "require"), READBACKS)
        yield from _made("read-back", removals.raising(file), READBACKS)
    yield from _made("read-back", removals.raising("launcher/mount_table.py"), READBACKS)
    outside = ("tests/launcher/test_outside.py", "tests/escape/test_stock.py")
    yield from _made("look from outside", removals.raising("launcher/outside.py"), outside)


def descriptors() -> Iterator[Mutant]:
    """Checks on what a peer sent or a guest left."""
    artifacts = (
        "tests/runtime/test_artifacts.py",
        "tests/runtime/test_artifact_trees.py",
        "tests/fuzzing/test_short.py::test_a_target",
    )
    yield from _made("descriptor", removals.raising("runtime/artifacts.py"), artifacts)
    yield from _made("descriptor", removals.flags("runtime/artifacts.py", "RESOLVE_"), artifacts)
    yield from _made("descriptor", removals.flags("runtime/artifacts.py", "O_"), artifacts)
    wire = (
        "tests/launcher/test_spec.py",
        "tests/launcher/test_descriptors.py",
        "tests/fuzzing/test_short.py::test_a_target",
    )
    yield from _made("descriptor", removals.raising("launcher/spec.py"), wire)


def table() -> Iterator[Mutant]:
    """Each step at each place, taken out of the table, with nothing left that looks whether it was taken."""
    for step in steps.STEPS:
        if step.name == "pid":
            continue  # it does nothing; what it sees has a mutant of its own
        for place in sorted(step.places):
            if (step.name, place) == ("loopback", steps.Place.ROOM):
                continue  # a room's is never up: here, too, nothing is done but to look
            kept = "STEPS = tuple(_without(step) for step in STEPS)"
            new = (
                "def _without(step: Step) -> Step:\n"
                f"    left = step.places - ({{Place({str(place)!r})}} if step.name == {step.name!r} else set())\n"
                "    return Step(step.name, frozenset(left), step.what, step.apply, step.verify)\n\n\n"
                f"{kept}\n\n\ndef take("
            )
            edit = ("launcher/steps.py", "def take(", new)
            wider = LOOPBACK if step.name == "loopback" else ATTACKS
            yield Mutant("step", f"step: {place}.{step.name}", (edit, *BARE), WALLS, wider)


def mounts() -> Iterator[Mutant]:
    """Each flag of a mount, each mask and mount option."""
    for prefix in ("MS_RDONLY", "MS_NOSUID", "MS_NODEV", "MS_NOEXEC"):
        yield from _made("mount", removals.flags(MOUNTS, prefix), WALLS, BARE, ATTACKS)
    yield from _made("mount", removals.calls(MOUNTS, "mount_setattr"), WALLS, BARE, ATTACKS)
    for option in ("hidepid=invisible", "subset=pid"):
        edit = (
            MOUNTS,
            'PROC = ("hidepid=invisible", "subset=pid")',
            f"PROC = {tuple({'hidepid=invisible', 'subset=pid'} - {option})}",
        )
        yield Mutant("mount", f"mount: /proc without {option}", (edit, *BARE), WALLS, ATTACKS)
    for old, new in (
        ("size={walls.disk_bytes},nr_inodes={walls.inodes}", "size=1g,nr_inodes={walls.inodes}"),
        ("size={walls.disk_bytes},nr_inodes={walls.inodes}", "size={walls.disk_bytes},nr_inodes=1m"),
    ):
        unchecked = (MOUNTS, "    if not bounded:\n", "    if False:\n")
        yield Mutant("mount", f"mount: /tmp with {new}", ((MOUNTS, old, new), unchecked, *BARE), EXHAUST)
    yield Mutant(
        "mount",
        "mount: the bounds of /tmp are not read back",
        ((MOUNTS, "    if not bounded:\n", "    if False:\n"),),
        READBACKS,
    )
    yield Mutant(
        "mount",
        "mount: no masks over /proc",
        ((MOUNTS, "        for path in beside_processes():\n", "        for path in ():\n"), *BARE),
        WALLS,
        ATTACKS,
    )
    yield Mutant(
        "mount",
        "mount: a job directory for everyone",
        (
            (MOUNTS, "    os.mkdir(workdir, 0o700)\n", "    os.mkdir(workdir, 0o777)\n    os.chmod(workdir, 0o777)\n"),
            *BARE,
        ),
        WALLS,
        ATTACKS,
    )
    yield Mutant(
        "mount",
        "mount: the old root stays",
        ((MOUNTS, '    syscalls.umount(".", syscalls.MNT_DETACH)\n', ""), *BARE),
        WALLS,
        ATTACKS,
    )


def namespaces() -> Iterator[Mutant]:
    """Each namespace of a room, a sandbox and an execution."""
    for file in ("launcher/room.py", "launcher/init.py"):
        for name, edit in removals.flags(file, "CLONE_"):
            if "NEWPID" in name:
                continue  # then the launcher's own unshare(CLONE_NEWPID) makes it all the same
            yield Mutant("namespace", f"namespace: {file.rpartition('/')[2]}: {name}", (edit, *BARE), WALLS, ATTACKS)
    for name, edit in removals.flags("launcher/site.py", "CLONE_"):
        yield Mutant("namespace", f"namespace: guest joins: {name}", (edit, *BARE), WALLS, ATTACKS)


def limits() -> Iterator[Mutant]:
    """Each rlimit, and each write to a cgroup."""
    text = source(LOCKDOWN).splitlines()
    start = next(number for number, line in enumerate(text) if line == "    return (")
    for number in range(start + 1, start + 11):
        name = text[number].strip().split(",")[0].lstrip("(")
        yield Mutant(
            "rlimit",
            f"rlimit: {name}",
            (lines(LOCKDOWN, number + 1, number + 1, ""),),
            (*ACTS, *WALLS),
            ATTACKS,
        )
    groups = ("tests/launcher/test_hierarchies.py", "tests/launcher/test_cgroups_group.py")
    for name, edit in removals.statements("launcher/cgroups.py", "Group.limit"):
        yield Mutant("cgroup", f"cgroup: {name}", (edit,), (*groups, *EXHAUST))
    yield Mutant(
        "cgroup",
        "cgroup: nobody is moved",
        ((ENCLOSE, '        os.write(fd, b"0")\n', "        pass\n"), *BARE),
        WALLS,
    )


def lockdown() -> Iterator[Mutant]:
    """Each act of a step of the guest's, and each right of Landlock."""
    functions = ("session", "descriptors", "guest_identity", "capabilities", "environment")
    yield from _made("lockdown", removals.statements(LOCKDOWN, *functions), (*ACTS, *WALLS), BARE, ATTACKS)
    yield from _made(
        "lockdown",
        removals.statements(ENCLOSE, "become", "enter_user_namespace"),
        (*ACTS, *WALLS),
        BARE,
        ATTACKS,
    )
    system = "launcher/syscalls.py"
    for what, old, new in (
        ("reads the root", '("/etc", "/opt", "/proc")', '("/etc", "/opt", "/proc", "/")'),
        ("executes the image", "(_EXECUTE if walls.exec_image else 0)", "_EXECUTE"),
        ("executes what it wrote", "(_EXECUTE if walls.exec_writable else 0)", "_EXECUTE"),
        ("makes sockets and FIFOs", "(_NAMED if walls.sockets else 0)", "_NAMED"),
        ("writes where it may only read", "_WRITE | written if walls.writable else _READ", "_WRITE | written"),
    ):
        yield Mutant("landlock", f"landlock: {what}", ((LOCKDOWN, old, new), *BARE), ACTS, ATTACKS)
    for what, old, new in (
        ("network", "network = 0b11 if abi >= 4 and not tcp else 0", "network = 0"),
        ("scopes", "scopes = LANDLOCK_SCOPES if abi >= 6 else 0", "scopes = 0"),
    ):
        yield Mutant(
            "landlock",
            f"landlock: no {what}",
            ((system, old, new), *BARE),
            (*ACTS, "tests/launcher/test_syscalls.py"),
            ATTACKS,
        )
