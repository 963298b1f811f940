"""Coverage-guided fuzzing of one target, in this process (atheris, libFuzzer); started by run.py.

Arguments: target, seconds, directory of what it has found interesting, prefix of the files for what is wrong, directory
of what it begins with. What it found interesting is judged afterwards, under the target's own limits.
"""

from __future__ import annotations

import sys

import atheris


def main() -> None:
    """Until the time is over, or something is wrong: then the case is written and the status is not 0."""
    name, seconds, found, prefix, seeds = sys.argv[1:]
    with atheris.instrument_imports(include=["casemate.gate", "casemate.launcher", "casemate.runtime.report"]):
        from fuzz.targets import TARGETS
    target = TARGETS[name]

    def one(data: bytes) -> None:
        for check in target.checks:
            check(data)

    options = [f"-max_total_time={seconds}", "-max_len=65536", "-timeout=30", "-rss_limit_mb=2048", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={prefix}", found, seeds], one)
    atheris.Fuzz()


main()
