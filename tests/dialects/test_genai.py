"""The GenAI conventions, and the frameworks that speak them in a way of their own."""

from collections.abc import Iterable
from typing import TypedDict, Unpack

import pytest

from made_telemetry import Attributes, Tape, tell
from turnout.outcomes.facts import Output, Usage
from turnout.pipeline.dialects import turns_from
from turnout.pipeline.telemetry import Span, SpanStatus


class More(TypedDict, total=False):
    """What else a span may have."""

    status: SpanStatus
    raised: tuple[str, str] | None
    events: Iterable[tuple[str, Attributes]]
    scope: str | None
    kind: int
    remote: bool


def agent(
    tape: Tape,
    begin: float,
    end: float,
    attributes: Attributes | None = None,
    parent: Span | None = None,
    **more: Unpack[More],
) -> Span:
    named: Attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "bot",
        "gen_ai.conversation.id": "c1",
        **(attributes or {}),
    }
    return tape.span("invoke_agent bot", begin, end, named, parent=parent, **more)


def chat(
    tape: Tape,
    parent: Span | str | None,
    begin: float,
    finish: str | None = "stop",
    attributes: Attributes | None = None,
    **more: Unpack[More],
) -> Span:
    named: Attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    answered: Attributes = {
        "gen_ai.response.finish_reasons": (finish,),
        "gen_ai.response.model": "m-2026",
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 30,
    }
    told = {**named, **(answered if finish is not None else {}), **(attributes or {})}
    return tape.span("chat m", begin, begin + 1, told, parent=parent, **more)


def tool(
    tape: Tape,
    parent: Span | str | None,
    begin: float,
    call_id: str = "k1",
    attributes: Attributes | None = None,
    **more: Unpack[More],
) -> Span:
    named: Attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.call.id": call_id,
        **(attributes or {}),
    }
    return tape.span("execute_tool search", begin, begin + 0.5, named, parent=parent, **more)


def told(tape: Tape) -> str:
    return tell(turns_from(tape.records).turns)


def test_a_turn_of_an_unknown_emitter_has_its_steps_tools_and_tokens() -> None:
    """Nothing but the conventions is needed."""
    tape = Tape("somebody.agents")
    head = agent(tape, 0, 10)
    chat(tape, head, 1, "tool_calls")
    tool(tape, head, 3)
    chat(tape, head, 5)
    assert told(tape) == "bot | conversation c1\n  1 m tool_calls 120/30 [search ok]\n  2 m stop 120/30"


def test_a_request_inside_a_request_is_the_same_request() -> None:
    """A library below an instrumented framework fills in what the framework leaves out, and counts nothing twice."""
    tape = Tape("somebody.agents")
    head = agent(tape, 0, 10)
    outer = chat(tape, head, 1, None)
    chat(tape, outer, 1.2, scope="opentelemetry.instrumentation.openai_v2")
    assert told(tape) == "bot | conversation c1\n  1 m stop 120/30"


def test_a_failed_request_and_the_next_are_one_step() -> None:
    """A retry is no new step; how the first attempt ended is kept."""
    tape = Tape("somebody.agents")
    head = agent(tape, 0, 10)
    chat(tape, head, 1, None, raised=("openai.RateLimitError", "Error code: 429 - slow down"))
    chat(tape, head, 3)
    (turn,) = turns_from(tape.records).turns
    assert tell([turn]) == "bot | conversation c1\n  1 m stop 120/30 attempts 2"
    assert [(end.reason, end.status) for end in turn.steps[0].attempt_ends] == [("RateLimitError", 429)]


NAMES = {
    "array": {"gen_ai.response.finish_reasons": ("length",)},
    "text": {"gen_ai.response.finish_reasons": "length"},
    "JSON in text": {"gen_ai.response.finish_reasons": '["length"]'},
    "singular": {"gen_ai.response.finish_reason": "length"},
    "several choices": {"gen_ai.response.finish_reasons": ("", "length")},
    "in the messages": {
        "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"I"}],"finish_reason":"length"}]'
    },
}


