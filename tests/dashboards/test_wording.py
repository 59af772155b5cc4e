"""Figures in words."""

import pytest

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.analysis.intervals import Difference
from turnout.pipeline.wording import (
    LABELS,
    MEANINGS,
    NOTHING,
    difference,
    duration,
    label,
    percent,
    points,
    share,
    shortened,
)


def test_every_outcome_has_words() -> None:
    """A new outcome cannot appear on a page as a bare identifier."""
    assert set(LABELS) == set(MEANINGS) == set(Outcome)
    assert len(set(LABELS.values())) == len(Outcome)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (None, NOTHING),
        (0.0, "0 %"),
        (0.0001, "<0.1 %"),
        (0.0213, "2.1 %"),
        (0.05, "5 %"),
        (0.871, "87 %"),
        (0.9951, "99.5 %"),
        (0.99999, ">99.9 %"),
        (1.0, "100 %"),
    ],
)
def test_a_percentage_never_rounds_to_none_or_all(part: float | None, words: str) -> None:
    """0 % and 100 % mean exactly that."""
    assert percent(part) == words


@pytest.mark.parametrize(
    ("numerator", "denominator", "words"),
    [
        (61, 70, "61 of 70 · 87 % (77 to 93 %)"),
        (0, 3, "0 of 3 · 0 % (0 to 56 %)"),
        (1234, 20000, "1\N{THIN SPACE}234 of 20\N{THIN SPACE}000 · 6.2 % (5.8 to 6.5 %)"),
        (0, 0, "0 of 0"),
    ],
)
def test_a_share_carries_all_that_it_rests_on(numerator: int, denominator: int, words: str) -> None:
    """Numerator, denominator, share and interval stand together."""
    assert share(numerator, denominator) == words


def test_a_difference_is_in_points_with_its_interval() -> None:
    """The sign is always there; without a share before there is nothing to say."""
    assert difference(Difference(0.0583, -0.0244, 0.1931)) == "+5.8 points (95 %: -2.4 to +19)"
    assert difference(Difference(None, None, None)) == "nothing to compare with"
    assert points(-0.12) == "-12"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0 s"),
        (59, "59 s"),
        (90, "90 s"),
        (150, "2 min"),
        (3600, "1 h"),
        (5400, "90 min"),
        (9000, "2 h"),
        (200_000, "2 d"),
    ],
)
def test_a_duration_is_in_its_largest_fitting_unit(seconds: float, words: str) -> None:
    """One number and one unit."""
    assert duration(seconds) == words


def test_words_that_are_no_outcome_stay() -> None:
    """A later outcome of a newer lake is shown as it is spelled."""
    assert (label("budget"), label("something_new")) == ("cut by a limit", "something_new")


def test_a_long_name_loses_its_middle() -> None:
    """What tells two names apart is mostly at their ends."""
    short = shortened("anthropic/claude-opus-5-thinking-20261101", 20)
    assert (short, len(short)) == ("anthropic…g-20261101", 20)
    assert shortened("gpt-5-mini", 20) == "gpt-5-mini"
