"""The guards that twins take out, each as edits of a copy of the package: (file, old, new), matching exactly once.

The keeper's look from outside is taken out of every copy as well (harness.BLIND): it would give a weakened guest no
job. So are the read-backs of the step in question, which would stop it before the attack is tried. Where a guard is
that something is *not* there, what is taken out is its absence: the edit puts it there.
"""

from __future__ import annotations

Edit = tuple[str, str, str]
LOCKDOWN, MOUNTS, ROOM, INIT = "launcher/lockdown.py", "launcher/mounts.py", "launcher/room.py", "launcher/init.py"
EXECUTION = "launcher/execution.py"
METER = "launcher/meter.py"
_TAKE = "def take("


def without(*steps: str) -> Edit:
    """Steps taken out of the table."""
    kept = f"STEPS = tuple(s for s in STEPS if s.name not in {steps!r})"
    return ("launcher/steps.py", _TAKE, f"{kept}\n\n\n{_TAKE}")


NO_TREE_CHECK: Edit = (
    "launcher/mount_table.py",
    "    found = _mounted()\n    masks",
    "    return 'not looked at'\n    found = _mounted()\n    masks",
)
_FLAGS = "    syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS"
_JOINED = (
    "    syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC\n"
    "    | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWCGROUP\n"
)


def shared(*kinds: str) -> tuple[Edit, ...]:
    """Neither wall makes a namespace of these kinds (NET, IPC, UTS), and the guest joins none."""
    made, joined = _FLAGS, _JOINED
    for kind in kinds:
        made = made.replace(f" | syscalls.CLONE_NEW{kind}", "")
        # "A | X" or, at the beginning of a line, "| X ".
        joined = joined.replace(f" | syscalls.CLONE_NEW{kind}", "", 1)
    edits = ((ROOM, _FLAGS, made), (INIT, _FLAGS, made), ("launcher/site.py", _JOINED, joined))
    return (*edits, without("loopback")) if "NET" in kinds else edits


_INHERITED: tuple[Edit, ...] = (
    ("runtime/process.py", '            env={},\n            cwd="/",', '            cwd="/",'),
    (ROOM, "ZYGOTE], {})", "ZYGOTE], dict(os.environ))"),
)
_BIND = "syscalls.MS_BIND | syscalls.MS_REC"
_HOST_ROOT: tuple[Edit, ...] = (
    # The image's root gets the directories that a host has; the room keeps the host's root, at its /tmp.
    (MOUNTS, '_tmpfs("run", "size=64k,nr_inodes=8,mode=0755")', '_tmpfs("run", "size=64k,nr_inodes=64,mode=0755")'),
    (
        MOUNTS,
        "    os.mkdir(root, 0o755)\n",
        '    os.mkdir(root, 0o755)\n    for name in ("sys", "var", "home", "root", "srv"):\n'
        '        os.mkdir(f"run/empty/{name}", 0o755)\n',
    ),
    (
        MOUNTS,
        '    prepare(root)\n    enter(".")\n',
        '    prepare(root)\n    syscalls.pivot_root(".", "tmp")\n    os.chdir("/")\n',
    ),
    NO_TREE_CHECK,
    without("landlock", "seccomp"),
)


def _bound(*names: str) -> Edit:
    """Directories of the host's root that every sandbox sees at their own place."""
    return (
        MOUNTS,
        '    syscalls.umount("run", syscalls.MNT_DETACH)\n',
        '    syscalls.umount("run", syscalls.MNT_DETACH)\n'
        f'    for name in {names!r}:\n        syscalls.mount(f"/tmp/{{name}}", name, None, {_BIND})\n',
    )


