"""OpenLLMetry: spans side by side, empty wrappers, names before and after semconv-ai 0.5."""

import json

import pytest

from made_telemetry import Attributes, Tape, tell
from turnout.pipeline.dialects import turns_from
from turnout.pipeline.telemetry import Span, SpanStatus

AGENTS = "opentelemetry.instrumentation.openai_agents"
LANGCHAIN = "opentelemetry.instrumentation.langchain"
OK = SpanStatus.OK
ANSWER: Attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.response.model": "m",
    "gen_ai.usage.input_tokens": 120,
    "gen_ai.usage.output_tokens": 30,
    "gen_ai.response.finish_reasons": ("stop",),
}


def told(tape: Tape) -> str:
    return tell(turns_from(tape.records).turns)


def workflow(tape: Tape) -> Span:
    attributes: Attributes = {"traceloop.span.kind": "workflow", "traceloop.workflow.name": "Agent Workflow"}
    return tape.span("Agent Workflow", 0, 20, attributes, parent="00000000000000ff", status=OK)


def agent(tape: Tape, parent: Span, begin: float, end: float, name: str = "bot", message: str = "") -> Span:
    attributes: Attributes = {
        "traceloop.span.kind": "agent",
        "gen_ai.agent.name": name,
        "gen_ai.operation.name": "invoke_agent",
    }
    return tape.span(
        f"{name}.agent",
        begin,
        end,
        attributes,
        parent=parent,
        status=SpanStatus.ERROR if message else OK,
        message=message,
    )


def test_requests_beside_the_agent_belong_to_it() -> None:
    """The dialect hangs requests and tools from the workflow; the time tells whose they are."""
    tape = Tape(AGENTS)
    root = workflow(tape)
    agent(tape, root, 1, 10)
    tape.span(
        "openai.response", 2, 3, {**ANSWER, "gen_ai.response.finish_reasons": ("tool_call",)}, parent=root, status=OK
    )
    tape.span(
        "search.tool",
        4,
        5,
        {"traceloop.span.kind": "tool", "gen_ai.operation.name": "execute_tool"},
        parent=root,
        status=OK,
    )
    tape.span("openai.response", 6, 7, ANSWER, parent=root, status=OK)
    assert told(tape) == "bot\n  1 m tool_call 120/30 [search ok]\n  2 m stop 120/30"


def test_the_status_is_a_dict_in_text() -> None:
    """It names the limit all the same."""
    tape = Tape(AGENTS)
    root = workflow(tape)
    bot = agent(tape, root, 1, 10, message="{'message': 'Max turns exceeded', 'data': {'max_turns': 1}}")
    tape.span("openai.response", 2, 3, ANSWER, parent=bot, status=OK)
    assert told(tape) == "bot | limit steps 1 | runtime says max_turns\n  1 m stop 120/30"


def test_a_hand_over_to_nobody_is_to_the_next_agent() -> None:
    """The dialect writes the receiver as unknown."""
    tape = Tape(AGENTS)
    root = workflow(tape)
    first = agent(tape, root, 1, 5, "first")
    tape.span("openai.response", 2, 3, ANSWER, parent=first, status=OK)
    tape.span(
        "first → unknown.handoff",
        4,
        4.1,
        {"traceloop.span.kind": "handoff", "gen_ai.operation.name": "handoff"},
        parent=first,
    )
    tape.span("openai.response", 7, 8, ANSWER, parent=agent(tape, root, 6, 9, "second"), status=OK)
    assert told(tape) == (
        "first | runtime says handoff | yields handoff\n  1 m stop 120/30 [handoff ok]\nsecond | below first\n  1 m stop 120/30"
    )


def test_an_agent_that_starts_while_a_tool_runs_is_that_tools() -> None:
    """Agents used as tools hang from the workflow as well."""
    tape = Tape(AGENTS)
    root = workflow(tape)
    boss = agent(tape, root, 1, 15, "boss")
    tape.span("openai.response", 2, 3, ANSWER, parent=boss, status=OK)
    tape.span(
        "ask.tool",
        4,
        9,
        {"traceloop.span.kind": "tool", "gen_ai.operation.name": "execute_tool"},
        parent=boss,
        status=OK,
    )
    tape.span("openai.response", 6, 7, ANSWER, parent=agent(tape, root, 5, 8, "helper"), status=OK)
    assert told(tape) == "boss\n  1 m stop 120/30 [ask ok]\nhelper | below boss\n  1 m stop 120/30"


