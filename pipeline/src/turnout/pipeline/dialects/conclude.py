"""What a dialect knows of a whole turn: why its loop stopped, which requests were cut, which tool calls wait.

Nothing here decides an outcome: facts that the spans imply together are filled in, and what a runtime's own rules leave as the only
explanation becomes a claim of that runtime.
"""

from dataclasses import replace

from turnout.outcomes.facts import Claim, Layer, Step, ToolCall, ToolStatus, TurnFacts, YieldRecord
from turnout.pipeline.dialects import frameworks
from turnout.pipeline.dialects.compose import Call, Turn

_ANSWERS_SHOW = frozenset({frameworks.PYDANTIC_AI, frameworks.STRANDS, frameworks.AI_SDK})
"""Dialects in which every request that was answered shows something of its answer."""

_TOOL_WORDS = frozenset({"tool-calls", "tool_calls", "tool_call", "tool_use", "function_call"})


def conclude(turn: Turn) -> TurnFacts:
    """The facts of one turn with what its dialect knows."""
    facts = replace(turn.facts, steps=_cut_requests(turn))
    facts = _final_call(turn, facts)
    return _handed_over(turn, facts)


def _cut_requests(turn: Turn) -> tuple[Step, ...]:
    """A request of which no answer and no failure is known was cut in flight, where the dialect would have shown either."""
    shows = turn.source in _ANSWERS_SHOW or any(_answered(call) for call in turn.calls)
    return tuple(
        replace(call.step, aborted=True)
        if shows and _answered(call) is False and call.step.aborted is None
        else call.step
        for call in turn.calls
    )


def _answered(call: Call) -> bool | None:
    return call.node.reading.answered if call.node is not None else None


def _final_call(turn: Turn, facts: TurnFacts) -> TurnFacts:
    """A run that returned on a request for tools without running one of them: that call was the answer."""
    if not turn.calls or not any(head.reading.returned for head in turn.draft.heads):
        return facts
    last = turn.calls[-1]
    if last.node is None or (last.step.finish_reason or "").lower() not in _TOOL_WORDS:
        return facts
    ran = {call.id for call in last.step.tool_calls}
    answers = tuple(
        ToolCall(id=call.id, name=call.name, status=ToolStatus.OK, final=True, arguments_valid=call.arguments_valid)
        for call in last.node.reading.asked
        if call.id not in ran
    )
    steps = (*facts.steps[:-1], replace(facts.steps[-1], tool_calls=(*facts.steps[-1].tool_calls, *answers)))
    return replace(facts, steps=steps)


def _handed_over(turn: Turn, facts: TurnFacts) -> TurnFacts:
    """A turn that handed over to another agent has yielded to it."""
    draft = turn.draft
    handing = [node for node in (*draft.tools, *draft.inner) if node.reading.handoff_to is not None]
    if not handing or facts.claims:
        return facts
    last = max(handing, key=lambda node: node.span.end or 0)
    if turn.calls and (turn.calls[-1].step.started_at or 0) > (last.span.end or 0):
        return facts  # it went on working after the other agent
    claim = Claim(by=Layer.RUNTIME, reason="handoff", at=last.span.end)
    call_id = last.reading.tool.id if last.reading.tool else None
    return replace(facts, claims=(claim,), yield_=YieldRecord(reason="handoff", tool_call_id=call_id))
