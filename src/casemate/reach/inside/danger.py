"""Runs inside a sandbox: what a name must not lead to. CONFIG was defined above it."""

import builtins
import functools
import inspect
import re
import types

ORIGINS = tuple(CONFIG["origins"])
"""Packages whose functions, classes and values a script may reach; all others are refused, known or not."""
BUILTINS = frozenset(CONFIG["builtins"])
USES = re.compile(CONFIG["uses"])
"""Dotted names in a function's code that open files, start programs, connect or run text."""
KEPT_METHODS = frozenset(CONFIG["kept_methods"])
CALLS, RETURNS = re.compile(CONFIG["calls"]), re.compile(CONFIG["returns"])
PLACES = re.compile(r"(?i)(?:^|_)(?:file|font|dir)_?(?:name|path)(?:$|_)|^(?:f|file)name$|^file$|^folder$|^directory$")
"""Parameters that name a file."""
KINDS = re.compile(r"PathLike|\bPath\b|BytesIO|StringIO|TextIO|\bIO\b")
"""Annotations of such parameters."""
CODE = (types.CodeType, types.FrameType, types.TracebackType)
FUNCTIONS = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.MethodWrapperType, types.ClassMethodDescriptorType,
)  # fmt: skip
CYTHON = {"cython_function_or_method", "_cython_function_or_method"}
GETTERS = (property, functools.cached_property)
MEMORY = {"memoryview", "mmap", "flagsobj", "PyCapsule", "_ctypes"}
PLAIN = (int, float, complex, bool, str, bytes, type(None), list, tuple, dict, set, frozenset, range, slice)


def described(value):
    """What the value is, if a script must not have it; else an empty text."""
    if type(value) in PLAIN:
        return ""
    if isinstance(value, types.ModuleType):
        return f"the module {value.__name__}"
    if isinstance(value, CODE):
        return f"a {type(value).__name__} object"
    if value is type:
        return "type, which makes classes with methods of any name"
    for part in unwrapped(value):
        found = foreign(part)
        if found:
            return found
    return ""


def foreign(value):
    """The same of one object, whatever it wraps."""
    kind = value if isinstance(value, type) else type(value)
    if kind.__name__ in MEMORY:
        return f"memory as a {kind.__name__}"
    if isinstance(value, FUNCTIONS) or kind.__name__ in CYTHON:
        module = origin(value)
        if module == "builtins" and getattr(value, "__self__", None) is builtins:
            return "" if value.__name__ in BUILTINS else f"the builtin {value.__name__}"
        return "" if known(module) else f"a function of {module}"
    module = str(kind.__module__)
    if module == "builtins" and isinstance(value, type) and getattr(builtins, kind.__name__, None) is value:
        harmless = value is object or issubclass(value, Exception) or value.__name__ in BUILTINS
        return "" if harmless else f"the builtin {value.__name__}"
    if known(module):
        return ""
    return f"{'the class' if isinstance(value, type) else 'an object of'} {module}.{kind.__name__}"


def known(module):
    """True for a module of a package in ORIGINS."""
    return any(module == origin or module.startswith(f"{origin}.") for origin in ORIGINS)


def origin(function):
    """The module that a function is of; of a method of C the module of its class."""
    module = getattr(function, "__module__", None)
    if isinstance(module, str):
        return module
    owner = getattr(function, "__objclass__", None) or type(getattr(function, "__self__", None))
    return str(owner.__module__)


def unwrapped(value):
    """The value and the functions that it stands for: of a method, a partial, a property, a dispatcher."""
    found, todo = [], [value]
    while todo and len(found) < 200:
        part = todo.pop()
        if any(part is one for one in found):
            continue
        found.append(part)
        if isinstance(part, types.MethodType):
            todo.append(part.__func__)
        elif isinstance(part, (functools.partial, functools.cached_property)):
            todo.append(part.func)
        elif isinstance(part, property):
            todo += [one for one in (part.fget, part.fset) if one is not None]
        elif isinstance(part, (staticmethod, classmethod)):
            todo.append(part.__func__)
        elif isinstance(part, dict) and callable(part):  # multimethod: types of arguments -> function
            todo += list(part.values())
        for name in ("__wrapped__", "_implementation"):  # of functools.wraps, and of numpy's dispatcher
            inner = None if isinstance(part, type) else inspect.getattr_static(part, name, None)
            if isinstance(inner, types.GetSetDescriptorType | types.MemberDescriptorType):
                inner = getattr(part, name)
            if isinstance(inner, types.FunctionType):
                todo.append(inner)
    return found


def opens(value):
    """The same as `opening`, worked out once for each value."""
    if not callable(value) and not isinstance(value, GETTERS):
        return ""
    key = id(getattr(value, "__func__", value))
    if key not in OPENS:
        OPENS[key] = (value, opening(value))
    return OPENS[key][1]


OPENS = {}
"""Kept with the value, so that its id stays its own."""


def opening(value):
    """How calling the value may open something by its name, if its code or signature says so; else an empty text."""
    parts = unwrapped(value)
    if isinstance(value, type):
        # What syntax calls: operators, with, loops, print, and copies.
        methods = [vars(base)[name] for base in value.__mro__[:-1] for name in vars(base) if name.startswith("__")]
        parts = [one for method in methods for one in unwrapped(method)]
    for part in parts:
        if isinstance(part, types.FunctionType) and f"{part.__module__}.{part.__qualname__}" not in KEPT_METHODS:
            found = places(part) or gives(part) or used(part.__code__, part.__globals__, 1)
            if found:
                return found
    return ""


def gives(function):
    """A return value, by its annotation, or a method that it calls, by its name."""
    returns = function.__annotations__.get("return", "")
    if RETURNS.search(str(returns)):
        return f"it gives {returns}"
    for step in instructions(function.__code__):
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and CALLS.search(str(step.argval)):
            return f"it calls .{step.argval}"
    return ""


def places(function):
    """A parameter that names a file."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for name in names:
        kind = str(function.__annotations__.get(name, ""))
        if PLACES.search(name) or KINDS.search(kind):
            return f"its parameter {name} names a file"
    return ""


@functools.cache
def loads(code):
    """As `loaded`, of each code object once."""
    return loaded(code)


def used(code, namespace, depth):
    """A dotted name in the code, or in functions that it calls by name, which stands in USES."""
    for dotted in loads(code):
        found = resolved(dotted, namespace)
        for text in (dotted, f"{getattr(found, '__module__', '')}.{getattr(found, '__name__', '')}"):
            if USES.search(text):
                return f"its code uses {dotted}"
        if depth and isinstance(found, types.FunctionType) and known(origin(found)) and found.__code__ is not code:
            deeper = used(found.__code__, found.__globals__, depth - 1)
            if deeper:
                return f"{deeper}, by way of {dotted}"
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            found = used(inner, namespace, depth)
            if found:
                return found
    return ""


def loaded(code):
    """Global names of a code object with the attributes that follow, and what it imports."""
    dotted, names = "", []
    for step in instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "IMPORT_NAME", "IMPORT_FROM"):
            names.append(dotted)
            dotted = step.argval
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and dotted:
            dotted = f"{dotted}.{step.argval}"
        elif step.opname not in ("CACHE", "NOP"):
            names.append(dotted)
            dotted = ""
    return [name for name in dict.fromkeys(names) if name]


def resolved(dotted, namespace):
    """The object of a dotted name, or None."""
    first, *rest = dotted.split(".")
    found = namespace.get(first, getattr(builtins, first, None))
    for name in rest:
        found = inspect.getattr_static(found, name, None)
        if isinstance(found, (staticmethod, classmethod)):
            found = found.__func__
    return found