_SHARED_TMP: tuple[Edit, ...] = (
    # Every sandbox of a room writes to the room's own tmpfs.
    (MOUNTS, '_tmpfs("tmp", "size=16m,nr_inodes=4k,mode=0755")', '_tmpfs("tmp", "size=16m,nr_inodes=4k,mode=1777")'),
    (
        MOUNTS,
        '    _tmpfs("run", f"size={walls.disk_bytes},nr_inodes={walls.inodes},mode=0755", flags)\n'
        '    os.mkdir("run/tmp", 0o1777)\n    os.chmod("run/tmp", 0o1777)\n'
        '    syscalls.mount("run/tmp", "tmp", None, syscalls.MS_BIND)\n'
        '    syscalls.umount("run", syscalls.MNT_DETACH)\n',
        f'    syscalls.mount("/tmp", "tmp", None, {_BIND})\n',
    ),
    (MOUNTS, "    if not bounded:", "    if False:"),
)
_VISIBLE: tuple[Edit, ...] = (
    (MOUNTS, 'PROC = ("hidepid=invisible", "subset=pid")', 'PROC = ("hidepid=off", "hidepid=off")'),
    (MOUNTS, "    if walls.masked:\n", "    if False:\n"),
    NO_TREE_CHECK,
)
_UNSHARED = "    syscalls.unshare(syscalls.CLONE_NEWPID)\n"
_PIDS: tuple[Edit, ...] = (
    # Init, the execution and the guest stay in the pid namespace of the room.
    (INIT, f"    spec.close_all(site.cgroups)\n{_UNSHARED}", "    spec.close_all(site.cgroups)\n"),
    (INIT, f"    mine = os.pidfd_open(os.getpid())\n{_UNSHARED}", "    mine = os.pidfd_open(os.getpid())\n"),
    # Of a pid namespace that is not one's own no /proc can be mounted: the room's stays in sight.
    (
        MOUNTS,
        '    os.chdir(PREPARED)\n    syscalls.mount("proc", "proc", "proc", _INERT)\n',
        f'    os.chdir(PREPARED)\n    syscalls.mount("/proc", "proc", None, {_BIND})\n',
    ),
    (MOUNTS, '    syscalls.mount("proc", "/proc", "proc", _INERT | syscalls.MS_RDONLY, ",".join(options))\n', ""),
    NO_TREE_CHECK,
)
_SHARED_PIDS = (*_PIDS, without("pid"))
_ALL = ("run", "etc", "sys", "var", "home", "root", "srv")
_CLOSED = "    syscalls.close_range(len(site.keep))\n"
_COUNTED: Edit = (LOCKDOWN, "    require(found == set(range(len(site.keep)))", "    require(True")


def _planted(code: str) -> tuple[Edit, ...]:
    """Something left open in the guest."""
    return ((LOCKDOWN, _CLOSED, f"{_CLOSED}    {code}\n"), _COUNTED)


