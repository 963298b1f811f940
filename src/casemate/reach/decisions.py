"""What people decided about the libraries, each with its reason; the rest is made from the image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Surface:
    """A module that scripts may import: where its table stands, and what stands above it there."""

    module: str
    file: str
    constant: str
    note: str
    whole: bool
    """True: all its public names but the denied. False: the names that stand in the table, chosen by hand."""


SURFACES = (
    Surface(
        "build123d", "module_build123d", "BUILD123D",
        "Left out: import_*, export_*, Mesher (files), FontManager (paths), GeomEncoder; of the 290 names outside its "
        "star list (os, requests, subprocess by way of webbrowser ...) only Shape is here.", True,
    ),
    Surface(
        "cadquery", "module_cadquery", "CADQUERY",
        "Left out: exporters, importers (files), occ_impl, plugins, cqgi, vis, utils (modules), version (metadata).",
        True,
    ),
    Surface(
        "cadquery.func", "module_cadquery", "CADQUERY_FUNC",
        "The free functions. Left out: setThreads, which would undo the single thread that makes forks safe.", True,
    ),
    Surface(
        "cadquery.selectors", "module_cadquery", "CADQUERY_SELECTORS",
        "The selector classes. Left out: what the module itself imports (pyparsing, typing, math).", True,
    ),
    Surface("math", "module_math", "MATH", "All of it.", False),
    Surface(
        "numpy", "module_numpy", "NUMPY",
        "Left out: load, save, memmap, genfromtxt (files), as_strided, ctypeslib, frombuffer, dtype (memory and what "
        "it is), testing, f2py (code). `ndarray` makes arrays over the memory of any object: it may be asked for, "
        "never called.", False,
    ),
    Surface("numpy.linalg", "module_numpy", "NUMPY_LINALG", "Linear algebra.", False),
    Surface(
        "numpy.random", "module_numpy", "NUMPY_RANDOM", "Random numbers; the generators are reseeded for each job.",
        False,
    ),
    Surface(
        "copy", "module_pure", "COPY",
        "Copies of shapes for assemblies; no script class can define the hooks that copy calls.", False,
    ),
    Surface("itertools", "module_pure", "ITERTOOLS", "Iterators.", False),
    Surface("functools", "module_pure", "FUNCTOOLS", "No decorators: they are refused as a node.", False),
    Surface("random", "module_pure", "RANDOM", "The generator of the process, reseeded for each job.", False),
    Surface("time", "module_pure", "TIME", "Clocks that scripts print; no sleep.", False),
)  # fmt: skip

TITLES: Mapping[str, str] = {
    "attributes": "Attribute names that a script may load from any object; the reason is who owns the name.",
    "denied_reached": "Names that a walk found to lead to what a script must not have; made, never written by hand.",
    "module_build123d": "Names of build123d's own star list that a script may use, and Shape.",
    "module_cadquery": "Public names of cadquery, cadquery.func and cadquery.selectors: no module, nothing that reads "
    "or writes.",
    "module_math": "The whole of math: functions of numbers.",
    "module_numpy": "The short list of numpy that CAD scripts use (15 of 1,793 do): arrays of numbers, no files, no "
    "memory, no code.",
    "module_pure": "Small parts of the standard library that compute and do nothing else; profile `cad` only.",
}
"""First line of each file that is made."""

PACKAGES: Mapping[str, str] = {
    "cadquery": "what scripts are written with",
    "build123d": "what scripts are written with",
}
"""Packages whose classes are taken whole: a new public name of theirs is admitted unless something is against it."""

CLASSES: Mapping[str, str] = {
    "numpy.ndarray": "arrays",
    "numpy.generic": "numbers of numpy, and all below it",
    "numpy.random.Generator": "what default_rng gives",
    "numpy.random.RandomState": "behind the functions of numpy.random",
}
"""Further classes whose names are owned by somebody; beside them the builtin types that a script may use."""

BESIDE: Mapping[str, tuple[str, ...]] = {"build123d": ("Shape",)}
"""Module -> names that it has outside its own list and that scripts use."""

PLUMBING: Mapping[str, str] = {
    "abc": "how classes are made",
    "enum": "how choices are made; what they inherit is no name of a part",
    "typing": "types",
    "typing_extensions": "types",
    "multimethod": "the dispatcher in front of some functions of cadquery",
    "json": "a JSON encoder and its hooks",
}
"""Packages whose classes lend nothing to the tables although the libraries derive from them."""

ORIGINS: Mapping[str, str] = {
    "cadquery": "the library",
    "build123d": "the library",
    "numpy": "arrays; what opens files is found by its code",
    "math": "numbers",
    "builtins": "only the builtins that the gate admits",
    "itertools": "iterators",
    "functools": "partial and reduce",
    "_functools": "the same in C",
    "random": "numbers",
    "time": "clocks",
    "copy": "copies",
    "anytree": "the tree of build123d's assemblies",
    "collections": "named tuples and the like",
    "types": "generators and functions",
    "enum": "choices",
    "typing": "types",
    "abc": "how classes are made",
    "multimethod": "the dispatcher in front of some functions of cadquery",
    "OCP.OCP.gp": "points, directions and axes of the kernel: numbers, no files",
}
"""Whose functions, classes and values a script may reach; those of all others are refused, known or not."""

USES: Mapping[str, str] = {
    r"(?:^|\.)(?:open|os|io|pathlib|Path|shutil|tempfile|glob|zipfile|gzip)(?:\.|$)": "files",
    r"(?:^|\.)(?:subprocess|multiprocessing|signal|ctypes|mmap)(?:\.|$)": "processes and memory",
    r"(?:^|\.)(?:socket|ssl|requests|urllib|http|webbrowser)(?:\.|$)": "connections",
    r"(?:^|\.)(?:pickle|marshal|importlib|exec|eval|compile|__import__)(?:\.|$)": "code",
    r"(?:^|\.)(?:exporters|importers|ezdxf|ET|svgwrite|lib3mf|Lib3MF)(?:\.|$)": "files of other formats",
    r"Writer|Reader|STEPControl|IGESControl|StlAPI|VrmlAPI|RWStl|RWGltf|RWObj|BRepTools\.(?:Read|Write)": "files",
    r"BinTools|XmlDrivers|BinDrivers|OSD_|Font_FontMgr": "files of the kernel, and fonts",
}
"""Dotted names in a function's code, as patterns -> what they are for: such a function is refused."""

