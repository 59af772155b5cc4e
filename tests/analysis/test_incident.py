"""The one change to read first."""

import pytest

from turnout.pipeline.analysis.compare import Arm
from turnout.pipeline.analysis.incident import Cell, Direction, Incident, judge, places_of, silent


def cell(value: str | None, now: tuple[int, int], before: tuple[int, int], dimension: str = "outcome") -> Cell:
    """A cell from counts."""
    return Cell(dimension=dimension, value=value, now=Arm(*now), before=Arm(*before))


WHOLE_WORSE = cell(None, (70, 300), (12, 310))
STEADY = cell("length", (6, 300), (7, 310))
CUT_MORE = cell("budget", (60, 300), (2, 310))
MODEL = cell("small", (58, 70), (2, 75), "model")
ENVIRONMENT = cell("production", (60, 270), (2, 280), "environment")
ELSEWHERE = cell("large", (2, 230), (0, 235), "model")


def test_the_reason_and_the_places_that_explain_a_rise_come_first() -> None:
    """Of two places that hold the excess, the one that moved more comes first."""
    places = {"budget": [ENVIRONMENT, MODEL, ELSEWHERE]}
    assert judge(WHOLE_WORSE, [STEADY, CUT_MORE], lambda reason: places[reason or ""]) == Incident(
        direction=Direction.WORSE, whole=WHOLE_WORSE, reason=CUT_MORE, places=(MODEL, ENVIRONMENT)
    )


@pytest.mark.parametrize(
    ("whole", "reasons", "direction", "reason"),
    [
        pytest.param(cell(None, (0, 0), (5, 90)), [], Direction.NO_TURNS, None, id="silence"),
        pytest.param(
            cell(None, (5, 90), (0, 0)),
            [cell("error", (5, 90), (0, 0))],
            Direction.NO_BEFORE,
            cell("error", (5, 90), (0, 0)),
            id="nothing to compare with",
        ),
        pytest.param(cell(None, (13, 300), (12, 310)), [STEADY], Direction.SAME, None, id="noise"),
        pytest.param(
            cell(None, (12, 310), (70, 300)),
            [cell("budget", (2, 310), (60, 300))],
            Direction.BETTER,
            cell("budget", (2, 310), (60, 300)),
            id="over again",
        ),
        pytest.param(
            cell(None, (18, 126), (11, 109)),
            [cell("length", (10, 126), (1, 109)), cell("error", (1, 126), (1, 109))]
            + [cell(name, (0, 126), (0, 109)) for name in ("refused", "budget", "interrupted", "context_overflow")],
            Direction.MAYBE,
            cell("length", (10, 126), (1, 109)),
            id="a rise that holds only if nothing else is looked at",
        ),
        pytest.param(WHOLE_WORSE, [STEADY], Direction.WORSE, None, id="worse in sum, no single reason"),
        pytest.param(
            cell(None, (62, 300), (62, 310)),
            [CUT_MORE, cell("error", (2, 300), (60, 310))],
            Direction.WORSE,
            CUT_MORE,
            id="a rise is named before a fall that hides it",
        ),
    ],
)
def test_what_two_windows_say(whole: Cell, reasons: list[Cell], direction: Direction, reason: Cell | None) -> None:
    """Each pair of windows has one direction, and the reason that moved most where one did."""
    found = judge(whole, reasons, lambda _: [])
    assert (found.direction, found.reason) == (direction, reason)


QUIET = cell(None, (24, 300), (23, 310))


@pytest.mark.parametrize(
    ("cells", "direction", "places"),
    [
        pytest.param([MODEL, ELSEWHERE], Direction.WORSE, (MODEL,), id="one model, hidden by the others"),
        pytest.param(
            [cell("2.4.0", (15, 30), (0, 0), "agent_version")],
            Direction.WORSE,
            (cell("2.4.0", (15, 30), (0, 0), "agent_version"),),
            id="a new version, held against all turns before",
        ),
        pytest.param(
            [cell("2.4.0", (2, 30), (0, 0), "agent_version")], Direction.SAME, (), id="a new version like the old"
        ),
        pytest.param([cell("small", (2, 75), (58, 70), "model")], Direction.SAME, (), id="a place that got better"),
    ],
)
def test_a_place_can_be_worse_while_the_whole_stands(
    cells: list[Cell], direction: Direction, places: tuple[Cell, ...]
) -> None:
    """Where all turns show no change, a place that clearly got worse is still named."""
    found = judge(QUIET, [STEADY], lambda reason: [] if reason else cells)
    assert (found.direction, found.reason, found.places) == (direction, None, places)


def test_looking_at_more_cells_asks_for_more_evidence() -> None:
    """A change that holds alone does not hold as one of forty that were looked at."""
    small = cell("length", (16, 300), (5, 310))
    assert (small.decisive(1), small.decisive(40)) == (True, False)


NEW = cell("2.4.0", (57, 80), (0, 0), "agent_version")
UNNAMED = cell(None, (58, 70), (2, 75), "agent")


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        pytest.param([ELSEWHERE], (), id="holds too little of it"),
        pytest.param([cell("production", (60, 300), (2, 310), "environment")], (), id="is everywhere"),
        pytest.param([cell("eu", (50, 280), (2, 290), "environment")], (), id="moved less than the whole"),
        pytest.param([UNNAMED], (UNNAMED,), id="not recorded"),
        pytest.param([MODEL, cell("openai", (58, 70), (2, 75), "provider")], (MODEL,), id="one place under two names"),
        pytest.param([MODEL, NEW], (NEW, MODEL), id="new with this window comes first"),
    ],
)
def test_which_places_are_named(cells: list[Cell], found: tuple[Cell, ...]) -> None:
    """A place is named when it holds most of the excess and is not everything."""
    assert places_of(CUT_MORE, cells) == found


@pytest.mark.parametrize(
    ("seconds", "gap", "expected"),
    [
        pytest.param(50, 1, False, id="a short pause of a busy source"),
        pytest.param(61, 1, True, id="a minute of a busy source"),
        pytest.param(600, 120, False, id="five gaps"),
        pytest.param(900, 120, True, id="more than seven gaps"),
        pytest.param(86_400, None, False, id="nothing is known of its gaps"),
    ],
)
def test_silence_is_measured_in_usual_gaps(seconds: float, gap: float | None, expected: bool) -> None:
    """A source is silent when its own rhythm says so, never after less than a minute."""
    assert silent(seconds, gap) is expected
