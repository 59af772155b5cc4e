"""Facts and verdicts as JSON-ready dictionaries of the two contracts; what is not recorded is left out of facts."""

from dataclasses import fields, is_dataclass
from typing import Any

from turnout.outcomes.facts import TURN_SCHEMA, TurnFacts, Usage
from turnout.outcomes.instants import format_instant
from turnout.outcomes.verdict import VERDICT_SCHEMA, Verdict

INSTANTS = frozenset({"at", "started_at", "ended_at", "last_seen_at", "last_at"})
"""The keys that hold an instant, wherever they stand."""

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
    names: tuple[str, ...] = tuple(value.__dataclass_fields__)
    for name in names:
        part = getattr(value, name)
        if part is not None and part != ():
            found[_SPELLED.get(name, name)] = _plain(name, part)
    return found


def _plain(name: str, value: Any) -> object:
    if name in INSTANTS:
        return format_instant(value)
    if isinstance(value, tuple):
        return [_plain("", part) for part in value]
    if is_dataclass(value):
        return _record(value)
    return str(value) if isinstance(value, str) else value