@pytest.mark.parametrize("attributes", NAMES.values(), ids=NAMES)
def test_a_finish_reason_is_found_in_every_form(attributes: Attributes) -> None:
    """Emitters write arrays, text and JSON in text."""
    tape = Tape("somebody.agents")
    chat(tape, agent(tape, 0, 5), 1, None, attributes=attributes)
    (turn,) = turns_from(tape.records).turns
    assert turn.steps[0].finish_reason == "length"


def test_usage_is_read_under_its_old_and_new_names_once() -> None:
    """Several names for one count stand side by side; text counts too."""
    tape = Tape("somebody.agents")
    usage: Attributes = {
        "gen_ai.usage.prompt_tokens": "120",
        "gen_ai.usage.input_tokens": "120",
        "gen_ai.usage.completion_tokens": 30,
        "gen_ai.usage.cache_read.input_tokens": 40,
        "gen_ai.usage.cache_write.input_tokens": 10,
        "gen_ai.usage.reasoning.output_tokens": 7.0,
    }
    chat(tape, agent(tape, 0, 5), 1, None, attributes=usage)
    (turn,) = turns_from(tape.records).turns
    assert turn.steps[0].usage == Usage(
        input_tokens=120, output_tokens=30, cache_read_tokens=40, cache_write_tokens=10, reasoning_tokens=7
    )


def test_what_a_person_saw_is_counted_and_not_kept() -> None:
    """Text is measured, a tool call is a part, reasoning is neither; a refusal part is a refusal."""
    tape = Tape("somebody.agents")
    messages = (
        '[{"role":"assistant","parts":[{"type":"text","content":"secret"},{"type":"thinking","content":"hm"},'
        '{"type":"tool_call","id":"k1","name":"search","arguments":{"q":"secret"}},{"type":"refusal","content":"no"}]}]'
    )
    chat(tape, agent(tape, 0, 5), 1, "stop", attributes={"gen_ai.output.messages": messages})
    (turn,) = turns_from(tape.records).turns
    assert turn.steps[0].output == Output(text_chars=8, parts=3)
    assert turn.steps[0].refusal is not None
    assert "secret" not in repr(turn)


def test_an_agent_below_a_tool_call_is_a_turn_of_its_own() -> None:
    """A sub-agent's steps are not its parent's; each names the other."""
    tape = Tape("somebody.agents")
    head = agent(tape, 0, 10)
    chat(tape, head, 1, "tool_calls")
    call = tool(tape, head, 3)
    sub = agent(tape, 3.1, 3.4, {"gen_ai.agent.name": "helper"}, parent=call)
    chat(tape, sub, 3.2)
    chat(tape, head, 5)
    turns = turns_from(tape.records).turns
    assert tell(turns) == (
        "bot | conversation c1\n  1 m tool_calls 120/30 [search ok]\n  2 m stop 120/30\n"
        "helper | conversation c1 | below bot\n  1 m stop 120/30"
    )
    parent, child = sorted(turns, key=lambda turn: turn.started_at or 0)
    assert (parent.children_expected, child.parent_turn_id) == ((child.turn_id,), parent.turn_id)


def test_a_request_below_a_tool_call_is_a_sub_agent_without_a_name() -> None:
    """A tool that asks a model makes no step of the loop."""
    tape = Tape("somebody.agents")
    head = agent(tape, 0, 10)
    chat(tape, head, 1, "tool_calls")
    chat(tape, tool(tape, head, 3), 3.2)
    assert told(tape) == "bot | conversation c1\n  1 m tool_calls 120/30 [search ok]\n? | below bot\n  1 m stop 120/30"


def test_an_agent_that_only_holds_another_is_the_same_turn() -> None:
    """Two spans of one run are one turn, named by the inner one."""
    tape = Tape("somebody.agents")
    outer = agent(tape, 0, 10, {"gen_ai.agent.name": "wrapper"})
    inner = agent(tape, 1, 9, parent=outer)
    chat(tape, inner, 2)
    (turn,) = turns_from(tape.records).turns
    assert (turn.agent, turn.turn_id) == ("bot", f"{tape.trace}:{inner.span_id}")


def test_requests_without_an_agent_are_one_turn_by_their_root() -> None:
    """What hangs from one span of the application is one turn, and it is over."""
    tape = Tape("openai")
    root = tape.span("POST /ask", 0, 10, scope="http")
    chat(tape, root, 1, "tool_calls")
    chat(tape, root, 5)
    turns = turns_from(tape.records)
    assert tell(turns.turns) == "?\n  1 m tool_calls 120/30\n  2 m stop 120/30"
    assert dict(turns.unrecognised) == {"http": 1}


