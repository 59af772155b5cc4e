"""The decision table over the whole product of its inputs, and what must hold in every row."""

from itertools import permutations, product

import pytest

from turnout.outcomes.decide import (
    BUDGET_REASONS,
    Aborted,
    BudgetReason,
    BudgetSpent,
    Constraint,
    Continue,
    Decision,
    Demand,
    Fail,
    FailReason,
    Finish,
    FinishCandidate,
    FinishVeto,
    PrerequisiteMiss,
    Steering,
    StepFacts,
    StopLatched,
    StopReason,
    StopRequest,
    Terminate,
    ToolCalls,
    TurnYield,
    YieldReason,
    decide_step,
    ends_by_budget,
    select_demand,
    spent_stop,
)
from turnout.outcomes.facts import StopMode
from turnout.outcomes.verdict import BudgetKind

STOPS = [StopRequest(mode, reason) for mode, reason in product(StopMode, (*StopReason, *BudgetReason))]
YIELDS: list[TurnYield | None] = [None, *map(TurnYield, YieldReason)]
DEMANDS: list[Demand] = [
    *map(FinishCandidate, Finish),
    ToolCalls(),
    PrerequisiteMiss(),
    *map(Steering, Finish),
    FinishVeto(),
]
CONSTRAINTS: list[Constraint | None] = [
    None,
    *map(Aborted, STOPS),
    *map(StopLatched, STOPS),
    *map(BudgetSpent, BudgetKind),
]
INPUTS = [StepFacts(*facts) for facts in product(YIELDS, DEMANDS, CONSTRAINTS)]

SPENT = {
    "steps": "step_limit",
    "tool_calls": "tool_calls_limit",
    "tokens": "token_budget",
    "time": "time_budget",
    "cost": "exit_cost",
}


def by_columns(facts: StepFacts) -> Decision:
    """The table read column by column (constraint first), where the code reads it row by row."""
    constraint, demand = facts.constraint, facts.demand
    if isinstance(constraint, Aborted):
        return Terminate(constraint.stop.reason)
    if facts.yield_ is not None:
        return Terminate(facts.yield_.reason)
    if constraint is None:
        return Terminate(demand.finish) if isinstance(demand, FinishCandidate) else Continue()
    if isinstance(constraint, StopLatched):
        return Terminate(demand.finish if isinstance(demand, FinishCandidate) else constraint.stop.reason)
    if isinstance(demand, PrerequisiteMiss):
        return Fail(FailReason.PREREQUISITE_MISS)
    if isinstance(demand, (FinishCandidate, Steering)):
        return Terminate(demand.finish)
    return Terminate(BudgetReason(SPENT[constraint.kind]))


def test_every_input_gets_the_decision_of_the_table() -> None:
    """The whole product of values decides as the table says."""
    wrong = [facts for facts in INPUTS if decide_step(facts) != by_columns(facts)]
    assert wrong == []


USER_STOP = StopRequest(StopMode.AFTER_STEP, StopReason.USER_STOP)
ABORT = StopRequest(StopMode.IMMEDIATE, StopReason.ABORTED)
HANDOFF = TurnYield(YieldReason.PLAN_HANDOFF)
STEPS_SPENT = BudgetSpent(BudgetKind.STEPS)

ROWS: list[tuple[str, StepFacts, Decision]] = [
    ("abort over all", StepFacts(HANDOFF, FinishCandidate(Finish.END_TURN), Aborted(ABORT)), Terminate(ABORT.reason)),
    ("yield over a stop", StepFacts(HANDOFF, ToolCalls(), StopLatched(USER_STOP)), Terminate(HANDOFF.reason)),
    ("yield over the budget", StepFacts(HANDOFF, ToolCalls(), STEPS_SPENT), Terminate(HANDOFF.reason)),
    (
        "own end over a stop",
        StepFacts(None, FinishCandidate(Finish.LENGTH), StopLatched(USER_STOP)),
        Terminate(Finish.LENGTH),
    ),
    (
        "own end at the budget",
        StepFacts(None, FinishCandidate(Finish.END_TURN), STEPS_SPENT),
        Terminate(Finish.END_TURN),
    ),
    (
        "stop before steering",
        StepFacts(None, Steering(Finish.END_TURN), StopLatched(USER_STOP)),
        Terminate(USER_STOP.reason),
    ),
    (
        "stop before a missing prerequisite",
        StepFacts(None, PrerequisiteMiss(), StopLatched(USER_STOP)),
        Terminate(USER_STOP.reason),
    ),
    (
        "prerequisite without budget",
        StepFacts(None, PrerequisiteMiss(), STEPS_SPENT),
        Fail(FailReason.PREREQUISITE_MISS),
    ),
    ("steering without budget", StepFacts(None, Steering(Finish.LENGTH), STEPS_SPENT), Terminate(Finish.LENGTH)),
    ("tools without budget", StepFacts(None, ToolCalls(), STEPS_SPENT), Terminate(BudgetReason.STEP_LIMIT)),
    (
        "veto without budget",
        StepFacts(None, FinishVeto(), BudgetSpent(BudgetKind.COST)),
        Terminate(BudgetReason.EXIT_COST),
    ),
    ("tools go on", StepFacts(None, ToolCalls(), None), Continue()),
    ("veto goes on", StepFacts(None, FinishVeto(), None), Continue()),
    ("steering goes on", StepFacts(None, Steering(Finish.END_TURN), None), Continue()),
    ("prerequisite goes on", StepFacts(None, PrerequisiteMiss(), None), Continue()),
]


