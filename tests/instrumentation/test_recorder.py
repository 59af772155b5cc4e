"""What a hand-written loop that tells its turns gets emitted."""

from typing import Any

from opentelemetry import trace
from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanKind, StatusCode

from turnout.instrumentation import Limits, Output, Recorder, Usage, current_turn
from turnout.instrumentation.testing import MemorySink
from turnout.outcomes.facts import (
    CheckVerdict,
    Claim,
    FinishCheck,
    Layer,
    Requester,
    StopMode,
    StopRecord,
    TaskResult,
    YieldRecord,
)

START = 1_767_607_200_000_000_000
SECOND = 1_000_000_000


def two_steps(recorder: Recorder) -> None:
    """A turn that calls a tool and answers."""
    with recorder.turn(
        agent="support",
        agent_version="7",
        agent_id="asst_1",
        conversation_id="conversation-1",
        attended=True,
        limits=Limits(steps=5),
        continues="turn-0",
    ) as turn:
        with turn.step(model="claude-sonnet-4-5", provider="anthropic", max_output_tokens=4096) as step:
            step.finish(
                finish_reason="tool-calls",
                raw_finish_reason="tool_use",
                usage=Usage(
                    input_tokens=100, output_tokens=20, cache_read_tokens=30, cache_write_tokens=5, reasoning_tokens=4
                ),
                cache_in_input=False,
                message_id="msg_1",
                response_model="claude-sonnet-4-5-20260101",
            )
            with step.tool_call("search", id="call_1", mutating=False):
                pass
        with turn.step(model="claude-sonnet-4-5", provider="anthropic") as step:
            step.finish(
                finish_reason="stop",
                raw_finish_reason="end_turn",
                usage=Usage(input_tokens=200, output_tokens=30),
                output="The answer.",
            )
        turn.claim("runtime", "end_turn")


def test_a_turn_becomes_spans_of_the_genai_conventions(recorder: Recorder, emitted: Any) -> None:
    """Steps are client spans, tool calls stand under their turn, and usage stands on the steps alone."""
    two_steps(recorder)
    assert [(span.name, span.kind, span.status.status_code) for span in emitted.spans] == [
        ("chat claude-sonnet-4-5", SpanKind.CLIENT, StatusCode.UNSET),
        ("execute_tool search", SpanKind.INTERNAL, StatusCode.UNSET),
        ("chat claude-sonnet-4-5", SpanKind.CLIENT, StatusCode.UNSET),
        ("invoke_agent support", SpanKind.INTERNAL, StatusCode.UNSET),
    ]
    first, tool, _, turn = emitted.spans
    assert dict(first.attributes) == {
        "gen_ai.operation.name": "chat",
        "agent.turn.id": "turn-1",
        "agent.turn.step": 1,
        "gen_ai.agent.name": "support",
        "gen_ai.conversation.id": "conversation-1",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-sonnet-4-5",
        "gen_ai.request.max_tokens": 4096,
        "gen_ai.response.id": "msg_1",
        "gen_ai.response.model": "claude-sonnet-4-5-20260101",
        "gen_ai.response.finish_reasons": ("tool-calls",),
        "agent.turn.step.raw_finish_reason": "tool_use",
        "gen_ai.usage.input_tokens": 135,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 30,
        "gen_ai.usage.cache_creation.input_tokens": 5,
        "gen_ai.usage.reasoning.output_tokens": 4,
    }
    assert dict(tool.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "agent.turn.id": "turn-1",
        "agent.turn.step": 1,
        "gen_ai.agent.name": "support",
        "gen_ai.conversation.id": "conversation-1",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.call.id": "call_1",
        "agent.turn.tool.status": "ok",
        "agent.turn.tool.mutating": False,
    }
    assert not [name for name in turn.attributes if name.startswith("gen_ai.usage")]
    assert turn.attributes["gen_ai.agent.id"] == "asst_1"
    assert turn.attributes["agent.turn.usage.input_tokens"] == 335
    assert {(span.parent and span.parent.span_id, span.context.trace_id) for span in emitted.spans[:-1]} == {
        (turn.context.span_id, turn.context.trace_id)
    }
    assert (turn.start_time, turn.end_time) == (START, START + 8 * SECOND)
    assert (first.start_time, first.end_time) == (START + SECOND, START + 2 * SECOND)


