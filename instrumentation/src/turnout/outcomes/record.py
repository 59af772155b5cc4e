"""Facts and verdicts as JSON-ready dictionaries of the two contracts; what is not recorded is left out of facts."""

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any, TypeAlias

from turnout.outcomes.facts import TURN_SCHEMA, TurnFacts, Usage
from turnout.outcomes.instants import format_instant
from turnout.outcomes.verdict import VERDICT_SCHEMA, Verdict

INSTANTS = frozenset({"at", "started_at", "ended_at", "last_seen_at", "last_at"})
"""The keys that hold an instant, wherever they stand."""

_PLAIN = frozenset({int, str, float, bool})
_Keys: TypeAlias = tuple[Callable[[Any], tuple[Any, ...]], tuple[tuple[str, bool], ...]]
_KEYS: dict[type, _Keys] = {}
_SPELLED = {"yield_": "yield"}
_VERDICT_KEYS = tuple(field.name for field in fields(Verdict))
_USAGE_KEYS = tuple(field.name for field in fields(Usage))


def turn_record(turn: TurnFacts) -> dict[str, object]:
    """One ``turnout.turn/1`` object."""
    return {"schema": TURN_SCHEMA, **_record(turn)}


def verdict_record(verdict: Verdict) -> dict[str, object]:
    """One ``turnout.verdict/1`` object; every key is there but ``interrupted``, which is true or absent."""
    record: dict[str, object] = {"schema": VERDICT_SCHEMA}
    for name in _VERDICT_KEYS:
        value = getattr(verdict, name)
        if isinstance(value, Usage):
            record[name] = {key: getattr(value, key) for key in _USAGE_KEYS}
        elif name != "interrupted" or value:
            record[name] = list(value) if isinstance(value, tuple) else value
    return record


def _record(value: Any) -> dict[str, object]:
    found: dict[str, object] = {}
    values_of, keys = _KEYS.get(type(value)) or _keys(type(value))
    for (spelled, is_instant), part in zip(keys, values_of(value), strict=True):
        if part is None or (not part and part == ()):
            continue
        if is_instant:
            found[spelled] = format_instant(part)
        else:
            found[spelled] = part if type(part) in _PLAIN else _plain(part)
    return found


def _keys(record: type) -> _Keys:
    """Of each field its spelling and whether it is an instant; worked out once a class, since every stored turn is written so."""
    names = [field.name for field in fields(record)]
    _KEYS[record] = attrgetter(*names), tuple((_SPELLED.get(name, name), name in INSTANTS) for name in names)
    return _KEYS[record]


def _plain(value: Any) -> object:
    if type(value) is tuple:
        return [part if type(part) in _PLAIN else _plain(part) for part in value]
    return str(value) if isinstance(value, str) else _record(value)
