"""Runs a function in a fork and tells what came of it: for calls that change the process for good."""

from __future__ import annotations

import json
import os
import signal
import traceback
from collections.abc import Callable
from typing import Any


def forked(body: Callable[[], object]) -> Any:
    """What `body` returned, as JSON; ("signal", number) if it was killed, ("errno", number, text) for an OSError."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        try:
            try:
                answer: object = body()
            except OSError as error:
                answer = ["errno", error.errno, str(error)]
            os.write(into, json.dumps(answer).encode())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        text = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status < 0:
        return ["signal", -status]
    assert text, "the fork gave no answer"
    return json.loads(text)
