"""What a spent budget does when nobody can press Continue."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from turnout.instrumentation.recorder import Recorder
from turnout.instrumentation.testing import MemorySink
from turnout.outcomes.classify import classify
from turnout.outcomes.decide import BudgetReason, Finish, StopReason, Terminate
from turnout.outcomes.facts import Layer, Limits, Usage
from turnout.outcomes.verdict import Flag, Outcome
from turnout.runtime.agent import Agent, TurnTask
from turnout.runtime.messages import Origin, UserMessage
from turnout.runtime.scripted import CallsTools, RunsOut, Says, Scripted, ScriptedCall, ScriptedModel
from turnout.runtime.transcript import MemoryStore
from turnout.runtime.turn import TurnResult
from turnout.runtime.unattended import (
    AlertSomebody,
    Chain,
    ContinueWithin,
    Disposition,
    FailIt,
    Policy,
    run_unattended,
)
from turnout.runtime.virtual import VirtualClock, run_virtual

if TYPE_CHECKING:
    from collections.abc import Iterator

CALL = CallsTools(calls=(ScriptedCall("nothing"),), usage=Usage(input_tokens=90, output_tokens=10), seconds=2)
SAY = Says(text="Done.", usage=Usage(input_tokens=90, output_tokens=10))


class Office:
    """Runs a task of at most two steps a turn under a policy."""

    def __init__(self, policy: Policy, script: list[Scripted], limits: Limits | None = None) -> None:
        self.store = MemoryStore()
        self.alerts: list[TurnResult] = []
        self.sink = MemorySink()
        clock = VirtualClock(0)
        self.model = ScriptedModel(script, clock=clock)
        turn_ids: Iterator[str] = iter(["t2", "t3", "t4", "t5"])

        async def main() -> Chain:
            return await run_unattended(
                Agent(name="night", model=self.model),
                TurnTask(turn_id="t1", messages=(UserMessage("Triage."),), limits=limits or Limits(steps=2)),
                policy,
                turn_ids=turn_ids,
                alert=self.alerts.append,
                store=self.store,
                recorder=Recorder(self.sink, clock=clock.now),
                clock=clock,
            )

        self.chain = run_virtual(main())
        self.reasons = [result.decision.reason for result in self.chain.results]

    def dispositions(self) -> list[str | None]:
        segments = [self.store.segment(result.facts.turn_id) for result in self.chain.results]
        return [segment.disposition for segment in segments if segment is not None]

    def told(self) -> list[str | None]:
        """What telemetry says of the turns whose budget was spent."""
        return [claim.status for turn in self.sink.turns for claim in turn.claims if claim.by is Layer.HOST]


def test_a_task_that_ends_needs_no_policy() -> None:
    """Its turn stands as unattended, and nothing follows."""
    office = Office(FailIt(), [CALL, SAY])
    assert (office.chain.disposition, office.reasons) == (Disposition.ENDED, [Finish.END_TURN])
    assert office.chain.results[0].facts.attended is False
    assert classify(office.chain.results[0].facts).can_continue is False
    assert (office.dispositions(), office.told()) == (["ended"], [])


@pytest.mark.parametrize(
    ("policy", "disposition", "alerts"),
    [(FailIt(), Disposition.FAILED, 0), (AlertSomebody(), Disposition.ALERTED, 1)],
    ids=["fail", "alert"],
)
def test_a_spent_budget_fails_or_alerts(policy: Policy, disposition: Disposition, alerts: int) -> None:
    """One turn, its budget, and what the policy made of it on record."""
    office = Office(policy, [CALL, CALL])
    assert (office.chain.disposition, len(office.alerts)) == (disposition, alerts)
    assert (office.reasons, office.dispositions()) == ([BudgetReason.STEP_LIMIT], [disposition])
    assert office.told() == [disposition]


def test_what_the_policy_did_is_in_telemetry() -> None:
    """Beside the loop's own word, with the same reason, as what became known after the end; the verdict stays what it was."""
    office = Office(ContinueWithin(1, Limits(steps=20), AlertSomebody()), [CALL] * 4)
    assert office.told() == ["continued", "alerted"]
    assert [len(office.sink.ended), len(office.sink.late)] == [2, 2]
    for turn, result in zip(office.sink.turns, office.chain.results, strict=True):
        said = [(claim.by, claim.reason, claim.status) for claim in turn.claims]
        assert said == [(claim.by, claim.reason, claim.status) for claim in result.facts.claims]
    ends = [(verdict.outcome, verdict.flags, verdict.conflicts) for verdict in office.sink.verdicts]
    assert ends == [(Outcome.BUDGET, ends[0][1], ())] * 2
    assert Flag.TERMINAL_AFTER_TERMINAL not in ends[0][1]


