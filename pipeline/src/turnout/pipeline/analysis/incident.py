"""What changed between a window and the same window before it: the first thing that someone on call reads.

A cell is one count in both windows: all turns, one reason, or one reason in one place (a model, a tool, a version, …). A change is
called one only when its interval, widened for the number of cells looked at (Bonferroni), leaves zero out.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from turnout.pipeline.analysis.compare import Arm
from turnout.pipeline.analysis.intervals import LEVEL, Difference, newcombe

EXPLAINS = 0.5
"""A place is named as the place of a change when it holds at least this part of the excess."""

SILENT_GAPS = 7
"""So many usual gaps without a turn are silence: under steady arrivals, less than one chance in a thousand."""

SILENT_SECONDS = 60.0
"""Shorter pauses are never called silence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One count, now and before; ``value`` is ``None`` where the dimension is not recorded."""

    dimension: str
    value: str | None
    now: Arm
    before: Arm

    @property
    def difference(self) -> Difference:
        """The change of the share, in parts of one, at the level that is shown."""
        return self._difference(LEVEL)

    @property
    def excess(self) -> float:
        """How many more turns than the share before would have given; negative when fewer."""
        return self.now.count - self.now.total * _rate(self.before)

    @property
    def new(self) -> bool:
        """Whether it was not there at all before."""
        return self.before.total == 0 and self.now.total > 0

    def decisive(self, looked_at: int) -> bool:
        """Whether the change holds after looking at so many cells."""
        return self._difference(1 - (1 - LEVEL) / max(1, looked_at)).decisive

    def _difference(self, level: float) -> Difference:
        return newcombe(self.now.count, self.now.total, self.before.count, self.before.total, level)


class Direction(StrEnum):
    """What the two windows say together."""

    WORSE = "worse"
    BETTER = "better"
    MAYBE = "maybe"
    SAME = "same"
    NO_TURNS = "no_turns"
    NO_BEFORE = "no_before"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """The one change to read first: all turns, the reason that moved most, and the places that hold most of it."""

    direction: Direction
    whole: Cell
    reason: Cell | None = None
    places: tuple[Cell, ...] = ()


def judge(whole: Cell, reasons: Sequence[Cell], places: Callable[[str | None], Sequence[Cell]]) -> Incident:
    """Find the change that matters most: of one reason, else of all abnormal turns, else of abnormal turns in one place.

    Where nothing holds, a reason whose rise would hold if it were the only one looked at is told as a "maybe".

    Args:
        whole: abnormal turns of all turns.
        reasons: one cell an abnormal outcome; the denominators are all turns.
        places: the cells of an outcome (of all abnormal turns for ``None``) in every place; asked for only when they are needed.
    """
    if whole.now.total == 0:
        return Incident(direction=Direction.NO_TURNS, whole=whole)
    if whole.before.total == 0:
        return Incident(direction=Direction.NO_BEFORE, whole=whole, reason=_largest(reasons))
    looked_at = 1 + len(reasons)
    moved = [cell for cell in reasons if cell.decisive(looked_at)]
    reason = max(moved, key=lambda cell: (cell.excess > 0, abs(cell.excess)), default=None)
    leading = reason or (whole if whole.decisive(looked_at) else None)
    if leading is None:
        return _in_one_place(whole, places(None)) or _maybe(whole, reasons, places)
    found = places_of(leading, places(leading.value))
    return Incident(direction=_direction(leading), whole=whole, reason=reason, places=found)


def places_of(reason: Cell, cells: Iterable[Cell], looked_at: int | None = None) -> tuple[Cell, ...]:
    """The places that hold most of a change and moved more than the whole; new ones first, then those that moved most.

    Args:
        reason: the change.
        cells: the same reason in every place.
        looked_at: for how many cells the evidence must hold; all of them where nothing is said.
    """
    cells = list(cells)
    looked_at = len(cells) if looked_at is None else looked_at
    enough = [
        cell
        for cell in cells
        if cell.excess * reason.excess > 0
        and abs(cell.excess) >= EXPLAINS * abs(reason.excess)
        and cell.now.total < reason.now.total
        and _movement(cell) > _movement(reason)
        and (cell.new or cell.decisive(looked_at))
    ]
    enough.sort(key=lambda cell: (not cell.new, -_movement(cell), cell.now.total))
    # One place under two names, as an agent that is alone in its service, is told once.
    return tuple({(cell.now, cell.before): cell for cell in reversed(enough)}.values())[::-1]


def silent(seconds_since: float, usual_gap: float | None) -> bool:
    """Whether a source has been quiet for longer than its usual gap between turns explains."""
    if usual_gap is None:
        return False
    return seconds_since > max(SILENT_SECONDS, SILENT_GAPS * usual_gap)


def _in_one_place(whole: Cell, cells: Sequence[Cell]) -> Incident | None:
    """What did not move overall may have moved in one place; a place that is new is held against everything before."""
    known = [replace(cell, before=whole.before) if cell.new else cell for cell in cells if cell.now.total]
    moved = [cell for cell in known if cell.decisive(len(known)) and cell.excess > 0]
    if not moved:
        return None
    worst = max(moved, key=lambda cell: cell.excess)
    told = tuple(cell for cell in cells if (cell.dimension, cell.value) == (worst.dimension, worst.value))
    return Incident(direction=Direction.WORSE, whole=whole, places=told)


def _maybe(whole: Cell, reasons: Sequence[Cell], places: Callable[[str | None], Sequence[Cell]]) -> Incident:
    risen = [cell for cell in reasons if cell.excess > 0 and cell.decisive(1)]
    if not risen:
        return Incident(direction=Direction.SAME, whole=whole)
    reason = max(risen, key=lambda cell: cell.excess)
    found = places_of(reason, places(reason.value), looked_at=1)
    return Incident(direction=Direction.MAYBE, whole=whole, reason=reason, places=found)


def _direction(leading: Cell) -> Direction:
    return Direction.WORSE if leading.excess > 0 else Direction.BETTER


def _largest(reasons: Sequence[Cell]) -> Cell | None:
    return max((cell for cell in reasons if cell.now.count), key=lambda cell: cell.now.count, default=None)


def _movement(cell: Cell) -> float:
    return abs(_rate(cell.now) - _rate(cell.before))


def _rate(arm: Arm) -> float:
    return arm.count / arm.total if arm.total else 0.0
