"""Leaves in `out` what must not be taken, under the names that a part's files have, and claims that they are parts."""

FILES = ("out/0-0.brep", "out/p0.step")
with contextlib.suppress(OSError):  # where nothing can be written, that is what a probe says
    os.makedirs("out", exist_ok=True)


def record(**members):
    data = json.dumps(members).encode()
    os.write(3, len(data).to_bytes(4, "big") + data)


def claim(count=1, brep="{}-0.brep", step="p{}.step"):
    """As a CAD job reports: what it handed over, and, for whom takes its word, what it finished."""
    parts = [
        {"name": f"p{n}", "source": "x", "type": "shape", "files": [{"name": "x", "file": brep.format(n)}]}
        for n in range(count)
    ]
    record(kind="handover", parts=parts)
    for n in range(count):
        record(kind="part", name=f"p{n}", verdict="part", file=step.format(n), facts=None, message="")
    tell(NAME, refused="left")
    os._exit(0)


def instead(make):
    """Something else than a file, at both names."""
    for path in FILES:
        make(path)
    claim()


def sized(path, size):
    with open(path, "wb") as file:
        file.truncate(size)


def link():
    instead(lambda path: os.symlink(CONFIG["places"][0] + "/secret", path))


def link_to_environment():
    instead(lambda path: os.symlink("/proc/self/environ", path))


def link_above():
    def make(path):
        os.makedirs("other", exist_ok=True)
        sized("other/" + os.path.basename(path), 8)
        if not os.path.islink("out"):
            os.rmdir("out")
            os.symlink("other", "out")

    instead(make)


def second_name():
    def make(path):
        sized(os.path.basename(path), 8)
        os.link(os.path.basename(path), path)

    instead(make)


def fifo():
    instead(os.mkfifo)


def too_large():
    for path in FILES:
        sized(path, 2 << 20)
    claim()


def too_large_together():
    for n in range(2):
        sized(f"out/{n}-0.brep", 1 << 20)
        sized(f"out/p{n}.step", 1 << 20)
    claim(2)


def too_many():
    for n in range(5):
        sized(f"out/{n}-0.brep", 8)
        sized(f"out/p{n}.step", 8)
    claim(5)


def named_outside():
    outside = "../" * 24 + CONFIG["places"][0].lstrip("/") + "/secret"
    claim(1, outside, outside)
