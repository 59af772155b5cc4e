"""Sentences that are read first."""

from turnout.dashboards.words import ALARM, CALM, CHANCE, GREY, MAYBE, Headline, Line, headline, statement
from turnout.pipeline.analysis.compare import Arm
from turnout.pipeline.analysis.incident import Cell, Direction, Incident


def cell(value: str | None, now: tuple[int, int], before: tuple[int, int], dimension: str = "outcome") -> Cell:
    """A cell from counts."""
    return Cell(dimension=dimension, value=value, now=Arm(*now), before=Arm(*before))


WHOLE = cell(None, (70, 300), (12, 310))
CUT = cell("budget", (60, 300), (2, 310))
VERSION = cell("2.4.0", (57, 61), (0, 0), "agent_version")
WORSE = Incident(direction=Direction.WORSE, whole=WHOLE, reason=CUT, places=(VERSION,))


def test_a_rise_is_told_with_its_place_and_all_its_figures() -> None:
    """What, where, how much, and against what."""
    assert headline(WORSE, "hour") == Headline(
        "More turns are cut by a limit, most of them with version 2.4.0",
        (
            Line(
                "Cut by a limit: 60 of 300 · 20 % (16 to 25 %) in the last hour, 2 of 310 · 0.6 % (0.2 to 2.3 %) in the "
                "hour before; +19 points (95 %: +15 to +24)."
            ),
            Line(
                "With version 2.4.0: 57 of 61 · 93 % (84 to 97 %) in the last hour; not seen in the hour before.",
                VERSION,
            ),
            Line(
                "All abnormal ends: 70 of 300 · 23 % (19 to 28 %) in the last hour, 12 of 310 · 3.9 % (2.2 to 6.6 %) in "
                "the hour before; +19 points (95 %: +14 to +25)."
            ),
        ),
        ALARM,
    )


def test_silence_comes_before_everything_else() -> None:
    """What cannot be seen outranks what can."""
    found = headline(WORSE, "hour", ["Silence from own: nothing for 15 min"])
    assert (found.title, found.colour) == ("Silence from own: nothing for 15 min", ALARM)
    assert found.lines[0] == Line("Otherwise: More turns are cut by a limit, most of them with version 2.4.0")


def test_no_turns_are_silence() -> None:
    """An empty window is not a calm one."""
    found = headline(Incident(direction=Direction.NO_TURNS, whole=cell(None, (0, 0), (5, 90))), "hour")
    assert found == Headline("Silence: no turn ended in the last hour", (Line("90 did in the hour before."),), ALARM)


def test_nothing_changed_is_said_only_when_the_data_rule_a_rise_out() -> None:
    """Few turns cannot say that nothing changed."""
    many = Incident(direction=Direction.SAME, whole=cell(None, (300, 10_000), (310, 10_000)))
    few = Incident(direction=Direction.SAME, whole=cell(None, (2, 20), (1, 20)))
    assert (headline(many, "hour").title, headline(many, "hour").colour) == (
        "Nothing changed: 3 % of turns end abnormally",
        CALM,
    )
    assert (headline(few, "hour").title, headline(few, "hour").colour) == (
        "No clear change: 10 % of turns end abnormally",
        GREY,
    )
    assert "not decisive" in headline(many, "hour").lines[0].text
    assert headline(few, "hour").lines[1] == Line("So few turns cannot rule out a rise of up to 26 points.")


def test_a_rise_that_may_be_chance_says_so() -> None:
    """It is not called calm, and not an alarm either."""
    cut = cell("length", (10, 126), (1, 109))
    found = headline(Incident(direction=Direction.MAYBE, whole=WHOLE, reason=cut), "hour")
    assert (found.title, found.colour) == ("Perhaps more turns have their answer cut off", MAYBE)
    assert found.lines[-1] == Line(CHANCE)


def test_less_is_told_as_calmly_as_it_is() -> None:
    """An end of an incident is news too."""
    found = headline(
        Incident(direction=Direction.BETTER, whole=WHOLE, reason=cell("error", (1, 300), (40, 310))), "hour"
    )
    assert (found.title, found.colour) == ("Fewer turns fail", CALM)


def test_a_first_window_has_nothing_to_compare_with() -> None:
    """A fresh lake raises no alarm."""
    found = headline(Incident(direction=Direction.NO_BEFORE, whole=cell(None, (2, 20), (0, 0))), "hour")
    assert found.title == "Nothing to compare with yet"
    assert found.lines[0].text == "2 of 20 · 10 % (2.8 to 30 %) of the turns in the last hour ended abnormally."


def test_a_statement_says_not_decisive_where_it_is_not() -> None:
    """A page's own share, now and before."""
    found = statement(cell(None, (42, 1659), (46, 1341)), "7 days", "of turns have their answer cut off", GREY)
    assert found.title == "2.5 % of turns have their answer cut off"
    assert found.lines[0].text.endswith("points (95 %: -2.2 to +0.3): not decisive.")
    assert statement(cell(None, (0, 0), (1, 9)), "7 days", "", GREY).title == "No turns in the last 7 days"
