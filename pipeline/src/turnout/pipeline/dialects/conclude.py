"""What a dialect knows of a whole turn: why its loop stopped, which requests were cut, which tool calls wait.

Nothing here decides an outcome: facts that the spans imply together are filled in, and what a runtime's own rules leave as the only
explanation becomes a claim of that runtime.
"""

from turnout.outcomes.facts import Claim, Instant, Layer, Step, ToolCall, ToolStatus, TurnFacts, YieldRecord
from turnout.outcomes.quick import replace
from turnout.pipeline.dialects import frameworks, genai, google_adk, openinference, openllmetry, vercel
from turnout.pipeline.dialects.compose import Call, Turn
from turnout.pipeline.dialects.values import mapping, model, text

_ANSWERS_SHOW = frozenset({frameworks.PYDANTIC_AI, frameworks.STRANDS, frameworks.AI_SDK, vercel.SOURCE})
"""Dialects in which every request that was answered shows something of its answer."""
_AI_SDK = frozenset({frameworks.AI_SDK, vercel.SOURCE})
_AGENTS_SDK = "openai_agents"
"""How the scopes of the instrumentations of openai-agents end."""
_COME_BACK = frozenset({openllmetry.SOURCE, frameworks.PYDANTIC_AI})
_RETURNED = frozenset({"success", "completed"})
_WORKFLOWS = frozenset({google_adk.SOURCE, frameworks.AGENT_FRAMEWORK, frameworks.STRANDS})
_SETTLED = frozenset({ToolStatus.OK, ToolStatus.ERROR, ToolStatus.DENIED})
_TOOL_WORDS = frozenset({"tool-calls", "tool_calls", "tool_call", "tool_use", "function_call"})


def conclude(turn: Turn) -> TurnFacts:
    """The facts of one turn with what its dialect knows."""
    facts = turn.facts
    for rule in _RULES:
        facts = rule(turn, facts)
    return facts


def _cut_requests(turn: Turn, facts: TurnFacts) -> TurnFacts:
    """A request of which no answer and no failure is known was cut in flight, where the dialect would have shown either."""
    silent = [call for call in turn.calls if _answered(call) is False and call.step.aborted is None]
    if not silent or not (turn.source in _ANSWERS_SHOW or any(_answered(call) for call in turn.calls)):
        return facts
    cut = {call.step.index for call in silent}
    return replace(facts, steps=tuple(replace(s, aborted=True) if s.index in cut else s for s in facts.steps))


def _left_behind(turn: Turn, facts: TurnFacts) -> TurnFacts:
    """A pydantic-ai run that neither returned nor failed was cancelled, or its stream left: its last request was cut, where it tells no count.

    Before 1.1 no request told its end, and a run that streamed no result; only the counts tell that it was answered.
    """
    heads = turn.draft.heads
    if turn.source != frameworks.PYDANTIC_AI or not heads or not turn.calls or facts.claims:
        return facts
    last = facts.steps[-1]
    if any(head.reading.returned for head in heads) or last.finish_reason or last.error or last.usage or last.aborted:
        return facts
    return replace(facts, steps=(*facts.steps[:-1], replace(last, aborted=True)))


def _answered(call: Call) -> bool | None:
    return call.node.reading.answered if call.node is not None else None


def _last_finish(turn: Turn, facts: TurnFacts) -> TurnFacts:
    """What the turn span of the AI SDK says of the last request, where that was not exported: its finish reason and its model."""
    last = turn.calls[-1].node if turn.calls else None
    if last is None or not last.reading.stand_in or not turn.draft.heads:
        return facts
    head = turn.draft.heads[0]
    step = facts.steps[-1]
    filled = replace(
        step,
        finish_reason=step.finish_reason or head.reading.finish,
        model=step.model or model(head.span.attributes, "gen_ai.request.model"),
    )
    return replace(facts, steps=(*facts.steps[:-1], filled))


def _told_by_turn(turn: Turn, facts: TurnFacts) -> TurnFacts:
    """The last response of a turn whose requests no span tells, as the turn's own span has it."""
    head = next((head for head in turn.draft.heads if head.reading.finish), None)
    if head is None or facts.claims or facts.open or any(call.node is not None for call in turn.calls):
        return facts
    a = head.span.attributes
    step = Step(
        index=len(facts.steps) + 1,
        provider=genai.provider(a) or text(a, "llm.provider"),
        model=model(a, *genai.MODEL, "llm.model_name"),
        ended_at=head.span.end,
        finish_reason=head.reading.finish,
        usage=None if facts.steps else head.reading.usage,
    )
    return replace(facts, steps=(*facts.steps, step))