def test_steps_whose_agent_has_not_come_are_an_open_turn_with_its_name() -> None:
    """The turn keeps its id when the span comes."""
    tape = Tape("somebody.agents")
    chat(tape, "00000000000000ff", 1, "tool_calls")
    tool(tape, "00000000000000ff", 3)
    (turn,) = turns_from(tape.records).turns
    assert tell([turn]) == "? | open\n  1 m tool_calls 120/30 [search ok]"
    assert (turn.turn_id, turn.ended_at) == (f"{tape.trace}:00000000000000ff", None)


def test_a_remote_parent_is_not_waited_for() -> None:
    """Where the emitter says that the parent is elsewhere, the turn is over."""
    tape = Tape("somebody.agents")
    chat(tape, "00000000000000ff", 1, remote=True)
    (turn,) = turns_from(tape.records).turns
    assert turn.open is None


def test_a_span_with_a_broken_way_up_belongs_to_the_agent_at_work() -> None:
    """A lost span between costs nothing."""
    tape = Tape("somebody.agents")
    agent(tape, 0, 10)
    chat(tape, "00000000000000ff", 1)
    assert told(tape) == "bot | conversation c1\n  1 m stop 120/30"


@pytest.mark.parametrize(
    ("total", "used"),
    [((120, 30), " 0/0"), ((240, 60), ""), ((None, None), "")],
    ids=["all requests are here", "one is not", "nobody knows"],
)
def test_tool_calls_before_any_request_were_asked_for_by_an_earlier_turn(
    total: tuple[int | None, int | None], used: str
) -> None:
    """A turn that goes on after an approval starts with the tool; that used nothing, where the run's total leaves nothing over."""
    tape = Tape("somebody.agents")
    names = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")
    head = agent(tape, 0, 10, {name: count for name, count in zip(names, total, strict=True) if count is not None})
    tool(tape, head, 1)
    chat(tape, head, 3)
    assert told(tape).endswith(f"\n  1{used} [search ok]\n  2 m stop 120/30")


def test_a_circle_of_spans_ends() -> None:
    """Spans that name each other as parents are read like orphans."""
    tape = Tape("somebody.agents")
    first = chat(tape, "0000000000000002", 1)
    chat(tape, first, 2)
    assert len(turns_from(tape.records).turns) <= 2


def test_openai_as_a_mere_client_does_not_prove_that_a_cut_can_be_continued() -> None:
    """Whatever speaks OpenAI's protocol is told by that name."""
    tape = Tape("somebody.agents")
    head = agent(tape, 0, 10)
    chat(tape, head, 1, "tool_calls", attributes={"gen_ai.provider.name": "openai"})
    chat(tape, head, 3, "length", attributes={"gen_ai.provider.name": "openai"})
    (turn,) = turns_from(tape.records).turns
    assert [step.provider for step in turn.steps] == ["openai", None]


