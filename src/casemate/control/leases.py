"""Leases: who may use a sandbox, under which version of which profile, until when.

In memory, for one process and the tenant `local`; the service will keep them in its database behind the same calls.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from casemate.errors import Denied

LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Lease:
    """Bound to one tenant, one actor and the digest of its profile; `expires` is CLOCK_MONOTONIC."""

    id: str
    tenant: str
    actor: str
    profile: str
    profile_digest: str
    expires: float


class Leases:
    """The leases of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._live: dict[str, Lease] = {}

    @contextmanager
    def hold(self, tenant: str, actor: str, profile: str, digest: str, time_to_live: float) -> Iterator[Lease]:
        """A lease for the time of the block."""
        lease = Lease(uuid.uuid4().hex, tenant, actor, profile, digest, time.monotonic() + time_to_live)
        with self._lock:
            self._live[lease.id] = lease
        try:
            yield lease
        finally:
            with self._lock:
                del self._live[lease.id]

    def authorise(self, lease: Lease, tenant: str, actor: str, digest: str) -> None:
        """Raise Denied unless the lease is live and belongs to this tenant, actor and profile version."""
        with self._lock:
            held = self._live.get(lease.id)
        bound = (held.tenant, held.actor, held.profile_digest) if held else None
        if held is None or bound != (tenant, actor, digest) or time.monotonic() >= held.expires:
            raise Denied("no such lease")
