"""The same telemetry in any order, doubled and split gives the same turns, whoever sent it."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_telemetry import Attributes, Tape
from turnout.pipeline.codec import decode_turn, encode_turn
from turnout.pipeline.dialects import is_relevant, link_keys, turns_from
from turnout.pipeline.otlp import read_lines
from turnout.pipeline.telemetry import Record, SpanStatus, Value

DATA = os.environ.get("TURNOUT_TEST_DATA")
FILES = sorted(Path(DATA, "otlp").glob("*.jsonl")) if DATA else []


def genai() -> list[Record]:
    """A sub-agent, a retry, an orphan and a request told twice."""
    tape = Tape("somebody.agents")
    agent: Attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bot"}
    chat: Attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    done: Attributes = {**chat, "gen_ai.response.finish_reasons": ("stop",), "gen_ai.usage.input_tokens": 5}
    tool: Attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ask"}
    head = tape.span("invoke_agent", 0, 20, agent)
    tape.span("chat", 1, 2, chat, parent=head, raised=("RateLimitError", "429"))
    outer = tape.span("chat", 3, 4, chat, parent=head)
    tape.span("chat", 3.1, 3.9, done, parent=outer, scope="openai")
    call = tape.span("execute_tool", 5, 9, tool, parent=head)
    sub = tape.span("invoke_agent", 5.1, 8.9, {**agent, "gen_ai.agent.name": "helper"}, parent=call)
    tape.span("chat", 6, 7, done, parent=sub)
    tape.span("chat", 10, 11, done, parent="00000000000000ff")
    tape.span("chat", 30, 31, done, parent="00000000000000fe")
    return tape.records


def agents() -> list[Record]:
    """Two agents of one run, side by side in an envelope, in two dialects."""
    tape = Tape("opentelemetry.instrumentation.openai_agents")
    root = tape.span("Agent Workflow", 0, 20, {"traceloop.span.kind": "workflow"}, parent="00000000000000ff")
    done: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 5,
    }
    kind = "openinference.span.kind"
    for begin, name in ((1, "first"), (10, "second")):
        named: Attributes = {
            "traceloop.span.kind": "agent",
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": name,
        }
        tape.span(f"{name}.agent", begin, begin + 8, named, parent=root)
        tape.span("openai.response", begin + 1, begin + 2, done, parent=root)
        tape.span(f"{name}.handoff", begin + 3, begin + 4, {"gen_ai.operation.name": "handoff"}, parent=root)
        other = tape.span(
            name, begin, begin + 8, {kind: "AGENT", "agent.name": name}, scope="other", status=SpanStatus.OK
        )
        tape.span(
            "response", begin + 1, begin + 2, {kind: "LLM", "llm.finish_reason": "stop"}, parent=other, scope="other"
        )
    return tape.records


def events() -> list[Record]:
    """Three dialects of log events, with equal times, and spans beside some of them."""
    claude = Tape("com.anthropic.claude_code.x")
    base: Attributes = {"session.id": "s1", "prompt.id": "p1"}
    head = claude.span("claude_code.interaction", 0, 9, {**base, "span.type": "interaction"})
    request: Attributes = {
        **base,
        "span.type": "llm_request",
        "request_id": "q",
        "stop_reason": "end_turn",
        "input_tokens": 1,
    }
    for at in (1, 4):
        claude.span("claude_code.llm_request", at, at + 1, request, parent=head)
        claude.log("api_request", at + 1, {**base, "request_id": "q", "event.sequence": at}, within=head)
    claude.log("tool_result", 3, {**base, "tool_use_id": "k", "tool_name": "Bash", "success": "true"}, within=head)
    codex = Tape("codex_otel.log_only", resource={"service.name": "codex_exec"})
    for at in (0, 10):
        named: Attributes = {"conversation.id": "c1"}
        codex.log("codex.user_prompt", at, named)
        codex.log("codex.api_request", at + 1, {**named, "endpoint": "/responses"})
        codex.log("codex.sse_event", at + 1, {**named, "event.kind": "response.completed"})
        codex.log("codex.sse_event", at + 1, {**named, "event.kind": "response.completed", "input_token_count": 3})
        codex.log("codex.tool_result", at + 2, {**named, "call_id": "k", "tool_name": "exec", "success": "true"})
    gemini = Tape("gemini-cli")
    for prompt, at in (("p1", 1), ("p1", 3), ("a#0", 5), ("p2", 7)):
        tied: Attributes = {"session.id": "s2", "prompt_id": prompt, "agent_id": "a"}
        gemini.log("gemini_cli.api_request", at, tied)
        gemini.log("gemini_cli.api_response", at + 1, {**tied, "finish_reasons": ("stop",)})
    gemini.log("gemini_cli.agent.start", 4.5, {"session.id": "s2", "agent_id": "a", "agent_name": "dig"})
    gemini.log("loop_detected", 8, {"session.id": "s2", "count": 2, "prompt_id": ""})
    return [*claude.records, *codex.records, *gemini.records]


MADE: Mapping[str, Callable[[], list[Record]]] = {"genai": genai, "agents": agents, "events": events}


def rows(records: Sequence[Record]) -> list[bytes]:
    return [encode_turn(turn) for turn in turns_from(records).turns]


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_order_doubling_and_splitting_change_nothing(made: Callable[[], list[Record]], data: st.DataObject) -> None:
    """The turns are byte for byte the same."""
    records = made()
    doubled = data.draw(st.lists(st.sampled_from(range(len(records))), max_size=len(records)))
    order = data.draw(st.permutations([*range(len(records)), *doubled]))
    cut = data.draw(st.integers(0, len(order)))
    shuffled = [records[i] for i in order]
    assert rows([*shuffled[cut:], *shuffled[:cut]]) == rows(records)


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_any_part_of_a_trace_is_read(made: Callable[[], list[Record]], data: st.DataObject) -> None:
    """Whatever has not come yet, what is there makes turns with one id each, and none twice."""
    records = [record for record in made() if data.draw(st.booleans())]
    turns = turns_from(records).turns
    assert len({turn.turn_id for turn in turns}) == len(turns)
    assert all(turn.parent_turn_id != turn.turn_id for turn in turns)


STRANGE: tuple[Value, ...] = (
    float("inf"), float("nan"), 1e300, 10**30, -(10**30), 2**63, -1, 0, True, 1.5,
    "", "null", "[]", "{", "[" * 2000, "9" * 40, "1e400", '[{"role": 5, "parts": 7}]', "0001-01-01T00:00:00+23:59",
    b"\xff", (), (None,), ("a", 1, {"x": None}), {"a": None}, None,
)  # fmt: skip


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_strange_values_cost_no_turn(made: Callable[[], list[Record]], data: st.DataObject) -> None:
    """Whatever an attribute holds, turns are made that can be stored and read back."""
    records = made()
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(records) - 1))
        name = data.draw(st.sampled_from([*sorted(records[at].attributes), "duration_ms", "event.timestamp"]))
        attributes = {**records[at].attributes, name: data.draw(st.sampled_from(STRANGE))}
        records[at] = replace(records[at], attributes=attributes)
    for row in rows(records):
        assert encode_turn(decode_turn(row).turn) == row


def grouped(records: Sequence[Record]) -> list[list[Record]]:
    """Records by what ties them together, as a receiver groups them."""
    groups: list[tuple[set[str], list[Record]]] = []
    for record in records:
        keys = set(link_keys(record))
        touching = [group for group in groups if group[0] & keys]
        joined = (keys.union(*(group[0] for group in touching)), [r for group in touching for r in group[1]] + [record])
        groups = [group for group in groups if group not in touching] + [joined]
    return [group[1] for group in groups]


@pytest.mark.skipif(not FILES, reason="TURNOUT_TEST_DATA is not set")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_handed_telemetry_reads_the_same_grouped_filtered_and_backwards(path: Path) -> None:
    """What a receiver leaves out or keeps apart is not missed."""
    records = [record for line in read_lines(path) for record in line.decoded.records]
    relevant = [record for record in reversed(records) if is_relevant(record)]
    assert sorted(row for group in grouped(relevant) for row in rows(group)) == sorted(rows(records))


@pytest.mark.skipif(not FILES, reason="TURNOUT_TEST_DATA is not set")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_words_of_handed_telemetry_are_in_its_turns(path: Path) -> None:
    """Prompts, answers and tool results stay outside, whatever attribute they came in."""
    records = [record for line in read_lines(path) for record in line.decoded.records]
    words = ("sunny in Paris", "It is sunny", "be brief", "weather?", '"city"', "truncated te", "Traceback")
    found = repr(turns_from(records).turns)
    assert [word for word in words if word in found] == []