GUARDS: dict[str, tuple[Edit, ...]] = {
    "proc-options": (
        *_VISIBLE, without("landlock"),
    ),
    "proc-tracing": (
        *_VISIBLE,
        without("landlock", "uid", "capabilities", "undumpable", "seccomp", "no_new_privs"),
    ),
    "proc-writable": (
        (MOUNTS, "_INERT | syscalls.MS_RDONLY, ", "_INERT, "), NO_TREE_CHECK,
        without("landlock", "seccomp"),
    ),
    "cgroup-namespace": (
        without("cgroupns"), ("launcher/site.py", _JOINED, _JOINED.replace(" | syscalls.CLONE_NEWCGROUP", "")),
    ),
    "network": (*shared("NET"), without("seccomp", "landlock")),
    "ipc": shared("IPC"),
    "names": (*shared("UTS"), without("hostname")),
    "pids-shared": _SHARED_PIDS,
    "environment": (*_INHERITED, without("environment")),
    "command-line": (
        _INHERITED[0], (ROOM, "ZYGOTE], {})", 'ZYGOTE, os.environ.get("CASEMATE_CANARY", "")], {})'),
    ),
    "mount-names": (
        (
            MOUNTS, 'syscalls.mount("image", root, "overlay", _OVERLAY, "lowerdir=.:run/empty")',
            f"syscalls.mount(image, root, None, {_BIND})",
        ),
        NO_TREE_CHECK,
    ),
    "umask": (
        (LOCKDOWN, "    os.umask(0o077)\n", "    os.umask(0)\n"),
        (LOCKDOWN, 'require(seen["Umask"] == "0077"', "require(True"),
    ),
    "host-tree": (*_HOST_ROOT, _bound(*_ALL)),
    "host-dev": (*_HOST_ROOT, _bound(*_ALL, "dev")),
    "writable-tree": (
        (
            MOUNTS, '    syscalls.umount("run", syscalls.MNT_DETACH)\n',
            '    syscalls.umount("run", syscalls.MNT_DETACH)\n'
            '    for name in ("etc", "run", "usr/bin", "usr/share", "usr/lib64"):\n'
            '        syscalls.mount("tmpfs", name, "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV, "mode=0777")\n',
        ),
        (MOUNTS, '"size=64k,nr_inodes=32,mode=0755"', '"size=64k,nr_inodes=32,mode=0777"'),
        (MOUNTS, "    syscalls.mount_setattr(directory, syscalls.MOUNT_ATTR_RDONLY)\n\n\ndef _code", "\n\ndef _code"),
        NO_TREE_CHECK, without("landlock", "seccomp"),
    ),
    "executable-tmp": (
        (
            MOUNTS, "    flags = _INERT & ~syscalls.MS_NOEXEC if walls.exec_writable else _INERT\n", "    flags = 0\n",
        ),
        NO_TREE_CHECK, without("seccomp", "landlock"),
    ),
    "execution": (without("seccomp", "landlock"),),
    "descriptors": ((LOCKDOWN, _CLOSED, ""), _COUNTED),
    "kept-directory": _planted('os.open("/usr", os.O_RDONLY | os.O_DIRECTORY)'),
    "kept-canary": (
        *_INHERITED, without("environment"),
        *_planted('os.write(os.memfd_create("kept"), os.environ["CASEMATE_CANARY"].encode())'),
    ),
    "kept-terminal": (
        *_HOST_ROOT, _bound("dev"), *_planted('os.dup2(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY), 2)'),
    ),
    "seccomp": (without("seccomp"),),
    "powers": (without("seccomp", "landlock", "capabilities", "uid", "no_new_privs"),),
    "privileges": (without("no_new_privs", "seccomp", "landlock"),),
    "guest-uid": (without("uid"),),
    "groups": (
        (LOCKDOWN, "        os.setgroups([])\n    os.setresgid(spec",
        "        os.setgroups([0])\n    os.setresgid(spec"),
    ),
    "memlock": (
        (LOCKDOWN, "(resource.RLIMIT_MEMLOCK, 0),", "(resource.RLIMIT_MEMLOCK, 1 << 20),"), without("seccomp"),
    ),
    "session": (
        (LOCKDOWN, "    os.setsid()\n", ""),
        (LOCKDOWN, "    require(os.getsid(0) == os.getpid()", "    require(True"),
    ),
    "signals": (
        (
            LOCKDOWN, "    signal.pthread_sigmask(signal.SIG_SETMASK, [])\n",
            "    signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGTERM])\n",
        ),
        (LOCKDOWN, "        require(left == 0,", "        require(True,"),
    ),
    "ambient": (
        without("uid"),
        (LOCKDOWN, "    syscalls.prctl(syscalls.PR_SET_SECUREBITS, syscalls.SECUREBITS_LOCKED)\n", ""),
        (LOCKDOWN, "    for capability in range(64):", "    for capability in range(0):"),
        (LOCKDOWN, "    syscalls.drop_capabilities()\n",
         "    syscalls.drop_capabilities()\n    syscalls.prctl(syscalls.PR_CAP_AMBIENT, 2, 0)\n"),
        ("launcher/syscalls.py", "ctypes.c_char_p(bytes(24))", 'ctypes.c_char_p(struct.pack("=6I", 1, 1, 1, 0, 0, 0))'),
        (LOCKDOWN, "        require(int(seen[name], 16) == 0,", "        require(True,"),
        (LOCKDOWN, "    require(bits == syscalls.SECUREBITS_LOCKED,", "    require(True,"),
    ),
    "root-map": (
        ("launcher/usermaps.py", "        return (Extent(0, *uids),), (Extent(0, *uids),)\n",
         "        return ((Extent(0, *uids), Extent(100000, 0)),) * 2\n"),
        ("launcher/usermaps.py", "Extent(spec.GUEST_UID, init_id(slot) + 1))",
         "Extent(spec.GUEST_UID, init_id(slot) + 1), Extent(5000, 100000))"),
        ("launcher/enclose.py", 'require(site.uid < 0 or all(row[1] != "0" for row in rows)', "require(True"),
    ),
    "first-signals": (
        without("uid", "seccomp", "landlock", "capabilities", "no_new_privs"),
        (LOCKDOWN, "    signal.pthread_sigmask(signal.SIG_SETMASK, [])\n",
         "    signal.pthread_sigmask(signal.SIG_SETMASK, [])\n"
         "    signal.signal(signal.SIGINT, lambda *_: os._exit(9))\n"),
        (LOCKDOWN, "        require(left == 0,", "        require(True,"),
    ),
    "landlock": (without("landlock"),),
    "read-only-tmp": (
        (MOUNTS, "    if not walls.writable:\n", "    if False:\n"), NO_TREE_CHECK, without("seccomp", "landlock"),
    ),
    "undumpable": (without("undumpable"),),
    "open-files": (
        (LOCKDOWN, "(resource.RLIMIT_NOFILE, walls.open_files)", "(resource.RLIMIT_NOFILE, 512)"),
    ),
    "collector": (
        ("runtime/artifacts.py", "_RESOLVE = syscalls.RESOLVE_BENEATH", "_RESOLVE = 0 and syscalls.RESOLVE_BENEATH"),
        ("runtime/artifacts.py", "        if not stat.S_ISREG(seen.st_mode):", "        if False:"),
        ("runtime/artifacts.py", "        if seen.st_nlink != 1:", "        if False:"),
        ("runtime/artifacts.py", "        if seen.st_size > self._each:", "        if False:"),
        ("runtime/artifacts.py", "        if seen.st_size > self._total:", "        if False:"),
        ("runtime/artifacts.py", "        if self._count <= 0:", "        if False:"),
        ("runtime/report.py", 'pattern=r"^[0-9]{1,4}-[0-9]{1,5}\\.brep$"', 'pattern=r".*"'),
        ("runtime/report.py", 'pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\\.step$"', 'pattern=r".*"'),
    ),
    "rlimits": (without("limits", "rlimits"),),
    "pids": (
        (LOCKDOWN, "(resource.RLIMIT_NPROC, walls.processes)", "(resource.RLIMIT_NPROC, 4096)"),
        (
            "launcher/cgroups.py", '"pids.max", "pids.max", str(processes), str(processes)',
            '"pids.max", "pids.max", "300", "300"',
        ),
    ),
    "kill": (
        (EXECUTION, "                signal.pidfd_send_signal(fd, signal.SIGKILL)\n", "                pass\n"),
        (EXECUTION, "            self.group.kill()\n        # A sandbox", "            pass\n        # A sandbox"),
        (EXECUTION, "                self.group.kill()\n                return\n", "                pass\n"),
        (EXECUTION, "            if len(self._dead()) < len(self._made.pidfds) or", "            if"),
        ("launcher/preparation.py", "        if self._init.fileno() >= 0:\n", "        if False:\n"),
    ),
    "memory": (
        (
            "launcher/cgroups.py", "str(memory), str(memory))\n        bounded",
            'str(1 << 40), "max")\n        bounded',
        ),
        ("launcher/cgroups.py", '_write(f"{directory}/{name}", str(value))', "continue"),
    ),
    "disk": (
        (MOUNTS, 'f"size={walls.disk_bytes},nr_inodes={walls.inodes},mode=0755"',
        '"size=1g,nr_inodes=100000,mode=0755"'),
        (MOUNTS, "    if not bounded:", "    if False:"),
        (LOCKDOWN, "(resource.RLIMIT_FSIZE, walls.file_size)", "(resource.RLIMIT_FSIZE, 1 << 62)"),
    ),
    "deadline": ((EXECUTION, "            if now >= self._wall_deadline():", "            if False:"),),
    "cpu-time": (
        (EXECUTION, "                if self._meter.out_of_cpu():", "                if False:"),
        (METER, "        return gate or 0 < self._bounds.cpu <= spent + slack", "        return gate"),
        (LOCKDOWN, "(resource.RLIMIT_CPU, walls.cpu_seconds)", "(resource.RLIMIT_CPU, 4096)"),
    ),
    "output": (
        ("launcher/capture.py", "                room = self.bound - self.total\n", "                room = CHUNK\n"),
        (METER, ' if ends and stream.total > stream.bound else ""', ' if False else ""'),
    ),
    "neighbours": (
        *shared("NET", "IPC", "UTS"),
        # A limit of processes set before the user namespace is one for all that its maker makes (getrlimit(2)).
        (
            "launcher/enclose.py", "    syscalls.unshare(syscalls.CLONE_NEWUSER)\n",
            '    if site.hostname == "sandbox":\n        import resource\n\n'
            "        resource.setrlimit(resource.RLIMIT_NPROC, (34, 34))\n"
            "    syscalls.unshare(syscalls.CLONE_NEWUSER)\n",
        ),
        *_PIDS,
        ("launcher/usermaps.py", "    return 1 + 2 * slot\n", "    return 1\n"),
        *(edit for edit in _VISIBLE if edit is not NO_TREE_CHECK), *_SHARED_TMP,
        without("seccomp", "landlock", "hostname", "pid"),
    ),
    "recovery": (*_SHARED_TMP, NO_TREE_CHECK, without("landlock", "seccomp")),
    "recovery-ipc": (*shared("IPC"), without("seccomp")),
    "recovery-template": (
        (
            "launcher/template.py", "        code = entry(job.entry)(",
            '        sys.modules["left_behind"] = ["casemate-canary-" + "ab" * 16]  # type: ignore[assignment]\n'
            "        code = entry(job.entry)(",
        ),
    ),
    "recovery-host": (
        ("launcher/executions.py", "(made.group is None or made.group.remove())", "True"),
    ),
}  # fmt: skip

