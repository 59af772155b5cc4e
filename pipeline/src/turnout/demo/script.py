"""A plan as a script for the scripted model, and as the tools that it calls."""

import random
from collections.abc import Sequence

from turnout.demo.cast import Ending
from turnout.demo.plan import CHARS_PER_TOKEN, PlannedCall, PlannedStep, TurnPlan
from turnout.outcomes.decide import TurnYield, YieldReason
from turnout.outcomes.facts import Usage
from turnout.runtime.clock import Clock
from turnout.runtime.scripted import (
    CallsTools,
    Drops,
    EndsWith,
    Filtered,
    Overflows,
    Refuses,
    Rejects,
    RunsOut,
    Says,
    Scripted,
    ScriptedCall,
)
from turnout.runtime.tools import Tool, ToolContext, ToolOutput, ToolYield

HANDOFF_TOOL = "ask_person"
OVERLOADED, SLOW_DOWN = 529, 429
ATTEMPTS = 3
LONG_SECONDS = 300.0


def script(plan: TurnPlan) -> list[Scripted]:
    """The entries that the model plays, long enough for any budget."""
    working = [_calls(step) for step in plan.steps[:-1]]
    answer = plan.steps[-1]
    if plan.ending is Ending.FINISH:
        return [*working, _says(answer)]
    reached = working[: _befalls_after(plan)]
    return [*reached, *_befalls(plan, answer)]


def _befalls_after(plan: TurnPlan) -> int:
    """How many steps go well before the ending comes; answers are cut and refused at the end, other things happen on the way."""
    at_the_end = {Ending.LENGTH, Ending.VETO, Ending.REFUSAL, Ending.FILTER, Ending.EMPTY, Ending.NO_REASON}
    working = len(plan.steps) - 1
    return working if plan.ending in at_the_end else random.Random(plan.conversation).randint(0, working)


def _befalls(plan: TurnPlan, answer: PlannedStep) -> list[Scripted]:
    capped = _usage(answer, output_tokens=plan.max_output_tokens)
    cut_call = ScriptedCall(plan.agent.tools[-1], {"value": "x" * 40}, cut=True)
    ask = ScriptedCall(HANDOFF_TOOL)
    # A person or the machine ends these two from outside, while this is on its way.
    endless = Says(text=_text(answer.output_tokens), usage=_usage(answer), seconds=LONG_SECONDS)
    entries: dict[Ending, list[Scripted]] = {
        Ending.LENGTH: [RunsOut(text=_text(plan.max_output_tokens), usage=capped, seconds=answer.seconds)],
        Ending.CUT_CALL: [RunsOut(text="", calls=(cut_call,), usage=capped, seconds=answer.seconds)],
        Ending.REFUSAL: [Refuses(text=_text(20), category=plan.category, usage=_usage(answer, output_tokens=20))],
        Ending.SILENT_REFUSAL: [Refuses(text="", category=plan.category, usage=_usage(answer, output_tokens=0))],
        Ending.FILTER: [Filtered(text=_text(12), usage=_usage(answer, output_tokens=12))],
        Ending.OVERFLOW: [Overflows()],
        Ending.UNAVAILABLE: [Rejects(status=OVERLOADED)] * ATTEMPTS,
        Ending.RATE_LIMIT: [Rejects(status=SLOW_DOWN, retry_after=0.2)] * ATTEMPTS,
        Ending.DROPPED: [Drops(text=_text(30), seconds=answer.seconds)] * ATTEMPTS,
        Ending.EMPTY: [Says(text="", usage=_usage(answer, output_tokens=0))],
        Ending.NO_REASON: [EndsWith(raw_finish_reason=None, text=_text(60), usage=_usage(answer))],
        Ending.HANDOFF: [CallsTools(calls=(ask,), usage=_usage(answer), seconds=answer.seconds)],
        Ending.VETO: [_says(answer)] * (plan.limits.steps or 1),
        Ending.STOP: [endless],
        Ending.DIE: [endless],
    }
    return entries[plan.ending]


def _says(step: PlannedStep) -> Says:
    return Says(text=_text(step.output_tokens), usage=_usage(step), seconds=step.seconds)


def _calls(step: PlannedStep) -> CallsTools:
    calls = tuple(ScriptedCall(call.tool, {"fails": call.fails, "seconds": call.seconds}) for call in step.calls)
    return CallsTools(calls=calls, usage=_usage(step), seconds=step.seconds)


def _text(tokens: int) -> str:
    return "." * (tokens * CHARS_PER_TOKEN)


def _usage(step: PlannedStep, *, output_tokens: int | None = None) -> Usage:
    return Usage(
        input_tokens=step.input_tokens,
        output_tokens=step.output_tokens if output_tokens is None else output_tokens,
        cache_read_tokens=step.cached_tokens,
    )


def tools(names: Sequence[str], mutating: frozenset[str], clock: Clock) -> tuple[Tool, ...]:
    """The tools of an agent, which do what the plan put into their arguments, and one that asks a person."""

    async def work(context: ToolContext) -> ToolOutput:
        call = PlannedCall("", bool(context.arguments.get("fails")), float(context.arguments.get("seconds", 0.0)))
        await clock.sleep(call.seconds)
        return ToolOutput("", error_type="backend_unavailable" if call.fails else None)

    async def hand_over(context: ToolContext) -> ToolYield:
        del context
        return ToolYield(TurnYield(YieldReason.PERMISSION_HANDOFF), "")

    made = [Tool(name=name, run=work, mutating=name in mutating) for name in names]
    return (*made, Tool(name=HANDOFF_TOOL, run=hand_over, mutating=False))
