"""For whole jobs: take one more of something, again and again, up to a number that no limit would allow."""

import threading


def take(step, enough):
    """Refused, with how many it got; or a claim that it got them all."""
    done = 0
    try:
        while done < enough:
            step(done)
            done += 1
    except OSError as error:
        tell(NAME, refused=errno.errorcode.get(error.errno, "OSError"), detail=f"after {done}")
    except RuntimeError as error:  # a thread that cannot be started
        tell(NAME, refused="EAGAIN" if SAYS else "RuntimeError", detail=f"after {done}: {error}")
    except ValueError as error:
        tell(NAME, refused="ValueError", detail=f"after {done}: {error}")
    except MemoryError:
        tell(NAME, refused="ENOMEM", detail=f"after {done}")
    else:
        tell(NAME, got=f"all {enough}")


def closed_road(code):
    """A road that the profile closes: the refusal is the answer, whatever else would be said."""
    global SAYS
    SAYS = False
    try:
        exec(code, globals())
    except OSError as error:
        refused = errno.errorcode.get(error.errno, "OSError")
    except RuntimeError:  # a thread that cannot be started
        refused = "RuntimeError"
    else:
        return
    tell(NAME, refused=refused, detail="closed")


SAYS = True


def says(word):
    """What a job says before it begins."""
    if SAYS:
        tell(NAME, refused=word)


def child(deed, seconds=20.0):
    """Fork a child that does something and then stays for a while."""
    if os.fork() == 0:
        try:
            deed()
            time.sleep(seconds)
        finally:
            os._exit(0)


def left(deed=lambda: None, seconds=60.0):
    """A daemon: forked twice, a session of its own if it may, all descriptors closed."""
    if os.fork() == 0:
        with contextlib.suppress(OSError):
            os.setsid()
        if os.fork() == 0:
            os.closerange(0, 256)
            try:
                deed()
                rest(seconds)
            finally:
                os._exit(0)
        os._exit(0)
    os.wait()
    tell(NAME, refused="left", detail="something stayed behind")


def deaf():
    for number in range(1, 65):
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN)


def spin(seconds=60.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def burn(seconds):
    """Use so much CPU time, however long that takes."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def passed():
    """The end of a job that was to be stopped before."""
    tell(NAME, got="it ran to its end")


def touch(memory):
    """Write to every page."""
    for offset in range(0, len(memory), 4096):
        memory[offset] = 1
    return memory


MIB = 1 << 20
KEPT = []


def keep(value):
    KEPT.append(value)
