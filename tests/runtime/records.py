"""One record of each kind that a guest writes on its report."""

from __future__ import annotations

import json

GATE = {"kind": "gate", "admitted": True, "denials": [], "notices": [], "seconds": 0.012}
DENIAL = {
    "code": "import", "message": "os", "line": 1, "column": 0, "node": "Import", "name": "os",
    "source_line": "import os", "hint": "no",
}  # fmt: skip
DENIED = {
    "kind": "gate", "admitted": False, "denials": [DENIAL], "seconds": 0.5, "omitted": 3,
    "notices": [{"code": "erased", "message": "show", "line": 2}],
}  # fmt: skip
START = {"kind": "stage", "name": "script", "event": "start"}
END = {"kind": "stage", "name": "script", "event": "end", "seconds": 1.5}
NOTICE = {"kind": "notice", "code": "guessed", "message": "took `part`", "line": 7}
ERROR = {
    "kind": "error", "stage": "script", "type": "ValueError", "message": "no", "line": 3, "source_line": "x",
    "function": "f", "hint": "",
}  # fmt: skip
HANDOVER = {
    "kind": "handover",
    "parts": [{"name": "part", "source": "result", "type": "shape", "files": [{"name": "a", "file": "0-0.brep"}]}],
}
NOPARTS = {"kind": "noparts", "verdict": "no_result", "message": "nothing"}
FACTS = {
    "volume": 6000.0, "area": 2200.0, "bounding_box": [0, 0, 0, 10.5, 20, 30], "center_of_mass": [5, 10, 15],
    "solids": 1, "shells": 1, "faces": 6, "edges": 12, "valid": True,
    "closed": True, "holes": 0, "symmetric": "xyz",
}  # fmt: skip
PART = {"kind": "part", "name": "part", "verdict": "part", "file": "part.step", "facts": FACTS, "message": ""}
BARE = {"kind": "part", "name": "b", "verdict": "no_solid", "file": None, "facts": None, "message": "a sketch"}
EVERY = (GATE, DENIED, START, END, NOTICE, ERROR, HANDOVER, NOPARTS, PART, BARE)


def record(value: object) -> bytes:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return len(body).to_bytes(4, "big") + body