@pytest.mark.parametrize(("facts", "decision"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_each_row_wins_where_a_later_row_matches_too(facts: StepFacts, decision: Decision) -> None:
    """Each row of the table by name, on inputs that satisfy two rows where two can match."""
    assert decide_step(facts) == decision


class TestInvariants:
    def test_a_veto_never_completes(self) -> None:
        """A vetoed finish without a yield never ends with a provider's end."""
        vetoed = [decide_step(f) for f in INPUTS if f.demand == FinishVeto()]
        assert not any(isinstance(d, Terminate) and isinstance(d.reason, Finish) for d in vetoed)

    def test_a_budget_reason_needs_a_spent_budget(self) -> None:
        """A turn ends by a limit only where exactly that limit is spent, or a stop names it."""
        for facts in INPUTS:
            decision = decide_step(facts)
            if isinstance(decision, Terminate) and isinstance(decision.reason, BudgetReason):
                match facts.constraint:
                    case BudgetSpent(kind):
                        assert BUDGET_REASONS[kind] == decision.reason
                    case Aborted(stop) | StopLatched(stop):
                        assert stop.reason == decision.reason
                    case None:
                        pytest.fail(f"{facts} ended by a limit that nothing spent")

    def test_nothing_goes_on_under_a_constraint(self) -> None:
        """Another step needs a demand, no yield and no constraint."""
        for facts in INPUTS:
            goes_on = decide_step(facts) == Continue()
            free = facts.yield_ is None and facts.constraint is None and not isinstance(facts.demand, FinishCandidate)
            assert goes_on == free

    def test_an_abort_always_ends_with_its_own_reason(self) -> None:
        """No other fact changes what an immediate stop says."""
        aborted = [f for f in INPUTS if isinstance(f.constraint, Aborted)]
        for facts in aborted:
            assert isinstance(facts.constraint, Aborted)
            assert decide_step(facts) == Terminate(facts.constraint.stop.reason)

    def test_reasons_of_different_kinds_share_no_value(self) -> None:
        """A reason tells which kind of end it is by its value alone."""
        values = [r.value for kind in (StopReason, YieldReason, Finish, BudgetReason, FailReason) for r in kind]
        assert len(values) == len(set(values))


def test_of_several_demands_the_first_in_order_counts() -> None:
    """Whatever the order they are found in, the selector takes prerequisite, tools, veto, steering."""
    ordered: list[Demand] = [PrerequisiteMiss(), ToolCalls(), FinishVeto(), Steering(Finish.LENGTH)]
    for start in range(len(ordered)):
        for demands in permutations(ordered[start:]):
            assert select_demand(demands, Finish.LENGTH) == ordered[start]


def test_without_any_demand_the_finish_is_a_candidate() -> None:
    """A step that demands nothing offers the provider's end."""
    assert select_demand((), Finish.REFUSAL) == FinishCandidate(Finish.REFUSAL)


def test_a_limit_that_runs_out_during_a_step_cuts_it_with_its_own_reason() -> None:
    """The stop is immediate, and its reason is that of the spent limit."""
    for kind, reason in BUDGET_REASONS.items():
        assert spent_stop(kind) == StopRequest(StopMode.IMMEDIATE, reason)
        assert decide_step(StepFacts(None, ToolCalls(), Aborted(spent_stop(kind)))) == Terminate(reason)


def test_what_ends_by_the_budget() -> None:
    """Exactly the ends whose reason is a limit, whether it was found spent or cut the step."""
    ended = {decision for facts in INPUTS if not isinstance(decision := decide_step(facts), Continue)}
    by_budget = {str(decision.reason) for decision in ended if ends_by_budget(decision)}
    assert by_budget == set(SPENT.values())
