"""A skip is a failure on CI, and a skip elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]


@pytest.mark.parametrize("workers", [(), ("-n", "1", "--dist", "loadfile")], ids=["alone", "in a worker"])
@pytest.mark.parametrize(
    ("ci", "outcomes"), [("true", {"failed": 1, "errors": 1, "passed": 1}), (None, {"skipped": 2, "passed": 1})]
)
def test_a_skip_is_a_failure_on_ci(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    ci: str | None,
    outcomes: dict[str, int],
    workers: tuple[str, ...],
) -> None:
    if ci is None:
        monkeypatch.delenv("CI", raising=False)
    else:
        monkeypatch.setenv("CI", ci)
    pytester.makeconftest((Path(__file__).parent / "conftest.py").read_text("utf-8"))
    pytester.makepyfile(
        """
        import pytest

        def test_passes():
            pass

        def test_skips():
            pytest.skip("no such controller")

        @pytest.mark.skipif(True, reason="not here")
        def test_is_marked():
            pass
        """
    )
    pytester.runpytest_inprocess("-p", "no:cacheprovider", *workers).assert_outcomes(**outcomes)
