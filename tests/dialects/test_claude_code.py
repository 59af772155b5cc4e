"""Claude Code: events with and without the beta spans."""

import pytest

from made_telemetry import Attributes, Tape, tell
from turnout.outcomes.facts import Refusal, Usage
from turnout.pipeline.dialects import link_keys, turns_from
from turnout.pipeline.telemetry import Span, SpanStatus

BASE: Attributes = {"session.id": "s1", "terminal.type": "non-interactive"}
TOKENS: Attributes = {"input_tokens": 70, "output_tokens": "30", "cache_read_tokens": 40, "cache_creation_tokens": 10}


def told(tape: Tape) -> str:
    return tell(turns_from(tape.records).turns)


def interaction(tape: Tape) -> Span:
    return tape.span("claude_code.interaction", 0, 20, {**BASE, "span.type": "interaction"})


def request(tape: Tape, parent: Span, begin: float, reason: str, request_id: str = "q1") -> Span:
    attributes: Attributes = {
        **BASE,
        **TOKENS,
        "span.type": "llm_request",
        "model": "m",
        "stop_reason": reason,
        "request_id": request_id,
    }
    return tape.span("claude_code.llm_request", begin, begin + 1, attributes, parent=parent)


def event(tape: Tape, name: str, at: float, attributes: Attributes | None = None, within: Span | None = None) -> None:
    numbered: Attributes = {"event.name": name, "event.sequence": len(tape.records), "prompt.id": "p1"}
    tape.log(name, at, {**BASE, **numbered, **(attributes or {})}, within=within)


def api(
    tape: Tape, at: float, request_id: str = "q1", within: Span | None = None, more: Attributes | None = None
) -> None:
    told: Attributes = {
        **TOKENS,
        "model": "m",
        "request_id": request_id,
        "cost_usd": 0.5,
        "duration_ms": "900",
        **(more or {}),
    }
    event(tape, "api_request", at, told, within)


@pytest.mark.parametrize("spans", [True, False], ids=["spans", "events alone"])
@pytest.mark.parametrize("events", [True, False], ids=["events", "spans alone"])
def test_a_call_that_spans_and_events_tell_counts_once(spans: bool, events: bool) -> None:
    """The same request id twice is two requests, each told twice; the tool has four records."""
    tape = Tape("com.anthropic.claude_code.x")
    head = interaction(tape) if spans else None
    if head is not None:
        request(tape, head, 1, "tool_use")
        call = tape.span(
            "claude_code.tool",
            3,
            5,
            {**BASE, "span.type": "tool", "tool_name": "Bash", "tool_use_id": "k1"},
            parent=head,
        )
        failed: Attributes = {
            **BASE,
            "span.type": "tool.execution",
            "tool_use_id": "k1",
            "success": False,
            "error": "ShellError",
        }
        tape.span("claude_code.tool.execution", 3.5, 5, failed, parent=call, status=SpanStatus.ERROR)
        request(tape, head, 6, "end_turn")
    if events:
        event(tape, "user_prompt", 0, within=head)
        api(tape, 2, within=head)
        event(tape, "tool_decision", 3.2, {"tool_use_id": "k1", "tool_name": "Bash", "decision": "accept"}, head)
        event(
            tape,
            "tool_result",
            5,
            {"tool_use_id": "k1", "tool_name": "Bash", "success": "false", "error_type": "ShellError"},
            head,
        )
        api(tape, 7, within=head)
    reasons = (" tool_use (tool_use)", " end_turn (end_turn)") if spans else ("", "")
    want = f"claude-code | conversation s1\n  1 m{reasons[0]} 70/30 [Bash error]\n  2 m{reasons[1]} 70/30"
    assert told(tape) == (want if spans or events else "")


def test_the_input_leaves_the_cache_out_and_the_event_adds_the_cost() -> None:
    """Text counts as numbers do."""
    tape = Tape("com.anthropic.claude_code.x")
    head = interaction(tape)
    request(tape, head, 1, "end_turn")
    api(tape, 2, within=head)
    (turn,) = turns_from(tape.records).turns
    step = turn.steps[0]
    assert (step.usage, step.cache_in_input, step.cost_usd, turn.attended) == (
        Usage(input_tokens=70, output_tokens=30, cache_read_tokens=40, cache_write_tokens=10),
        False,
        0.5,
        False,
    )


