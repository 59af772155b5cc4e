"""Instants: RFC 3339 in, nanoseconds between, RFC 3339 out."""

import pytest

from turnout.outcomes.instants import format_instant, parse_instant

SPELLED = {
    "zero of many languages": ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    "the last there is": ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
    "an offset": ("2026-01-05T10:00:00.123-05:30", "2026-01-05T15:30:00.123Z"),
    "a leap second": ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
    "digits past the nanosecond": ("2026-01-05T10:00:00.1234567899Z", "2026-01-05T10:00:00.123456789Z"),
}


@pytest.mark.parametrize(("given", "spelled"), SPELLED.values(), ids=SPELLED)
def test_an_instant_is_spelled_one_way_that_can_be_read_again(given: str, spelled: str) -> None:
    """In UTC, with four digits for every year."""
    instant = parse_instant(given)
    assert format_instant(instant) == spelled
    assert parse_instant(spelled) == instant


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "2026-01-05T10:00:00",
        "2026-13-05T10:00:00Z",
        "9999-12-31T23:59:59-10:00",
        "0001-01-01T00:00:00+10:00",
    ],
)
def test_what_is_no_instant_is_a_value_error(text: str) -> None:
    """Also where an offset carries it out of the calendar."""
    with pytest.raises(ValueError, match=r"got |must be in|year"):
        parse_instant(text)
