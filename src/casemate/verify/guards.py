"""The guards that twins take out, each as edits of a copy of the package: (file, old, new), matching exactly once.

The keeper's look from outside is taken out of every copy as well (harness.BLIND): it would give a weakened guest no
job. So are the read-backs of the step in question, which would stop it before the attack is tried.
"""

from __future__ import annotations

Edit = tuple[str, str, str]


def without(*steps: str) -> Edit:
    """Steps taken out of the table."""
    kept = f"STEPS = tuple(s for s in STEPS if s.name not in {steps!r})"
    return ("launcher/steps.py", "def take(", f"{kept}\n\n\ndef take(")


NO_TREE_CHECK: Edit = (
    "launcher/mounts.py",
    "    if set(found) != set(expected):",
    "    return 'not looked at'\n    if set(found) != set(expected):",
)
_NAMESPACES = "    syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS"
_SHARED_NET: tuple[Edit, ...] = (
    ("launcher/room.py", _NAMESPACES, _NAMESPACES.replace(" | syscalls.CLONE_NEWNET", "")),
    ("launcher/init.py", _NAMESPACES, _NAMESPACES.replace(" | syscalls.CLONE_NEWNET", "")),
    (
        "launcher/site.py",
        "    syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC",
        "    syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWIPC",
    ),
)

GUARDS: dict[str, tuple[Edit, ...]] = {
    "proc-options": (
        ("launcher/mounts.py", '_PROC = "hidepid=invisible,subset=pid"', '_PROC = "hidepid=off"'),
        NO_TREE_CHECK,
        without("landlock"),
    ),
    "environment": (
        ("runtime/process.py", '            env={},\n            cwd="/",', '            cwd="/",'),
        ("launcher/room.py", "ZYGOTE], {})", "ZYGOTE], dict(os.environ))"),
        without("environment"),
    ),
    "network": (*_SHARED_NET, without("seccomp", "landlock")),
}