def test_a_turn_has_one_id_with_spans_and_without() -> None:
    """The events name the interaction; without a trace the prompt names the turn."""
    tape = Tape("com.anthropic.claude_code.x")
    head = interaction(tape)
    request(tape, head, 1, "end_turn")
    api(tape, 2, within=head)
    with_spans = turns_from(tape.records).turns[0].turn_id
    events = [record for record in tape.records if not isinstance(record, Span)]
    assert turns_from(events).turns[0].turn_id == with_spans == f"{tape.trace}:{head.span_id}"
    bare = Tape("com.anthropic.claude_code.x")
    api(bare, 2)
    assert turns_from(bare.records).turns[0].turn_id == "claude_code:p1"
    assert link_keys(bare.records[0]) == ("claude_code:p1",)


def test_side_jobs_and_sub_agents_are_turns_below() -> None:
    """Titles, compaction and the requests below a tool are no steps of the loop."""
    tape = Tape("com.anthropic.claude_code.x")
    head = interaction(tape)
    request(tape, head, 1, "tool_use")
    call = tape.span(
        "claude_code.tool", 3, 8, {**BASE, "span.type": "tool", "tool_name": "Task", "tool_use_id": "k1"}, parent=head
    )
    request(tape, call, 4, "end_turn", "q2")
    request(tape, head, 9, "end_turn", "q3")
    api(tape, 10, "q4", head, {"query_source": "compact"})
    assert told(tape) == (
        "claude-code | conversation s1\n  1 m tool_use (tool_use) 70/30 [Task ok]\n  2 m end_turn (end_turn) 70/30\n"
        "claude-code | conversation s1 | below claude-code\n  1 m end_turn (end_turn) 70/30\n"
        "claude-code | conversation s1 | below claude-code\n  1 m 70/30"
    )


def test_a_refusal_event_has_the_category() -> None:
    """It belongs to the request that it names."""
    tape = Tape("com.anthropic.claude_code.x")
    head = interaction(tape)
    request(tape, head, 1, "refusal")
    event(tape, "api_refusal", 2, {"request_id": "q1", "category": "cyber"}, head)
    (turn,) = turns_from(tape.records).turns
    assert turn.steps[0].refusal == Refusal(category="cyber")


def test_a_failed_request_keeps_status_and_words() -> None:
    """The wording of an overflow is the provider's."""
    tape = Tape("com.anthropic.claude_code.x")
    event(tape, "api_error", 2, {"error": "prompt is too long: 1", "status_code": 400, "attempt": 3, "model": "m"})
    (turn,) = turns_from(tape.records).turns
    assert turn.steps[0].error is not None
    assert (turn.steps[0].error.status, turn.steps[0].error.message, turn.steps[0].attempts) == (
        400,
        "prompt is too long: 1",
        3,
    )


def test_a_denial_names_who_denied() -> None:
    """A person's no and a rule's no are different."""
    for source, by in (("user_reject", "user"), ("config", "config")):
        tape = Tape("com.anthropic.claude_code.x")
        api(tape, 1)
        event(
            tape, "tool_decision", 3, {"tool_use_id": "k1", "tool_name": "Edit", "decision": "reject", "source": source}
        )
        (turn,) = turns_from(tape.records).turns
        call = turn.steps[0].tool_calls[0]
        assert (call.status, call.denied_by) == ("denied", by)


def test_a_stop_hook_is_a_finish_check() -> None:
    """One that blocks is a veto."""
    tape = Tape("com.anthropic.claude_code.x")
    api(tape, 1)
    event(tape, "hook_execution_complete", 2, {"hook_event": "Stop", "num_blocking": "1"})
    api(tape, 4, "q2")
    event(tape, "hook_execution_complete", 5, {"hook_event": "Stop", "num_blocking": 0})
    assert told(tape).startswith("claude-code | conversation s1 | check 1 veto | check 2 allow\n")


def test_prompts_without_an_id_are_cut_at_each_prompt() -> None:
    """Older versions send none."""
    tape = Tape("com.anthropic.claude_code.x")
    for at in (1, 10):
        event(tape, "user_prompt", at, {"prompt.id": ""})
        api(tape, at + 1, f"q{at}", None, {"prompt.id": ""})
    assert told(tape).count("claude-code | conversation s1") == 2


