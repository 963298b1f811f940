"""This process has no room for one more descriptor: nothing is broken, so it is Busy, wherever it was found out."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from casemate.errors import Busy

_FULL = (errno.EMFILE, errno.ENFILE)
MESSAGE = "this process may have no more open files (RLIMIT_NOFILE, getrlimit(2))"


@contextmanager
def descriptors() -> Iterator[None]:
    """Turn whatever was raised for want of a descriptor into Busy, also what it was turned into on its way here."""
    handled = sys.exc_info()[1]  # the caller's own, which is nothing of ours
    try:
        yield
    except Exception as raised:
        error: BaseException | None = raised
        while error is not None and error is not handled:
            if isinstance(error, OSError) and error.errno in _FULL:
                raise Busy(MESSAGE) from raised
            error = error.__cause__ or error.__context__
        raise


def require(error: BaseException) -> None:
    """Raise `error` itself if it says that descriptors are short: it says nothing about what was looked at."""
    if isinstance(error, OSError) and error.errno in _FULL:
        raise error
