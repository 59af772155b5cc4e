"""Every ending of the demonstration is the outcome that it is meant to show."""

import asyncio
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from turnout.demo.cast import CAST, Agent, Change, Ending
from turnout.demo.history import history
from turnout.demo.plan import TurnPlan, plan, rest_of, setting
from turnout.demo.play import play
from turnout.instrumentation import Recorder
from turnout.instrumentation.testing import MemorySink
from turnout.outcomes.classify import classify
from turnout.outcomes.facts import Limits
from turnout.outcomes.verdict import BudgetKind, Cause, Outcome
from turnout.runtime.virtual import VirtualClock, run_virtual

NOW = datetime(2026, 1, 20, 15, tzinfo=UTC)
START = 1_767_607_200_000_000_000


def planned(ending: Ending, agent: Agent = CAST[0], **changes: object) -> TurnPlan:
    """A turn of a few steps that ends so."""
    found = plan(replace(agent, typical_steps=20.0), NOW, NOW, random.Random(8))
    return replace(found, ending=ending, **changes)  # type: ignore[arg-type]  # fields of the plan by name


def verdict_of(turn: TurnPlan) -> tuple[Outcome, Cause | None, BudgetKind | None]:
    """Play it in virtual time and decide from what the recorder kept."""

    async def run() -> MemorySink:
        clock, sink = VirtualClock(START), MemorySink(traces=False)
        await play(turn, "turn", Recorder(sink, clock=clock.now), clock)
        return sink

    (facts,) = run_virtual(run()).turns
    verdict = classify(facts)
    return verdict.outcome, verdict.cause, verdict.budget_kind


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        (Ending.FINISH, Outcome.COMPLETED),
        (Ending.LENGTH, Outcome.LENGTH),
        (Ending.CUT_CALL, Outcome.LENGTH),
        (Ending.REFUSAL, Outcome.REFUSED),
        (Ending.SILENT_REFUSAL, Outcome.REFUSED),
        (Ending.FILTER, Outcome.REFUSED),
        (Ending.OVERFLOW, Outcome.CONTEXT_OVERFLOW),
        (Ending.UNAVAILABLE, Outcome.ERROR),
        (Ending.RATE_LIMIT, Outcome.ERROR),
        (Ending.DROPPED, Outcome.ERROR),
        (Ending.EMPTY, Outcome.ERROR),
        (Ending.STOP, Outcome.STOPPED),
        (Ending.HANDOFF, Outcome.YIELDED),
        (Ending.VETO, Outcome.BUDGET),
        (Ending.NO_REASON, Outcome.UNKNOWN),
    ],
)
def test_an_ending_is_its_outcome(ending: Ending, outcome: Outcome) -> None:
    """What befalls a turn is what the classifier concludes from its record."""
    assert verdict_of(planned(ending))[0] is outcome


def test_a_turn_longer_than_its_budget_is_cut_by_it() -> None:
    """More steps than the limit allows end as a spent step budget."""
    turn = planned(Ending.FINISH, limits=Limits(steps=2))
    assert len(turn.steps) > 2
    assert verdict_of(turn) == (Outcome.BUDGET, None, BudgetKind.STEPS)


def test_what_is_left_of_a_cut_turn_finishes() -> None:
    """A continued turn has the rest of the work and ends well."""
    turn = planned(Ending.FINISH, limits=Limits(steps=2))
    assert verdict_of(replace(rest_of(turn, random.Random(1)), limits=Limits(steps=30)))[0] is Outcome.COMPLETED


def test_a_change_holds_from_its_moment_on() -> None:
    """Releases and limits apply from when they came; before that the agent is as it was."""
    change = Change(timedelta(days=2), version="2", limits=Limits(steps=9))
    agent = replace(CAST[0], changes=(change,))
    before, after = (setting(agent, NOW - timedelta(days=days), NOW) for days in (3, 1))
    assert (before.version, before.limits) == (agent.version, agent.limits)
    assert (after.version, after.limits) == ("2", Limits(steps=9))


def test_a_history_is_that_of_its_seed() -> None:
    """The same seed plays the same turns, all within the window; another seed plays others."""
    turns = history(CAST, NOW, 3, days=2, scale=0.05)
    first = min(turn.started_at or 0 for turn in turns)
    assert first >= int((NOW - timedelta(days=2)).timestamp()) * 1_000_000_000
    assert turns == history(CAST, NOW, 3, days=2, scale=0.05)
    assert turns != history(CAST, NOW, 4, days=2, scale=0.05)


def test_no_two_answers_of_a_history_have_the_same_id() -> None:
    """As of a provider: an id that two turns tell of is one call, and counts once."""
    turns = history(CAST, NOW, 3, days=1, scale=0.05)
    ids = [step.message_id for turn in turns for step in turn.steps if step.message_id is not None]
    assert ids
    assert len(set(ids)) == len(ids)


def test_a_worker_that_dies_leaves_an_open_turn() -> None:
    """In the history a dead worker's turn has no end of any kind."""
    mortal = [replace(agent, weights={Ending.DIE: 1.0}, changes=(), typical_steps=3.0) for agent in CAST[:1]]
    turns = history(mortal, NOW, 3, days=1, scale=0.1)
    assert {(turn.open, turn.ended_at, turn.claims) for turn in turns if turn.continues_turn_id is None} == {
        (True, None, ())
    }
    assert {classify(turn).outcome for turn in turns if turn.continues_turn_id is None} == {Outcome.INTERRUPTED}


def test_virtual_time_leaves_no_task_behind() -> None:
    """A stopped turn's loop is empty at its end."""

    async def run() -> int:
        clock = VirtualClock(START)
        await play(planned(Ending.STOP), "turn", Recorder(MemorySink(traces=False), clock=clock.now), clock)
        await asyncio.sleep(1)
        return len(asyncio.all_tasks())

    assert run_virtual(run()) == 1
