"""Host files by every road, files of the image, device nodes, and executing what was written."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import CONTROL, CREDENTIALS, HOST_FILES, KERNEL, METADATA, each, slug

MINIMUM = 70
BATCH = "files"

_ROADS = {
    "direct": "place + '/secret'",
    "own-root": "'/proc/self/root' + place + '/secret'",
    "parents": "'../' * 24 + place.lstrip('/') + '/secret'",
    "parents-of-tmp": "'/tmp/' + '../' * 24 + place.lstrip('/') + '/secret'",
    "own-cwd": "'/proc/self/cwd/' + '../' * 24 + place.lstrip('/') + '/secret'",
    "parent-cwd": "f'/proc/{os.getppid()}/cwd/' + '../' * 24 + place.lstrip('/') + '/secret'",
}
_DEEDS = {
    "stat": "os.stat(place + '/secret')",
    "list": "os.listdir(place)",
    "list-above": "os.listdir(os.path.dirname(place)) if '-verify-' in str(os.listdir(os.path.dirname(place))) else ''",
    "open-directory": "beneath(place)",
    "write": "changed(place, 'w')",
    "append": "changed(place, 'a')",
    "truncate": "os.truncate(place + '/open', 0) or 'truncated'",
    "create": "open(place + '/created', 'w').close() or 'created'",
    "make-directory": "os.mkdir(place + '/made') or 'made'",
    "rename": "os.rename(place + '/open', place + '/renamed') or 'renamed'",
    "unlink": "os.unlink(place + '/open') or 'removed'",
    "connect": "knock(place + '/socket')",
    "chdir": "os.chdir(place) or 'entered'",
    "copy": "copied(place + '/secret')",
}
CREDENTIAL_FILES = (
    "/root/.ssh/id_ed25519", "/root/.aws/credentials", "/root/.config/gcloud/credentials.db",
    "/root/.docker/config.json",
    "/root/.kube/config", "/root/.netrc", "/root/.git-credentials", "/root/.pypirc", "/root/.bash_history",
    "/home/user/.ssh/id_rsa", "/run/secrets/kubernetes.io/serviceaccount/token", "/run/user/0/keyring/control",
)  # fmt: skip
"""Fakes are planted there in the harness, where those directories are ours."""
CONTROL_SOCKETS = (
    "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/run/dbus/system_bus_socket",
    "/run/systemd/private", "/run/systemd/journal/socket", "/run/casemate", "/run/user/0/bus",
)  # fmt: skip
SET_ID = "/run/casemate-verify-set-id"
_METADATA = (
    "/sys/class",
    "/sys/class/net",
    "/sys/devices/system/cpu",
    "/sys/kernel",
    "/sys/fs/cgroup",
    "/sys/module",
)
_HOST_ETC = ("/etc/shadow", "/etc/hostname", "/etc/resolv.conf", "/etc/login.defs", "/etc/profile")
_NODES = ("kmsg", "console", "hwrng", "loop-control", "net", "cpu", "fuse", "kvm", "vsock", "userfaultfd")
_TERMINALS = ("tty", "ptmx", "pts/ptmx")
PLACES = ("/etc", "/run", "/usr/bin", "/usr/share", "/dev", "/usr/lib64")
"""Places of the image where nothing may be written."""


def _named(paths: tuple[str, ...]) -> dict[str, str]:
    return {slug(path): path for path in paths}


PROBES: tuple[Probe, ...] = (
    *each(
        "files", {f"read-{name}": road for name, road in _ROADS.items()}, what="reads a secret outside by {}",
        row=HOST_FILES, code="anywhere(lambda place: read({}))", twin="host-tree", witness="canary", batch=BATCH,
    ),
    *each(
        "files", {f"at-{name}": deed for name, deed in _DEEDS.items()}, what="at a directory outside: {}",
        row=HOST_FILES, code="anywhere(lambda place: {})", twin="host-tree", witness="canary", batch=BATCH,
        trace="write",
    ),
    Probe(
        "files.walk", "walks all that it sees for a canary's directory", HOST_FILES, "walk(named_like_ours)",
        "host-tree",
        "canary", BATCH,
    ),
    Probe(
        "files.set-id", "walks all that it sees for set-id files", KERNEL, "walk(is_set_id)", "host-tree", "canary",
        BATCH,
    ),
    Probe(
        "files.sockets", "walks all that it sees for sockets", CONTROL, "walk(is_socket)", "host-tree", "canary", BATCH,
    ),
    Probe(
        "files.device-nodes", "walks all that it sees for devices beyond the five", KERNEL, "walk(is_odd_device)",
        "host-dev", "canary", BATCH,
    ),
    *each(
        "files", _named(CREDENTIAL_FILES), what="opens {}", row=CREDENTIALS, code="read('{}') or 'it is there'",
        twin="host-tree", witness="host", batch=BATCH, trace="{}",
    ),
    *each(
        "files", _named(CONTROL_SOCKETS), what="looks for {}", row=CONTROL, code="os.lstat('{}')",
        twin="host-tree", witness="host", batch=BATCH, trace="{}",
    ),
    *each(
        "files", _named(_METADATA), what="looks into {}", row=METADATA, code="os.listdir('{}')", twin="host-tree",
        witness="host", batch=BATCH, trace="{}",
    ),
    *each(
        "files", _named(_HOST_ETC), what="looks for the host's {}", row=HOST_FILES, code="os.stat('{}')",
        twin="host-tree", witness="host", batch=BATCH, trace="{}",
    ),
    *each(
        "files", {f"node-{slug(name)}": f"/dev/{name}" for name in _NODES}, what="looks for {}", row=KERNEL,
        code="os.stat('{}')", twin="host-dev", witness="host", batch=BATCH, trace="{}",
    ),
    *each(
        "files", {f"node-{slug(name)}": f"/dev/{name}" for name in _TERMINALS}, what="looks for {}", row=KERNEL,
        code="os.stat('{}')", twin="host-dev", witness="host", batch=BATCH, trace="{}", unless="pty",
    ),
    *each(
        "files", {f"create-in-{slug(place)}": place for place in PLACES}, what="creates a file in {}", row=HOST_FILES,
        code="created('{}')", twin="writable-tree", witness="host", batch=BATCH, trace="{}/casemate-verify",
    ),
    Probe(
        "files.writable-mounts", "reads its mount table for writable ones", HOST_FILES, "writable_mounts()",
        "writable-tree", "look", BATCH, "mounts rw",
    ),
    Probe(
        "files.map-executable", "maps a file that it wrote as code", KERNEL, "mapped_code()", "executable-tmp", "look",
        BATCH, "mount /tmp noexec", unless="executing",
    ),
    *each(
        "files", {f"tmp-{option}": option for option in ("nosuid", "nodev")}, what="is where it writes without {}",
        row=KERNEL, code="''", twin="executable-tmp", witness="look", batch=BATCH, trace="mount /tmp {}",
    ),
    Probe(
        "files.list-root", "lists the root, which is below no rule of Landlock's", HOST_FILES, "os.listdir('/')",
        "landlock", "canary", BATCH, unless="landlock",
    ),
    Probe(
        "files.execute-memory", "executes a file that is only in memory", KERNEL, "executed_memory()", "execution",
        "filter", BATCH, "execveat",
    ),
    Probe(
        "files.execute-written", "executes a file that it wrote", KERNEL, "executed_copy()", "executable-tmp", "look",
        BATCH, "mount /tmp noexec", unless="executing",
    ),
    Probe(
        "files.execute-image", "executes a program of the image", KERNEL, "executed('/usr/bin/python3')", "execution",
        "filter", BATCH, "execve", unless="executing",
    ),
    Probe(
        "files.execute-descriptor", "executes an open file", KERNEL, "executed_descriptor('/usr/bin/python3')",
        "execution", "filter", BATCH, "execveat",
    ),
    Probe(
        "files.execute-loader", "has the loader run a file that it may not execute", KERNEL,
        "executed(loader(), '/usr/bin/python3')", "execution", "filter", BATCH, "execve", unless="executing",
    ),
)  # fmt: skip
