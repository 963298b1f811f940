"""Leaves a Host open at its end, as callers do; prints the keeper's pid."""

import json

import casemate
from casemate.control.host import shared, strongest

casemate.run("x = 1\n", strongest(shared()))
print(json.dumps({"keeper": shared().keeper_pid}))
