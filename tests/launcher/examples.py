"""One value of each wire message, with every kind of field filled."""

from __future__ import annotations

from casemate.launcher import messages as m

LAYERS = (m.Layer("guest.seccomp", True, "1 filter"), m.Layer("guest.landlock", False, ""))
JOB = m.GuestJob(
    "j1", "script", "cad", "/tmp/job-j1", ("a.dxf", "b ü.txt"), 1 << 40, 1 << 41, 90, (("step", 30.0), ("facts", 0.5))
)
OPEN_JOB = m.GuestJob("j2", "inspect", None, "/tmp/job-j2", (), 0, 0, 0, ())
WALLS = m.Walls(
    1 << 28,
    4096,
    256,
    1 << 27,
    1 << 32,
    1 << 32,
    32,
    90,
    "BgAAAAAA/38=",
    True,
    True,
    False,
    False,
    False,
    False,
    False,
    False,
    ("A=b",),
)
BOUNDS = m.Bounds(60.0, 2.0, 90.0, 1 << 31, 32, 1.5, 1 << 20, 1 << 20, 4 << 20, False, True)
MESSAGES = (
    m.Room(
        "r1",
        "/srv/image",
        "/usr/lib/python3.11/site-packages",
        (m.Template("cad", "a:b", "a:c"), m.Template("l", "", "")),
        m.Outer("crun", "/usr/bin/crun", "crun 1.8", '{"defaultAction": "SCMP_ACT_ERRNO"}'),
    ),
    m.Enclosed("crun", (("user", 4026531837), ("mnt", 1 << 33))),
    m.Run("x1", "r1", "cad", "a:run", JOB, WALLS, BOUNDS, True, 12345.678901234),
    m.Run("x2", "r1", "cad", "a:run", OPEN_JOB, WALLS, BOUNDS, False, 0.0),
    m.Demand("r1", "cad", WALLS, BOUNDS),
    m.Retire("r1"),
    m.Cancel("x1"),
    m.Ready("r1", LAYERS),
    m.Started("x1"),
    m.Ended("x1", "limit", "wall_time", -1, 9, 60.0, 0.01, -1.0, -1, 3, 4096, ("processes",), 1 << 40, 0, 7, LAYERS),
    m.Fault("x1", 'say "no"\n\x1b[31m\ud800'),
    m.Sandbox("x1", -1, "/tmp/job-x1", WALLS),
    m.Inputs(("a.dxf", "b.txt")),
    m.Placed("x1"),
    m.Standing("x1", ()),
    m.Guest("x1", True, "/tmp/job-x1", WALLS),
    m.Job("a:run", JOB),
    m.Locked("x1", LAYERS),
    m.Prefault("x1"),
    m.Prefaulted("x1"),
    m.Exited("x1", 3, 0, 0.25),
    m.Warm("cad", LAYERS),
)
