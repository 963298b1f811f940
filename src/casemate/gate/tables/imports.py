"""Imports: which modules, which of their names, and what to say about the others."""

from . import module_build123d, module_cadquery, module_math, module_numpy, module_pure

#: dotted module -> its permitted names; a module of another is named by its dotted path, never among the names
CAD = {
    "cadquery": module_cadquery.CADQUERY,
    "cadquery.func": module_cadquery.CADQUERY_FUNC,
    "cadquery.selectors": module_cadquery.CADQUERY_SELECTORS,
    "build123d": module_build123d.BUILD123D,
    "math": module_math.MATH,
    "numpy": module_numpy.NUMPY,
    "numpy.linalg": module_numpy.NUMPY_LINALG,
    "numpy.random": module_numpy.NUMPY_RANDOM,
}

#: beside the four libraries, in profile `cad` only
PURE = {
    "copy": module_pure.COPY,
    "functools": module_pure.FUNCTOOLS,
    "itertools": module_pure.ITERTOOLS,
    "random": module_pure.RANDOM,
    "time": module_pure.TIME,
}

#: modules that may be imported with a star -> why
STARS = {
    "build123d": "the way its documentation writes every script",
    "cadquery.func": "the way its documentation writes every script",
    "math": "common, and nothing but numbers",
}

#: first name of a refused module -> what to do instead
HINTS = {
    "os": "remove it: results are collected without paths or directories",
    "sys": "remove it: there are no arguments, and a script ends with its last line",
    "pathlib": "remove it: results are collected without paths",
    "shutil": "remove it: results are collected without paths",
    "tempfile": "remove it: results are collected without paths",
    "io": "remove it: print writes to the job's output",
    "json": "write the parameters as a dict in the script",
    "csv": "write the table as a list in the script",
    "logging": "use print",
    "warnings": "remove it: warnings go to the job's output",
    "argparse": "write the parameters as variables at the top",
    "subprocess": "a script cannot start programs",
    "dataclasses": "write a plain class with __init__, or a dict",
    "enum": "write plain constants",
    "abc": "write a plain class",
    "collections": "use dict, list and tuple",
    "statistics": "use sum(values) / len(values), or numpy.mean",
    "decimal": "use float",
    "fractions": "use float",
    "cmath": "use math",
    "scipy": "use numpy or math",
    "sympy": "use math",
    "OCP": "the kernel's own classes are not available; use cadquery or build123d",
    "ezdxf": "use cadquery's importers on a given input",
    "trimesh": "the facts of a part (volume, box, validity) are measured outside the script",
    "matplotlib": "a script makes parts, not pictures",
    "vtk": "a script makes parts, not pictures",
    "pyvista": "a script makes parts, not pictures",
    "re": "use the methods of str",
    "string": "use the methods of str",
    "operator": "use a lambda",
    "datetime": "remove it: results carry no dates",
    "cq_warehouse": "not in the image; model the part with cadquery",
    "bd_warehouse": "not in the image; model the part with build123d",
    "cqkit": "not in the image; model the part with cadquery",
    "solid": "use cadquery or build123d",
    "FreeCAD": "use cadquery or build123d",
}

#: dotted name that a script may have meant -> what to say
NAME_HINTS = {
    "cadquery.exporters": 'a statement exporters.export(x, "name.step") of its own is taken out and x becomes a result',
    "cadquery.importers": 'only importers.importStep("name") and the like, with the literal name of a given input',
    "cadquery.cq": "import cadquery as cq",
    "cadquery.occ_impl": "the same classes are in cadquery itself: cadquery.Solid, cadquery.Edge ...",
    "build123d.topology": "import the name from build123d itself",
    "build123d.build_enums": "import the name from build123d itself",
    "build123d.geometry": "import the name from build123d itself",
    "build123d.objects_part": "import the name from build123d itself",
    "build123d.objects_sketch": "import the name from build123d itself",
    "build123d.objects_curve": "import the name from build123d itself",
    "build123d.operations_generic": "import the name from build123d itself",
    "build123d.math": "import math",
    "numpy.dtype": "give dtype=float, dtype=int or dtype=numpy.float64",
    "numpy.load": "write the values as a list in the script",
}
