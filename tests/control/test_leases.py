"""A lease belongs to one tenant, one actor and one version of a profile, for its time."""

from __future__ import annotations

import dataclasses
import threading
import time

import pytest

from casemate.control.leases import Leases
from casemate.errors import Denied

OURS = ("tenant-a", "ada", "d1")


def test_its_own_tenant_actor_and_profile_may_use_it() -> None:
    leases = Leases()
    with leases.hold("tenant-a", "ada", "cad", "d1", 60.0) as lease:
        leases.authorise(lease, *OURS)
        assert (lease.tenant, lease.actor, lease.profile, lease.profile_digest) == ("tenant-a", "ada", "cad", "d1")


@pytest.mark.parametrize("other", [("tenant-b", "ada", "d1"), ("tenant-a", "bob", "d1"), ("tenant-a", "ada", "d2")])
def test_anybody_elses_use_is_denied(other: tuple[str, str, str]) -> None:
    leases = Leases()
    with leases.hold("tenant-a", "ada", "cad", "d1", 60.0) as lease, pytest.raises(Denied):
        leases.authorise(lease, *other)


def test_a_forged_lease_is_judged_by_what_is_held() -> None:
    leases = Leases()
    with leases.hold("tenant-a", "ada", "cad", "d1", 60.0) as lease:
        forged = dataclasses.replace(lease, tenant="tenant-b", actor="eve", profile_digest="d2")
        with pytest.raises(Denied):
            leases.authorise(forged, "tenant-b", "eve", "d2")
        unknown = dataclasses.replace(lease, id="0" * 32)
        with pytest.raises(Denied) as caught:
            leases.authorise(unknown, *OURS)
        with pytest.raises(Denied) as foreign:
            leases.authorise(lease, "tenant-b", "ada", "d1")
        assert str(caught.value) == str(foreign.value)  # unknown and foreign look the same


def test_it_ends_with_its_block_whatever_happens() -> None:
    leases = Leases()
    with pytest.raises(KeyError), leases.hold("tenant-a", "ada", "cad", "d1", 60.0) as lease:
        raise KeyError
    with pytest.raises(Denied):
        leases.authorise(lease, *OURS)


def test_it_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    leases = Leases()
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with leases.hold("tenant-a", "ada", "cad", "d1", 60.0) as lease:
        now[0] = 1059.9
        leases.authorise(lease, *OURS)
        now[0] = 1060.0
        with pytest.raises(Denied):
            leases.authorise(lease, *OURS)


def test_leases_of_many_threads_are_apart() -> None:
    leases = Leases()
    seen: list[str] = []
    together = threading.Barrier(8)

    def use(tenant: str) -> None:
        with leases.hold(tenant, "ada", "cad", "d1", 60.0) as lease:
            together.wait(30)
            leases.authorise(lease, tenant, "ada", "d1")
            with pytest.raises(Denied):
                leases.authorise(lease, f"{tenant}-not", "ada", "d1")
            together.wait(30)
            seen.append(lease.id)

    threads = [threading.Thread(target=use, args=(f"t{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(seen)) == 8
