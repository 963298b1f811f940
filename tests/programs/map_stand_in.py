"""A map of many rows with a stand-in for the run, to look at its memory; prints rows and peak RSS in KiB.

Arguments: rows, directory.
"""

import json
import resource
import sys
from pathlib import Path

from batch.standin import TERMS, Runs

from casemate.batch import Batch, Cache, Output, Row

count, directory = int(sys.argv[1]), Path(sys.argv[2])
rows = (Row(f"rows.jsonl:{n}", n, b"script %d" % (n % 7)) for n in range(count))
with Output(directory / "out") as output:
    done = sum(1 for _ in Batch(Runs(), TERMS, output, Cache(directory / "cache")).done(rows, 2))
print(json.dumps([done, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))
