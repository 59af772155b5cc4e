"""Every page: over a lake with turns, over an empty one, and with the pipeline's own figures."""

import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import turnout.dashboards
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.query import Filters, Warehouse, run
from turnout.pipeline.query.filters import Clock, parse_time
from turnout.pipeline.wording import share

Open = Callable[..., AppTest]

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
UNTIL = "2026-01-05T12:00"
TOPICS = ("on_call", "budget", "length", "refusals", "turn")


def html(page: AppTest) -> str:
    """All HTML of a page."""
    return "\n".join(element.proto.body for element in page.get("html"))


def words(page: AppTest) -> str:
    """Everything that a person can read on a page, but for what stands in charts."""
    shown = [*page.markdown, *page.caption, *page.info, *page.error, *page.warning, *page.text_input]
    return "\n".join([html(page), *(str(getattr(element, "value", "") or element.label) for element in shown)])


def charts(page: AppTest) -> list[str]:
    """The specifications of all charts."""
    return [element.proto.spec for element in page.get("vega_lite_chart")]


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_of_a_lake_with_turns_draws_itself(open_page: Open, full_lake: Path, topic: str) -> None:
    """No page fails, and each lists turns that lead to their own page with the filters in the link."""
    page = open_page(full_lake, topic, until=UNTIL, agent="coder", window="14d")
    assert [error.value for error in page.exception] == []
    assert [error.value for error in page.error] == []
    assert 'href="turn?turn=turn-' in html(page)
    assert "window=14d&amp;until=2026-01-05T12%3A00&amp;agent=coder" in html(page)


@pytest.mark.parametrize("topic", ["on_call", "budget", "length", "refusals"])
def test_a_page_of_a_lake_with_turns_has_charts(open_page: Open, full_lake: Path, topic: str) -> None:
    """Figures are drawn as well as told."""
    assert len(charts(open_page(full_lake, topic, until=UNTIL))) >= 4


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_of_an_empty_lake_says_how_to_send_data(open_page: Open, tmp_path: Path, topic: str) -> None:
    """Three ways, and no empty chart."""
    page = open_page(tmp_path / "none", topic)
    assert [error.value for error in page.exception] == []
    assert [code.value.split()[0:2] for code in page.code] == [
        ["turnout", "serve"],
        ["turnout", "import"],
        ["from", "turnout.instrumentation"],
    ]
    assert charts(page) == []


@pytest.mark.parametrize("topic", TOPICS)
def test_filters_that_leave_nothing_leave_a_sentence(open_page: Open, full_lake: Path, topic: str) -> None:
    """A page over no turn at all still draws itself, and says so."""
    page = open_page(full_lake, topic, until=UNTIL, agent="nobody")
    assert [error.value for error in page.exception] == []
    assert ("No turn ended abnormally." if topic == "on_call" else "None in this window.") in words(page)


@pytest.mark.parametrize(
    ("topic", "name", "window", "clock"),
    [
        ("on_call", "abnormal", "1h", Clock.ENDED),
        ("budget", "budget_cut", "7d", Clock.STARTED),
        ("length", "length_cut", "7d", Clock.STARTED),
        ("length", "context_overflow", "7d", Clock.STARTED),
        ("refusals", "refused", "7d", Clock.STARTED),
    ],
)
def test_a_page_shows_the_pipelines_figure(
    open_page: Open, full_lake: Path, topic: str, name: str, window: str, clock: Clock
) -> None:
    """The share in the headline is the metric's, with numerator, denominator and interval."""
    filters = Filters(since=parse_time(window, NOON), until=NOON, clock=clock)
    counted = run(Warehouse(str(full_lake)), name, filters)
    shown = words(open_page(full_lake, topic, until=UNTIL))
    assert share(counted["numerator"][0], counted["denominator"][0]) in shown


