"""Instants between RFC 3339 text and nanoseconds since the Unix epoch."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from turnout.outcomes.facts import Instant

_RFC3339 = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:[.,](\d+))?(?:([Zz])|([+-])(\d{2}):?(\d{2}))",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_FIRST = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH) // _SECOND
_PAST_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _SECOND + 1
_LEAP = "60"
_NANOS_PER_SECOND = 1_000_000_000


def parse_instant(text: str) -> Instant:
    """Read an RFC 3339 date-time; digits past the nanosecond are cut, a leap second is the first of the next minute.

    Raises:
        ValueError: when the text is no date-time or names no offset from UTC.
    """
    match = _RFC3339.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"got {text!r}, expected an RFC 3339 date-time with an offset, as 2026-01-05T10:00:00Z")
    day, clock, fraction, _zulu, sign, hours, minutes = match.groups()
    leap = clock.endswith(_LEAP)
    moment = datetime.fromisoformat(f"{day}T{clock[:-2] + '59' if leap else clock}+00:00")
    seconds = (moment - _EPOCH) // _SECOND + leap
    if sign is not None:
        offset = (int(hours) * 60 + int(minutes)) * 60
        seconds += offset if sign == "-" else -offset
    if not _FIRST <= seconds < _PAST_LAST:
        raise ValueError(f"got {text!r}, expected a date-time of the years 1 to 9999")
    return seconds * _NANOS_PER_SECOND + int((fraction or "").ljust(9, "0")[:9])


def format_instant(instant: Instant) -> str:
    """Write an instant as RFC 3339 in UTC, with as many fraction digits (0, 3, 6 or 9) as it needs."""
    seconds, nanos = divmod(instant, _NANOS_PER_SECOND)
    whole = _whole_second(seconds)
    if nanos == 0:
        return f"{whole}Z"
    if nanos % 1000:
        return f"{whole}.{nanos:09d}Z"
    micros = nanos // 1000
    return f"{whole}.{micros:06d}Z" if micros % 1000 else f"{whole}.{micros // 1000:03d}Z"


@lru_cache(maxsize=4096)
def _whole_second(seconds: int) -> str:
    """The instants of one turn share few seconds, and the calendar is what costs."""
    return (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()
