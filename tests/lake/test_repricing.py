"""Costs by today's price list, in the place of those that another list gave."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from turnout.outcomes.facts import TurnFacts, Usage
from turnout.pipeline import costs
from turnout.pipeline.analysis.price import PRICE_LIST, UNPRICED, Cost, CostSource, price_call
from turnout.pipeline.lake import Lake
from turnout.pipeline.lake.cubing import Cubing
from turnout.pipeline.lake.repricing import Repriced
from turnout.pipeline.query import Warehouse
from turnout.pipeline.query.engine import resource
from turnout.pipeline.rows import classified
from turnout.pipeline.spending import spending
from turnout.pipeline.testing import NOON, SECOND, Sketch, sketched

OLD_LIST = "genai-prices 0.0.1"
USED = Usage(input_tokens=1000, output_tokens=100)
COSTS = "select turn_id, cost_usd, cost_source, price_list from turn_segments order by turn_id"


def turn(turn_id: str, model: str, reported: float | None = None) -> TurnFacts:
    """A turn of two calls to a model, with a cost of its own for each call or none."""
    facts = sketched(Sketch(turn_id=turn_id, model=model, provider="openai"))
    steps = tuple(replace(step, usage=USED, cost_usd=reported) for step in facts.steps)
    return replace(facts, steps=steps)


def today(model: str) -> float | None:
    """What two such calls cost today."""
    one = price_call(USED, model, "openai", NOON).usd
    return None if one is None else 2 * one


TURNS = (
    turn("listed", "gpt-4o"),
    turn("new", "gpt-4o-mini"),
    turn("reported", "gpt-4o", 0.25),
    turn("unlisted", "a-model-nobody-lists"),
)


@pytest.fixture(name="lake")
def _lake(root: str, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """A lake that was written with an older list: one model had another price, another was not listed."""

    def older(usage: Usage | None, model: str | None, provider: str | None, started: int | None) -> Cost:
        priced = price_call(usage, model, provider, started)
        if model == "gpt-4o-mini" or priced.usd is None:
            return UNPRICED
        return Cost(3 * priced.usd, CostSource.PRICED)

    lake = Lake.open(root, clock=lambda: NOON, cubing=Cubing(rows=1, share=1))
    with monkeypatch.context() as patched:
        patched.setattr(costs, "price_call", older)
        patched.setattr(costs, "PRICE_LIST", OLD_LIST)
        lake.write([classified(one, NOON + SECOND) for one in TURNS])
    return lake


def test_only_what_was_not_reported_has_another_price(lake: Lake) -> None:
    """The list is kept beside each price; what nobody lists stays unpriced and is counted."""
    assert lake.reprice() == Repriced(changed=2, unpriced=1)
    assert Warehouse(lake.root).sql(COSTS).rows() == [
        ("listed", pytest.approx(today("gpt-4o")), "priced", PRICE_LIST),
        ("new", pytest.approx(today("gpt-4o-mini")), "priced", PRICE_LIST),
        ("reported", 0.5, "reported", None),
        ("unlisted", None, None, None),
    ]


def test_calls_cubes_and_ledger_follow(lake: Lake) -> None:
    """Steps sum to their turns, cubes to the rows, nothing else has changed, and the ledger says when."""
    everything: Callable[[], list[tuple[object, ...]]] = lambda: (  # noqa: E731 - the same question twice
        Warehouse(lake.root)
        .sql("select * exclude (cost_usd, cost_source, price_list) from turns order by turn_id")
        .rows()
    )
    before = everything()
    lake.reprice()
    warehouse = Warehouse(lake.root)
    sums = warehouse.sql("select turn_id, sum(cost_usd) from steps group by turn_id order by turn_id").rows()
    assert sums == [
        (row[0], pytest.approx(row[1])) if row[1] is not None else row[:2] for row in warehouse.sql(COSTS).rows()
    ]
    raw = warehouse.sql(resource("cost/spent.sql"), {"by": ["model"]})
    cubed = spending(warehouse, ("model",))
    assert sorted(cubed["cost_usd"].drop_nulls()) == pytest.approx(sorted(raw["cost_usd"].drop_nulls()))
    assert everything() == before
    assert list(lake.verify()) == []
    ((key, value, recorded),) = warehouse.sql(
        "select key, value, recorded_at from ledger where kind = 'reprice'"
    ).rows()
    assert (key, json.loads(value), int(recorded.timestamp())) == (
        PRICE_LIST,
        {"changed": 2, "unpriced": 1},
        NOON // SECOND,
    )


def test_a_second_time_changes_nothing(lake: Lake) -> None:
    """No file is written anew; what has no price is asked for again."""
    lake.reprice()
    version = lake.snapshot().version
    assert lake.reprice() == Repriced(changed=0, unpriced=1)
    assert lake.snapshot().version == version


def test_an_empty_lake_has_nothing_to_ask_for(root: str) -> None:
    """And says so without an error."""
    assert Lake.open(root, clock=lambda: NOON).reprice() == Repriced()


def test_a_call_that_counts_in_another_turn_stays_without_a_price(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transcript that tells again of a call of an earlier one pays for its own calls alone."""
    first, fork = (replace(turn(name, "gpt-4o"), trace_id=None) for name in ("first", "fork"))
    told = [replace(step, message_id=f"m{step.index}") for step in first.steps]
    own = [told[0], replace(fork.steps[1], message_id="mine")]
    turns = (replace(first, steps=tuple(told)), replace(fork, steps=tuple(own), started_at=NOON + 9 * SECOND))
    lake = Lake.open(root, clock=lambda: NOON)

    def a_dollar(usage: Usage | None, *_: object) -> Cost:
        return UNPRICED if usage is None else Cost(1.0, CostSource.PRICED)

    with monkeypatch.context() as patched:
        patched.setattr(costs, "PRICE_LIST", OLD_LIST)
        patched.setattr(costs, "price_call", a_dollar)
        lake.write([classified(one, NOON + SECOND) for one in turns])
    whole = today("gpt-4o")
    assert whole is not None
    assert lake.reprice().changed == 2
    found = Warehouse(root).sql("select turn_id, cost_usd from turn_segments order by turn_id").rows()
    assert found == [("first", pytest.approx(whole)), ("fork", pytest.approx(whole / 2))]
    assert list(lake.verify()) == []
