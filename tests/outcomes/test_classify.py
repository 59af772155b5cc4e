"""The verdict of every case, the order of the rules, and what holds for every turn there could be."""

import random
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from outcome_cases import OutcomeCase, differences, own_cases
from turn_strategies import halves, rearranged, torn, turns
from turnout.outcomes.case import Case
from turnout.outcomes.classify import RULES, classify
from turnout.outcomes.facts import TurnFacts
from turnout.outcomes.settle import merge, settle
from turnout.outcomes.verdict import ABNORMAL, Cause, Evidence, Flag, Outcome, Resumable, Verdict

# Rules that stand beside each other and can never both find something.
NEVER_BOTH = {
    ("stop_marker", "provider_refused"),
    ("overflow_claim", "overflow_marker"),
    ("empty_response", "output_cut"),
    ("length_claim", "budget_claim"),
    ("tool_abandoned", "error_claim"),
    ("error_claim", "process_failed"),
    ("finished_by_itself", "veto_stands"),
}
PAIRS = [(first.name, second.name) for first, second in pairwise(RULES)]


def found_by(turn: TurnFacts) -> list[str]:
    case = Case(settle(turn))
    return [rule.name for rule in RULES if rule.find(case) is not None]


def test_case(own_case: OutcomeCase) -> None:
    """Every case gets its verdict."""
    assert differences(classify(own_case.turn), own_case.expect) == {}


def test_case_rearranged(own_case: OutcomeCase) -> None:
    """Every case keeps its verdict with its lists shuffled and doubled."""
    rng = random.Random(own_case.name)
    for _ in range(3):
        assert classify(_rearranged(own_case.turn, rng)) == classify(own_case.turn)


def test_handed_case(handed_case: OutcomeCase) -> None:
    """Every handed case gets its verdict, as it stands and with its lists shuffled and doubled."""
    rng = random.Random(handed_case.name)
    assert differences(classify(handed_case.turn), handed_case.expect) == {}
    for _ in range(3):
        assert classify(_rearranged(handed_case.turn, rng)) == classify(handed_case.turn)


def _rearranged(turn: TurnFacts, rng: random.Random) -> TurnFacts:
    def shuffled(rows: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(rng.sample((*rows, *rows), 2 * len(rows)))

    steps = tuple(replace(step, tool_calls=shuffled(step.tool_calls)) for step in turn.steps)
    return replace(
        turn,
        steps=shuffled(steps),
        claims=shuffled(turn.claims),
        stop_requests=shuffled(turn.stop_requests),
        finish_checks=shuffled(turn.finish_checks),
    )


def test_every_rule_decides_a_case() -> None:
    """No rule stands in the list without a case that it decides."""
    assert {found_by(case.turn)[0] for case in own_cases()} == {rule.name for rule in RULES}


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair not in NEVER_BOTH], ids=" before ".join)
def test_rule_order(pair: tuple[str, str]) -> None:
    """Of two neighbouring rules the first decides a case that both find something in."""
    both = [found for case in own_cases() if (found := found_by(case.turn))[0] == pair[0] and pair[1] in found]
    assert both


@given(turns)
def test_rules_that_exclude_each_other(turn: TurnFacts) -> None:
    """Neighbours that need no order never both find something."""
    found = set(found_by(turn))
    assert [pair for pair in NEVER_BOTH if set(pair) <= found] == []


@given(st.data(), turns)
def test_order_and_doubling_never_count(data: st.DataObject, turn: TurnFacts) -> None:
    """The same evidence in any order, some of it twice, gets the same verdict."""
    assert classify(data.draw(rearranged(turn))) == classify(turn)


@given(st.data(), turns)
def test_splitting_never_counts(data: st.DataObject, turn: TurnFacts) -> None:
    """The same evidence in two records that are merged later gets the same verdict."""
    left, right = data.draw(halves(turn))
    assert classify(merge(left, right)) == classify(turn)


@given(st.data(), turns)
def test_torn_rows_never_count(data: st.DataObject, turn: TurnFacts) -> None:
    """Rows of steps that come in two parts get the verdict of the whole rows."""
    distinct = {(step.index, step.message_id): step for step in turn.steps}
    whole = replace(turn, steps=tuple(distinct.values()))
    parts = tuple(part for step in whole.steps for part in data.draw(torn(step)))
    assert classify(replace(whole, steps=parts)) == classify(whole)


def _speaks_for_itself(verdict: Verdict) -> bool:
    """Whether the facts alone, not a layer's word, led to the outcome."""
    return verdict.evidence is not Evidence.REPORTED and verdict.cause is not Cause.TEXT_MARKER


@given(turns)
def test_no_success_out_of_missing_claims(turn: TurnFacts) -> None:
    """What the facts show is no success, whatever claims are taken away from them."""
    timeless = replace(turn, claims=tuple(replace(claim, at=None, exit_code=None) for claim in turn.claims))
    verdict = classify(timeless)
    assume(verdict.outcome is not Outcome.COMPLETED and _speaks_for_itself(verdict))
    for kept in range(len(timeless.claims)):
        fewer = replace(timeless, claims=timeless.claims[:kept])
        assert classify(fewer).outcome is not Outcome.COMPLETED


@given(turns)
def test_nothing_recorded_is_no_success(turn: TurnFacts) -> None:
    """Without a claim, a turn whose last step has no finish of its own is never completed, unless an output tool answered."""
    silent = replace(
        turn, claims=(), steps=tuple(replace(s, finish_reason=None, raw_finish_reason=None) for s in turn.steps)
    )
    answered = any(call.final for step in silent.steps for call in step.tool_calls)
    assume(not answered)
    assert classify(silent).outcome is not Outcome.COMPLETED


@given(turns)
def test_a_standing_veto_is_no_success(turn: TurnFacts) -> None:
    """A turn whose last finish candidate stands vetoed never ends completed."""
    case = Case(settle(turn))
    assume(case.reading.vetoed)
    assert classify(turn).outcome is not Outcome.COMPLETED


@given(turns)
def test_what_holds_in_every_verdict(turn: TurnFacts) -> None:
    """A refusal never continues, a budget always can, and the parts of one verdict never disagree."""
    verdict = classify(turn)
    assert verdict.abnormal == (verdict.outcome in ABNORMAL)
    assert verdict.can_continue == (verdict.resumable is Resumable.YES and turn.attended is not False)
    assert (verdict.budget_kind is not None) == (verdict.outcome is Outcome.BUDGET)
    assert not (verdict.interrupted and verdict.finished)
    assert verdict.usage_complete == (Flag.USAGE_MISSING not in verdict.flags)
    assert len(set(verdict.flags)) == len(verdict.flags)
    match verdict.outcome:
        case Outcome.REFUSED | Outcome.COMPLETED | Outcome.YIELDED | Outcome.STOPPED | Outcome.CONTEXT_OVERFLOW:
            assert verdict.resumable is Resumable.NO
        case Outcome.BUDGET:
            assert verdict.resumable is Resumable.YES
        case Outcome.UNKNOWN:
            assert verdict.resumable is Resumable.UNKNOWN
        case _:
            assert (Flag.SIDE_EFFECT_UNKNOWN in verdict.flags) <= (
                verdict.resumable is not Resumable.YES or verdict.outcome is Outcome.LENGTH
            )
