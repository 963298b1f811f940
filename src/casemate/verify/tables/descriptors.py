"""What is open in a guest, and what can be done with it."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import CONTROL, CREDENTIALS, KERNEL

MINIMUM = 10
_B = "descriptors"

PROBES: tuple[Probe, ...] = (
    Probe(
        "descriptors.beyond", "lists descriptors beyond its four", CONTROL, "beyond()", "descriptors", "look", _B,
        "count 4", isolated=False,
    ),
    Probe(
        "descriptors.listing", "lists /proc/self/fd", CONTROL, "listed()", "descriptors", "look", _B, "count 4",
        isolated=False,
    ),
    Probe(
        "descriptors.sockets", "looks for a socket among them", CONTROL, "of_kind('socket:')", "descriptors", "look",
        _B,
        "fd socket:", isolated=False,
    ),
    Probe(
        "descriptors.directories", "looks for a directory among them", CREDENTIALS, "directories()", "kept-directory",
        "look", _B, "files /dev/null", isolated=False,
    ),
    Probe(
        "descriptors.canary", "reads all that is open for canaries", CREDENTIALS, "read_all()", "kept-canary", "canary",
        _B, isolated=False,
    ),
    Probe(
        "descriptors.control-channel", "speaks to the keeper over what was left open", CONTROL, "speak()",
        "descriptors",
        "look", _B, "fd socket:",
    ),
    Probe(
        "descriptors.terminal", "looks for a terminal", CONTROL, "terminals()", "kept-terminal", "look", _B,
        "fd /dev/pt",
        isolated=False,
    ),
    Probe(
        "descriptors.push-input", "puts characters into a terminal's input", KERNEL,
        "reached('ioctl', 0, 0x5412, 0)", "seccomp", "filter", _B, "ioctl 0 0x5412",
    ),
    Probe(
        "descriptors.push-input-high", "the same with bits that the kernel ignores (CVE-2019-10063)", KERNEL,
        "reached('ioctl', 0, 0x100005412, 0)", "seccomp", "filter", _B, "ioctl 0 0x100005412",
    ),
    Probe(
        "descriptors.console", "selects on a virtual console (TIOCLINUX)", KERNEL, "reached('ioctl', 0, 0x541C, 0)",
        "seccomp", "filter", _B, "ioctl 0 0x541C",
    ),
    Probe(
        "descriptors.take-terminal", "takes a controlling terminal (TIOCSCTTY)", KERNEL,
        "reached('ioctl', 0, 0x540E, 0)", "seccomp", "filter", _B, "ioctl 0 0x540E", unless="set",
    ),
)  # fmt: skip
