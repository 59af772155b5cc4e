"""Charts from frames: what they draw, and that everyone can tell it apart."""

from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from turnout.outcomes.verdict import ABNORMAL, Outcome
from turnout.pipeline import charts

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
WHITE, DARK = 1.0, 0.0056

# Machado, Oliveira and Fernandes 2009, severity 1.0: how linear RGB is seen.
VISIONS = {
    "full": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> NDArray[np.float64]:
    """A hexadecimal colour as linear RGB."""
    parts = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(seen: NDArray[np.float64]) -> NDArray[np.float64]:
    """Linear RGB as CIELAB, in which distances are those that people see."""
    scaled = np.clip(seen, 0, 1) @ TO_XYZ.T / np.array([0.9505, 1, 1.089])
    root = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


@pytest.mark.parametrize("colour", sorted({*charts.COLOURS.values(), charts.STRONG, charts.PALE}))
def test_a_colour_is_seen_on_white_and_on_dark(colour: str) -> None:
    """At least 3 to 1 against both backgrounds, as WCAG asks of graphics."""
    light = float((TO_XYZ @ linear(colour))[1])
    assert (WHITE + 0.05) / (light + 0.05) >= 3
    assert (light + 0.05) / (DARK + 0.05) >= 3


@pytest.mark.parametrize("vision", VISIONS)
def test_reasons_stay_apart_for_every_eye(vision: str) -> None:
    """Any two reasons of an abnormal end differ clearly, also to people who see fewer colours."""
    seen = {outcome: lab(VISIONS[vision] @ linear(charts.COLOURS[outcome])) for outcome in ABNORMAL}
    closest = min((float(np.linalg.norm(seen[a] - seen[b])), a, b) for a, b in combinations(seen, 2))
    assert closest[0] >= 20, closest


def test_every_outcome_has_its_own_colour() -> None:
    """No two outcomes share one."""
    assert set(charts.COLOURS) == set(Outcome)
    assert len(set(charts.COLOURS.values())) == len(Outcome)


def rows(chart: alt.LayerChart, layer: int = 0) -> list[dict[str, Any]]:
    """What a layer draws."""
    spec = chart.to_dict()
    data = spec["layer"][layer].get("data", spec.get("data"))
    found: list[dict[str, Any]] = spec["datasets"][data["name"]]
    return found


def test_ends_over_time_stack_in_one_order() -> None:
    """Within a bucket each reason stands on the one before it; normal ends are not drawn."""
    frame = pl.DataFrame(
        {
            "bucket": [NOON] * 3,
            "bucket_end": [NOON + timedelta(minutes=2)] * 3,
            "outcome": ["refused", "completed", "budget"],
            "turns": [2, 50, 3],
        }
    )
    drawn = [(row["part"], row["below"], row["above"]) for row in rows(charts.ends_over_time(frame, boundary=NOON))]
    assert drawn == [("cut by a limit", 0, 3), ("refused", 3, 5)]


def test_stacked_bars_are_shares_of_each_whole() -> None:
    """A label with few turns has a bar as long as one with many."""
    frame = pl.DataFrame(
        {"label": ["a", "a", "b"], "part": ["finished", "cut", "cut"], "turns": [30, 10, 2]},
    )
    chart = charts.stacked(frame, [("finished", "#2f9e73"), ("cut", "#f06900")], {"a": "10 of 40"})
    assert [(row["label"], row["part"], row["below"], row["above"]) for row in rows(chart)] == [
        ("a", "finished", 0, 0.75),
        ("a", "cut", 0.75, 1),
        ("b", "cut", 0, 1),
    ]


def test_figures_stand_on_the_right_axis() -> None:
    """Every row's numerator, denominator and interval are words in the chart, whatever its label holds."""
    label = 'gpt "mini" \\ </script>'
    frame = pl.DataFrame(
        {"label": [label], "numerator": [61], "denominator": [70], "rate": [0.871], "low": [0.77], "high": [0.93]}
    )
    axes = [layer["encoding"]["y"].get("axis") for layer in charts.shares(frame).to_dict()["layer"]]
    right = next(axis for axis in axes if axis and axis["orient"] == "right")
    assert "61 of 70 · 87 % (77 to 93 %)" in right["labelExpr"]


def test_a_share_of_nothing_draws_no_dot() -> None:
    """A row without turns keeps its label and its words, and gets no place on the axis."""
    frame = pl.DataFrame(
        {
            "label": ["a", "b"],
            "numerator": [1, 0],
            "denominator": [4, 0],
            "rate": [0.25, None],
            "low": [0.05, None],
            "high": [0.7, None],
        }
    )
    assert [row["label"] for row in rows(charts.shares(frame))] == ["a"]


def test_a_limit_is_drawn_where_it_stands() -> None:
    """The dashed line of a histogram is data of its own."""
    frame = pl.DataFrame({"low": [0.5], "high": [1.5], "part": ["finished"], "turns": [4]})
    chart = charts.amounts(frame, [("finished", "#2f9e73")], title="steps", limit=20)
    assert rows(chart, 1) == [{"boundary": 20}]


EMPTY = pl.DataFrame(
    schema={
        "bucket": pl.Datetime("us", "UTC"),
        "bucket_end": pl.Datetime("us", "UTC"),
        "outcome": pl.String,
        "turns": pl.Int64,
    }
)


@pytest.mark.parametrize(
    "chart",
    [
        pytest.param(lambda: charts.ends_over_time(EMPTY), id="ends over time"),
        pytest.param(lambda: charts.turns_over_time(EMPTY), id="turns over time"),
        pytest.param(
            lambda: charts.shares(
                pl.DataFrame(
                    schema={
                        "label": pl.String,
                        "numerator": pl.Int64,
                        "denominator": pl.Int64,
                        "rate": pl.Float64,
                        "low": pl.Float64,
                        "high": pl.Float64,
                    }
                )
            ),
            id="shares",
        ),
    ],
)
def test_an_empty_frame_is_a_valid_chart(chart: Any) -> None:
    """Nothing to draw is not an error."""
    assert chart().to_dict()["layer"]


def test_differences_are_drawn_in_points() -> None:
    """Parts of one become percentage points; what cannot be compared has no place."""
    frame = pl.DataFrame(
        {"label": ["a", "b"], "value": [0.05, None], "low": [0.01, None], "high": [0.09, None], "colour": ["#000"] * 2}
    )
    (drawn,) = rows(charts.differences(frame, {}), 1)
    assert (drawn["label"], drawn["value"], drawn["low"], drawn["high"]) == ("a", 5, 1, 9)


def test_past_the_last_candidate_that_is_estimable_the_curve_is_grey() -> None:
    """As far as the chains reach, and no line is drawn there but theirs."""
    frame = pl.DataFrame(
        {
            "candidate": [1.0, 2.0, 4.0],
            "finished": [0.5, 0.8, None],
            "finished_low": [0.4, 0.7, None],
            "finished_high": [0.6, 0.9, None],
            "cut": [0.5, 0.1, None],
        }
    )
    chains = pl.DataFrame({"candidate": [1.0, 10.0], "finished": [0.5, 0.95]})
    chart = charts.budget_curve(frame, title="steps", limits=[2.0], chains=chains)
    assert rows(chart) == [{"candidate": 2.0, "end": pytest.approx(10.3)}]
    assert {row["candidate"] for row in rows(chart, 2)} == {1.0, 2.0}
    assert charts.budget_curve(frame.head(2), title="steps").to_dict()["layer"][0]["mark"]["type"] == "area"