def test_requests_without_an_id_are_told_once() -> None:
    """A gateway gives no request id: the counts and the time tell which event is of which span, and a failure its status."""
    tape = Tape("com.anthropic.claude_code.x")
    head = interaction(tape)
    for begin, reason in ((1, "tool_use"), (3, "end_turn")):
        made: Attributes = {**BASE, **TOKENS, "span.type": "llm_request", "model": "m", "stop_reason": reason}
        tape.span("claude_code.llm_request", begin, begin + 1, made, parent=head)
        event(tape, "api_request", begin + 1.1, {**TOKENS, "model": "m", "cost_usd": 0.5, "query_source": "sdk"}, head)
    failed: Attributes = {"error": "busy", "status_code": 529, "error_class": "overloaded"}
    tape.span(
        "claude_code.llm_request", 5, 6, {**BASE, **failed, "span.type": "llm_request", "model": "m"}, parent=head
    )
    event(tape, "api_error", 6, {**failed, "model": "m"}, head)
    (turn,) = turns_from(tape.records).turns
    assert [(step.finish_reason, step.cost_usd, step.error and step.error.status) for step in turn.steps] == [
        ("tool_use", 0.5, None),
        ("end_turn", 0.5, None),
        (None, None, 529),
    ]


def test_an_event_with_other_counts_is_another_request() -> None:
    """Its span was not exported."""
    tape = Tape("com.anthropic.claude_code.x")
    head = interaction(tape)
    made: Attributes = {**BASE, **TOKENS, "span.type": "llm_request", "model": "m", "stop_reason": "tool_use"}
    tape.span("claude_code.llm_request", 1, 2, made, parent=head)
    event(tape, "api_request", 3, {**TOKENS, "output_tokens": 7, "model": "m"}, head)
    (turn,) = turns_from(tape.records).turns
    assert len(turn.steps) == 2


def test_a_refusal_is_told_before_its_request() -> None:
    """The event of the request comes after, and no span tells it."""
    tape = Tape("com.anthropic.claude_code.events")
    event(tape, "user_prompt", 0)
    event(tape, "api_refusal", 1.8, {"category": "cyber"})
    api(tape, 2)
    (turn,) = turns_from(tape.records).turns
    assert [step.refusal for step in turn.steps] == [Refusal(category="cyber")]


@pytest.mark.parametrize("spans", [True, False], ids=["spans", "events alone"])
def test_a_sub_agent_that_runs_beside_its_parent_is_a_turn_of_its_own(spans: bool) -> None:
    """Its request hangs below the parent's next request, its tool is told by events with its id."""
    tape = Tape("com.anthropic.claude_code.x")
    head = interaction(tape) if spans else None
    named: Attributes = {"agent_id": "a1", "query_source": "agent:builtin:general-purpose"}
    event(tape, "user_prompt", 0, within=head)
    for begin in (1, 4):
        api(tape, begin + 1, f"q{begin}", head, {"query_source": "sdk"})
    if head is not None:
        request(tape, head, 1, "end_turn", "q1")
        outer = request(tape, head, 4, "end_turn", "q4")
        made: Attributes = {**BASE, **TOKENS, **named, "span.type": "llm_request", "model": "m", "request_id": "q9"}
        tape.span("claude_code.llm_request", 4.1, 5, made, parent=outer)
    api(tape, 5, "q9", head, named)
    event(tape, "tool_result", 6, {"agent_id": "a1", "tool_name": "Bash", "tool_use_id": "k", "success": "true"}, head)
    parent, child = turns_from(tape.records).turns
    assert (parent.agent, len(parent.steps), parent.children_expected) == ("claude-code", 2, (child.turn_id,))
    assert (child.agent, child.parent_turn_id, child.turn_id) == ("general-purpose", parent.turn_id, "claude_code:a1")
    assert [[call.name for call in step.tool_calls] for step in child.steps] == [["Bash"]]


@pytest.mark.parametrize(("asked_by", "attended"), [("sdk", False), ("repl_main_thread", True), (None, True)])
def test_a_program_in_a_shell_has_nobody_there(asked_by: str | None, attended: bool) -> None:
    """Its terminal is that of the shell."""
    tape = Tape("com.anthropic.claude_code.x")
    terminal: Attributes = {"session.id": "s1", "terminal.type": "xterm"}
    head = tape.span("claude_code.interaction", 0, 9, {**terminal, "span.type": "interaction"})
    more: Attributes = {} if asked_by is None else {"query_source_safe": asked_by}
    tape.span("claude_code.llm_request", 1, 2, {**terminal, **TOKENS, **more, "span.type": "llm_request"}, parent=head)
    (turn,) = turns_from(tape.records).turns
    assert turn.attended is attended