class TestPydanticAi:
    """pydantic-ai: limits, cuts and cancellations that only exceptions and gaps tell."""

    ENDS = {  # noqa: RUF012 - cases by name
        "request limit": (
            "UsageLimitExceeded",
            "would exceed the request_limit of 1",
            "limit steps 1 | runtime says step_limit",
        ),
        "limit shared with a sub-agent": (
            "UsageLimitExceeded",
            "would exceed the request_limit of 9",
            "runtime says step_limit",
        ),
        "tool calls": (
            "UsageLimitExceeded",
            "the tool_calls_limit of 3 (",
            "limit tool_calls 3 | runtime says tool_calls_limit",
        ),
        "tokens": (
            "UsageLimitExceeded",
            "Exceeded the total_tokens_limit of 5 (",
            "limit tokens 5 | runtime says limit_total_tokens",
        ),
        "cut": ("OutputTokenLimitExceeded", "Model token limit", "runtime says max_tokens"),
        "filter": ("ContentFilterError", "Content filter triggered", "runtime says content_filter"),
        "retries": ("UnexpectedModelBehavior", "exceeded max retries", "runtime says error"),
        "timeout": ("RunTimedOut", "", "runtime says time_budget"),
    }

    @pytest.mark.parametrize(("kind", "text", "said"), ENDS.values(), ids=ENDS)
    def test_the_exception_names_the_end(self, kind: str, text: str, said: str) -> None:
        """One class stands for several limits; a limit is recorded only where this turn alone reached it."""
        tape = Tape("pydantic-ai")
        head = agent(tape, 0, 10, raised=(f"pydantic_ai.exceptions.{kind}", text))
        chat(tape, head, 1, "tool_call")
        assert told(tape) == f"bot | conversation c1 | {said}\n  1 m tool_call 120/30"

    def test_a_request_without_an_answer_was_cut_off(self) -> None:
        """A cancelled run ends without a word: the last request has no answer, the turn no result."""
        tape = Tape("pydantic-ai")
        head = agent(tape, 0, 10)
        chat(tape, head, 1, None)
        assert told(tape) == "bot | conversation c1\n  1 m aborted"

    def test_a_result_on_a_tool_request_was_the_output_tool(self) -> None:
        """An output tool is not run: its call is the answer."""
        tape = Tape("pydantic-ai")
        asked = '[{"parts":[{"type":"tool_call","id":"o1","name":"final_result","arguments":{}}]}]'
        head = agent(tape, 0, 10, {"final_result": '{"answer":42}'})
        chat(tape, head, 1, "tool_call", attributes={"gen_ai.output.messages": asked})
        assert told(tape) == "bot | conversation c1 | runtime says completed\n  1 m tool_call 120/30 [final_result! ok]"

    def test_a_deferred_call_waits(self) -> None:
        """A run that returns its deferred requests has no answer yet."""
        tape = Tape("pydantic-ai")
        asked = '[{"parts":[{"type":"tool_call","id":"o1","name":"deploy","arguments":{}}]}]'
        head = agent(tape, 0, 10, {"final_result": '{"calls":[],"approvals":[{}],"metadata":{}}'})
        chat(tape, head, 1, "tool_call", attributes={"gen_ai.output.messages": asked})
        assert (
            told(tape)
            == "bot | conversation c1 | runtime says completed\n  1 m tool_call 120/30 [deploy awaiting_client]"
        )

    def test_cut_arguments_are_told_by_the_tool_span(self) -> None:
        """The text of the arguments is no JSON."""
        tape = Tape("pydantic-ai")
        head = agent(tape, 0, 10)
        chat(tape, head, 1, "length")
        tool(
            tape,
            head,
            3,
            attributes={
                "gen_ai.tool.call.arguments": '{"INVALID_JSON":"{"}',
                "pydantic_ai.tool.failure_stage": "validation",
            },
            raised=("pydantic_core.ValidationError", "1 validation error"),
        )
        assert told(tape) == "bot | conversation c1\n  1 m length 120/30 [search~ error]"

    def test_the_names_of_settings_version_2(self) -> None:
        """Spans without an operation are known by their names; the sum on the turn is not added."""
        tape = Tape("pydantic-ai")
        head = tape.span(
            "agent run", 0, 10, {"agent_name": "bot", "gen_ai.aggregated_usage.input_tokens": 120, "final_result": "x"}
        )
        chat(tape, head, 1)
        tape.span("running tool", 3, 4, {"gen_ai.tool.name": "search"}, parent=head)
        assert told(tape) == "bot | runtime says completed\n  1 m stop 120/30 [search ok]"

    def test_a_cancelled_tool_may_still_run(self) -> None:
        """Its span ends with the cancellation, not with a result."""
        tape = Tape("pydantic-ai")
        head = agent(tape, 0, 10, raised=("asyncio.exceptions.CancelledError", ""))
        chat(tape, head, 1, "tool_call")
        tool(tape, head, 3, raised=("asyncio.exceptions.CancelledError", ""))
        assert told(tape) == "bot | conversation c1 | host says cancelled\n  1 m tool_call 120/30 [search running]"


