"""Leaves a secret wherever it can be left."""


def leave():
    secret = CONFIG["secret"].encode()
    name = CONFIG["name"]
    left = []
    for directory in (
        "/tmp",
        ".",
        "out",
        "/tmp/.hidden",
        "/dev/shm",
        "/dev",
        "/run",
        "/var/tmp",
        "/usr/lib",
        "/opt",
        "/",
    ):
        with contextlib.suppress(OSError):
            os.makedirs(directory, exist_ok=True)
            path = os.path.join(directory, name)
            with open(path, "wb") as file:
                file.write(secret * 8)
            os.chmod(path, 0o666)
            left.append(path)
    with contextlib.suppress(OSError):
        os.chmod("/tmp", 0o1777)
    with contextlib.suppress(OSError), open(f"/tmp/{name}-large", "wb") as file:
        file.write(bytes(1 << 20))
    globals()["KEPT"] = [secret * 100000]
    with contextlib.suppress(OSError):
        KEPT.append(open(f"/tmp/{name}-deleted", "wb"))  # noqa: SIM115
        KEPT[1].write(secret * 1000)
        KEPT[1].flush()
        os.unlink(f"/tmp/{name}-deleted")
    sys.modules["left_behind"] = secret
    with contextlib.suppress(OSError):
        number = libc.shmget(0x6C6566, 4096, 0o1666)
        if number >= 0:
            libc.shmat.restype = ctypes.c_void_p
            ctypes.memmove(libc.shmat(number, None, 0), secret, len(secret))
    tell("recovery.leaver", refused="left", detail=cut(str(left)))
