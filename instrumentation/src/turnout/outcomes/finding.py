"""What a rule finds, and the findings that many rules share."""

from collections.abc import Callable
from typing import NamedTuple

from turnout.outcomes.budget import first_kind
from turnout.outcomes.case import Case
from turnout.outcomes.facts import StopRecord
from turnout.outcomes.stops import told_why
from turnout.outcomes.verdict import BudgetKind, Cause, Outcome


class Finding(NamedTuple):
    """What a rule found; ``inferred`` where nobody said so, ``passing`` where the error may go away by itself."""

    outcome: Outcome
    cause: Cause | None = None
    budget_kind: BudgetKind | None = None
    inferred: bool = False
    passing: bool = False
    stop: StopRecord | None = None


class Rule(NamedTuple):
    """One rule: a name that never changes its meaning, and a function that finds something or not."""

    name: str
    find: Callable[[Case], Finding | None]


def claimed(case: Case, outcome: Outcome) -> Finding | None:
    """What the first valid terminal says, where it says this outcome."""
    said = case.claimed(outcome)
    return None if said is None else Finding(outcome, said.cause, passing=said.passing)


def marked(case: Case, outcome: Outcome) -> Finding | None:
    """What a message alone says of this outcome."""
    said = case.marked(outcome)
    return None if said is None else Finding(outcome, said.cause, said.budget_kind, inferred=True)


def guarded(case: Case, outcome: Outcome) -> Finding | None:
    """What a request to stop gives as its reason, where that is this outcome."""
    said = told_why(case) if case.turn.stop_requests else None
    return None if said is None or said.outcome is not outcome else Finding(outcome, said.cause)


def spent_limit(case: Case, kinds: list[BudgetKind]) -> Finding:
    """A spent limit, the first kind of several; a veto that stands beside it is the cause."""
    return Finding(Outcome.BUDGET, Cause.FINISH_VETO if case.reading.vetoed else None, first_kind(kinds))
