"""Frozen dataclasses that are made quickly, and changed quickly: turns are made of thousands of them a second."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, field, fields, make_dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

_T = TypeVar("_T")

_PARTS: dict[type, tuple[Callable[[Any], tuple[Any, ...]], Mapping[str, int]]] = {}
"""Of each class what gives all its values at once, and the place of each name among them."""


def quick(record: type[_T]) -> type[_T]:
    """Let a frozen dataclass of two fields or more be filled in by plain assignment; put this above ``@dataclass(frozen=True, slots=True)``.

    Type checkers go on holding its fields to be final. At run time the guard against assignment is gone: it costs a call for each
    field of each record made, which is four times the rest. Fields may then also be given by position, for `replace`.
    """
    parts = fields(record)  # type: ignore[arg-type]  # a type that says it is a dataclass only when it runs
    loose = make_dataclass(record.__name__, [(part.name, part.type, _default(part)) for part in parts])
    for guard in ("__setattr__", "__delattr__"):
        delattr(record, guard)
    record.__init__ = loose.__init__  # type: ignore[misc, method-assign]  # plain assignment is what makes it quick; see the docstring
    names = [part.name for part in parts]
    if len(names) > 1:
        _PARTS[record] = attrgetter(*names), {name: place for place, name in enumerate(names)}
    return record


def _default(part: Field[Any]) -> Any:
    if part.default_factory is not MISSING:
        return field(default_factory=part.default_factory)
    return field(default=part.default)


if TYPE_CHECKING:
    from dataclasses import replace
else:

    def replace(record: _T, /, **changes: object) -> _T:
        """`dataclasses.replace`, several times faster for a `quick` record."""
        found = _PARTS.get(type(record))
        if found is None:
            return dataclasses.replace(record, **changes)
        values_of, places = found
        values = [*values_of(record)]
        for name, value in changes.items():
            values[places[name]] = value
        return type(record)(*values)


__all__ = ["quick", "replace"]
