"""Filters: which turns a question is about. The same for every command and every page. Pure, given the time."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from turnout.pipeline.query.errors import QueryError

NOT_RECORDED: Final = "not recorded"
"""As a value of a filter: the turns in which it is not recorded."""

_AGO: Final = re.compile(r"(\d+)\s*([smhdw])", re.ASCII)
_UNITS: Final[Mapping[str, int]] = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_LONGEST: Final = 100 * 365 * 86_400


class Clock(StrEnum):
    """What of a turn must lie in the window."""

    STARTED = "started"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which turns count; an empty tuple or ``None`` leaves a filter open.

    The window is ``[since, until)``. Several values of one filter mean any of them, several filters all of them. ``model``,
    ``provider`` and ``tool`` ask whether the turn used it at all; for model calls and tool calls they ask for the call itself.
    """

    since: datetime | None = None
    until: datetime | None = None
    service: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    agent_version: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    provider: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    attended: bool | None = None
    clock: Clock = Clock.STARTED

    def __iter__(self) -> Iterator[tuple[str, object]]:
        """The filters that are set, by name."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return ((name, value) for name, value in values if value not in {None, (), Clock.STARTED})


VALUES: Final = ("service", "environment", "agent", "agent_version", "model", "provider", "tool", "outcome", "source")
"""The filters that name values."""


def parse_time(text: str, now: datetime) -> datetime:
    """Read ``now``, a time ago as ``7d`` or ``24h`` (units s, m, h, d, w), or ISO 8601; without an offset it is UTC.

    Raises:
        QueryError: for anything else.
    """
    word = text.strip()
    if word == "now":
        return now
    ago = _AGO.fullmatch(word)
    try:
        if ago is not None:
            return now - timedelta(seconds=min(int(ago[1]) * _UNITS[ago[2]], _LONGEST))
        moment = datetime.fromisoformat(word)
    except (ValueError, OverflowError) as error:
        raise QueryError(
            f"time: got {text!r}, expected 7d, 24h, now or ISO 8601 as 2026-01-05T10:00:00Z; correct it and run again"
        ) from error
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def parse_filters(values: Mapping[str, object], now: datetime) -> Filters:
    """Filters from plain values by name, as options of a command or parameters of an address give them.

    Args:
        values: a text or several for each name; ``since`` and ``until`` as `parse_time` reads them; names that are no filter are left out.
        now: what ``now`` and times ago are counted from.

    Raises:
        QueryError: for a time that cannot be read, or a window that ends before it starts.
    """
    since, until = (_time(values.get(name), now) for name in ("since", "until"))
    if since is not None and until is not None and until < since:
        raise QueryError(
            f"window: got since {since.isoformat()} after until {until.isoformat()}, expected since first; swap them"
        )
    named: dict[str, Any] = {name: _texts(values.get(name)) for name in VALUES}
    attended = values.get("attended")
    window = Filters(since=since, until=until, attended=attended if isinstance(attended, bool) else None)
    return replace(window, **named)


def _time(value: object, now: datetime) -> datetime | None:
    if isinstance(value, datetime):
        return value
    return parse_time(value, now) if isinstance(value, str) and value else None


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(str(item) for item in value) if isinstance(value, list | tuple) else ()