class TestStrands:
    """Strands: the turn span itself says how it ended."""

    ENDS = {  # noqa: RUF012 - cases by name
        "end_turn": "runtime says end_turn",
        "limit_turns": "runtime says limit_turns",
        "limit_total_tokens": "runtime says limit_total_tokens",
        "content_filtered": "runtime says content_filter",
        "guardrail_intervened": "runtime says guardrail",
        "interrupt": "runtime says interrupt",
        "cancelled": "host says cancelled",
    }

    @pytest.mark.parametrize("latest", [False, True], ids=["choice event", "message event"])
    @pytest.mark.parametrize(("reason", "said"), ENDS.items(), ids=ENDS)
    def test_the_end_stands_in_an_event_of_the_turn(self, reason: str, said: str, latest: bool) -> None:
        """Old and new conventions put it into different events; the status is OK either way."""
        messages = f'[{{"role":"assistant","parts":[{{"type":"text","content":"x"}}],"finish_reason":"{reason}"}}]'
        event: tuple[str, Attributes] = (
            ("gen_ai.client.inference.operation.details", {"gen_ai.output.messages": messages})
            if latest
            else ("gen_ai.choice", {"finish_reason": reason})
        )
        tape = Tape("strands.telemetry.tracer")
        agent(tape, 0, 10, events=[event], status=SpanStatus.OK)
        assert told(tape) == f"bot | conversation c1 | {said}"

    def test_a_cancelled_run_says_so_in_an_attribute(self) -> None:
        """The status stays UNSET; a tool without a status of its own was cut off."""
        tape = Tape("strands.telemetry.tracer")
        head = agent(tape, 0, 10, {"strands.cancellation.type": "CancelledError"})
        chat(tape, head, 1, "tool_use")
        tool(tape, head, 3, status=SpanStatus.OK)
        assert told(tape) == "bot | conversation c1 | host says cancelled\n  1 m tool_use 120/30 [search running]"


class TestAiSdk:
    """AI SDK 7: a loop that only its stop condition can have ended."""

    def tape(self, names: tuple[str, str], finish: str = "tool-calls") -> Tape:
        tape = Tape("gen_ai")
        head = agent(tape, 0, 10, {"gen_ai.response.finish_reasons": (finish,)})
        for number, name in enumerate(names):
            step = tape.span(
                f"step {number}", number * 3, number * 3 + 2.9, {"gen_ai.operation.name": "agent_step"}, parent=head
            )
            asked = f'[{{"parts":[{{"type":"tool_call","id":"k{number}","name":"{name}","arguments":{{}}}}]}}]'
            chat(tape, step, number * 3, "tool-calls", attributes={"gen_ai.output.messages": asked})
            if name != "client":
                attributes: Attributes = {"gen_ai.tool.name": name}
                tool(tape, step, number * 3 + 1.5, f"k{number}", attributes=attributes)
        return tape

    def test_the_same_tool_twice_was_ended_by_a_count(self) -> None:
        """A condition on the tool would have ended the loop when it first ran."""
        assert told(self.tape(("search", "search"))) == (
            "bot | conversation c1 | runtime says step_limit\n"
            "  1 m tool-calls 120/30 [search ok]\n  2 m tool-calls 120/30 [search ok]"
        )

    def test_a_new_tool_may_have_ended_the_loop(self) -> None:
        """Nothing is claimed where two explanations are left."""
        assert told(self.tape(("search", "finish"))).startswith("bot | conversation c1\n")

    def test_a_tool_that_was_not_run_is_the_clients(self) -> None:
        """The turn ended without an error on its call."""
        assert told(self.tape(("search", "client"))).endswith("2 m tool-calls 120/30 [client awaiting_client]")

    def test_a_step_stands_for_a_request_that_was_not_exported(self) -> None:
        """A stream without an end exports only the step; the turn tells its finish and its model."""
        tape = Tape("gen_ai")
        head = agent(tape, 0, 5, {"gen_ai.response.finish_reasons": ("other",), "gen_ai.request.model": "m"})
        tape.span("step 1", 1, 2, {"gen_ai.operation.name": "agent_step"}, parent=head)
        assert told(tape) == "bot | conversation c1\n  1 m other"

    def test_a_timed_abort_is_the_hosts_limit(self) -> None:
        """The request in flight was cut, it did not fail."""
        tape = Tape("gen_ai")
        head = agent(tape, 0, 5, raised=("TimeoutError", "The operation was aborted due to timeout"))
        chat(tape, head, 1, None, raised=("TimeoutError", "The operation was aborted due to timeout"))
        assert told(tape) == "bot | conversation c1 | host says timeout\n  1 m aborted"


