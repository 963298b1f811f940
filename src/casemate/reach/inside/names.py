"""Runs inside a sandbox: the public names of classes, with those that only their methods set."""

import dis
import importlib
import sys


def public(name):
    """True for what may be a name in a table."""
    return (
        isinstance(name, str) and name.isascii() and name.isidentifier() and not name.startswith("_") and len(name) < 64
    )


def instructions(code):
    """The code as steps, without caches."""
    return list(dis.get_instructions(code))


def surfaces():
    """Module of the tables -> its public names with their values; of a module that is chosen from the chosen names."""
    found = {}
    for dotted, chosen in CONFIG["modules"].items():
        module = importlib.import_module(dotted)
        listed = getattr(module, "__all__", None)
        if chosen is not None:
            names = [name for name in chosen if hasattr(module, name)]
        elif listed is not None:
            names = [*listed, *CONFIG["beside"].get(dotted, ())]
        else:
            names = [name for name, value in vars(module).items() if belongs(value, dotted)]
        found[dotted] = {name: getattr(module, name) for name in sorted(set(names)) if public(name)}
    return found


def belongs(value, dotted):
    """True for what a module without a list of its own names defines itself."""
    if isinstance(value, (type, *FUNCTIONS)):
        return value.__module__ == dotted
    return isinstance(value, (int, float))


def top(kind):
    """The package that a class is of."""
    return str(kind.__module__).split(".")[0]


def label(kind):
    """How a class is called in the tables."""
    return kind.__qualname__ if top(kind) == "builtins" else f"{top(kind)}.{kind.__name__}"


def classes():
    """Every class that the whole packages define, and those that were named, with all that they derive from."""
    packages = set(CONFIG["packages"])
    found = {}
    for name in sorted(sys.modules):
        if name.split(".")[0] in packages:
            for value in list(vars(sys.modules[name]).values()):
                if isinstance(value, type) and top(value) in packages:
                    found[id(value)] = value
    for value in [*named(), *list(found.values())]:
        found[id(value)] = value
    derived = {}
    for value in found.values():
        for base in [*value.__mro__, *type(value).__mro__]:
            if base not in (type, object) and top(base) not in CONFIG["plumbing"]:
                derived[id(base)] = base
    for value in list(derived.values()):
        for inner in list(vars(value).values()):
            if isinstance(inner, type) and top(inner) in packages:
                derived[id(inner)] = inner
    return list(derived.values())


def named():
    """The classes that CONFIG names, numpy's types of numbers, and the builtin types that scripts use."""
    found = [value for name in CONFIG["builtins"] if isinstance(value := getattr(builtins, name, None), type)]
    for dotted in CONFIG["classes"]:
        module, _, name = dotted.rpartition(".")
        found.append(getattr(importlib.import_module(module), name))
    numbers = [value for value in found if value.__name__ == "generic"]
    for value in list(vars(sys.modules["numpy"]).values()):
        if isinstance(value, type) and any(issubclass(value, one) for one in numbers):
            found.append(value)
    return found


def members(kind):
    """Its own public names: defined, annotated, or set by its methods."""
    names = {*vars(kind), *vars(kind).get("__annotations__", {})}
    for value in list(vars(kind).values()):
        for part in unwrapped(value):
            if isinstance(part, types.FunctionType):
                names |= stored(part.__code__)
    return sorted(name for name in names if public(name))


def stored(code):
    """Attributes that a method sets on its first argument."""
    first = code.co_varnames[0] if code.co_argcount else None
    names, before = set(), None
    for step in instructions(code):
        if step.opname == "STORE_ATTR" and before is not None and before.opname.startswith(("LOAD_FAST", "LOAD_DEREF")):
            holder = before.argval[-1] if isinstance(before.argval, tuple) else before.argval
            if holder == first:
                names.add(step.argval)
        before = step
    return names


def described_name(name, value):
    """One line that says what a module's name is."""
    if isinstance(value, type) and hasattr(value, "__members__"):
        return "choices: " + ", ".join(value.__members__)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"the number {value:g}"
    text = value.__doc__ if isinstance(value, (type, *FUNCTIONS)) or callable(value) else None
    lines = [line.strip(" .:=-\t") for line in (text or "").splitlines()]
    lines = [line for line in lines if not line.startswith((name + "(", ">>>"))]
    lines = [re.sub(r"^(\w+ )+(Object|Operation): *", "", line) for line in lines]
    lines = [line for line in lines if line and line.replace(" ", "").lower() != name.lower()]
    kind = "class" if isinstance(value, type) else "function" if callable(value) else "value"
    return lines[0] if lines else f"{kind} {name}"
