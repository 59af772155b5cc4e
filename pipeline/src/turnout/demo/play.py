"""Play one planned turn through the runtime, whatever the clock and the recorder."""

import asyncio

from turnout.demo.cast import Ending
from turnout.demo.plan import TurnPlan
from turnout.demo.script import ATTEMPTS, script, tools
from turnout.outcomes.decide import StopReason, StopRequest
from turnout.outcomes.facts import StopMode, TurnFacts
from turnout.runtime.agent import Agent, TurnTask
from turnout.runtime.clock import Clock
from turnout.runtime.hooks import Allow, Answer, Candidate, FinishHook, Veto
from turnout.runtime.messages import UserMessage
from turnout.runtime.recorder import Recorder
from turnout.runtime.request import RetryPolicy
from turnout.runtime.scripted import ScriptedModel
from turnout.runtime.turn import Turn, start_turn

USER_STOP = StopRequest(StopMode.IMMEDIATE, StopReason.USER_STOP)


async def play(
    plan: TurnPlan, turn_id: str, recorder: Recorder, clock: Clock, continues: str | None = None
) -> TurnFacts:
    """Run a turn to its end and return its facts as the loop keeps them; a person who stops it does so on the way."""
    turn = start_turn(_agent(plan, turn_id, clock), _task(plan, turn_id, continues), recorder=recorder, clock=clock)
    stopping = asyncio.ensure_future(_stop_later(turn, plan, clock)) if plan.ending is Ending.STOP else None
    try:
        return (await turn).facts
    finally:
        if stopping is not None:
            stopping.cancel()


async def play_until_death(plan: TurnPlan, turn_id: str, recorder: Recorder, clock: Clock) -> None:
    """Run a turn until its last request is on the way, where the caller ends the process, and with it the turn."""
    start_turn(_agent(plan, turn_id, clock), _task(plan, turn_id, None), recorder=recorder, clock=clock)
    await clock.sleep(last_request_at(plan))


def last_request_at(plan: TurnPlan) -> float:
    """Seconds after which every working step is over and the last request has been sent."""
    working = sum(step.seconds + max(call.seconds for call in step.calls) for step in plan.steps[:-1])
    return working + 0.3


async def _stop_later(turn: Turn, plan: TurnPlan, clock: Clock) -> None:
    await clock.sleep(0.7 * last_request_at(plan))
    turn.stop(USER_STOP)


def _agent(plan: TurnPlan, turn_id: str, clock: Clock) -> Agent:
    model = ScriptedModel(
        script(plan),
        name=plan.model.name,
        provider=plan.model.provider,
        api=plan.model.api,
        clock=clock,
        pieces=1,
        answers=turn_id,
    )
    return Agent(
        name=plan.agent.name,
        version=plan.version,
        model=model,
        tools=tools(plan.agent.tools, plan.agent.mutating, clock),
        finish_hooks=(FinishHook("required-output", _vetoes if plan.ending is Ending.VETO else _allows),),
        max_output_tokens=plan.max_output_tokens,
        retry=RetryPolicy(max_attempts=ATTEMPTS, first_wait_seconds=0.2),
    )


def _task(plan: TurnPlan, turn_id: str, continues: str | None) -> TurnTask:
    return TurnTask(
        turn_id=turn_id,
        messages=(UserMessage(""),),
        limits=plan.limits,
        attended=plan.agent.attended,
        conversation_id=plan.conversation,
        continues=continues,
    )


async def _allows(candidate: Candidate) -> Answer:
    del candidate
    return Allow()


async def _vetoes(candidate: Candidate) -> Answer:
    del candidate
    return Veto("The required output is missing.")