def test_a_bare_turn_says_nothing_and_tasks_are_no_turns() -> None:
    """Where only the graph's own span is exported there is nothing to say."""
    tape = Tape(LANGCHAIN)
    tape.span("invoke_agent bot", 0, 9, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bot"})
    tape.span("execute_task limit", 1, 2, {"gen_ai.operation.name": "execute_task"}, parent="00000000000000ee")
    assert told(tape) == "bot"


def test_the_finish_reason_is_taken_from_the_task_above() -> None:
    """The request itself has none in this dialect; its workflow says that it succeeded."""
    tape = Tape(LANGCHAIN)
    head = tape.span("invoke_agent bot", 0, 10, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bot"})
    named: Attributes = {
        "traceloop.span.kind": "workflow",
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.task.status": "success",
    }
    flow = tape.span("bot.workflow", 1, 9, {**named, "traceloop.association.properties.thread_id": "c1"}, parent=head)
    output = {"outputs": [{"messages": [{"kwargs": {"content": "x", "response_metadata": {"finish_reason": "stop"}}}]}]}
    task: Attributes = {
        "traceloop.span.kind": "task",
        "gen_ai.operation.name": "execute_task",
        "traceloop.entity.output": json.dumps(output),
    }
    above = tape.span("execute_task model", 2, 4, task, parent=flow)
    request = {name: value for name, value in ANSWER.items() if name != "gen_ai.response.finish_reasons"}
    tape.span("Chat.chat", 2, 3, {**request, "gen_ai.request.model": "unknown"}, parent=above)
    assert told(tape) == "bot | conversation c1 | runtime says success\n  1 m stop 120/30"


def test_an_empty_wrapper_inside_a_turn_is_no_turn() -> None:
    """What a sub-graph did hangs beside its own span."""
    tape = Tape(LANGCHAIN)
    head = tape.span("invoke_agent team", 0, 10, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "team"})
    task = tape.span(
        "execute_task a", 1, 5, {"traceloop.span.kind": "task", "gen_ai.operation.name": "execute_task"}, parent=head
    )
    tape.span(
        "invoke_agent a", 1.1, 4.9, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}, parent=task
    )
    tape.span("Chat.chat", 2, 3, ANSWER, parent=task)
    assert told(tape) == "team\n  1 m stop 120/30"


def test_the_names_before_the_conventions() -> None:
    """Requests were told by their type, reasons by indexed attributes."""
    tape = Tape("opentelemetry.instrumentation.openai.v1")
    attributes: Attributes = {
        "llm.request.type": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.completion.0.finish_reason": "length",
        "gen_ai.usage.prompt_tokens": 120,
        "gen_ai.usage.completion_tokens": 30,
    }
    tape.span("openai.chat", 0, 1, attributes)
    assert told(tape) == "?\n  1 m length 120/30"


def graph(tape: Tape, success: bool = True) -> Span:
    attributes: Attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bot"}
    status: Attributes = {"gen_ai.task.status": "success"} if success else {}
    return tape.span("invoke_agent bot", 0, 9, {**attributes, **status})


def asked_in_task(
    tape: Tape, head: Span, message: dict[str, object], told: Attributes, raised: tuple[str, str] | None = None
) -> None:
    """A request below a task whose output has the message."""
    output = json.dumps({"outputs": {"messages": [{"kwargs": message}]}})
    task: Attributes = {
        "traceloop.span.kind": "task",
        "gen_ai.operation.name": "execute_task",
        "traceloop.entity.output": output,
    }
    node = tape.span("execute_task model", 1, 3, task, parent=head)
    named: Attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "llm.request.type": "chat"}
    tape.span("ChatModel.chat", 1, 2, {**named, **told}, parent=node, raised=raised)


MESSAGES: dict[str, tuple[dict[str, object], str]] = {
    "cut": (
        {"response_metadata": {"object": "response", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}},
        "bot | runtime says success\n  1 m (max_output_tokens)",
    ),
    "done": (
        {"response_metadata": {"object": "response", "status": "completed"}},
        "bot | runtime says success\n  1 m completed",
    ),
    "asks for a tool": (
        {"response_metadata": {"object": "response", "status": "completed"}, "tool_calls": [{"name": "f"}]},
        "bot | runtime says success\n  1 m tool_calls",
    ),
    "refused in a part": (
        {"response_metadata": {"object": "response", "status": "completed"}, "content": [{"type": "refusal"}]},
        "bot | runtime says success\n  1 m completed refused",
    ),
    "no word": ({"response_metadata": {}}, "bot\n  1 m"),
}  # fmt: skip