CALLS = r"^(?:export|import|save|dump|write|load|open)|^read(?:_|$)"
"""Methods, on whatever object, whose callers are refused as what opens files."""

RETURNS = r"OCP\.OCP\.(?!gp\.)|TopoDS|\bIO\b|Path|ModuleType|CodeType|FrameType|memoryview|\bbytes\b"
"""Annotations of what a function gives that no script must have: a walk calls none that needs arguments."""

_FONT = ("(?i)font", "an argument that is a font file is refused: tables/calls.py")
KEPT: Mapping[str, tuple[str, str]] = {
    "Text": _FONT,
    "makeText": _FONT,
    "make_text": _FONT,
    "text": _FONT,
}
"""Names of functions that open something and stay all the same: what it may be, as a pattern, and why.

What is *reached* is never kept.
"""

_BYTES = "copies: a shape as bytes in memory, not as a file"
KEPT_METHODS: Mapping[str, str] = {
    "cadquery.occ_impl.shapes.Shape.__getstate__": _BYTES,
    "cadquery.occ_impl.shapes.Shape.__setstate__": _BYTES,
    "cadquery.occ_impl.geom.Location.__getstate__": _BYTES,
    "cadquery.occ_impl.geom.Location.__setstate__": _BYTES,
}
"""Methods that syntax or a copy calls and whose code is not looked at."""

LEFT_NAMES: Mapping[str, str] = {
    "ndarray": "makes arrays over the memory of any object; numpy.ndarray may be asked for as numpy's name alone",
    "mySelector": "the parser's own object",
    "wrapped_vis": "a raw kernel object, as wrapped is",
    "opti": "the solver's own object",
}
"""Attribute names that are not taken although their class is."""

_FILES, _OWN = "of a class that reads or writes files", "of a class that the library keeps for itself"
LEFT_CLASSES: Mapping[str, str] = {
    "build123d.ColorIndex": _FILES,
    "build123d.Export2D": _FILES,
    "build123d.ExportDXF": _FILES,
    "build123d.ExportSVG": _FILES,
    "build123d.FontInfo": "fonts are named, never opened",
    "build123d.FontManager": "fonts are named, never opened",
    "build123d.Mesher": _FILES,
    "cadquery.AmfWriter": _FILES,
    "cadquery.CONTENT_TYPES": _FILES,
    "cadquery.DxfDocument": _FILES,
    "cadquery.ExportModes": _FILES,
    "cadquery.ExportTypes": _FILES,
    "cadquery.ImportTypes": _FILES,
    "cadquery.JsonMesh": _FILES,
    "cadquery.SCHEMAS": _FILES,
    "cadquery.ThreeMFWriter": _FILES,
    "build123d.BuildScope": _OWN,
    "build123d.CylinderPatch": _OWN,
    "build123d.MakeShapeLike": _OWN,
    "build123d.MeshIndex": _OWN,
    "build123d.PlanePatch": _OWN,
    "build123d.ShapeHistory": _OWN,
    "build123d.SpherePatch": _OWN,
    "build123d.Trace": _OWN,
    "cadquery.Arc": _OWN,
    "cadquery.ConstraintSolver": _OWN,
    "cadquery.Op": _OWN,
    "cadquery.SketchConstraintSolver": _OWN,
    "cadquery.deprecate_kwarg": _OWN,
    "cadquery.deprecate_kwarg_name": _OWN,
}
"""Classes of whole packages whose names are not taken, unless another class has them too or they are in the table."""

VERSIONS = ("cadquery", "build123d", "cadquery-ocp-novtk", "numpy", "anytree")
"""Distributions whose versions the made files name."""
