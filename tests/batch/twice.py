"""Maps the thousand written scripts twice, without a cache, and compares every byte of rows and files.

    python -m batch.twice DIRECTORY [PROFILE]

Each is a `casemate map`, so one that was broken off goes on. Status 1 if anything differs, if a row has no result, or
if what was written as a part was refused.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from batch.written import scripts

from casemate.batch.results import label

MAPS = ("first", "second")


def main(directory: Path, profile: str) -> int:
    directory.mkdir(parents=True, exist_ok=True)
    source = directory / "scripts.jsonl"
    rows = [{"id": f"{at:04}-{kind}", "source": text} for at, (kind, text) in enumerate(scripts())]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    for name in MAPS:
        command = ["map", str(source), "--profile", profile, "--no-cache", "--out", str(directory / name)]
        if not (directory / name / "results.jsonl").exists():
            done = subprocess.run([sys.executable, "-m", "casemate.cli", *command], check=False)
            if done.returncode != 0:
                return done.returncode
    found = [(directory / name / "results.jsonl").read_bytes().splitlines() for name in MAPS]
    files = [sorted(path.name for path in (directory / name / "artifacts").iterdir()) for name in MAPS]
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    wrong = [] if files[0] == files[1] else ["the files"]
    for line in found[0]:
        row: dict[str, Any] = json.loads(line)
        kind = str(row["id"]).split("-", 1)[1]
        kinds[kind][label(row)] += 1
        if kind == "part" and label(row) == "policy":
            wrong.append(f"{row['id']}: a part that the gate denied")
    for one, other in zip(*found, strict=True):
        if one != other:
            wrong.append(f"{json.loads(one)['id']}: {one[:2000]!r}\n  and then {other[:2000]!r}")
    for kind, labels in sorted(kinds.items()):
        print(f"  {kind}: {', '.join(f'{name} {count}' for name, count in labels.most_common())}")
    for text in wrong:
        print(f"differs: {text}")
    print(f"{len(found[0])} rows and {len(files[0])} files, mapped twice, {len(wrong)} wrong")
    return 1 if wrong or len(found[0]) != len(rows) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "strongest"))
