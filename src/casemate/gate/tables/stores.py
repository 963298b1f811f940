"""Attributes that a script may set on objects which it did not define."""

#: name -> who has it
STORABLE = {
    "label": "build123d.Shape: the name of a part",
    "color": "build123d.Shape, cadquery.Assembly: the colour of a part",
    "material": "build123d.Shape: the density of a part",
    "location": "build123d.Shape: where a part is",
    "position": "build123d.Shape: where a part is",
    "orientation": "build123d.Shape: where a part is",
    "loc": "cadquery.Assembly: where a part is",
    "name": "cadquery.Assembly: the name of a part",
    "metadata": "cadquery.Assembly: notes on a part",
    "children": "build123d.Compound: what an assembly is made of",
    "parent": "build123d.Compound: what an assembly is made of",
    "joints": "build123d.Shape: the joints of a part",
    "fill_color": "drawing",
    "line_color": "drawing",
    "origin": "cadquery.Plane",
    "for_construction": "build123d.Shape",
    "forConstruction": "cadquery.Shape",
}
