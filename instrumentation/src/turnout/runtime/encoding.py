"""Frozen values as JSON and back, for stores; a union's member is told by its class name."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

_KIND = "kind"


def encode(value: Any, *, kind: bool = False) -> Any:
    """A dataclass, enum, tuple or plain value as JSON data; what is absent or empty is left out."""
    if is_dataclass(value) and not isinstance(value, type):
        data = {f.name: encode(item) for f in fields(value) if (item := getattr(value, f.name)) not in (None, ())}
        return {_KIND: type(value).__name__, **data} if kind else data
    if isinstance(value, tuple):
        return [encode(item, kind=kind) for item in value]
    return value.value if isinstance(value, StrEnum) else value


def decode(target: type[T], data: Any) -> T:
    """The value that was encoded; ``target`` is its class."""
    return _decoded(target, data)  # type: ignore[no-any-return]  # the hints say what it is


def decode_kind(targets: Sequence[type[T]], data: Any) -> T:
    """A value that was encoded with its kind."""
    named = {target.__name__: target for target in targets}
    return decode(named[data[_KIND]], data)


def _decoded(hint: Any, data: Any) -> Any:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return None if data is None else _decoded(_present(hint), data)
    if origin is tuple:
        return tuple(_decoded(get_args(hint)[0], item) for item in data)
    if is_dataclass(hint):
        hints = _hints(hint)  # type: ignore[arg-type]
        return hint(**{name: _decoded(hints[name], item) for name, item in data.items() if name in hints})  # type: ignore[operator]
    return hint(data) if isinstance(hint, type) and issubclass(hint, StrEnum) else data


def _present(hint: Any) -> Any:
    return next(arg for arg in get_args(hint) if arg is not NoneType)


@cache
def _hints(target: type) -> dict[str, Any]:
    return get_type_hints(target)
