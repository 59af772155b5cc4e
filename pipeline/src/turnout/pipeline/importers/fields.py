"""Typed access to parsed JSON: what is absent, null, empty text or of another type is ``None``, "not recorded"."""

from collections.abc import Mapping
from datetime import UTC, datetime

from turnout.outcomes.facts import Instant
from turnout.outcomes.instants import parse_instant

_NANOS_PER_SECOND = 1_000_000_000
_MILLIS_FROM = 100_000_000_000
"""Epoch numbers at or above this are milliseconds: as seconds they would lie past the year 5000."""
_PAST_MILLIS = 253_402_300_800_000
"""The first millisecond of the year 10000: from there on a number is no moment."""
_MOST = 2**53


def value_at(value: object, *path: str) -> object:
    """Follow keys into nested objects; ``None`` where one of them is missing."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def mapping(value: object, *path: str) -> Mapping[str, object]:
    """Read an object; an empty one where there is none."""
    found = value_at(value, *path)
    return found if isinstance(found, Mapping) else {}


def items(value: object, *path: str) -> tuple[object, ...]:
    """Read a list; an empty one where there is none."""
    found = value_at(value, *path)
    return tuple(found) if isinstance(found, list) else ()


def objects(value: object, *path: str) -> tuple[Mapping[str, object], ...]:
    """Read a list and keep the objects in it."""
    return tuple(item for item in items(value, *path) if isinstance(item, Mapping))


def text(value: object, *path: str) -> str | None:
    """Read a text that is not empty."""
    found = value_at(value, *path)
    return found if isinstance(found, str) and found else None


def label(value: object, *path: str) -> str | None:
    """Read an id or a word that some writers spell as a number."""
    found = value_at(value, *path)
    if isinstance(found, bool):
        return None
    return str(found) if isinstance(found, int) else text(found)


def integer(value: object, *path: str) -> int | None:
    """Read a whole number that a column can hold; a float without a fraction is one."""
    found = value_at(value, *path)
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) and abs(found) <= _MOST else None


def count(value: object, *path: str) -> int | None:
    """Read a whole number of things; one below zero counts nothing."""
    found = integer(value, *path)
    return found if found is not None and found >= 0 else None


def number(value: object, *path: str) -> float | None:
    """Read a finite number."""
    found = value_at(value, *path)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    result = float(found)
    return result if abs(result) < float("inf") else None


def amount(value: object, *path: str) -> float | None:
    """Read a sum of money or time; one below zero is none."""
    found = number(value, *path)
    return found if found is not None and found >= 0 else None


def boolean(value: object, *path: str) -> bool | None:
    """Read true or false."""
    found = value_at(value, *path)
    return found if isinstance(found, bool) else None


def instant(value: object, *path: str) -> Instant | None:
    """Read a moment: RFC 3339, ISO 8601 without an offset (taken as UTC), or epoch seconds or milliseconds."""
    found = value_at(value, *path)
    if isinstance(found, str):
        return _instant_of_text(found)
    moment = number(found)
    if moment is None or not 0 < moment < _PAST_MILLIS:
        return None
    millis = moment >= _MILLIS_FROM
    scale = _NANOS_PER_SECOND // 1000 if millis else _NANOS_PER_SECOND
    return int(found) * scale if isinstance(found, int) else round(moment * scale)


def _instant_of_text(words: str) -> Instant | None:
    try:
        return parse_instant(words)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(words.strip())
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    whole = int(moment.replace(microsecond=0).timestamp())
    return whole * _NANOS_PER_SECOND + moment.microsecond * 1000