def _cut_tools(turn: Turn, facts: TurnFacts) -> TurnFacts:
    """Tool calls of openai-agents that only their times tell: all its spans end OK.

    A call that ends after its agent was left behind by a cancelled run; one that ended in time without a result waits for a person.
    """
    head = turn.draft.heads[0].span if turn.draft.heads else None
    if head is None or not head.scope.name.endswith(_AGENTS_SDK):
        return facts
    return replace(
        facts,
        steps=tuple(
            replace(s, tool_calls=tuple(_cut_tool(c, head.end or 0) for c in s.tool_calls)) for s in facts.steps
        ),
    )


def _cut_tool(call: ToolCall, end: Instant) -> ToolCall:
    late = (call.ended_at or 0) > end
    if late and call.status is ToolStatus.OK:
        return replace(call, status=ToolStatus.UNKNOWN)
    if not late and call.status is ToolStatus.UNKNOWN:
        return replace(call, status=ToolStatus.AWAITING_APPROVAL)
    return call


def _asks_for_tools(step: Step) -> bool:
    return (step.finish_reason or "").lower() in _TOOL_WORDS


def _only_asks(call: Call) -> bool:
    """Whether a response that tells no end asks for calls."""
    return call.step.finish_reason is None and call.node is not None and bool(call.node.reading.asked)


def _not_run(turn: Turn) -> tuple[ToolCall, ...]:
    """The calls that the last response asks for and of which no run is recorded."""
    last = turn.calls[-1] if turn.calls else None
    if last is None or last.node is None:
        return ()
    ran = {call.id for call in last.step.tool_calls}
    return tuple(call for call in last.node.reading.asked if call.id not in ran)


def _with_calls(facts: TurnFacts, calls: tuple[ToolCall, ...]) -> TurnFacts:
    last = facts.steps[-1]
    return replace(facts, steps=(*facts.steps[:-1], replace(last, tool_calls=(*last.tool_calls, *calls))))


def _final_call(turn: Turn, facts: TurnFacts) -> TurnFacts:
    """A run that returned on a request for tools without running one of them: that call was the answer, or waits."""
    heads = (head for head in turn.draft.heads if head.reading.returned)
    head = next((h for h in heads if turn.source == frameworks.PYDANTIC_AI or h.reading.structured), None)
    if head is None or not turn.calls or not (_asks_for_tools(turn.calls[-1].step) or _only_asks(turn.calls[-1])):
        return facts
    deferred = {"calls", "approvals"} <= mapping(head.span.attributes.get("final_result")).keys()
    status = ToolStatus.AWAITING_CLIENT if deferred else ToolStatus.OK
    return _with_calls(
        facts, tuple(replace(call, status=status, final=not deferred or None) for call in _not_run(turn))
    )


def _answered_by_tool(turn: Turn, facts: TurnFacts) -> TurnFacts:
    """A run whose last step called its output tool is done."""
    del turn
    done = facts.steps and any(call.final and call.status is ToolStatus.OK for call in facts.steps[-1].tool_calls)
    if facts.claims or facts.open or not done:
        return facts
    return replace(facts, claims=(Claim(by=Layer.RUNTIME, reason="completed", at=facts.ended_at),))


def _forced_answer(turn: Turn, facts: TurnFacts) -> TurnFacts:
    """A smolagents run whose steps are spent asks once more, beside its steps, for an answer without tools."""
    head = next((head for head in turn.draft.heads if head.reading.limits is not None), None)
    if (
        head is None
        or not head.span.scope.name.endswith(openinference.SMOLAGENTS)
        or facts.claims
        or facts.limits is None
    ):
        return facts
    last = turn.calls[-1].node
    if last is None or last.span.parent_id != head.span.span_id or len(facts.steps) <= (facts.limits.steps or 0):
        return facts
    forced = replace(facts.steps[-1], forced_final=True)
    claim = Claim(by=Layer.RUNTIME, reason="step_limit", at=facts.ended_at)
    return replace(facts, steps=(*facts.steps[:-1], forced), claims=(claim,))