def test_it_goes_on_by_itself() -> None:
    """Each further turn continues the one before, reads why it ended, and does its work; all of it is on record."""
    office = Office(ContinueWithin(3, Limits(steps=20), FailIt()), [CALL, CALL, CALL, CALL, SAY])
    assert office.reasons == [BudgetReason.STEP_LIMIT, BudgetReason.STEP_LIMIT, Finish.END_TURN]
    assert office.chain.disposition is Disposition.ENDED
    assert office.dispositions() == ["continued", "continued", "ended"]
    facts = [result.facts for result in office.chain.results]
    assert [(turn.turn_id, turn.continues_turn_id, turn.attended) for turn in facts] == [
        ("t1", None, False),
        ("t2", "t1", False),
        ("t3", "t2", False),
    ]
    origins = [message.origin for message in office.model.requests[2].messages if isinstance(message, UserMessage)]
    assert origins == [Origin.PERSON, Origin.MARKER, Origin.PERSON]
    assert office.model.requests[2].messages[0] == UserMessage("Triage.")


@pytest.mark.parametrize(
    ("then", "disposition", "alerts"),
    [(FailIt(), Disposition.FAILED, 0), (AlertSomebody(), Disposition.ALERTED, 1)],
    ids=["fail", "alert"],
)
def test_it_goes_on_n_times_and_no_more(then: FailIt | AlertSomebody, disposition: Disposition, alerts: int) -> None:
    """With two continues allowed there are three turns; what follows is on record."""
    office = Office(ContinueWithin(2, Limits(steps=99), then), [CALL] * 9)
    assert len(office.chain.results) == 3
    assert (office.chain.disposition, len(office.alerts)) == (disposition, alerts)
    assert office.dispositions() == ["continued", "continued", disposition]


TOTALS: list[tuple[Limits, int, str]] = [
    (Limits(steps=3), 3, "step_limit"),
    (Limits(total_tokens=300), 3, "token_budget"),
    (Limits(tool_calls=3), 3, "tool_calls_limit"),
    (Limits(seconds=5), 3, "time_budget"),
]


@pytest.mark.parametrize(("total", "requests", "reason"), TOTALS, ids=[reason for _, _, reason in TOTALS])
def test_the_total_holds_over_all_turns(total: Limits, requests: int, reason: str) -> None:
    """The last turn gets what is left of the total and no more; the limit that it hits is on its record."""
    office = Office(ContinueWithin(99, total, FailIt()), [CALL] * 9)
    assert len(office.model.requests) == requests
    assert office.reasons == ["step_limit", reason]
    assert office.chain.disposition is Disposition.FAILED


def test_only_a_spent_budget_is_met_by_the_policy() -> None:
    """A cut answer is no spent budget; nobody is there to continue it, and it is not continued."""
    office = Office(ContinueWithin(9, Limits(steps=99), AlertSomebody()), [RunsOut(text="Half")])
    assert (office.chain.disposition, office.alerts) == (Disposition.ENDED, [])
    assert classify(office.chain.results[0].facts).outcome is Outcome.LENGTH


def test_a_cancelled_chain_stops() -> None:
    """Whoever cancels the task cancels the turn at work, and no further one starts."""
    clock, store = VirtualClock(0), MemoryStore()

    async def main() -> None:
        running = asyncio.create_task(
            run_unattended(
                Agent(name="night", model=ScriptedModel([CALL] * 9, clock=clock)),
                TurnTask(turn_id="t1", messages=(UserMessage("Triage."),), limits=Limits(steps=2)),
                ContinueWithin(9, Limits(steps=99), FailIt()),
                turn_ids=iter(["t2", "t3"]),
                alert=lambda _: None,
                store=store,
                clock=clock,
            )
        )
        await asyncio.sleep(5)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    run_virtual(main())
    last = store.segment("t2")
    assert last is not None
    assert [claim.reason for claim in last.facts.claims] == [Terminate(StopReason.CANCELLED).reason]
    assert store.segment("t3") is None
