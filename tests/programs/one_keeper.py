"""Leaves a Host open at its end, as callers do; prints the keeper's pid."""

import json

import casemate
from casemate.control import shared
from casemate.control.host import strongest

casemate.run("x = 1\n", strongest(shared.host()))
print(json.dumps({"keeper": shared.host().keeper_pid}))
