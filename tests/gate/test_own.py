"""A script's own classes: free in their names, and no key to anybody else's attributes."""

from __future__ import annotations

from pathlib import Path

import pytest
from gate.room import admit, codes, judge, run, run_plain, text

CLASS = """
class Plate:
    count = 0
    _made = []
    base = "steel"

    def __init__(self, width):
        "A plate."
        self.width = width
        self._holes = []
        self.data = [width]
        Plate.count += 1
        self._made.append(width)

    def _area(self):
        return self.width * 2

    def save(self, name):
        return f"{name}: {self._area()} {self.base} {self.data}"


class Thick(Plate):
    base = "brass"

    def _area(self):
        return super()._area() + 1


a, b = Plate(2), Thick(3)
a.note = "first"
b._holes.append(4)
print(a.save("a"), b.save("b"), a.note, b._holes, Plate.count, Plate._made)
"""


def test_classes_run_as_in_plain_python() -> None:
    assert (
        run(admit(CLASS.replace("a.note", "a.width"))).printed == run_plain(CLASS.replace("a.note", "a.width")).printed
    )


def test_private_names_and_plain_words_are_renamed_and_public_ones_are_not() -> None:
    tree = text(CLASS.replace("a.note", "a.width"))
    assert "self.__own__holes__ = []" in tree
    assert "self.__own_base__" in tree
    assert "__own_save__ = save" in tree
    assert "self.width" in tree
    assert "Plate.count += 1" in tree


def test_class_names_that_are_bound_conditionally_are_renamed_where_they_are_bound() -> None:
    source = (
        "x = 1\nclass A:\n    if x:\n        _a = 5\n    else:\n        _b = 6\n    for _i in (7, 8):\n        pass\n"
    )
    source += "print(A._a, A._i)\ntry:\n    print(A._b)\nexcept AttributeError:\n    print('none')"
    assert run(admit(source)).printed == run_plain(source).printed == ["5 8", "none"]


# A name that no table has, defined by the script, read from an object of Python's own.
BLESSED = "class A:\n    def __init__(self):\n        self.value = 1\nprint(StopIteration('REACHED').value)"


def test_defining_a_name_does_not_open_it_on_other_objects() -> None:
    verdict = admit(BLESSED)
    with pytest.raises(AttributeError, match="__own_value__"):
        run(verdict)


def test_without_the_renaming_it_would() -> None:
    assert run_plain(BLESSED).printed == ["REACHED"]
    assert codes(judge("print(StopIteration('REACHED').value)")) == ["attribute.unknown"]


# A method called on an object that is not of the class, to set an attribute which both have.
FORGED = "class A:\n    def forge(self):\n        self.args = ('FORGED',)\n"
FORGED += "e = ValueError('honest')\nA.forge(e)\nprint(e.args)"


def test_a_method_sets_attributes_on_its_own_objects_only() -> None:
    verdict = admit(FORGED)
    with pytest.raises(AttributeError, match="__own_class__"):
        run(verdict)


def test_without_the_guard_it_would_set_them_on_any() -> None:
    assert run_plain(FORGED).printed == ["('FORGED',)"]


def test_a_closure_in_a_method_is_guarded_too() -> None:
    source = "class A:\n    def f(self):\n        def g():\n            self.args = (1,)\n        g()\n"
    assert run(admit(source + "a = A()\na.f()\nprint(a.args)")).printed == ["(1,)"]
    with pytest.raises(AttributeError, match="__own_class__"):
        run(admit(source + "A.f(ValueError())"))


LOOP = "class A:\n    def __init__(self, x):\n        self.args = x\nthings = [A(1), A(2)]\n"


def test_attributes_may_be_set_on_objects_that_cannot_be_told_apart() -> None:
    source = LOOP + "for thing in things:\n    thing.args = 5\n    thing.args += 1\nprint(things[0].args)"
    assert run(admit(source)).printed == run_plain(source).printed == ["6"]
    source = LOOP + "for thing in [ValueError(1)]:\n    thing.args = ('FORGED',)\n    print(thing.args)"
    assert run_plain(source).printed == ["('FORGED',)"]
    with pytest.raises(AttributeError, match="__own_class__"):
        run(admit(source))


@pytest.mark.parametrize(
    "statement",
    [
        "thing, thing.args = ValueError(), 5",
        "thing = thing.args = ValueError()",
        "for thing.args in [1]:\n    pass",
        "[0 for thing.args in [1]]",
        "things[0].args = 1",
        "thing.unheard = 1",
    ],
)
def test_only_one_target_at_a_time(statement: str) -> None:
    assert codes(judge(LOOP + "thing = [things][0][0]\n" + statement)) == ["store.attribute"]


def test_super_and_base_init() -> None:
    source = (
        "class A:\n    def __init__(self, x):\n        self.x = x\n"
        "class B(A):\n    def __init__(self):\n        super().__init__(1)\n        A.__init__(self, self.x + 1)\n"
        "class E(ValueError):\n    def __init__(self, x):\n        super().__init__(x, 2)\n"
        "print(B().x, E(1).args)"
    )
    assert run(admit(source)).printed == ["2 (1, 2)"]


@pytest.mark.parametrize("name", ["gi_frame", "tofile", "wrapped", "mro", "f_globals"])
def test_refused_names_cannot_be_defined_to_be_used(name: str) -> None:
    source = f"class A:\n    def {name}(self):\n        pass\nx = 1\nx.{name}"
    assert codes(judge(source)) == ["attribute.denied"]


# --- names that no class may have -------------------------------------------------------------------------------------

NAMES = [
    word
    for line in (Path(__file__).parent / "denied_names.txt").read_text("utf-8").splitlines()
    if not line.startswith(("#", "["))
    for word in line.split()
]
OWNER = "import cadquery as cq\nclass Own:\n    {name} = 1\n"


def test_the_list_is_long_enough_to_be_the_one_that_was_reviewed() -> None:
    assert len(NAMES) == len({name.rstrip("+") for name in NAMES}) > 190


@pytest.mark.parametrize("name", [name.rstrip("+") for name in NAMES])
def test_a_name_that_leads_away_is_refused_as_such(name: str) -> None:
    assert codes(judge(f"import cadquery as cq\nresult = cq.Workplane().{name}\n")) == ["attribute.denied"]


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("+")])
def test_a_class_that_has_a_name_that_leads_away_opens_it_for_nobody(name: str) -> None:
    assert "attribute.denied" in codes(judge(OWNER.format(name=name) + f"result = cq.Workplane().{name}\n"))


@pytest.mark.parametrize("name", [name.rstrip("+") for name in NAMES if name.endswith("+")])
def test_a_class_may_have_a_name_of_everyday_use_for_itself(name: str) -> None:
    own = f"import cadquery as cq\nclass Own:\n    def __init__(self):\n        self.{name} = 1\n"
    own += f"print(Own().{name})\nresult = cq.Workplane().box(1, 1, 1)\n"
    assert codes(judge(own)) == []
    assert text(own + f"print(result.{name})\n").endswith(f"print(result.__own_{name}__)")
