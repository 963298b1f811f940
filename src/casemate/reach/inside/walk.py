"""Runs inside a sandbox: everything that public names, elements and calls without arguments lead to from the roots.

Theory of operation. Breadth first, so the path in a finding is a shortest one. What a script must not have is a
finding, named by the last name on its path, and is not followed. A class and a function are looked at once; of
instances the first few of each type, since what is reachable is a matter of types, and properties make new objects
without end. A bound that is met ends it, and is told: then nothing was proved.
"""

import collections
import time

SAME = 3
"""Instances of one type that are followed by their names."""
HOLDERS = (list, tuple, dict, set, frozenset, *(type(view) for view in ({}.keys(), {}.values(), {}.items())))
"""Whose elements are looked at in each."""


class Bound(Exception):
    """A bound was met."""


class Walk:
    """One walk, by the names of a table."""

    def __init__(self):
        self.attributes, self.bounds = frozenset(CONFIG["attributes"]), CONFIG["bounds"]
        self.until = time.monotonic() + self.bounds["seconds"]
        self.findings, self.kept, self.seen, self.types = {}, [], set(), collections.Counter()
        self.queue, self.objects, self.depth = collections.deque(), 0, 0

    def run(self, roots):
        """Follow everything; `roots` are (name or empty, path, value)."""
        for name, path, value in roots:
            self.reach(value, (path,), name)
        while self.queue:
            value, path, fresh = self.queue.popleft()
            for step, name, found in self.edges(value, fresh):
                self.reach(found, (*path, step), name)

    def reach(self, value, path, name):
        """Look at a value; follow it later if it is worth it."""
        self.objects += 1
        if self.objects > self.bounds["objects"]:
            raise Bound("objects")
        if time.monotonic() > self.until:
            raise Bound("seconds")
        what = described(value) if len(path) > 1 or name else ""
        if what:
            self.find("reaches", path, what)
            return
        if name and (opened := opens(value)):
            self.find("opens", path, opened)
        fresh = self.fresh(value)
        if fresh or isinstance(value, HOLDERS):
            self.depth = max(self.depth, len(path))
            if len(path) > self.bounds["depth"]:
                raise Bound("depth")
            self.queue.append((value, path, fresh))

    def find(self, kind, path, what):
        """Blame the last name on the path; the first path to it is the shortest."""
        names = [step.strip(".()") for step in path[1:] if step.startswith(".")]
        self.findings.setdefault((kind, names[-1] if names else path[0], what), (names, path))

    def fresh(self, value):
        """True for what is to be followed by its names; it is kept, so that its id stays its own."""
        if id(value) in self.seen:
            return False
        if not isinstance(value, type):
            if self.types[type(value)] >= SAME:
                return False
            self.types[type(value)] += 1
        self.seen.add(id(value))
        self.kept.append(value)
        return True

    def edges(self, value, fresh):
        """(step, name or empty, value) for all that a script can take from a value."""
        for name in self.names(value) if fresh else ():
            getter = inspect.getattr_static(type(value), name, None)
            if isinstance(getter, GETTERS):
                yield f".{name}", name, getter
            try:
                found = getattr(value, name)
            except Exception:
                continue
            yield f".{name}", name, found
            if callable(found) and not isinstance(found, type) and (not isinstance(value, type) or of_class(found)):
                yield from self.called(name, found)
        yield from self.elements(value)

    def names(self, value):
        """Its public names; every known one if it answers for names that it has not."""
        kind = type(value)
        asked = any("__getattr__" in vars(base) for base in kind.__mro__[:-1])
        return sorted(self.attributes if asked else self.attributes.intersection(dir(value)))

    def called(self, name, function):
        """What a method gives that needs no arguments."""
        if needs_arguments(function) or opens(function):
            return
        try:
            found = function()
        except Exception:
            return
        yield f".{name}()", "", found

    def elements(self, value):
        """What subscripts and loops give."""
        if not isinstance(value, HOLDERS):
            return
        for one in [*value.keys(), *value.values()] if isinstance(value, dict) else list(value):
            yield "[...]", "", one


def of_class(function):
    """True for a method of a class that is called without an instance."""
    return inspect.ismethod(function) and isinstance(function.__self__, type)


def needs_arguments(function):
    """True unless it surely can be called without."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters)
