"""Filters: reading them, and what they let through."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnout.pipeline.query import Filters, QueryError, Warehouse, run
from turnout.pipeline.query.filters import NOT_RECORDED, Clock, parse_filters, parse_time

NOW = datetime(2026, 1, 7, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "now": NOW,
        "7d": datetime(2025, 12, 31, 12, tzinfo=UTC),
        "24h": datetime(2026, 1, 6, 12, tzinfo=UTC),
        "90 m": datetime(2026, 1, 7, 10, 30, tzinfo=UTC),
        "2w": datetime(2025, 12, 24, 12, tzinfo=UTC),
        "2026-01-05": datetime(2026, 1, 5, tzinfo=UTC),
        "2026-01-05T10:00": datetime(2026, 1, 5, 10, tzinfo=UTC),
        "2026-01-05T10:00:00Z": datetime(2026, 1, 5, 10, tzinfo=UTC),
        "2026-01-05T10:00:00+02:00": datetime(2026, 1, 5, 8, tzinfo=UTC),
        "999999999w": NOW - timedelta(days=365 * 100),
    }.items(),
)
def test_a_time_is_read_in_every_spelling(text: str, expected: datetime) -> None:
    """Relative to now, or ISO 8601 that is UTC unless it says otherwise."""
    assert parse_time(text, NOW) == expected


@pytest.mark.parametrize("text", ["yesterday", "7", "7y", "-7d", "", "2026-13-01", "10:00"])
def test_anything_else_is_no_time(text: str) -> None:
    """The sentence quotes what was got."""
    with pytest.raises(QueryError, match="expected 7d, 24h, now or ISO 8601"):
        parse_time(text, NOW)


def test_filters_are_read_from_plain_values() -> None:
    """One text or several; names that are no filter are left alone."""
    given = {"since": "24h", "until": "", "model": ["a", "b"], "agent": "x", "attended": False, "page": "budget"}
    assert parse_filters(given, NOW) == Filters(
        since=NOW - timedelta(days=1), model=("a", "b"), agent=("x",), attended=False
    )
    assert dict(parse_filters(given, NOW)) == {
        "since": NOW - timedelta(days=1),
        "model": ("a", "b"),
        "agent": ("x",),
        "attended": False,
    }


def test_a_window_that_ends_before_it_starts_is_refused() -> None:
    """Both ends are named."""
    with pytest.raises(QueryError, match=r"got since 2026-01-06.* after until 2026-01-05"):
        parse_filters({"since": "2026-01-06", "until": "2026-01-05"}, NOW)


FILTERED: Mapping[str, tuple[Filters, list[str]]] = {
    "nothing": (Filters(), [f"t{n:02}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)] + ["t14b", "t15"]),
    "since": (Filters(since=datetime(2026, 1, 6, 12, 30, tzinfo=UTC)), ["t14b", "t15"]),
    "until": (Filters(until=datetime(2026, 1, 5, 13, tzinfo=UTC), outcome=("completed",)), ["t01", "t02", "t03"]),
    "any of": (Filters(outcome=("budget", "length")), ["t04", "t05", "t06"]),
    "all of": (Filters(outcome=("budget",), model=("claude-b",)), ["t05"]),
    "tool": (Filters(tool=("search",)), ["t03", "t08"]),
    "attended": (Filters(attended=False), ["t03", "t05"]),
    "not recorded": (Filters(agent=(NOT_RECORDED,)), ["t11"]),
    "recorded or not": (Filters(agent=("helper", NOT_RECORDED)), ["t03", "t08", "t11"]),
    "source": (Filters(source=("logs",)), ["t11"]),
    "ended": (
        Filters(
            since=datetime(2026, 1, 5, 12, 0, 5, tzinfo=UTC),
            until=datetime(2026, 1, 5, 13, tzinfo=UTC),
            clock=Clock.ENDED,
        ),
        ["t04", "t05"],
    ),
    "quoted": (Filters(agent=("' or 1=1 --",)), []),
}


@pytest.mark.parametrize(("filters", "expected"), FILTERED.values(), ids=FILTERED)
def test_a_filter_lets_through_what_it_says(example: Warehouse, filters: Filters, expected: list[str]) -> None:
    """And a value is a value, whatever it holds."""
    assert sorted(example.turns(filters)["turn_id"]) == expected


@pytest.mark.parametrize(
    ("filters", "calls", "tool_calls"),
    [
        (Filters(), 48, 34),
        (Filters(tool=("search",)), 4, 2),
        (Filters(provider=("anthropic",)), 48, 34),
        (Filters(provider=("openai",)), 0, 0),
        (Filters(model=("claude-b",)), 12, 11),
        (Filters(outcome=("budget",)), 20, 20),
        (Filters(tool=(NOT_RECORDED,)), 0, 0),
        (Filters(since=datetime(2026, 1, 6, tzinfo=UTC)), 10, 5),
    ],
)
def test_filters_reach_model_calls_and_tool_calls(
    example: Warehouse, filters: Filters, calls: int, tool_calls: int
) -> None:
    """The same filters over the other two tables."""
    assert run(example, "call_error", filters)["denominator"].item() == calls
    assert run(example, "tool_error", filters)["denominator"].item() == tool_calls


values = st.fixed_dictionaries(
    {},
    optional={
        "outcome": st.sampled_from([("budget",), ("completed", "refused"), ("nothing",)]),
        "agent": st.sampled_from([("coder",), (NOT_RECORDED,), ("helper", NOT_RECORDED)]),
        "model": st.sampled_from([("claude-a",), ("claude-b",)]),
        "attended": st.booleans(),
        "since": st.datetimes(datetime(2026, 1, 5), datetime(2026, 1, 7), timezones=st.just(timezone.utc)),  # noqa: DTZ001, UP017
    },
)


@settings(max_examples=25, deadline=None)
@given(one=values, other=values)
def test_filters_commute_and_only_ever_narrow(
    example: Warehouse, one: dict[str, object], other: dict[str, object]
) -> None:
    """Two filters let through the turns that each of them does."""
    shared = {name: value for name, value in other.items() if name not in one}

    def through(values: Mapping[str, object]) -> set[str]:
        return set(example.turns(parse_filters(values, NOW), limit=None)["turn_id"])

    assert through({**one, **shared}) == through(one) & through(shared)
