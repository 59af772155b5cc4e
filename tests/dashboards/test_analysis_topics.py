"""The pages that compare: tools, two sides, costs; each with the figures of the library behind it."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from turnout.dashboards.costs import dollars
from turnout.pipeline.comparisons import compare, with_value
from turnout.pipeline.query import Filters, Warehouse
from turnout.pipeline.query.filters import parse_time
from turnout.pipeline.spending import spending
from turnout.pipeline.tool_risks import tool_risks
from turnout.pipeline.wording import difference

Open = Callable[..., AppTest]

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
UNTIL = "2026-01-05T12:00"
TOPICS = ("tools", "compare", "cost")


def html(page: AppTest) -> str:
    """All HTML of a page."""
    return "\n".join(element.proto.body for element in page.get("html"))


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_of_a_lake_with_turns_draws_itself(open_page: Open, full_lake: Path, topic: str) -> None:
    """No page fails, and each has a table."""
    page = open_page(full_lake, topic, until=UNTIL, compare="agent", a="coder", b="helper")
    assert [error.value for error in (*page.exception, *page.error)] == []
    assert 'class="to-table"' in html(page)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_of_an_empty_lake_says_how_to_send_data(open_page: Open, tmp_path: Path, topic: str) -> None:
    """Three ways, and no empty table."""
    page = open_page(tmp_path / "none", topic)
    assert [error.value for error in page.exception] == []
    assert len(page.code) == 3
    assert 'class="to-table"' not in html(page)


@pytest.mark.parametrize("topic", TOPICS)
def test_filters_that_leave_nothing_fail_nothing(open_page: Open, full_lake: Path, topic: str) -> None:
    """A page over no turn at all still draws itself."""
    page = open_page(full_lake, topic, until=UNTIL, agent="nobody")
    assert [error.value for error in (*page.exception, *page.error)] == []


def test_tools_have_the_differences_of_the_library(open_page: Open, full_lake: Path) -> None:
    """The worst tool stands first, with its difference and interval."""
    filters = Filters(since=parse_time("7d", NOON), until=NOON)
    shown = html(open_page(full_lake, "tools", until=UNTIL))
    risks = tool_risks(Warehouse(str(full_lake)), filters)
    assert risks
    assert all(difference(risk.difference) in shown for risk in risks)
    assert shown.index(risks[0].tool) < shown.index(risks[-1].tool)


def test_costs_are_those_of_the_library(open_page: Open, full_lake: Path) -> None:
    """The headline is the sum over the window."""
    filters = Filters(since=parse_time("7d", NOON), until=NOON)
    whole = spending(Warehouse(str(full_lake)), (), filters)["cost_usd"].item()
    shown = html(open_page(full_lake, "cost", until=UNTIL))
    assert ("No cost is known" if whole is None else f"{dollars(whole)} in the last 7 days") in shown


def test_two_sides_have_the_differences_of_the_library(open_page: Open, full_lake: Path) -> None:
    """What the page says of two models is what the command would."""
    warehouse = Warehouse(str(full_lake))
    window = Filters(since=parse_time("14d", NOON), until=NOON)
    models = warehouse.sql(
        "select model from turns where model is not null group by model order by count(*) desc, model"
    )
    a, b = models["model"][:2].to_list()
    found = compare(warehouse, with_value(window, "model", a), with_value(window, "model", b))
    shown = html(open_page(full_lake, "compare", until=UNTIL, compare="model", a=a, b=b))
    assert found.outcomes
    assert all(difference(one.row.difference) in shown for one in found.outcomes)
