"""No descriptor of the caller's, of the template's or of another job's is ever in a guest."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest
from stocked import prepared, run

from casemate import Host, RunResult, Stock
from casemate.control.host import strongest

# Both jobs live at once: each stays for a while after it has looked.
LIST = """
import os, time
print(sorted(n for n in range(1024) if os.path.lexists(f"/proc/self/fd/{n}")))
print([os.readlink(f"/proc/self/fd/{n}") for n in range(4)])
time.sleep(0.5)
raise SystemExit(0)
"""


@pytest.fixture
def inheritable() -> Iterator[list[int]]:
    """64 descriptors of a secret, as a careless caller leaves them."""
    secret = os.memfd_create("secret", 0)
    fds = [os.dup(secret) for _ in range(64)]
    for fd in fds:
        os.set_inheritable(fd, True)
    yield fds
    for fd in (*fds, secret):
        os.close(fd)


@pytest.mark.parametrize("ahead", [2, 0], ids=["made ahead", "on demand"])
def test_two_jobs_at_once_hold_exactly_their_own_four(ahead: int, inheritable: list[int]) -> None:
    assert len(inheritable) == 64
    with Host(stock=Stock(size=ahead)) as host:
        profile = strongest(host)
        assert host.run("x = 1", profile).outcome.exit_code == 0
        request = host.request(LIST, profile, None, None, "local", "local", gate=False)
        later = [os.dup(inheritable[0]) for _ in range(64)]
        for fd in later:
            os.set_inheritable(fd, True)
        results: list[RunResult] = []
        with prepared(host, request, ahead) as ready:
            threads = [threading.Thread(target=lambda: results.append(run(host, request))) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            assert [ready.served(result) for result in results] == [ahead > 0] * 2
        for fd in later:
            os.close(fd)
    outputs = [result.stdout.text for result in results]
    pipes = []
    for output in outputs:
        numbers, targets = output.splitlines()
        assert numbers == "[0, 1, 2, 3]"
        assert "secret" not in targets
        assert targets.startswith("['/dev/null', 'pipe:[")
        pipes += [word for word in targets.replace("'", " ").split() if word.startswith("pipe:")]
    assert len(set(pipes)) == 6  # stdout, stderr and report of each: none shared