BEYOND: tuple[Edit, ...] = (
    without("seccomp", "landlock"),
    (LOCKDOWN, "(resource.RLIMIT_NOFILE, walls.open_files)", "(resource.RLIMIT_NOFILE, 512)"),
    (LOCKDOWN, "(resource.RLIMIT_NPROC, walls.processes)", "(resource.RLIMIT_NPROC, 4096)"),
    (LOCKDOWN, "(resource.RLIMIT_DATA, site.data)", "(resource.RLIMIT_DATA, 1 << 40)"),
    (LOCKDOWN, "(resource.RLIMIT_AS, site.address_space)", "(resource.RLIMIT_AS, 1 << 40)"),
    ("launcher/cgroups.py", '"pids.max", "pids.max", str(processes), str(processes)',
     '"pids.max", "pids.max", "300", "300"'),
    (MOUNTS, "    if not walls.writable:\n", "    if False:\n"), NO_TREE_CHECK,
)  # fmt: skip
"""What the narrowest profiles close besides: a road that has two gates is open when both are out."""


IN_VM: dict[str, tuple[str, ...]] = {
    "kernel": ("seccomp",), "proc": ("proc-options", "proc-writable", "powers", "root-map"),
}  # fmt: skip
"""Family → what is taken out in a virtual machine for those of its probes whose effect would be host-wide. `proc`: the
guest can become the host's root."""


def out(*guards: str, beyond: bool = False) -> tuple[Edit, ...]:
    """The edits that take these out, each place once; with `beyond`, what else may close the road as well."""
    wanted = (edit for guard in guards for edit in GUARDS[guard])
    found: dict[tuple[str, ...], Edit] = {}
    for edit in (*wanted, *(BEYOND if beyond else ())):
        found.setdefault(edit if edit[1] == _TAKE else edit[:2], edit)  # steps are taken out one set after the other
    return tuple(found.values())
