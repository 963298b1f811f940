"""Where images and claims are, for root and for a user."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

SYSTEM_STORE = Path("/var/lib/casemate/images")


def default_store() -> Path:
    """Where this user's images are built: /var/lib/casemate/images for root, else below the XDG data directory."""
    return SYSTEM_STORE if os.geteuid() == 0 else Path(platformdirs.user_data_path("casemate")) / "images"


def default_stores() -> tuple[Path, ...]:
    """Where images are looked for: the user's own store, then the system's."""
    return tuple(dict.fromkeys((default_store(), SYSTEM_STORE)))


def default_state() -> Path:
    """Where keepers hold their claims: one directory for the host as root, else one for the user."""
    if os.geteuid() == 0:
        return Path("/run/casemate")
    runtime = Path(f"/run/user/{os.geteuid()}")
    return (runtime if runtime.is_dir() else Path("/tmp")) / f"casemate-{os.geteuid()}"


def default_cache() -> Path:
    """Where results of maps are kept: below this user's cache directory, for root too."""
    return Path(platformdirs.user_cache_path("casemate")) / "results"
