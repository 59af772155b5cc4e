"""Every metric against a lake that was counted by hand, and what holds for all of them."""

from collections.abc import Sequence
from datetime import UTC, date, datetime

import pytest

from turnout.pipeline.analysis.intervals import wilson
from turnout.pipeline.query import METRICS, Filters, Metric, QueryError, Warehouse, metric, run
from turnout.pipeline.query.metrics import FIGURES

# Fifteen turns: five completed, one yielded, two cut by their step limit, one by length, one by its context, two refused,
# one failed, one stopped, one of which nobody knows. Sixteen segments, 48 model calls, 34 tool calls.
ONE_ROW = {
    "finished": (6, 15),
    "abnormal": (7, 15),
    "unknown": (1, 15),
    "reported": (10, 15),
    "budget_cut": (2, 15),
    "step_limit_cut": (2, 14),
    "length_cut": (1, 15),
    "context_overflow": (1, 15),
    "refused": (2, 15),
    "refused_without_output": (2, 2),
    "refused_again": (1, 2),
    "interrupted": (0, 15),
    "error": (1, 15),
    "stopped": (1, 15),
    "can_continue": (3, 7),
    "continued": (1, 7),
    "finish_reason_coverage": (12, 15),
    "usage_coverage": (15, 15),
    "call_cut": (1, 44),
    "call_cut_recovered": (0, 1),
    "output_at_cap": (1, 48),
    "call_refused": (2, 44),
    "call_refused_recovered": (0, 2),
    "call_error": (1, 48),
    "tool_error": (0, 34),
    "tool_denied": (0, 34),
    "tool_unsettled": (0, 34),
    "arguments_cut": (0, 34),
}
PARTS = {
    "outcomes": [
        ("budget", 2, 15),
        ("completed", 5, 15),
        ("context_overflow", 1, 15),
        ("error", 1, 15),
        ("length", 1, 15),
        ("refused", 2, 15),
        ("stopped", 1, 15),
        ("unknown", 1, 15),
        ("yielded", 1, 15),
    ],
    "abnormal_by_cause": [
        ("budget", None, 2, 7),
        ("context_overflow", None, 1, 7),
        ("error", "rate_limit", 1, 7),
        ("length", None, 1, 7),
        ("refused", "provider_refusal", 2, 7),
    ],
    "steps_charged": [(10, 1, 2, 14), (10, 2, 10, 14), (10, 10, 2, 14), (None, 1, 1, 1)],
    "after_continue": [("budget", "completed", 1, 1)],
    "tool_abnormal": [("bash", 6, 13), ("search", 1, 2)],
    "flags": [("finish_reason_missing", 2, 15), ("output_tokens_at_cap", 1, 15), ("zero_output", 2, 15)],
    "output_against_cap": [(1000, 0.05, 47, 48), (1000, 1.0, 1, 48)],
    "refusal_categories": [("cyber", 1, 2), (None, 1, 2)],
    "call_finish_reasons": [
        ("anthropic", "end_turn", None, 6, 48),
        ("anthropic", "max_tokens", None, 1, 48),
        ("anthropic", "model_context_window_exceeded", None, 1, 48),
        ("anthropic", "refusal", None, 2, 48),
        ("anthropic", "tool_use", None, 34, 48),
        ("anthropic", None, None, 4, 48),
    ],
}


def counted(
    warehouse: Warehouse, name: str, filters: Filters | None = None, by: Sequence[str] = ()
) -> list[tuple[object, ...]]:
    """The rows of a metric without rate and interval."""
    return run(warehouse, name, filters, by).drop("rate", "low", "high").rows()


def test_every_metric_is_counted_by_hand() -> None:
    """No metric goes without a golden value."""
    assert {metric.name for metric in METRICS} == {*ONE_ROW, *PARTS}


@pytest.mark.parametrize(("name", "expected"), ONE_ROW.items(), ids=ONE_ROW)
def test_a_rate_is_what_a_count_by_hand_gives(example: Warehouse, name: str, expected: tuple[int, int]) -> None:
    """Numerator and denominator over the whole lake."""
    assert counted(example, name) == [expected]


