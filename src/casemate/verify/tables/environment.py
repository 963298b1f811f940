"""What a guest inherits without asking: its environment, its memory, its names."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import CREDENTIALS, HOST_FILES, IDENTITY, METADATA

MINIMUM = 10
_B = "environment"

PROBES: tuple[Probe, ...] = (
    Probe("environment.python", "reads os.environ", CREDENTIALS, "in_python()", "environment", "canary", _B),
    Probe("environment.c", "reads the C library's environ", CREDENTIALS, "in_c()", "environment", "canary", _B),
    Probe(
        "environment.initial", "reads the block that the kernel made at the start", CREDENTIALS,
        "at_the_start()", "environment", "canary", _B,
    ),
    Probe(
        "environment.memory", "looks for canaries in all of its own memory", CREDENTIALS, "scan_memory()",
        "environment", "canary", _B,
    ),
    Probe(
        "environment.stack", "looks for canaries on its own stack", CREDENTIALS, "scan_memory('[stack]')",
        "environment", "canary", _B,
    ),
    Probe(
        "environment.shell-variables", "looks for names that hold secrets", CREDENTIALS, "secret_names()",
        "environment", "canary", _B,
    ),
    Probe("environment.hostname", "reads the host's name", METADATA, "host_name()", "names", "look", _B, "ns uts"),
    Probe(
        "environment.arguments", "looks for canaries in its own command line", CREDENTIALS,
        "canaries(open('/proc/self/cmdline', 'rb').read())", "command-line", "canary", _B,
    ),
    Probe(
        "environment.mounts", "looks for the image's place in its mount table", HOST_FILES, "image_path()",
        "mount-names", "look", _B, "mount image",
    ),
    Probe(
        "environment.umask", "makes a file that others may read", IDENTITY, "loose_umask()", "umask", "look", _B,
        "status Umask 0077",
    ),
)  # fmt: skip