def test_a_turn_is_told_in_words(open_page: Open, full_lake: Path) -> None:
    """The rule, its evidence, what the person saw and whether a Continue was offered."""
    cut = Warehouse(str(full_lake)).turns(Filters(outcome=(str(Outcome.BUDGET),)), limit=1)["turn_id"][0]
    page = open_page(full_lake, "turn", turn=cut)
    shown = words(page)
    assert [error.value for error in page.exception] == []
    assert "The turn spent its steps with work left." in shown
    assert "Evidence for rule `budget_claim`" in shown
    assert "The person saw that the turn had used up its budget." in shown
    assert "Continue" in shown
    assert cut in shown


def test_a_turn_that_is_not_there_is_said_so(open_page: Open, full_lake: Path) -> None:
    """An unknown id gets one sentence and a place to name another."""
    page = open_page(full_lake, "turn", turn="nobody")
    assert [warning.value for warning in page.warning] == [
        "No turn nobody in this lake. A turn is here some seconds after it ends."
    ]
    assert page.text_input(key="named_turn").value == ""


@pytest.mark.parametrize("topic", TOPICS)
def test_an_unreadable_lake_is_one_sentence(open_page: Open, tmp_path: Path, topic: str) -> None:
    """No traceback, no filters, no chart."""
    broken = tmp_path / "broken"
    (broken / "turns" / "_delta_log").mkdir(parents=True)
    (broken / "turns" / "_delta_log" / "00000000000000000000.json").write_text("{this is not a log}\n")
    page = open_page(broken, topic)
    assert [error.value for error in page.exception] == []
    (sentence,) = [error.value for error in page.error]
    assert sentence.startswith(f"lake {broken}")
    assert "\n" not in sentence
    assert charts(page) == []


@pytest.mark.parametrize("topic", TOPICS)
def test_an_end_that_cannot_be_read_is_one_sentence(open_page: Open, full_lake: Path, topic: str) -> None:
    """The page says which value and how to write it."""
    page = open_page(full_lake, topic, until="yesterday")
    assert [error.value for error in page.exception] == []
    (sentence,) = [error.value for error in page.error]
    assert sentence.startswith("time: got 'yesterday', expected 7d, 24h, now or ISO 8601")


def test_a_typed_window_that_cannot_be_read_is_one_sentence(open_page: Open, full_lake: Path) -> None:
    """Windows can be typed, so they can be mistyped."""
    (sentence,) = [error.value for error in open_page(full_lake, "on_call", window="soon").error]
    assert sentence.startswith("time: got 'soon', expected 7d, 24h, now or ISO 8601")


def test_an_incident_is_the_first_thing_told(open_page: Open, full_lake: Path) -> None:
    """The headline names what rose, and the place that holds most of it comes right after."""
    page = open_page(full_lake, "on_call", until=UNTIL)
    assert "<h2>More turns are cut by a limit, most of them with version 2.4.0</h2>" in html(page)


def test_no_module_hides_one_of_the_standard_library() -> None:
    """Streamlit puts the folder of the script on the path, before everything else."""
    folder = Path(turnout.dashboards.__file__).parent
    assert {path.stem for path in folder.glob("*.py")} & set(sys.stdlib_module_names) == set()


def test_pages_are_thin_and_ask_the_lake_through_one_module() -> None:
    """At most sixty lines a page, no SQL, and nobody but `data` knows the warehouse."""
    folder = Path(turnout.dashboards.__file__).parent
    for path in folder.glob("topics/*.py"):
        source = path.read_text()
        assert len(source.splitlines()) <= 60
        assert re.search(r"\bselect\b.*\bfrom\b", source, re.IGNORECASE) is None
    knowing = {path.name for path in folder.rglob("*.py") if "Warehouse" in path.read_text()}
    assert knowing == {"data.py"}


def test_the_loop_that_an_empty_lake_shows_runs_as_it_stands(open_page: Open, tmp_path: Path) -> None:
    """A snippet that fails would be the first thing that a newcomer sees."""
    page = open_page(tmp_path / "none", "on_call")
    target = tmp_path / "turns.jsonl"
    shown = (
        page.code[2]
        .value.replace("otlp_sink()", f"FileSink({str(target)!r}, delay_s=0)")
        .replace("otlp_sink", "FileSink")
    )
    exec(compile(shown, "snippet", "exec"), {})
    assert '"agent":"my-agent"' in target.read_text().replace(" ", "")