def test_the_adk_hands_over_below_the_first_agent() -> None:
    """The invocation is an envelope, a request is told twice, and the transfer ends the first agent's turn."""
    tape = Tape("gcp.vertex.agent")
    run = tape.span("invocation", 0, 10)
    head = agent(tape, 0, 9, parent=run)
    outer = tape.span("call_llm", 1, 2, {"gen_ai.request.model": "m", "gcp.vertex.agent.session_id": "s1"}, parent=head)
    chat(tape, outer, 1.1)
    tool(
        tape,
        head,
        3,
        attributes={
            "gen_ai.tool.name": "transfer_to_agent",
            "gcp.vertex.agent.tool_call_args": '{"agent_name":"helper"}',
        },
    )
    chat(tape, agent(tape, 4, 8, {"gen_ai.agent.name": "helper"}, parent=head), 5)
    assert told(tape) == (
        "bot | conversation c1 | runtime says handoff | yields handoff k1\n  1 m stop 120/30 [transfer_to_agent ok]\n"
        "helper | conversation c1 | below bot\n  1 m stop 120/30"
    )


def test_the_microsoft_framework_writes_json_into_text() -> None:
    """Its workflow is an envelope."""
    tape = Tape("agent_framework")
    run = tape.span("workflow.run", 0, 10)
    head = agent(tape, 0, 9, {"gen_ai.response.finish_reasons": '["stop"]'}, parent=run)
    chat(tape, head, 1, None, attributes={"gen_ai.response.finish_reasons": '["stop"]', "gen_ai.usage.input_tokens": 1})
    assert told(tape) == "bot | conversation c1\n  1 m stop 1/None"


def test_a_workflow_of_agents_is_one_turn_with_children() -> None:
    """It makes no request itself; that it came back is its end."""
    tape = Tape("agent_framework")
    run = tape.span("workflow.run", 0, 10, {"workflow.name": "review"})
    for begin, name in ((1, "writer"), (5, "critic")):
        work = tape.span("executor.process", begin, begin + 3, parent=run)
        chat(tape, agent(tape, begin, begin + 2, {"gen_ai.agent.name": name}, work), begin + 0.5)
    assert told(tape) == (
        "review | runtime says completed\n"
        "writer | conversation c1 | below review\n  1 m stop 120/30\n"
        "critic | conversation c1 | below review\n  1 m stop 120/30"
    )


def test_contrib_agents_come_in_an_envelope_of_kind_server() -> None:
    """The root has no agent's name; a hand-over names both."""
    tape = Tape("opentelemetry.instrumentation.openai_agents", version="")
    base: Attributes = {"gen_ai.system": "openai"}
    root = tape.span("wf", 0, 10, {**base, "gen_ai.operation.name": "invoke_agent"}, kind=2)
    task = tape.span(
        "unknown", 0, 10, {**base, "gen_ai.operation.name": "unknown", "gen_ai.agent.name": "OpenAI Agent"}, parent=root
    )
    first = agent(tape, 1, 4, {**base, "gen_ai.agent.name": "first"}, parent=task)
    chat(tape, first, 2, None, attributes={**base, "gen_ai.response.id": "r1"})
    tape.span(
        "agent_handoff",
        3.5,
        3.6,
        {**base, "gen_ai.operation.name": "agent_handoff", "gen_ai.handoff.to_agent": "second"},
        parent=first,
    )
    second = agent(tape, 5, 9, {**base, "gen_ai.agent.name": "second"}, parent=task)
    chat(tape, second, 6, None, attributes={**base, "gen_ai.response.id": "r2"})
    assert told(tape) == (
        "first | conversation c1 | runtime says handoff | yields handoff\n  1 m [handoff ok]\nsecond | conversation c1 | below first\n  1 m"
    )


def test_a_model_copied_to_the_response_is_no_answer() -> None:
    """An exporter fills the response's model with the request's; the request was cut all the same."""
    tape = Tape("pydantic-ai")
    head = agent(tape, 0, 9)
    chat(tape, head, 1, None, {"gen_ai.response.model": "m"})
    assert told(tape) == "bot | conversation c1\n  1 m aborted"


