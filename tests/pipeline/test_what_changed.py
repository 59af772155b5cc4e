"""From which hour on turns end otherwise, and where."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.query import Filters, Warehouse
from turnout.pipeline.testing import HOUR, NOON, SECOND, Sketch, lake_of
from turnout.pipeline.what_changed import SCHEMA, Change, frame, what_changed

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
HOURS, BROKEN_FROM = 48, 30
MODELS = ("good", "better", "bad")


def turns(broken_from: int) -> Iterator[Sketch]:
    """Eighteen turns an hour over three models; from one hour on two of three turns of one model are refused."""
    for hour in range(HOURS):
        for number in range(18):
            model = MODELS[number % 3]
            refused = (model == "bad" and hour >= broken_from and number % 9 < 6) or (number == 3 and hour % 6 == 0)
            yield Sketch(
                turn_id=f"{hour}-{number}",
                at=NOON + hour * HOUR + number * SECOND,
                model=model,
                provider="ours" if model == "bad" else "theirs",
                environment="prod" if number < 15 else "staging",
                outcome=Outcome.REFUSED if refused else Outcome.COMPLETED,
                steps=1,
            )


@pytest.fixture(name="warehouse", scope="module")
def _warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Two days with an incident in them."""
    root = tmp_path_factory.mktemp("incident") / "lake"
    return Warehouse(lake_of(str(root), list(turns(BROKEN_FROM))).root)


def test_a_planted_incident_is_found_with_its_hour_and_its_place(warehouse: Warehouse) -> None:
    """One outcome, from one hour on, and the model that does it before all that merely holds that model."""
    (change,) = what_changed(warehouse)
    assert change.outcome == "refused"
    assert abs(change.at - (START + timedelta(hours=BROKEN_FROM))) <= timedelta(hours=2)
    assert change.difference.decisive
    assert [(place.dimension, place.value) for place in change.places[:2]] in (
        [("model", "bad"), ("provider", "ours")],
        [("provider", "ours"), ("model", "bad")],
    )
    assert change.places[0].share == pytest.approx(1.0, abs=0.05)
    assert ("environment", "prod") not in [(place.dimension, place.value) for place in change.places[:2]]


def test_since_an_hour_nothing_is_searched_for(warehouse: Warehouse) -> None:
    """What came from it on is held against what came before, to the turn."""
    since = START + timedelta(hours=BROKEN_FROM)
    (change,) = what_changed(warehouse, since=since, by=("model",))
    (worst, *_) = change.places
    assert (change.at, change.before.turns, change.after.turns) == (since, BROKEN_FROM * 18, 18 * 18)
    assert (worst.value, worst.before.count, worst.before.total) == ("bad", 0, BROKEN_FROM * 6)
    assert (worst.after.count, worst.after.total) == (18 * 4, 18 * 6)


def test_filters_choose_the_turns(warehouse: Warehouse) -> None:
    """Without the model there is no incident."""
    assert what_changed(warehouse, Filters(model=("good", "better"))) == ()


def test_quiet_days_and_an_empty_lake_have_no_change(tmp_path: Path) -> None:
    """Nothing is found where nothing happened, and the table has its columns all the same."""
    quiet = Warehouse(lake_of(str(tmp_path / "quiet"), list(turns(HOURS))).root)
    found: tuple[Change, ...] = what_changed(quiet)
    assert found == what_changed(Warehouse(str(tmp_path / "none"))) == ()
    assert dict(frame(found).schema) == SCHEMA


def test_the_table_has_a_row_for_each_place(warehouse: Warehouse) -> None:
    """Rates before and after, of all turns and of the place."""
    row = frame(what_changed(warehouse, since=START + timedelta(hours=BROKEN_FROM), by=("model",))).row(0, named=True)
    assert (row["outcome"], row["dimension"], row["value"], row["value_before"]) == ("refused", "model", "bad", 0.0)
    assert row["value_after"] == pytest.approx(2 / 3)
    assert row["after"] - row["before"] == pytest.approx(row["difference"])
