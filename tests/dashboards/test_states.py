"""Every page in bad days: one turn, turns of which nothing is known, a lake that is taken away under it."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.testing import HOUR, Sketch, lake_of

Open = Callable[..., AppTest]

TOPICS = ("on_call", "budget", "length", "refusals", "tools", "compare", "cost", "turn")
UNTIL = "2026-01-05T13:00"
START = int(datetime(2026, 1, 5, 12, 30, tzinfo=UTC).timestamp() * 1_000_000_000)
NOTHING_KNOWN = Sketch(
    turn_id="silent",
    outcome=Outcome.UNKNOWN,
    at=START,
    agent=None,
    agent_version=None,
    model=None,
    provider=None,
    source=None,
    service=None,
    environment=None,
    attended=None,
    steps=1,
    limit_steps=None,
    tool=None,
)


def failures(page: AppTest) -> list[str]:
    """What went wrong on a page, in its own words or with a traceback."""
    return [error.value for error in (*page.exception, *page.error)]


@pytest.fixture(scope="module")
def one_turn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of one turn, cut by its limit."""
    return Path(
        lake_of(
            str(tmp_path_factory.mktemp("one") / "lake"), [Sketch(turn_id="only", outcome=Outcome.BUDGET, at=START)]
        ).root
    )


@pytest.fixture(scope="module")
def nothing_known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two turns of which nothing is recorded but that they were there."""
    turns = [NOTHING_KNOWN, Sketch(**{**_fields(NOTHING_KNOWN), "turn_id": "mute", "at": START - HOUR})]  # type: ignore[arg-type]  # fields by name
    return Path(lake_of(str(tmp_path_factory.mktemp("mute") / "lake"), turns).root)


def _fields(sketch: Sketch) -> dict[str, object]:
    return {name: getattr(sketch, name) for name in Sketch.__dataclass_fields__}


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("window", ["1h", "7d"])
def test_a_page_over_one_turn_draws_itself(open_page: Open, one_turn: Path, topic: str, window: str) -> None:
    """No interval, curve or comparison of a single turn fails."""
    assert failures(open_page(one_turn, topic, until=UNTIL, window=window)) == []


@pytest.mark.parametrize("limit", ["Tool calls", "Output tokens a step", "Tokens", "Seconds", "Cost"])
def test_a_limit_of_any_kind_can_be_asked_for_of_one_turn(open_page: Open, one_turn: Path, limit: str) -> None:
    """A curve through one point, or a sentence in its place."""
    assert failures(open_page(one_turn, "budget", until=UNTIL, limit=limit)) == []


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_over_turns_of_which_nothing_is_known_draws_itself(
    open_page: Open, nothing_known: Path, topic: str
) -> None:
    """Not recorded is a value like any other, and no number is made up."""
    assert failures(open_page(nothing_known, topic, until=UNTIL)) == []


@pytest.mark.parametrize("topic", TOPICS)
def test_a_lake_that_is_taken_away_leaves_a_sentence(open_page: Open, tmp_path: Path, topic: str) -> None:
    """Whoever deletes the lake under an open page sees what to do, not a traceback."""
    root = Path(lake_of(str(tmp_path / "lake"), [Sketch(turn_id="only", outcome=Outcome.BUDGET, at=START)]).root)
    page = open_page(root, topic, until=UNTIL)
    shutil.rmtree(root)
    page.run()
    assert [error.value for error in page.exception] == []
    told = [element.value for element in (*page.error, *page.markdown)]
    assert any("No turns here yet" in text or text.startswith("lake ") for text in told)


# Of one agent there is nothing to compare, and so nothing is read.
@pytest.mark.parametrize("topic", [topic for topic in TOPICS if topic != "compare"])
def test_files_that_are_taken_away_leave_a_sentence(open_page: Open, tmp_path: Path, topic: str) -> None:
    """A file that the log names and nobody finds is one sentence in place of what cannot be drawn."""
    root = Path(lake_of(str(tmp_path / "lake"), [Sketch(turn_id="only", outcome=Outcome.BUDGET, at=START)]).root)
    for file in root.rglob("*.parquet"):
        file.unlink()
    page = open_page(root, topic, until=UNTIL)
    assert [error.value for error in page.exception] == []
    (sentence,) = [error.value for error in page.error]
    assert "\n" not in sentence
