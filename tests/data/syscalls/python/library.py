"""Imports all of the standard library, and does a little with much of it."""

import contextlib
import ctypes
import datetime
import decimal
import getpass
import hashlib
import importlib
import io
import json
import locale
import logging
import logging.handlers
import os
import pickle
import platform
import random
import re
import resource
import secrets
import shelve
import sys
import tempfile
import unittest
import uuid
import zoneinfo

for name in sorted(sys.stdlib_module_names):
    if name not in ("antigravity", "this", "idlelib", "turtledemo", "turtle") and not name.startswith("_"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)

print(os.getpid(), os.getppid(), os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getgroups(), os.getpgrp())
print(os.getpgid(0), os.cpu_count(), os.sched_getaffinity(0))
print(os.uname(), platform.platform(), sys.version, os.getloadavg if hasattr(os, "getloadavg") else None)
print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print(os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_NPROCESSORS_ONLN"))
os.sched_yield()
for ask in (os.getlogin, getpass.getuser, os.getloadavg, os.ctermid):
    with contextlib.suppress(OSError, KeyError):
        print(ask())
print(hashlib.sha256(b"x").hexdigest(), secrets.token_hex(), uuid.uuid4(), uuid.uuid1(), random.random(), os.urandom(3))
print(decimal.Decimal(2).sqrt(), datetime.datetime.now(), locale.setlocale(locale.LC_ALL, ""), re.sub("a", "b", "aa"))
with contextlib.suppress(zoneinfo.ZoneInfoNotFoundError):
    print(datetime.datetime.now(zoneinfo.ZoneInfo("Europe/Berlin")))
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
values = (ctypes.c_int * 3)(3, 1, 2)
ctypes.CDLL(None).qsort(values, 3, 4, compare(lambda a, b: a[0] - b[0]))
assert list(values) == [1, 2, 3]
with shelve.open("shelf") as shelf:
    shelf["a"] = pickle.dumps(json.loads("[1]"))
handler = logging.handlers.RotatingFileHandler("log", maxBytes=100, backupCount=2)
logging.basicConfig(level=logging.INFO, handlers=[handler])
for n in range(20):
    logging.info("line %d", n)
with tempfile.TemporaryDirectory() as place:
    print(place)


class Tests(unittest.TestCase):
    def test_one(self):
        self.assertEqual(1, 1)


unittest.TextTestRunner(io.StringIO()).run(unittest.TestLoader().loadTestsFromTestCase(Tests))
