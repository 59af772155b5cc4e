"""What a page is about: the filters of the address as one value, with the window in words. Pure, given the time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from turnout.pipeline.query import Filters
from turnout.pipeline.query.filters import VALUES, Clock, parse_filters, parse_time

WINDOWS: Final = ("15m", "1h", "6h", "24h", "7d", "14d", "30d", "90d")
"""What the window can be set to without typing."""

USUAL: Final = "usual"
"""The window that suits the page."""

ATTENDED: Final[Mapping[str, bool | None]] = {"all": None, "attended": True, "unattended": False}
NAMES: Final = ("window", "until", *VALUES, "attended")
"""Every filter by the name that it has in the address; they are the names of the command line."""

_FINEST: Final = timedelta(seconds=5)
_COARSEST: Final = timedelta(minutes=10)
_STEPS_A_WINDOW: Final = 720
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class Scope:
    """A window of turns and the same length of time before it.

    ``filters`` hold no outcome: a share among turns of one outcome would say nothing. ``outcomes`` narrow lists of turns alone.
    ``live`` when the window ends now.
    """

    filters: Filters
    outcomes: tuple[str, ...]
    length: timedelta
    now: datetime
    live: bool

    @property
    def since(self) -> datetime:
        """Where the window starts."""
        assert self.filters.since is not None
        return self.filters.since

    @property
    def before(self) -> Filters:
        """The same filters over the window before."""
        return replace(self.filters, since=self.since - self.length, until=self.since)

    @property
    def both(self) -> Filters:
        """Both windows together."""
        return replace(self.filters, since=self.since - self.length)

    @property
    def span(self) -> tuple[datetime, datetime]:
        """From the start of the window before to the end of this one."""
        return self.since - self.length, self.since + self.length

    def listed(self, outcomes: Iterable[str]) -> Filters:
        """The filters of a list of turns with these outcomes; those that were chosen go before."""
        return replace(self.filters, outcome=self.outcomes or tuple(sorted(outcomes)))

    def latest(self, outcomes: Iterable[str]) -> Filters:
        """The same without a start: the latest turns, however long ago they ended."""
        return replace(self.listed(outcomes), since=None)

    @property
    def words(self) -> str:
        """The length, as ``hour`` or ``24 hours``."""
        return length_words(self.length)


def scope(values: Mapping[str, object], now: datetime, usual: str, clock: Clock = Clock.STARTED) -> Scope:
    """Read the filters of an address.

    Args:
        values: texts or lists of texts by name, as widgets give them; empty ones are open.
        now: the present.
        usual: the window of the page where none is chosen.
        clock: what of a turn must lie in the window.

    Raises:
        QueryError: for a window or a time that cannot be read.
    """
    window, until = str(values.get("window") or USUAL), str(values.get("until") or "")
    end = parse_time(until, now) if until else now
    length = end - parse_time(usual if window == USUAL else window, end)
    last = end if until else _rounded_up(now, length)
    named = parse_filters({name: values.get(name) for name in VALUES}, now)
    attended = ATTENDED.get(str(values.get("attended")))
    found = replace(named, since=last - length, until=last, outcome=(), attended=attended, clock=clock)
    return Scope(found, named.outcome, length, now, live=not until)


def address(page: str, values: Mapping[str, object], **more: str) -> str:
    """The address of a page with the filters that are set, so that it can be shared."""
    pairs = [(name, item) for name in NAMES for item in _set(name, values.get(name))]
    return f"{page}?{urlencode([*more.items(), *pairs])}" if pairs or more else page


def near(date: str) -> datetime | None:
    """About when a turn started, from the date of its link; a date that cannot be read only costs a longer search."""
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def length_words(length: timedelta) -> str:
    """A length of time as it stands after "the last"."""
    seconds = max(1, int(length.total_seconds()))
    if seconds == _DAY:
        return "24 hours"
    size, unit = next((size, unit) for size, unit in _UNITS if seconds % size == 0)
    number = seconds // size
    return unit if number == 1 else f"{number} {unit}s"


def bucket(length: timedelta, buckets: int = 30) -> timedelta:
    """A round length of which about so many fit into a window."""
    wanted = length.total_seconds() / buckets
    rounds = (10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800)
    return timedelta(seconds=min(rounds, key=lambda size: abs(size - wanted)))


def _rounded_up(now: datetime, length: timedelta) -> datetime:
    """The end of a live window: a little ahead, so that questions asked within one step are the same question."""
    step = min(_COARSEST, max(_FINEST, length / _STEPS_A_WINDOW))
    return now + (step - timedelta(seconds=now.timestamp() % step.total_seconds()))


def _set(name: str, value: object) -> Sequence[str]:
    if isinstance(value, list | tuple):
        return [str(item) for item in value]
    text = str(value or "")
    unset = {"window": USUAL, "attended": "all"}.get(name, "")
    return [] if text in {"", unset} else [text]
