"""Filters of an address, windows in words, and links."""

from datetime import UTC, datetime, timedelta

import pytest

from turnout.dashboards.scope import Scope, address, bucket, length_words, near, scope
from turnout.pipeline.query import Filters, QueryError
from turnout.pipeline.query.filters import Clock

NOW = datetime(2026, 1, 5, 12, 0, 3, tzinfo=UTC)


def test_a_fixed_end_gives_the_same_window_tomorrow() -> None:
    """With an end in the address nothing depends on the present."""
    found = scope(
        {"until": "2026-01-05T12:00", "window": "6h", "agent": ["coder"], "attended": "unattended"}, NOW, "1h"
    )
    noon = datetime(2026, 1, 5, 12, tzinfo=UTC)
    assert found == Scope(
        Filters(since=noon - timedelta(hours=6), until=noon, agent=("coder",), attended=False),
        outcomes=(),
        length=timedelta(hours=6),
        now=NOW,
        live=False,
    )
    assert (found.before.since, found.before.until) == (noon - timedelta(hours=12), noon - timedelta(hours=6))
    assert (found.both.since, found.both.until) == (noon - timedelta(hours=12), noon)
    assert found.span == (noon - timedelta(hours=12), noon)


def test_a_live_window_moves_in_steps_and_never_ends_before_now() -> None:
    """Two looks within one step ask the same question; a turn that has just ended is in it."""
    first = scope({}, NOW, "1h", Clock.ENDED)
    second = scope({}, NOW + timedelta(seconds=1), "1h", Clock.ENDED)
    assert first.filters == second.filters
    assert first.filters.until is not None and first.filters.until > NOW
    assert first.since == first.filters.until - timedelta(hours=1)
    assert (first.live, first.filters.clock) == (True, Clock.ENDED)


def test_outcomes_narrow_lists_and_never_shares() -> None:
    """A share of refused turns among refused turns would say nothing."""
    found = scope({"outcome": ["refused"]}, NOW, "7d")
    assert found.filters.outcome == ()
    assert found.listed(("budget",)).outcome == ("refused",)
    assert scope({}, NOW, "7d").listed(("length", "budget")).outcome == ("budget", "length")


@pytest.mark.parametrize("values", [{"window": "soon"}, {"until": "soon"}])
def test_what_cannot_be_read_is_a_known_error(values: dict[str, object]) -> None:
    """The page shows its sentence."""
    with pytest.raises(QueryError):
        scope(values, NOW, "7d")


@pytest.mark.parametrize(
    ("values", "more", "expected"),
    [
        pytest.param({}, {}, "budget", id="nothing is set"),
        pytest.param({"window": "usual", "attended": "all", "agent": [], "until": None}, {}, "budget", id="all open"),
        pytest.param({"agent": ["a b", "ü"]}, {}, "budget?agent=a+b&agent=%C3%BC", id="several values"),
        pytest.param(
            {"window": "6h", "until": "2026-01-05T12:00"},
            {"turn": "x&y"},
            "budget?turn=x%26y&window=6h&until=2026-01-05T12%3A00",
            id="with a turn",
        ),
    ],
)
def test_a_link_carries_the_filters(values: dict[str, object], more: dict[str, str], expected: str) -> None:
    """What is set, under the names of the command line, and nothing that is not."""
    assert address("budget", values, **more) == expected


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (timedelta(minutes=15), "15 minutes"),
        (timedelta(hours=1), "hour"),
        (timedelta(hours=24), "24 hours"),
        (timedelta(days=7), "7 days"),
        (timedelta(seconds=90), "90 seconds"),
    ],
)
def test_a_length_reads_after_the_last(length: timedelta, words: str) -> None:
    """As in "the last hour"."""
    assert length_words(length) == words


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (timedelta(hours=1), timedelta(minutes=2)),
        (timedelta(hours=24), timedelta(hours=1)),
        (timedelta(days=14), timedelta(hours=12)),
    ],
)
def test_a_window_has_about_thirty_round_buckets(length: timedelta, expected: timedelta) -> None:
    """Bounds that a person can read off a clock."""
    assert bucket(length) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-05T11:59", datetime(2026, 1, 5, 11, 59, tzinfo=UTC)),
        ("2026-01-05T12:59+01:00", datetime(2026, 1, 5, 11, 59, tzinfo=UTC)),
        ("nonsense", None),
        ("", None),
    ],
)
def test_the_date_of_a_link_is_a_hint(text: str, expected: datetime | None) -> None:
    """One that cannot be read is no error."""
    assert near(text) == expected
