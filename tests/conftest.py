"""On CI a test that cannot run has failed: a skipped guarantee is an unproven one.

`make test` gives whole files to three workers (pytest-xdist), each with its own Host; the files of LONG come first.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator

import pytest

from casemate import Host
from casemate.control.host import strongest

LONG = (
    "test_as_user.py", "test_scripts.py", "test_twins.py", "test_verify.py", "test_runtimes.py", "test_programs.py",
    "test_program_snippets.py", "test_seccomp_attacks.py", "test_stock.py", "test_survivors.py", "test_snippets.py",
    "test_first_path.py", "test_json.py", "test_measure.py", "test_next_job.py", "test_api_processes.py",
    "test_api.py", "test_mapping.py", "test_gate.py", "test_update.py",
)  # fmt: skip
"""Files that take longest, that of the longest first: begun last, one of them would keep a worker busy alone."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        _refuse(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.skipped:
        _refuse(report)
    return report


def _refuse(report: pytest.TestReport | pytest.CollectReport) -> None:
    if os.environ.get("CI"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which on CI is a failure: {report.longrepr}"


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    """One Host for the whole session, closed and checked at its end."""
    with Host() as made:
        yield made


@pytest.fixture(scope="session")
def profile(host: Host) -> str:
    """The strongest CAD profile that this host enforces."""
    return strongest(host)
