"""A room in the words of the OCI runtime specification: valid, and nothing of the outer wall left out."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4

from casemate.launcher import bundle, usermaps
from casemate.launcher.steps import STEPS, Place
from casemate.runtime import runtimes

SCHEMA = Path(__file__).parents[1] / "data" / "oci"
AS_ROOT = usermaps.room_extents((1_879_048_192, 1024))
AS_USER = ((usermaps.Extent(0, 0),), (usermaps.Extent(0, 0),))
PLACE = bundle.Place("/run/bundle/rootfs", "/run/bundle/dev", "/run/bundle/code")


def closed(schema: Any) -> Any:
    """The schema with every object closed that names its members: a word that the specification lacks is an error."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "patternProperties" not in schema and "type" in schema:
        made.setdefault("additionalProperties", False)
    return made


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft4Validator:
    files = {path.name: closed(json.loads(path.read_text("utf-8"))) for path in SCHEMA.glob("*.json")}
    resources = [(name, Resource(contents=content, specification=DRAFT4)) for name, content in files.items()]
    return jsonschema.Draft4Validator(files["config-schema.json"], registry=Registry().with_resources(resources))


def config(extents: Any = AS_ROOT) -> dict[str, Any]:
    return bundle.config(PLACE, extents, runtimes.room_filter())


@pytest.mark.parametrize("extents", [AS_ROOT, AS_USER], ids=["root", "user"])
def test_it_is_what_the_specification_says(schema: jsonschema.Draft4Validator, extents: Any) -> None:
    made = json.loads(json.dumps(config(extents)))
    assert [error.message for error in schema.iter_errors(made)] == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda made: made.pop("ociVersion"),
        lambda made: made.update(ociVersion=1),
        lambda made: made.update(hostName="room"),
        lambda made: made["process"].update(noNewPriviledges=True),
        lambda made: made["process"]["capabilities"].update(bounding="CAP_SYS_ADMIN"),
        lambda made: made["process"]["user"].update(uid=-1),
        lambda made: made["linux"]["namespaces"].append({"type": "net"}),
        lambda made: made["linux"]["uidMappings"][0].update(size="all"),
        lambda made: made["linux"]["seccomp"].update(defaultAction="SCMP_ACT_NO"),
        lambda made: made["linux"]["seccomp"]["syscalls"][0].pop("action"),
        lambda made: made["mounts"].append({"type": "tmpfs"}),
    ],
)
def test_what_the_specification_does_not_say_is_seen(
    schema: jsonschema.Draft4Validator, spoil: Callable[[Any], object]
) -> None:
    made = copy.deepcopy(config())
    spoil(made)
    assert list(schema.iter_errors(made))


def test_every_namespace_and_nothing_to_join() -> None:
    found = config()["linux"]["namespaces"]
    kinds = ("cgroup", "ipc", "mount", "network", "pid", "user", "uts")
    assert sorted(row["type"] for row in found) == sorted(kinds)
    assert all(set(row) == {"type"} for row in found)  # a path would be somebody else's


def test_maps_hold_the_hosts_root_out() -> None:
    for name in ("uidMappings", "gidMappings"):
        assert config()["linux"][name] == [{"containerID": 0, "hostID": 1_879_048_192, "size": 1024}]


def test_the_root_can_do_what_walls_need_and_no_more() -> None:
    sets: Mapping[str, list[str]] = config()["process"]["capabilities"]
    few = [
        "CAP_DAC_OVERRIDE",
        "CAP_SETFCAP",
        "CAP_SETGID",
        "CAP_SETUID",
        "CAP_SYS_ADMIN",
        "CAP_SYS_CHROOT",
        "CAP_SYS_PTRACE",
    ]
    assert sets == {"bounding": few, "effective": few, "permitted": few, "inheritable": [], "ambient": []}
    assert (
        bundle.capability_mask() == 1 << 1 | 1 << 6 | 1 << 7 | 1 << 18 | 1 << 19 | 1 << 21 | 1 << 31
    )  # linux/capability.h


def test_every_mount_is_bounded_or_read_only_and_inert() -> None:
    for mount in config()["mounts"]:
        options = mount["options"]
        assert {"nosuid", "noexec"} <= set(options)
        device = mount["destination"] in {f"/dev/{node}" for node in ("null", "zero", "full", "random", "urandom")}
        assert device or "nodev" in options or mount["destination"] == "/dev"
        bounded = any(option.startswith("size=") for option in options)
        assert device or bounded or "ro" in options or mount["type"] == "proc"
        assert mount["source"].startswith("/run/bundle/") or mount["type"] in (mount["source"], "bind")
        assert device is (mount["source"] == mount["destination"])
    assert config()["root"]["readonly"] is True


def test_no_terminal_and_no_hooks_and_nothing_masked() -> None:
    made = config()
    assert made["process"]["terminal"] is False
    assert "hooks" not in made
    # A mount over part of /proc would make the inner one EPERM.
    assert made["linux"]["maskedPaths"] == made["linux"]["readonlyPaths"] == []


def test_every_step_of_a_room_is_somebodys() -> None:
    rooms = {step.name for step in STEPS if Place.ROOM in step.places}
    made = set(bundle.MADE) | bundle.FROM_OUTSIDE
    assert made < rooms
    assert {"session", "mounts"} <= rooms - made  # done by the room's first process
