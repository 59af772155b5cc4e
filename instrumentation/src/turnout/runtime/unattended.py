"""Turns that nobody watches: what a spent budget does when nobody can press Continue."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias, assert_never

from turnout.outcomes.decide import ends_by_budget
from turnout.outcomes.facts import Limits, TurnFacts
from turnout.runtime.agent import Agent, TurnTask
from turnout.runtime.budget import left, within
from turnout.runtime.clock import Clock
from turnout.runtime.continuation import next_turn
from turnout.runtime.recorder import Recorder
from turnout.runtime.transcript import Entry, MemoryStore, TranscriptStore, keep
from turnout.runtime.turn import TurnResult, run_turn

CONTINUE = "Continue."
"""What nobody is there to say."""


@dataclass(frozen=True, slots=True)
class FailIt:
    """The task has failed: it goes back to whoever queued it."""


@dataclass(frozen=True, slots=True)
class AlertSomebody:
    """The task stays as it is, and somebody is told."""


@dataclass(frozen=True, slots=True)
class ContinueWithin:
    """Go on by itself, at most ``times`` more turns and within a total budget over all of them; ``then`` is what follows."""

    times: int
    total: Limits
    then: FailIt | AlertSomebody


Policy: TypeAlias = ContinueWithin | FailIt | AlertSomebody


class Disposition(StrEnum):
    """What became of an unattended task after a turn of it."""

    ENDED = "ended"
    CONTINUED = "continued"
    FAILED = "failed"
    ALERTED = "alerted"


@dataclass(frozen=True, slots=True)
class Chain:
    """The turns that a task took, and what became of it."""

    results: tuple[TurnResult, ...]
    disposition: Disposition


async def run_unattended(
    agent: Agent,
    task: TurnTask,
    policy: Policy,
    *,
    turn_ids: Iterator[str],
    alert: Callable[[TurnResult], None],
    store: TranscriptStore | None = None,
    recorder: Recorder | None = None,
    clock: Clock | None = None,
) -> Chain:
    """Take a task's turns; each spent budget is met by the policy, and what the policy did stands in the store and on the record.

    Each turn is recorded as unattended, and each but the first as the continuation of the one before.
    """
    store = store or MemoryStore()
    results: list[TurnResult] = []
    asked = task.limits
    task = replace(task, attended=False, limits=_limited(policy, asked, ()))
    while True:
        result = await run_turn(agent, task, recorder=recorder, store=store, clock=clock)
        turns = [*(each.facts for each in results), result.facts]
        disposition = Disposition.ENDED
        if ends_by_budget(result.decision):
            disposition = _disposition(policy, turns)
            result = result.disposed(disposition)
        results.append(result)
        entry = _recorded(store, task.turn_id, disposition)
        if disposition is Disposition.ALERTED:
            alert(result)
        if disposition is not Disposition.CONTINUED:
            return Chain(tuple(results), disposition)
        limits = _limited(policy, asked, turns)
        task = next_turn(result.messages, entry, CONTINUE, turn_id=next(turn_ids), limits=limits)


def _disposition(policy: Policy, turns: Sequence[TurnFacts]) -> Disposition:
    match policy:
        case FailIt():
            return Disposition.FAILED
        case AlertSomebody():
            return Disposition.ALERTED
        case ContinueWithin(times, total, then):
            goes_on = len(turns) <= times and left(total, turns) is not None
            return Disposition.CONTINUED if goes_on else _disposition(then, turns)
        case _:
            assert_never(policy)


def _limited(policy: Policy, limits: Limits, turns: Sequence[TurnFacts]) -> Limits:
    """A turn's own limits, and no more than the total leaves."""
    rest = left(policy.total, turns) if isinstance(policy, ContinueWithin) else None
    return limits if rest is None else within(limits, rest)


def _recorded(store: TranscriptStore, turn_id: str, disposition: Disposition) -> Entry:
    entry = store.segment(turn_id)
    assert entry is not None, f"the turn {turn_id} was kept by this store and is gone from it"
    return keep(store, replace(entry, disposition=disposition, revision=entry.revision + 1))