@pytest.mark.parametrize(("name", "expected"), PARTS.items(), ids=PARTS)
def test_shares_are_what_a_count_by_hand_gives(
    example: Warehouse, name: str, expected: list[tuple[object, ...]]
) -> None:
    """A row for each part; not recorded is a part of its own, and the last one."""
    assert counted(example, name) == expected


def test_a_rate_by_two_dimensions(example: Warehouse) -> None:
    """Groups in the order asked for, sorted, with not recorded last."""
    assert counted(example, "abnormal", by=("agent", "attended")) == [
        ("coder", False, 1, 1),
        ("coder", True, 5, 11),
        ("helper", False, 0, 1),
        ("helper", True, 1, 1),
        (None, None, 0, 1),
    ]


def test_time_is_grouped_by_utc_hours_and_days(example: Warehouse) -> None:
    """Whatever the time zone of the machine."""
    assert counted(example, "abnormal", by=("day",)) == [(date(2026, 1, 5), 6, 11), (date(2026, 1, 6), 1, 4)]
    assert counted(example, "abnormal", by=("hour",))[:2] == [
        (datetime(2026, 1, 5, 12, tzinfo=UTC), 3, 7),
        (datetime(2026, 1, 5, 13, tzinfo=UTC), 3, 4),
    ]


def test_shares_by_a_dimension_are_of_their_own_group(example: Warehouse) -> None:
    """The denominator is the group's, not the lake's."""
    assert counted(example, "outcomes", by=("attended",)) == [
        (False, "budget", 1, 2),
        (False, "completed", 1, 2),
        (True, "budget", 1, 12),
        (True, "completed", 4, 12),
        (True, "context_overflow", 1, 12),
        (True, "error", 1, 12),
        (True, "length", 1, 12),
        (True, "refused", 2, 12),
        (True, "stopped", 1, 12),
        (True, "yielded", 1, 12),
        (None, "unknown", 1, 1),
    ]
    assert counted(example, "flags", by=("model",))[0] == ("claude-a", "finish_reason_missing", 2, 13)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_what_holds_for_every_metric(example: Warehouse, metric: Metric) -> None:
    """Rates and intervals as Wilson's formula gives them; grouping loses nothing; parts of a group sum to its whole."""
    for dimension in (None, "hour", "agent", metric.dimensions[-1]):
        by = () if dimension is None or dimension in metric.parts else (dimension,)
        rows = run(example, metric.name, by=by)
        assert rows.columns == [*by, *metric.parts, *FIGURES]
        for row in rows.iter_rows(named=True):
            share = wilson(row["numerator"], row["denominator"])
            assert (row["rate"], row["low"], row["high"]) == pytest.approx((share.value, share.low, share.high))
        if not metric.parts:
            assert rows["numerator"].sum() == run(example, metric.name)["numerator"].sum()


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_an_empty_lake_gives_the_same_columns(empty: Warehouse, metric: Metric) -> None:
    """No rows, or one row of nothing, and never an error."""
    rows = run(empty, metric.name, by=metric.dimensions[:1])
    assert rows.columns == [*metric.dimensions[:1], *metric.parts, *FIGURES]
    assert rows.height == 0
    if not metric.parts:
        assert run(empty, metric.name).rows() == [(0, 0, None, None, None)]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_is_defined_in_words(metric: Metric) -> None:
    """A sentence, a unit, and a comment in the SQL."""
    assert metric.definition.endswith(".")
    assert metric.title
    assert metric.unit
    assert metric.statement.startswith("-- ")


def test_an_unknown_metric_or_dimension_is_one_sentence(example: Warehouse) -> None:
    """It names what there is."""
    with pytest.raises(QueryError, match="metric: got 'nope', expected one of outcomes, "):
        metric("nope")
    with pytest.raises(QueryError, match="metric abnormal: cannot be grouped by 'colour', expected some of hour"):
        run(example, "abnormal", by=("colour",))


def test_a_dimension_that_is_a_part_is_there_once(example: Warehouse) -> None:
    """Asking for it changes nothing."""
    assert counted(example, "outcomes", by=("outcome",)) == counted(example, "outcomes")
