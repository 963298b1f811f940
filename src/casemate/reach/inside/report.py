"""Runs inside a sandbox, last: what the libraries have, or what a walk met, as one line of JSON."""

import json
import warnings
from importlib import metadata


def survey():
    """The public names of the libraries' classes with who has them, and those of the modules with what they are."""
    owners = {}
    for kind in classes():
        for name in members(kind):
            owners.setdefault(name, set()).add(label(kind))
    return {
        "python": sys.version.split()[0],
        "versions": {name: metadata.version(name) for name in CONFIG["versions"]},
        "owners": {name: sorted(owned) for name, owned in sorted(owners.items())},
        "modules": {
            dotted: {
                name: [isinstance(value, types.ModuleType), described_name(name, value)]
                for name, value in names.items()
            }
            for dotted, names in surfaces().items()
        },
    }


def roots():
    """The permitted names of the modules, the builtins, and samples of values."""
    for dotted, names in surfaces().items():
        for name, value in names.items():
            if f"{dotted}.{name}" not in CONFIG["modules"]:
                yield name, f"{dotted}.{name}", value
    for name in CONFIG["builtins"]:
        if hasattr(builtins, name):
            yield name, name, getattr(builtins, name)
    for what, value in samples().items():
        yield "", what, value


def reached():
    """One walk, and where it ended."""
    warnings.simplefilter("ignore")
    walk, stopped = Walk(), ""
    try:
        walk.run(roots())
    except Bound as bound:
        stopped = str(bound)
    return {
        "stopped": stopped,
        "objects": walk.objects,
        "types": len(walk.types),
        "depth": walk.depth,
        "findings": [
            {"kind": kind, "names": names, "root": path[0], "path": "".join(path)[:400], "what": what[:400]}
            for (kind, _, what), (names, path) in walk.findings.items()
        ],
    }


def told(report):
    """The report as the last line."""
    sys.stdout.flush()
    sys.stdout.write("\n" + json.dumps({"nonce": CONFIG["nonce"], **report}) + "\n")
    sys.stdout.flush()
    raise SystemExit(0)
