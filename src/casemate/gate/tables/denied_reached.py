"""Names that a walk found to lead to what a script must not have; made, never written by hand.

Made by `casemate gate update --write` from image cad,
digest 6d7943b1821bec412754a911074e061c68cb632130d2bdd95688c97a21e6ffb7,
Python 3.11.7, anytree 2.13.0, build123d 0.12.0, cadquery 2.8.0, cadquery-ocp-novtk 7.9.3.1.1, numpy 2.4.6.
"""

#: name -> the path that leads there: what it leads to
REACHED: dict[str, str] = {}