def test_a_turn_becomes_a_start_and_an_end_event(recorder: Recorder, emitted: Any) -> None:
    """Both carry their instants and the turn's place in its trace; the end's body is the whole turn."""
    two_steps(recorder)
    start, end = emitted.events
    assert (start.log_record.event_name, end.log_record.event_name) == ("agent.turn.start", "agent.turn.end")
    assert (start.log_record.timestamp, end.log_record.timestamp) == (START, START + 8 * SECOND)
    assert {event.log_record.severity_number for event in emitted.events} == {SeverityNumber.INFO}
    span = emitted.span("invoke_agent support")
    for event in emitted.events:
        assert (event.log_record.trace_id, event.log_record.span_id) == (span.context.trace_id, span.context.span_id)
    assert start.log_record.body is None
    assert dict(start.log_record.attributes) == {
        "agent.turn.schema": 1,
        "agent.turn.id": "turn-1",
        "agent.turn.continues_id": "turn-0",
        "gen_ai.conversation.id": "conversation-1",
        "gen_ai.agent.name": "support",
        "gen_ai.agent.version": "7",
        "agent.turn.source": "turnout",
        "agent.turn.attended": True,
        "agent.turn.limit.steps": 5,
    }
    assert {"agent.turn.outcome": "completed", "agent.turn.evidence": "reported"}.items() <= dict(
        end.log_record.attributes
    ).items()
    assert end.log_record.body == {
        "schema": "turnout.turn/1",
        "turn_id": "turn-1",
        "continues_turn_id": "turn-0",
        "conversation_id": "conversation-1",
        "trace_id": f"{span.context.trace_id:032x}",
        "agent": "support",
        "agent_version": "7",
        "source": "turnout",
        "attended": True,
        "started_at": "2026-01-05T10:00:00Z",
        "ended_at": "2026-01-05T10:00:08Z",
        "limits": {"steps": 5},
        "steps": [
            {
                "index": 1,
                "message_id": "msg_1",
                "provider": "anthropic",
                "model": "claude-sonnet-4-5",
                "started_at": "2026-01-05T10:00:01Z",
                "ended_at": "2026-01-05T10:00:02Z",
                "finish_reason": "tool-calls",
                "raw_finish_reason": "tool_use",
                "max_output_tokens": 4096,
                "usage": {
                    "input_tokens": 100,
                    "output_tokens": 20,
                    "cache_read_tokens": 30,
                    "cache_write_tokens": 5,
                    "reasoning_tokens": 4,
                },
                "cache_in_input": False,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "name": "search",
                        "status": "ok",
                        "mutating": False,
                        "started_at": "2026-01-05T10:00:03Z",
                        "ended_at": "2026-01-05T10:00:04Z",
                    }
                ],
            },
            {
                "index": 2,
                "provider": "anthropic",
                "model": "claude-sonnet-4-5",
                "started_at": "2026-01-05T10:00:05Z",
                "ended_at": "2026-01-05T10:00:06Z",
                "finish_reason": "stop",
                "raw_finish_reason": "end_turn",
                "usage": {"input_tokens": 200, "output_tokens": 30},
                "output": {"text_chars": 11, "parts": 1},
            },
        ],
        "claims": [{"by": "runtime", "reason": "end_turn", "at": "2026-01-05T10:00:07Z", "seq": 1}],
    }


def test_an_abnormal_turn_has_a_third_event_and_a_red_span(recorder: Recorder, emitted: Any) -> None:
    """A step limit is an ERROR to every backend, with its outcome as the error's type."""
    with recorder.turn(agent="support", limits=Limits(steps=1)) as turn, turn.step(model="m") as step:
        step.finish(finish_reason="tool-calls")
        with step.tool_call("search"):
            pass
    assert emitted.event_names() == ["agent.turn.start", "agent.turn.end", "agent.turn.abnormal_finish"]
    abnormal = emitted.event("agent.turn.abnormal_finish").log_record
    assert abnormal.severity_number is SeverityNumber.ERROR
    assert abnormal.body is None
    assert dict(abnormal.attributes) == dict(emitted.event("agent.turn.end").log_record.attributes)
    assert abnormal.attributes["agent.turn.budget_kind"] == "steps"
    span = emitted.span("invoke_agent support")
    assert (span.status.status_code, span.attributes["error.type"]) == (StatusCode.ERROR, "budget")


def test_a_start_is_emitted_before_anything_else_happens(recorder: Recorder, emitted: Any) -> None:
    """A process that dies now leaves a witness; a step leaves one when its first tool call opens."""
    turn = recorder.turn(agent="support")
    assert emitted.event_names() == ["agent.turn.start"]
    step = turn.step(model="m")
    step.finish(finish_reason="tool-calls")
    assert emitted.spans == ()
    step.tool_call("search")
    assert [span.name for span in emitted.spans] == ["chat m"]


def test_everything_a_loop_can_tell_is_in_the_facts(memory: MemorySink, make_recorder: Any) -> None:
    """Stops, checks, a yield, claims, totals and a result stand in the order they were told."""
    recorder = make_recorder(memory)
    with recorder.turn() as turn:
        step = turn.step()
        step.attempt(reason="overloaded", status=529)
        step.finish(finish_reason="stop", output=Output(text_chars=5, parts=1, last_at=7))
        turn.finish_check("veto", by="tests", why="they fail")
        turn.stop("after_step", by="host", reason="deploy")
        turn.yielded("plan_handoff", tool_call_id="call_1")
        turn.claim("host", status="failed", error_type="KeyError", exit_code=1)
        turn.aggregate(usage=Usage(input_tokens=5), cost_usd=0.25)
        turn.task_result(resolved=True)
        turn.child("turn-9")
    (facts,) = memory.turns
    (recorded,) = facts.steps
    assert [(end.reason, end.status) for end in recorded.attempt_ends] == [("overloaded", 529)]
    assert (recorded.attempts, recorded.output) == (2, Output(text_chars=5, parts=1, last_at=7))
    assert facts.finish_checks == (FinishCheck(step=1, verdict=CheckVerdict.VETO, by="tests"),)
    assert facts.stop_requests == (
        StopRecord(
            mode=StopMode.AFTER_STEP, reason="deploy", step=1, by=Requester.HOST, seq=1, at=facts.stop_requests[0].at
        ),
    )
    assert facts.yield_ == YieldRecord(reason="plan_handoff", tool_call_id="call_1")
    assert facts.claims == (
        Claim(by=Layer.HOST, status="failed", error_type="KeyError", exit_code=1, seq=2, at=facts.claims[0].at),
    )
    assert (facts.usage, facts.cost_usd) == (Usage(input_tokens=5), 0.25)
    assert facts.task_result == TaskResult(resolved=True)
    assert facts.children_expected == ("turn-9",)


