"""Holds a stage for the benchmark's peers until it is killed; prints its directory and the name of its groups."""

import signal

from casemate.bench import peers

stage = peers.Stage()
print(stage.path, stage.group, flush=True)
signal.pause()
