"""The figures of the pages are those of the commands: asked of the same lake, both say the same."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from turnout.dashboards import components
from turnout.dashboards.limits import amount
from turnout.pipeline.analysis.budget import Limit
from turnout.pipeline.budgets import budget, continued
from turnout.pipeline.comparisons import compare, side
from turnout.pipeline.findings import continuations, refusals_answered
from turnout.pipeline.query import Filters, Warehouse
from turnout.pipeline.query.filters import parse_time
from turnout.pipeline.recommend import recommendation
from turnout.pipeline.tool_risks import loops, tool_risks
from turnout.pipeline.what_changed import what_changed
from turnout.pipeline.wording import difference, percent, share, span

Open = Callable[..., AppTest]

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
UNTIL = "2026-01-05T12:00"
WEEK = Filters(since=parse_time("7d", NOON), until=NOON)


@pytest.fixture(name="warehouse", scope="module")
def _warehouse(full_lake: Path) -> Warehouse:
    """What the commands ask."""
    return Warehouse(str(full_lake))


def html(page: AppTest) -> str:
    """All HTML of a page."""
    return "\n".join(element.proto.body for element in page.get("html"))


def specifications(page: AppTest) -> str:
    """The specifications of all charts, with plain characters."""
    return "\n".join(
        json.dumps(json.loads(element.proto.spec), ensure_ascii=False) for element in page.get("vega_lite_chart")
    )


@pytest.mark.parametrize("attended", [True, False])
def test_the_line_to_paste_is_the_commands(
    open_page: Open, full_lake: Path, warehouse: Warehouse, *, attended: bool
) -> None:
    """For two limits that are chosen, the page says what `turnout budget` says of them."""
    mine = replace(WEEK, attended=attended)
    counted, (low, high) = budget(warehouse, Limit.STEPS, (5, 10), mine)
    key = "attended" if attended else "unattended"
    page = open_page(full_lake, "budget", until=UNTIL, **{f"steps_{key}": ["5", "10"]})
    assert recommendation(counted, low, high, continued(warehouse, Limit.STEPS, mine)) in [
        code.value for code in page.code
    ]
    assert f"{percent(high.finished)} ({span(high.finished_low, high.finished_high)})" in html(page)


@pytest.mark.parametrize("limit", [Limit.TOOL_CALLS, Limit.TOTAL_TOKENS, Limit.SECONDS])
def test_every_candidate_in_the_table_is_the_commands(
    open_page: Open, full_lake: Path, warehouse: Warehouse, limit: Limit
) -> None:
    """Whatever is limited: the largest amount that turns spent, with its share and interval."""
    titles = {Limit.TOOL_CALLS: "Tool calls", Limit.TOTAL_TOKENS: "Tokens", Limit.SECONDS: "Seconds"}
    page = open_page(full_lake, "budget", until=UNTIL, limit=titles[limit])
    mine = replace(WEEK, attended=True)
    chosen = page.session_state[f"{limit}_attended"]
    _, rows = budget(warehouse, limit, tuple(float(text) for text in chosen), mine)
    for row in rows:
        assert amount(limit, row.candidate) in html(page)
        assert f"{percent(row.finished)} ({span(row.finished_low, row.finished_high)})" in html(page)


@pytest.mark.parametrize("topic", ["budget", "length"])
def test_what_is_continued_is_the_commands(open_page: Open, full_lake: Path, warehouse: Warehouse, topic: str) -> None:
    """How often and how it ended, for the ends that the page is about."""
    rows = continuations(warehouse, WEEK).rows_by_key("outcome", named=True, unique=True)
    row = rows["budget" if topic == "budget" else "length"]
    shown = html(open_page(full_lake, topic, until=UNTIL))
    assert share(row["continued"], row["turns"]) in shown


def test_answered_refusals_are_the_commands(open_page: Open, full_lake: Path, warehouse: Warehouse) -> None:
    """Each way to be answered with its share."""
    drawn = specifications(open_page(full_lake, "refusals", until=UNTIL))
    rows = refusals_answered(warehouse, WEEK).rows(named=True)
    assert rows
    for row in rows:
        assert row["answered"] in drawn
        assert share(row["numerator"], row["denominator"]) in drawn


def test_what_changed_is_the_commands(open_page: Open, full_lake: Path, warehouse: Warehouse) -> None:
    """From the same hour on, the same differences."""
    since = NOON.replace(hour=9)
    filters = Filters(since=parse_time("14d", NOON), until=NOON)
    changes = what_changed(warehouse, filters, since)
    shown = html(open_page(full_lake, "on_call", until=UNTIL, changed_since="2026-01-05T09:00"))
    assert changes
    assert all(difference(change.difference) in shown for change in changes)


def test_two_windows_are_compared_as_the_command_does(open_page: Open, full_lake: Path, warehouse: Warehouse) -> None:
    """The same sides, the same differences and quantiles."""
    found = compare(warehouse, side("14d..7d", WEEK, NOON), side("7d..2026-01-05T12:00", WEEK, NOON))
    page = open_page(
        full_lake,
        "compare",
        until=UNTIL,
        compare="window",
        a="2025-12-22T12:00..2025-12-29T12:00",
        b="2025-12-29T12:00..2026-01-05T12:00",
    )
    assert found.before_turns
    assert all(difference(one.row.difference) in html(page) for one in found.outcomes)


@pytest.mark.parametrize("length", [2, 3])
def test_loops_and_risks_are_the_commands(open_page: Open, full_lake: Path, warehouse: Warehouse, length: int) -> None:
    """So many equal calls in a row as are asked for."""
    shown = html(open_page(full_lake, "tools", until=UNTIL, loop=str(length)))
    for risk in tool_risks(warehouse, WEEK):
        assert difference(risk.difference) in shown
    for row in loops(warehouse, WEEK, length).iter_rows(named=True):
        assert share(row["abnormal_turns"], row["turns"]) in shown


def test_what_takes_a_while_is_asked_for_first(
    open_page: Open, full_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over very many turns the page reads every call only when somebody wants it."""
    monkeypatch.setattr(components, "AT_ONCE", 10)
    page = open_page(full_lake, "tools", until=UNTIL)
    assert "Not settled" not in html(page)
    page.toggle(key="calls").set_value(True).run()
    assert "Not settled" in html(page)
