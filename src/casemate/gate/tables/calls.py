"""Calls that are rewritten, bounded or refused."""

#: keyword arguments that open a font file -> why
FONT_KEYWORDS = {
    "fontPath": "opens a file; name the font with font=",
    "font_path": "opens a file; name the font with font=",
}

#: callable -> positional arguments that come before its font path
FONT_POSITIONS = {
    "text": 6,
    "makeText": 4,
    "make_text": 3,
    "Text": 3,
}

#: classes that make more than values: only for the second argument of isinstance -> why
TYPES_ONLY = {
    "numpy.ndarray": "it makes arrays over the memory of other objects",
}

#: function of numpy -> arguments by position that come before its dtype
DTYPE_POSITIONS = {
    "numpy.arange": 3,
    "numpy.array": 1,
    "numpy.asarray": 1,
    "numpy.astype": 1,
    "numpy.empty": 1,
    "numpy.eye": 3,
    "numpy.full": 2,
    "numpy.full_like": 2,
    "numpy.geomspace": 4,
    "numpy.identity": 1,
    "numpy.linspace": 5,
    "numpy.logspace": 5,
    "numpy.ones": 1,
    "numpy.ones_like": 1,
    "numpy.zeros": 1,
    "numpy.zeros_like": 1,
}

#: texts that name a type of numbers, truth values or texts of a given length
DTYPES = (
    r"[<>=|]?(bool|u?int(8|16|32|64)?|float(16|32|64)?|complex(64|128)?|str|[iufcb](1|2|4|8|16)"
    r"|[?bBhHiIlLqQefdgFD]|[US]\d{1,4})"
)

#: the free function text(txt, size, font, path) and text(txt, size, spine, base, font, path)
FREE_TEXT = "cadquery.func.text"

#: keywords of print that go nowhere else
PRINT_KEYWORDS = {
    "sep": "text",
    "end": "text",
    "flush": "truth value",
}

#: what a with statement may enter -> why
WITH_ITEMS = {
    "BuildPart": "builder",
    "BuildSketch": "builder",
    "BuildLine": "builder",
    "Locations": "placement",
    "GridLocations": "placement",
    "PolarLocations": "placement",
    "HexLocations": "placement",
}

#: dotted function that writes a file -> the keyword under which it takes its object
EXPORT_FUNCTIONS = {
    "cadquery.exporters.export": "w",
    "cadquery.exporters.exportDXF": "w",
    "cadquery.exporters.assembly.exportAssembly": "assy",
    "cadquery.exporters.assembly.exportCAF": "assy",
    "cadquery.exporters.assembly.exportGLTF": "assy",
    "cadquery.exporters.assembly.exportStepMeta": "assy",
    "cadquery.exporters.assembly.exportVRML": "assy",
    "cadquery.exporters.assembly.exportVTKJS": "assy",
    "build123d.export_brep": "to_export",
    "build123d.export_gltf": "to_export",
    "build123d.export_obj": "to_export",
    "build123d.export_step": "to_export",
    "build123d.export_stl": "to_export",
    "build123d.exporters3d.export_brep": "to_export",
    "build123d.exporters3d.export_gltf": "to_export",
    "build123d.exporters3d.export_obj": "to_export",
    "build123d.exporters3d.export_step": "to_export",
    "build123d.exporters3d.export_stl": "to_export",
}

#: method that writes its object to a file -> who has it
EXPORT_METHODS = {
    "export": "cadquery.Workplane, cadquery.Shape, cadquery.Assembly",
    "exportBin": "cadquery.Shape",
    "exportBrep": "cadquery.Shape",
    "exportStep": "cadquery.Shape",
    "exportStl": "cadquery.Shape",
    "exportSvg": "cadquery.Workplane",
    "exportVtk": "cadquery.Shape",
    "export_brep": "build123d.Shape, once",
    "export_step": "build123d.Shape, once",
    "export_stl": "build123d.Shape, once",
    "save": "cadquery.Assembly",
    "toSvg": "cadquery.Workplane",
}

#: modules whose only use is in such statements: their import is erased
EXPORT_MODULES = {
    "cadquery.exporters": "writers",
    "cadquery.exporters.assembly": "writers",
    "cadquery.occ_impl.exporters": "writers",
    "cadquery.occ_impl.exporters.assembly": "writers",
    "build123d.exporters": "writers",
    "build123d.exporters3d": "writers",
    "build123d.mesher": "writers",
}

#: writer classes: an object of theirs and all statements on it are taken out
EXPORT_CLASSES = {
    "build123d.ExportSVG": "a drawing; the part itself is delivered",
    "build123d.ExportDXF": "a drawing; the part itself is delivered",
    "build123d.Mesher": "a mesh; the part itself is delivered",
    "build123d.exporters.ExportSVG": "a drawing; the part itself is delivered",
    "build123d.exporters.ExportDXF": "a drawing; the part itself is delivered",
    "build123d.mesher.Mesher": "a mesh; the part itself is delivered",
}

#: names that only the arguments of writers need
EXPORT_WORDS = {
    "cadquery.exporters.ExportTypes": "the kind of file",
    "cadquery.exporters.ExportLiterals": "the kind of file",
    "cadquery.exporters.assembly": "writers of assemblies",
    "cadquery.importers.ImportTypes": "the kind of file",
    "build123d.exporters.LineType": "style of a drawing",
    "build123d.exporters.ColorIndex": "style of a drawing",
    "build123d.exporters.Drawing": "a projection for a drawing",
}

#: dotted function that reads a file -> the keywords under which it takes the name of that file
INPUT_FUNCTIONS = {
    "cadquery.importers.importStep": ("fileName",),
    "cadquery.importers.importBrep": ("fileName",),
    "cadquery.importers.importDXF": ("filename",),
    "cadquery.Assembly.importStep": ("path",),
    "build123d.import_brep": ("file_name",),
    "build123d.import_step": ("filename",),
    "build123d.import_stl": ("file_name",),
    "build123d.import_svg": ("svg_file",),
}

#: method that reads a file -> the dotted name that the guest knows it by
INPUT_METHODS = {
    "importDXF": "cadquery.Sketch.importDXF",
}

#: modules whose only use is in such calls: their import is erased
INPUT_MODULES = {
    "cadquery.importers": "readers",
    "cadquery.occ_impl.importers": "readers",
    "build123d.importers": "readers",
}