def test_a_run_that_neither_returned_nor_failed_left_its_stream() -> None:
    """Part of the answer is there, its end is not."""
    tape = Tape("pydantic-ai")
    head = agent(tape, 0, 9)
    part = '[{"role": "assistant", "parts": [{"type": "text", "content": "hal"}]}]'
    chat(tape, head, 1, None, {"gen_ai.response.id": "r1", "gen_ai.output.messages": part})
    assert told(tape) == "bot | conversation c1\n  1 m aborted"


def test_a_framework_with_the_names_of_openinference_beside_its_own_is_read_by_its_own() -> None:
    """A processor adds those names; what the framework says of the run's end stays."""
    tape = Tape("pydantic-ai")
    head = agent(tape, 0, 9, {"final_result": "{}", "openinference.span.kind": "AGENT"})
    asked = '[{"role": "assistant", "parts": [{"type": "tool_call", "id": "k1", "name": "answer", "arguments": {}}]}]'
    chat(tape, head, 1, "tool_call", {"gen_ai.output.messages": asked, "openinference.span.kind": "LLM"})
    assert told(tape) == "bot | conversation c1 | runtime says completed\n  1 m tool_call 120/30 [answer! ok]"


@pytest.mark.parametrize("operation", ["invoke_graph", "invoke_swarm"])
def test_several_agents_of_one_graph_are_one_turn(operation: str) -> None:
    """The graph came back without a failure; its agents are its children."""
    tape = Tape("strands.telemetry.tracer")
    root = tape.span(operation, 0, 9, {"gen_ai.operation.name": operation})
    for begin, who in ((1, "a"), (4, "b")):
        chat(tape, agent(tape, begin, begin + 2, {"gen_ai.agent.name": who}, root), begin)
    told_turns = told(tape).splitlines()
    assert told_turns[0].endswith("runtime says completed")
    assert [line.split(" | ")[0] for line in told_turns[1:] if "conversation" in line] == ["a", "b"]


@pytest.mark.parametrize("name", ["gen_ai.tool.status", "tool.status"])
def test_a_tool_tells_its_error_in_an_attribute(name: str) -> None:
    """The status of the span is OK; the first release wrote another name."""
    tape = Tape("strands.telemetry.tracer")
    head = agent(tape, 0, 9)
    chat(tape, head, 1, "tool_use")
    tool(tape, head, 3, attributes={name: "error"}, status=SpanStatus.OK)
    assert told(tape).endswith("  1 m tool_use 120/30 [search error]")


RETURNED: Attributes = {"final_result": "x"}


def test_a_result_alone_proves_no_end() -> None:
    """Before 1.1 no request tells its end: a cut reply is returned like a whole one."""
    tape = Tape("pydantic-ai")
    head = agent(tape, 0, 9, RETURNED)
    chat(tape, head, 1, None, {"gen_ai.usage.output_tokens": 30})
    assert told(tape) == "bot | conversation c1\n  1 m None/30"


def test_a_result_that_a_call_holds_is_an_end() -> None:
    """The request tells no end, but it asks for a call that no tool ran; the choice stands among all events in JSON."""
    tape = Tape("pydantic-ai")
    head = agent(tape, 0, 9, RETURNED)
    asked = '{"id": "k1", "type": "function", "function": {"name": "final_result", "arguments": "{}"}}'
    events = f'[{{"event.name": "gen_ai.choice", "message": {{"role": "assistant", "tool_calls": [{asked}]}}}}]'
    chat(tape, head, 1, None, {"gen_ai.usage.output_tokens": 30, "events": events})
    assert told(tape) == "bot | conversation c1 | runtime says completed\n  1 m None/30 [final_result! ok]"


def test_a_stream_that_was_read_to_its_end_was_not_left() -> None:
    """Before 1.1 a run that streamed tells no result; the counts tell that it was answered."""
    tape = Tape("pydantic-ai")
    chat(tape, agent(tape, 0, 9), 1, None, {"gen_ai.response.id": "r1", "gen_ai.usage.output_tokens": 30})
    assert told(tape) == "bot | conversation c1\n  1 m None/30"
