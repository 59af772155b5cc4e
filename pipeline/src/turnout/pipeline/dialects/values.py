"""Attribute values as facts: what emitters write loosely, read in one place.

Numbers come as numbers or text, booleans as text, arrays as arrays, JSON text or a single value, and the same count under several names.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from turnout.outcomes.facts import Instant, Usage
from turnout.outcomes.instants import parse_instant
from turnout.pipeline.dialects import spelling
from turnout.pipeline.json_text import parse_json
from turnout.pipeline.telemetry import Attributes, Value

_INTEGER = re.compile(r"\s*[+-]?\d{1,18}(\.0*)?\s*", re.ASCII)
_MOST = 2**53
"""More than anything that is counted here; sums of such numbers still have room everywhere."""
_NO_MODELS = frozenset({"unknown", "none", "null"})

Names = tuple[str, ...]
"""The names of one fact, the preferred one first."""


def text(attributes: Attributes, *names: str) -> str | None:
    """The first of the attributes that holds text; numbers are text too, empty text is not recorded."""
    for name in names:
        value = attributes.get(name)
        if value is None:
            continue
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
    return None


def whole(attributes: Attributes, *names: str) -> int | None:
    """The first of the attributes that holds a whole number of zero or more that can be a count, as a number or as text."""
    for name in names:
        value = attributes.get(name)
        if value is not None:
            number = value if type(value) is int else _whole(value)
            if number is not None and 0 <= number <= _MOST:
                return number
    return None


def _whole(value: Value) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(float(value)) if "." in value else int(value)
    return None


def number(attributes: Attributes, *names: str) -> float | None:
    """The first of the attributes that holds a finite number of zero or more."""
    for name in names:
        value = attributes.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            continue
        try:
            found = float(value)
        except ValueError:
            continue
        if 0 <= found < float("inf"):
            return found
    return None


def flag(attributes: Attributes, *names: str) -> bool | None:
    """The first of the attributes that holds a boolean, also as text."""
    for name in names:
        value = attributes.get(name)
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in {"true", "false"}:
            return value.lower() == "true"
    return None


def words(value: Value) -> tuple[str, ...]:
    """The non-empty texts of an array, a JSON array in text, or a single text."""
    if isinstance(value, str):
        parsed = document(value) if value[:1] == "[" else None
        return words(parsed) if isinstance(parsed, tuple) else ((value,) if value else ())
    if isinstance(value, tuple):
        return tuple(word for word in value if isinstance(word, str) and word)
    return ()


def finish_reason(attributes: Attributes, *names: str) -> str | None:
    """The finish reason, plainly spelled: of several choices the first that has one."""
    for name in names:
        for word in words(attributes.get(name)):
            found = spelling.reason(word)
            if found is not None:
                return found
    return None


def model(attributes: Attributes, *names: str) -> str | None:
    """The first name of a model that is one; some emitters write ``unknown``."""
    for name in names:
        found = text(attributes, name)
        if found is not None and found.lower() not in _NO_MODELS:
            return found
    return None


def document(value: Value) -> Value:
    """A JSON text as plain values (arrays as tuples); values that are structured already as they are; ``None`` where it is no JSON."""
    if not isinstance(value, str):
        return value
    try:
        return _plain(parse_json(value))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _plain(value: object) -> Value:
    if isinstance(value, list):
        return tuple(_plain(item) for item in value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value if isinstance(value, str | bool | int | float | bytes) else None


def mapping(value: Value) -> Mapping[str, Value]:
    """A JSON object (also as text), or nothing."""
    found = document(value)
    return found if isinstance(found, dict) else {}


def items(value: Value) -> Sequence[Value]:
    """The items of a JSON array (also as text), or nothing."""
    found = document(value)
    return found if isinstance(found, tuple) else ()


def instant(attributes: Attributes, *names: str) -> Instant | None:
    """The first of the attributes that holds an RFC 3339 date-time."""
    for name in names:
        value = attributes.get(name)
        if isinstance(value, str) and value:
            try:
                return parse_instant(value)
            except (ValueError, OverflowError):
                continue
    return None


def usage(attributes: Attributes, names: Mapping[str, Names]) -> Usage | None:
    """Token counts under the given names, keyed by the field of `Usage`; ``None`` where there is none."""
    counts: dict[str, int] = {}
    for field, known in names.items():
        for name in known:  # as `whole` does it, but asked of every model request
            value = attributes.get(name)
            if value is not None:
                number = value if type(value) is int else _whole(value)
                if number is not None and 0 <= number <= _MOST:
                    counts[field] = number
                    break
    return Usage(**counts) if counts else None
