"""The two sets of tables, put together and frozen. Loaded once, when the gate is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from .tables import attributes, builtins, denied_attributes, denied_reached, imports, nodes, stores

Table = Mapping[str, str]


def _frozen(*tables: Mapping[str, str]) -> Table:
    merged: dict[str, str] = {}
    for table in tables:
        merged.update(table)
    return MappingProxyType(merged)


@dataclass(frozen=True, slots=True)
class Rules:
    """One set of tables; each maps a name to the reason why it is in there.

    `module_names` maps every importable dotted module to its permitted names: the guest makes its proxies and its star
    imports from it, and gives a script no other builtins than `builtins`.
    """

    name: str
    nodes: Table
    builtins: Table
    refused_builtins: Table
    shadowable_builtins: Table
    injected: Table
    attributes: Table
    denied_attributes: Table
    own_words: Table
    storable: Table
    stars: Table
    modules: Mapping[str, Table]
    module_names: Mapping[str, frozenset[str]] = field(init=False)

    def __post_init__(self) -> None:
        names = {module: frozenset(table) for module, table in self.modules.items()}
        object.__setattr__(self, "module_names", MappingProxyType(names))


def _rules(name: str, node_table: Table, modules: Mapping[str, Mapping[str, str]]) -> Rules:
    return Rules(
        name=name,
        nodes=_frozen(node_table),
        builtins=_frozen(builtins.ADMITTED, builtins.EXCEPTIONS),
        refused_builtins=_frozen(builtins.REFUSED, builtins.SHADOWABLE),
        shadowable_builtins=_frozen(builtins.SHADOWABLE),
        injected=_frozen(builtins.INJECTED),
        attributes=_frozen(attributes.ALLOWED),
        denied_attributes=_frozen(denied_reached.REACHED, denied_attributes.DENIED),
        own_words=_frozen(denied_attributes.OWN_WORDS),
        storable=_frozen(stores.STORABLE),
        stars=_frozen(imports.STARS),
        modules=MappingProxyType({module: _frozen(table) for module, table in modules.items()}),
    )


_BY_NAME: Mapping[str, Rules] = MappingProxyType(
    {
        rules.name: rules
        for rules in (
            _rules("cad", nodes.ADMITTED, {**imports.CAD, **imports.PURE}),
            _rules("cad-minimal", nodes.MINIMAL, imports.CAD),
        )
    }
)


def rules_named(name: str) -> Rules:
    """The set of tables called `name`: "cad" or "cad-minimal"; raises KeyError for any other."""
    return _BY_NAME[name]