def _waiting_for_client(turn: Turn, facts: TurnFacts) -> TurnFacts:
    """An AI SDK turn that ended without an error on a call that was not run: the tool is the client's, or waits for its word."""
    if turn.source not in _AI_SDK or not _closed_on_tools(turn):
        return facts
    return _with_calls(facts, tuple(replace(call, status=ToolStatus.AWAITING_CLIENT) for call in _not_run(turn)))


def _closed_on_tools(turn: Turn) -> bool:
    """The turn span itself ends, without a failure, on a request for tools, and so does the last request."""
    finish = next((head.reading.finish for head in turn.draft.heads if head.reading.finish), None)
    closed = finish is not None and finish.lower() in _TOOL_WORDS and not turn.facts.claims
    return closed and bool(turn.calls) and _asks_for_tools(turn.calls[-1].step)


def _stopped_by_count(turn: Turn, facts: TurnFacts) -> TurnFacts:
    """An AI SDK loop that ends with all tools run was ended by its stop condition.

    A condition on certain tools would have ended it when they first ran; so where all of them ran before, it was one on the number of
    steps.
    """
    if turn.source not in _AI_SDK or not _closed_on_tools(turn) or _not_run(turn):
        return facts
    last = facts.steps[-1].tool_calls
    earlier = {call.name for step in facts.steps[:-1] for call in step.tool_calls}
    if not last or any(call.status not in _SETTLED or call.name not in earlier for call in last):
        return facts
    return replace(facts, claims=(Claim(by=Layer.RUNTIME, reason="step_limit", at=facts.ended_at),))


def _unproven_provider(turn: Turn, facts: TurnFacts) -> TurnFacts:
    """Steps without their provider, where that only names a client.

    Whatever speaks OpenAI's protocol (vLLM, Ollama, DeepSeek) is told as ``openai``, and ``length`` means another thing in each: unless
    the provider's own word is recorded, the name would prove a cut that can be continued.
    """
    del turn
    if not any(_is_doubtful(step) for step in facts.steps):
        return facts
    return replace(facts, steps=tuple(replace(s, provider=None) if _is_doubtful(s) else s for s in facts.steps))


def _is_doubtful(step: Step) -> bool:
    return (
        (step.finish_reason or "").lower() == "length" and step.provider == "openai" and step.raw_finish_reason is None
    )


def _came_back(turn: Turn, facts: TurnFacts) -> TurnFacts:
    """A workflow that only runs agents, and came back without a failure, says that it is done; it has no last step of its own."""
    if turn.source not in _WORKFLOWS or facts.steps or facts.claims or not facts.children_expected or facts.open:
        return facts
    return replace(facts, claims=(Claim(by=Layer.RUNTIME, reason="completed", at=facts.ended_at),))


def _unproven_success(turn: Turn, facts: TurnFacts) -> TurnFacts:
    """A run that came back says so whatever the reply was, cut and filtered ones too; without the end of that reply it proves nothing."""
    if turn.source not in _COME_BACK or not facts.steps or not any(head.reading.returned for head in turn.draft.heads):
        return facts
    last = facts.steps[-1]
    told = (last.finish_reason, last.raw_finish_reason, last.refusal, last.error, last.aborted)
    if any(told) or any(call.final for call in last.tool_calls):
        return facts
    return replace(facts, claims=tuple(claim for claim in facts.claims if claim.reason not in _RETURNED))


def _handed_over(turn: Turn, facts: TurnFacts) -> TurnFacts:
    """A turn that handed over to another agent has yielded to it."""
    draft = turn.draft
    handing = [node for node in draft.tools if node.reading.handoff_to is not None]
    if not handing or facts.claims:
        return facts
    last = max(handing, key=lambda node: node.span.end or 0)
    if turn.calls and (turn.calls[-1].step.started_at or 0) > (last.span.end or 0):
        return facts  # it went on working after the other agent
    claim = Claim(by=Layer.RUNTIME, reason="handoff", at=last.span.end)
    call_id = last.reading.tool.id if last.reading.tool else None
    return replace(facts, claims=(claim,), yield_=YieldRecord(reason="handoff", tool_call_id=call_id))


_RULES = (
    _cut_requests,
    _left_behind,
    _last_finish,
    _told_by_turn,
    _cut_tools,
    _final_call,
    _answered_by_tool,
    _forced_answer,
    _waiting_for_client,
    _stopped_by_count,
    _came_back,
    _unproven_success,
    _handed_over,
    _unproven_provider,
)
"""In this order: a call that waits is found before the loop's end is explained, and whose word a finish is comes last."""