def test_a_turn_inside_a_tool_call_is_its_child(memory: MemorySink, make_recorder: Any) -> None:
    """A sub-agent's turn names its parent, and the parent expects it."""
    recorder = make_recorder(memory)
    with recorder.turn(agent="lead") as lead, lead.step() as step, step.tool_call("delegate"):
        with recorder.turn(agent="helper") as helper:
            assert current_turn() == helper
        assert current_turn() == lead
    assert current_turn() is None
    inner, outer = memory.turns
    assert (inner.parent_turn_id, inner.trace_id) == (outer.turn_id, outer.trace_id)
    assert outer.children_expected == (inner.turn_id,)


def test_a_turn_stands_under_the_span_around_it(recorder: Recorder, emitted: Any) -> None:
    """In a traced web request the turn is a part of the request's trace."""
    tracer = TracerProvider().get_tracer("web")
    with tracer.start_as_current_span("GET /chat") as request:
        two_steps(recorder)
        assert trace.get_current_span() is request
    around = request.get_span_context()
    span = emitted.span("invoke_agent support")
    assert (span.context.trace_id, span.parent.span_id) == (around.trace_id, around.span_id)


def test_spans_of_others_stand_under_the_step_and_the_tool_call_they_happen_in(
    recorder: Recorder, emitted: Any
) -> None:
    """An instrumented HTTP client finds its parent although our spans are only built at their end."""
    tracer = TracerProvider().get_tracer("http")
    with recorder.turn() as turn, turn.step(model="m") as step:
        with tracer.start_as_current_span("POST /v1/messages") as request:
            pass
        step.finish()
        with step.tool_call("search"), tracer.start_as_current_span("GET /search") as search:
            pass
    assert vars(request)["_parent"].span_id == emitted.span("chat m").context.span_id
    assert vars(search)["_parent"].span_id == emitted.span("execute_tool search").context.span_id


def test_a_turn_that_is_not_sampled_still_has_its_events(unsampled: Any, make_recorder: Any) -> None:
    """A sampler thins out spans; outcomes are counted whole."""
    two_steps(make_recorder(unsampled.sink))
    assert unsampled.spans == ()
    assert unsampled.event_names() == ["agent.turn.start", "agent.turn.end"]


def test_user_ids_and_arguments_are_kept_as_keyed_hashes_alone(memory: MemorySink, make_recorder: Any) -> None:
    """The same person and the same call can be recognised, but not read."""
    recorder = make_recorder(memory, hash_key=b"key")
    with recorder.turn(user_id="ada@example.com") as turn, turn.step() as step:
        step.tool_call("search", arguments='{"q": "x"}').ok()
        step.tool_call("search", arguments=b'{"q": "x"}').ok()
    (facts,) = memory.turns
    first, second = facts.steps[0].tool_calls
    assert facts.user_id is not None
    assert len(facts.user_id) == 32
    assert first.arguments_digest == second.arguments_digest is not None
    other = make_recorder(memory, hash_key=b"other").turn(user_id="ada@example.com")
    assert other.facts().user_id not in (None, facts.user_id)


def test_without_a_key_neither_is_recorded(memory: MemorySink, make_recorder: Any) -> None:
    """A hash without a key could be guessed."""
    with make_recorder(memory).turn(user_id="ada@example.com") as turn, turn.step() as step:
        step.tool_call("search", arguments="{}").ok()
    (facts,) = memory.turns
    assert (facts.user_id, facts.steps[0].tool_calls[0].arguments_digest) == (None, None)


def test_a_stop_reaches_an_open_turn_from_outside(memory: MemorySink, make_recorder: Any) -> None:
    """The request that carries a person's stop is another than the one that runs the agent."""
    recorder = make_recorder(memory)
    with recorder.turn(conversation_id="a") as stopped, recorder.turn(conversation_id="b") as other:
        assert recorder.stop(conversation_id="a") == 1
        assert recorder.stop("after_step", "deploy", by="host", turn_id=other.turn_id) == 1
        assert recorder.stop(conversation_id="c") == 0
    assert recorder.stop(turn_id=stopped.turn_id) == 0
    stops = {turn.conversation_id: [stop.reason for stop in turn.stop_requests] for turn in memory.turns}
    assert stops == {"a": ["user_stop"], "b": ["deploy"]}