@pytest.mark.parametrize(("message", "said"), MESSAGES.values(), ids=MESSAGES)
def test_success_proves_nothing_where_the_reply_tells_no_end(message: dict[str, object], said: str) -> None:
    """The call came back, also after a reply that was cut or refused; the message in the task's output says which."""
    tape = Tape(LANGCHAIN)
    asked_in_task(tape, graph(tape), message, {})
    assert told(tape) == said


def test_a_refusal_behind_a_clean_stop_is_in_the_tasks_output() -> None:
    """The reply shows no text, and only the message says why."""
    tape = Tape(LANGCHAIN)
    reply = json.dumps([{"role": "assistant", "parts": [], "finish_reason": "stop"}])
    refused: dict[str, object] = {
        "response_metadata": {"finish_reason": "stop"},
        "additional_kwargs": {"refusal": "no"},
    }
    asked_in_task(tape, graph(tape), refused, {"gen_ai.output.messages": reply})
    assert told(tape) == "bot | runtime says success\n  1 m stop refused"


def test_a_request_that_failed_takes_no_end_from_its_task() -> None:
    """Another request of the same task was answered in its place."""
    tape = Tape(LANGCHAIN)
    stopped: dict[str, object] = {"response_metadata": {"finish_reason": "stop"}}
    asked_in_task(tape, graph(tape, success=False), stopped, {}, ("APIError", "busy"))
    assert told(tape) == "bot\n  1 m error APIError None"


def test_an_end_that_an_error_text_names_stays() -> None:
    """The runtime raised where a response was cut, and the status has its text."""
    tape = Tape(AGENTS)
    bot = agent(tape, workflow(tape), 1, 10)
    text = "{'data': {'error': \"incomplete_details=IncompleteDetails(reason='max_output_tokens')\"}}"
    asked: Attributes = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai"}
    tape.span("openai.response", 2, 3, asked, parent=bot, status=SpanStatus.ERROR, message=text)
    assert told(tape) == "bot\n  1 (max_output_tokens)"


OLD_REPLIES: dict[str, tuple[Attributes, str]] = {
    "text": ({"gen_ai.completion.0.content": "hello"}, "1 m stop"),
    "refused": ({"gen_ai.completion.0.content": '""'}, "1 m stop refused"),
    "parts": ({"gen_ai.completion.0.content": '[{"type": "text", "text": "hi"}]'}, "1 m stop"),
}


@pytest.mark.parametrize(("reply", "said"), OLD_REPLIES.values(), ids=OLD_REPLIES)
def test_a_reply_before_the_conventions(reply: Attributes, said: str) -> None:
    """Its content is JSON in langchain; an empty one has its reason in the task's output."""
    tape = Tape(LANGCHAIN)
    head = tape.span("bot.workflow", 0, 9, {"traceloop.span.kind": "workflow", "traceloop.entity.name": "bot"})
    refused: dict[str, object] = {
        "response_metadata": {"finish_reason": "stop"},
        "additional_kwargs": {"refusal": "no"},
    }
    asked_in_task(tape, head, refused, {"gen_ai.completion.0.finish_reason": "stop", **reply})
    assert told(tape) == f"bot\n  {said}"


def test_the_calls_of_a_reply_before_the_conventions() -> None:
    """One attribute a part; arguments that were cut show."""
    tape = Tape(LANGCHAIN)
    part = "gen_ai.completion.0.tool_calls.0."
    asked: Attributes = {
        "llm.request.type": "chat",
        "gen_ai.request.model": "m",
        f"{part}id": "k1",
        f"{part}name": "find",
    }
    request = tape.span("ChatModel.chat", 1, 2, {**asked, f"{part}arguments": '{"ci'})
    tape.span("find.tool", 2, 3, {"traceloop.span.kind": "tool", "traceloop.entity.name": "find"}, parent=request)
    assert told(tape) == "?\n  1 m [find~ ok]"
