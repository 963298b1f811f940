"""Viewers, typing and __future__: erased with a notice; a call that shows an object becomes a result."""

#: module (and all below it) -> what it is
ERASED_MODULES = {
    "ocp_vscode": "viewer",
    "ocp_tessellate": "viewer",
    "ocp_viewer": "viewer",
    "jupyter_cadquery": "viewer",
    "jupyter_rfb": "viewer",
    "cadquery_vis": "viewer",
    "cadquery.vis": "viewer",
    "cq_vscode": "viewer",
    "cq_viewer": "viewer",
    "cq_editor": "viewer",
    "cq_server": "viewer",
    "cqterm": "viewer",
    "cad_viewer_widget": "viewer",
    "yacv_server": "viewer",
    "IPython": "notebook",
    "typing": "types; annotations are erased",
    "typing_extensions": "types; annotations are erased",
    "collections.abc": "types; annotations are erased",
    "__future__": "annotations are erased",
}

#: names of ocp_vscode that a star import of it explains -> what they are
WORDS = {
    "Animation": "moves the picture",
    "Camera": "choices of the picture",
    "Collapse": "choices of the picture",
    "ColorMap": "colours of the picture",
    "ListedColorMap": "colours of the picture",
    "Render": "choices of the picture",
    "SegmentedColorMap": "colours of the picture",
    "Studio": "choices of the picture",
    "get_colormap": "colours of the picture",
    "get_default": "settings",
    "get_defaults": "settings",
    "port_check": "settings",
    "reset_defaults": "settings",
    "reset_show": "settings",
    "save_screenshot": "a picture",
    "set_colormap": "colours of the picture",
    "set_default": "settings",
    "set_defaults": "settings",
    "set_port": "settings",
    "set_viewer_config": "settings",
    "show_all": "shows every variable; the last shape is taken instead",
    "show_clear": "clears the picture",
    "status": "settings",
    "unset_colormap": "colours of the picture",
    "workspace_config": "settings",
}

#: assignments that describe a script: erased if the value is written out
METADATA = {
    "__all__": "exports of a module",
    "__author__": "about the file",
    "__copyright__": "about the file",
    "__credits__": "about the file",
    "__date__": "about the file",
    "__email__": "about the file",
    "__license__": "about the file",
    "__maintainer__": "about the file",
    "__status__": "about the file",
    "__title__": "about the file",
    "__version__": "about the file",
}

#: viewer function -> the injected name that it becomes
RESULT_CALLS = {
    "show_object": "show_object",
    "show": "show",
    "show_objects": "show",
    "display": "show",
    "push_object": "show_object",
    "debug": "debug",
    "log": "log",
}

#: keywords of such a call that are kept; the others describe the picture
RESULT_KEYWORDS = {
    "name": "name of the part",
    "names": "names of the parts",
}
