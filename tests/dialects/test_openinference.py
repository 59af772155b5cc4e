"""OpenInference: openai-agents, langgraph, and both instrumentations at once."""

import json

import pytest

from made_telemetry import Attributes, Tape, tell
from turnout.pipeline.dialects import turns_from
from turnout.pipeline.telemetry import Span, SpanStatus

AGENTS = "openinference.instrumentation.openai_agents"
LANGCHAIN = "openinference.instrumentation.langchain"
KIND = "openinference.span.kind"
OK = SpanStatus.OK
USAGE: Attributes = {"llm.token_count.prompt": 120, "llm.token_count.completion": 30}


def told(tape: Tape) -> str:
    return tell(turns_from(tape.records).turns)


def run(tape: Tape, begin: float = 0, end: float = 20) -> Span:
    """The envelope of openai-agents: a trace over a task."""
    root = tape.span("wf", begin, end, {KIND: "AGENT"}, status=OK)
    return tape.span("wf", begin, end, {KIND: "CHAIN"}, parent=root, status=OK)


def agent(
    tape: Tape, parent: Span, begin: float, end: float, name: str = "bot", message: str = "", **more: Attributes
) -> Span:
    status = SpanStatus.ERROR if message else OK
    attributes: Attributes = {KIND: "AGENT", "agent.name": name, **more.get("attributes", {})}
    return tape.span(name, begin, end, attributes, parent=parent, status=status, message=message)


def step(tape: Tape, parent: Span, begin: float, output: dict[str, object] | None, finish: str | None = "stop") -> Span:
    """A step of openai-agents with its request; no output is a request without an answer."""
    turn = tape.span("turn", begin, begin + 1.9, {KIND: "CHAIN"}, parent=parent, status=OK)
    attributes: Attributes = {KIND: "LLM", "llm.system": "openai"}
    if output is not None:
        value = {"object": "response", "id": "r1", "incomplete_details": None, "error": None, "output": [], **output}
        attributes = {**attributes, **USAGE, "llm.model_name": "m", "output.value": json.dumps(value)}
    if finish is not None:
        attributes = {**attributes, "llm.finish_reason": finish}
    tape.span("response", begin, begin + 1, attributes, parent=turn, status=OK)
    return turn


def call(
    tape: Tape, parent: Span, begin: float, name: str = "search", result: str | None = "x", end: float | None = None
) -> Span:
    attributes: Attributes = {KIND: "TOOL", "tool.name": name, "input.value": "{}"}
    if result is not None:
        attributes = {**attributes, "output.value": result}
    return tape.span(name, begin, begin + 0.2 if end is None else end, attributes, parent=parent, status=OK)


class TestOpenAiAgents:
    """Everything ends OK but, sometimes, the agent's span."""

    def test_three_nested_spans_are_one_turn_and_stop_stands_beside_tool_calls(self) -> None:
        """The envelope is no turn; the tool call under its step belongs to its request."""
        tape = Tape(AGENTS)
        bot = agent(tape, run(tape), 1, 10)
        call(tape, step(tape, bot, 2, {}), 3.1)
        step(tape, bot, 4, {})
        assert told(tape) == "bot\n  1 m stop 120/30 [search ok]\n  2 m stop 120/30"

    ENDS = {  # noqa: RUF012 - cases by name
        "limit": ("Max turns exceeded: {'max_turns': 1}", "limit steps 1 | runtime says max_turns"),
        "limit over several agents": ("Max turns exceeded: {'max_turns': 9}", "runtime says max_turns"),
        "refusal": ("Error in agent run: {'error': \"Model refused to produce output: no\"}", "provider says refusal"),
        "failure": ("Error in agent run: {'error': '529 overloaded'}", "runtime says error"),
        "guardrail": ("Guardrail tripwire triggered: {'guardrail': 'g'}", "runtime says guardrail"),
    }

    @pytest.mark.parametrize(("message", "said"), ENDS.values(), ids=ENDS)
    def test_the_status_text_of_the_agent_names_the_end(self, message: str, said: str) -> None:
        """The root stays OK whatever happened."""
        tape = Tape(AGENTS)
        bot = agent(tape, run(tape), 1, 10, message=message)
        step(tape, bot, 2, {})
        assert told(tape) == f"bot | {said}\n  1 m stop 120/30"

    def test_a_tripwire_stands_on_the_step(self) -> None:
        """Neither the agent nor the root shows it, and no request was made."""
        tape = Tape(AGENTS)
        bot = agent(tape, run(tape), 1, 10)
        tape.span(
            "turn",
            2,
            3,
            {KIND: "CHAIN"},
            parent=bot,
            status=SpanStatus.ERROR,
            message="Guardrail tripwire triggered: {}",
        )
        assert told(tape) == "bot | runtime says guardrail"

    ANSWERS = {  # noqa: RUF012 - cases by name
        "cut": ({"incomplete_details": {"reason": "max_output_tokens"}}, "length", "length (max_output_tokens)"),
        "filtered": (
            {"incomplete_details": {"reason": "content_filter"}},
            "content_filter",
            "content_filter (content_filter)",
        ),
        "refused": ({"output": [{"content": [{"type": "refusal", "refusal": "no"}]}]}, "stop", "stop"),
    }

    @pytest.mark.parametrize(("output", "finish", "said"), ANSWERS.values(), ids=ANSWERS)
    def test_the_providers_own_word_is_in_the_output(self, output: dict[str, object], finish: str, said: str) -> None:
        """The mapped reason hides it; a refusal part is a refusal behind a clean stop."""
        tape = Tape(AGENTS)
        step(tape, agent(tape, run(tape), 1, 10), 2, output, finish)
        refused = " refused" if "output" in output else ""
        assert told(tape) == f"bot\n  1 m {said} 120/30{refused}"

    def test_an_error_text_that_names_the_end_of_a_response_is_that_end(self) -> None:
        """The runtime raises where a response was cut; the request did not fail."""
        tape = Tape(AGENTS)
        turn = step(tape, agent(tape, run(tape), 1, 10), 2, {})
        tape.records.pop()
        message = "Error getting response: {'error': \"terminal event `response.incomplete`. status=incomplete; incomplete_details="
        message += "IncompleteDetails(reason='max_output_tokens').\"}"
        tape.span("response", 2, 3, {KIND: "LLM"}, parent=turn, status=SpanStatus.ERROR, message=message)
        assert told(tape) == "bot\n  1 (max_output_tokens)"

    def test_a_request_without_an_answer_was_cut_off(self) -> None:
        """A cancelled run leaves everything OK."""
        tape = Tape(AGENTS)
        bot = agent(tape, run(tape), 1, 10)
        step(tape, bot, 2, {})
        step(tape, bot, 5, None, None)
        assert told(tape) == "bot\n  1 m stop 120/30\n  2 aborted"

    def test_a_call_without_a_result_waits_or_was_left_behind(self) -> None:
        """One that ends in time waits for a person; one that ends after its agent was cancelled with it."""
        for end, status in ((9.0, "awaiting_approval"), (10.5, "unknown")):
            tape = Tape(AGENTS)
            bot = agent(tape, run(tape), 1, 10)
            call(tape, step(tape, bot, 2, {}), 3.1, result=None, end=end)
            assert told(tape) == f"bot\n  1 m stop 120/30 [search {status}]"

    def test_a_hand_over_yields_to_a_child(self) -> None:
        """Both agents hang side by side; the second says who handed to it, the first's call gets its name from the response."""
        tape = Tape(AGENTS)
        task = run(tape)
        first = agent(tape, task, 1, 5, "first")
        turn = step(tape, first, 2, {})
        tape.span("handoff to second", 3.1, 3.2, {KIND: "TOOL", "output.value": "second"}, parent=turn, status=OK)
        second = agent(tape, task, 6, 10, "second", attributes={"graph.node.parent_id": "first"})
        step(tape, second, 7, {})
        assert told(tape) == (
            "first | runtime says handoff | yields handoff\n  1 m stop 120/30 [handoff ok]\nsecond | below first\n  1 m stop 120/30"
        )

    def test_two_runs_in_one_trace_are_two_turns(self) -> None:
        """Without a hand-over, agents side by side have nothing to do with each other."""
        tape = Tape(AGENTS)
        task = run(tape)
        for begin, name in ((1, "first"), (6, "second")):
            step(tape, agent(tape, task, begin, begin + 4, name), begin + 1, {})
        assert told(tape) == "first\n  1 m stop 120/30\nsecond\n  1 m stop 120/30"


def chain(
    tape: Tape, name: str, begin: float, end: float, parent: Span | str | None = None, **metadata: object
) -> Span:
    attributes: Attributes = {KIND: "CHAIN", "metadata": json.dumps({"thread_id": "c1", **metadata})}
    return tape.span(name, begin, end, attributes, parent=parent, status=OK)


def node(tape: Tape, name: str, begin: float, end: float, parent: Span | str) -> Span:
    return chain(tape, name, begin, end, parent, langgraph_node=name, lc_agent_name="bot")


def llm(tape: Tape, parent: Span | str, begin: float, finish: str = "stop") -> Span:
    attributes: Attributes = {
        KIND: "LLM",
        **USAGE,
        "llm.model_name": "m",
        "llm.finish_reason": finish,
        "llm.provider": "anthropic",
    }
    return tape.span("Chat", begin, begin + 0.5, attributes, parent=parent, status=OK)


class TestLanggraph:
    """The turn is the topmost chain; nodes are machinery."""

    def test_a_node_named_agent_is_no_turn(self) -> None:
        """The kind AGENT comes from the name alone."""
        tape = Tape(LANGCHAIN)
        head = chain(tape, "bot", 0, 10, lc_agent_name="bot")
        inner = node(tape, "agent", 1, 3, head)
        llm(tape, inner, 1.5, "tool_calls")
        tools = node(tape, "tools", 4, 5, head)
        result = json.dumps({"type": "tool", "data": {"tool_call_id": "k1", "status": "error"}})
        tape.span(
            "search", 4.1, 4.5, {KIND: "TOOL", "tool.name": "search", "output.value": result}, parent=tools, status=OK
        )
        llm(tape, node(tape, "agent", 6, 8, head), 6.5)
        assert told(tape) == "bot | conversation c1\n  1 m tool_calls 120/30 [search error]\n  2 m stop 120/30"

    ENDS = {  # noqa: RUF012 - cases by name
        "steps": (
            "langgraph.errors.GraphRecursionError",
            "Recursion limit of 4 reached",
            "runtime says max_iterations",
        ),
        "cancelled": ("CancelledError", "CancelledError()", "host says cancelled"),
        "abandoned": ("GeneratorExit", "", "host says cancelled"),
        "calls": ("ToolCallLimitExceededError", "run limit exceeded (2/1 calls)", "runtime says tool_calls_limit"),
        "failed": ("RuntimeError", "backend down", "runtime says error"),
    }

    @pytest.mark.parametrize(("kind", "text", "said"), ENDS.values(), ids=ENDS)
    def test_the_exception_of_the_turn_names_the_end(self, kind: str, text: str, said: str) -> None:
        """The class decides."""
        tape = Tape(LANGCHAIN)
        attributes: Attributes = {KIND: "CHAIN", "metadata": '{"lc_agent_name": "bot", "thread_id": "c1"}'}
        head = tape.span("bot", 0, 10, attributes, raised=(kind, text))
        llm(tape, node(tape, "model", 1, 3, head), 1.5)
        assert told(tape) == f"bot | conversation c1 | {said}\n  1 m stop 120/30"

    def test_a_middleware_that_leaves_the_loop_names_its_limit(self) -> None:
        """Everything is OK; its message is in the output of its node."""
        tape = Tape(LANGCHAIN)
        head = chain(tape, "bot", 0, 10, lc_agent_name="bot")
        llm(tape, node(tape, "model", 1, 3, head), 1.5, "tool_calls")
        said = {"jump_to": "end", "messages": [{"data": {"content": "Model call limits exceeded: run limit (1/1)"}}]}
        attributes: Attributes = {
            KIND: "CHAIN",
            "metadata": '{"langgraph_node": "limit"}',
            "output.value": json.dumps(said),
        }
        tape.span("limit", 4, 5, attributes, parent=head, status=OK)
        assert told(tape) == "bot | conversation c1 | limit steps 1 | runtime says step_limit\n  1 m tool_calls 120/30"

    def test_a_wait_for_a_person_is_told_by_its_node_alone(self) -> None:
        """The turn's own span ends OK."""
        tape = Tape(LANGCHAIN)
        head = chain(tape, "bot", 0, 10, lc_agent_name="bot")
        llm(tape, node(tape, "model", 1, 3, head), 1.5, "tool_calls")
        tape.span(
            "hitl",
            4,
            5,
            {KIND: "CHAIN", "metadata": '{"langgraph_node": "hitl"}'},
            parent=head,
            raised=("GraphInterrupt", ""),
        )
        assert told(tape) == "bot | conversation c1 | runtime says interrupt\n  1 m tool_calls 120/30"

    def test_a_graph_in_a_tool_is_a_sub_agent_with_its_own_tools(self) -> None:
        """Its spans carry the metadata of the outer node."""
        tape = Tape(LANGCHAIN)
        head = chain(tape, "bot", 0, 10, lc_agent_name="bot")
        llm(tape, node(tape, "model", 1, 2, head), 1.5, "tool_calls")
        outer = tape.span(
            "ask", 3, 7, {KIND: "TOOL", "tool.name": "ask"}, parent=node(tape, "tools", 3, 7, head), status=OK
        )
        sub = chain(tape, "helper", 3.1, 6.9, outer, langgraph_node="tools", lc_agent_name="helper")
        llm(tape, sub, 3.5, "tool_calls")
        tape.span("dig", 4.5, 4.6, {KIND: "TOOL", "tool.name": "dig"}, parent=sub, status=OK)
        llm(tape, sub, 5)
        llm(tape, node(tape, "model", 8, 9, head), 8.1)
        assert told(tape) == (
            "bot | conversation c1\n  1 m tool_calls 120/30 [ask ok]\n  2 m stop 120/30\n"
            "? | below bot\n  1 m tool_calls 120/30 [dig ok]\n  2 m stop 120/30"
        )

    def test_nodes_that_come_before_their_graph_name_its_turn(self) -> None:
        """The id is that of the span they hang from."""
        tape = Tape(LANGCHAIN)
        llm(tape, node(tape, "model", 1, 3, "00000000000000ff"), 1.5)
        (turn,) = turns_from(tape.records).turns
        assert (turn.turn_id, turn.open) == (f"{tape.trace}:00000000000000ff", True)

    def test_a_chain_without_a_request_is_no_turn(self) -> None:
        """Prompt templates and the like are not agents."""
        tape = Tape(LANGCHAIN)
        chain(tape, "RunnableLambda", 0, 1)
        assert told(tape) == ""


def test_the_genai_names_beside_ours_count_once() -> None:
    """Both dialects on one span are one reading."""
    tape = Tape(AGENTS)
    bot = agent(tape, run(tape), 1, 10)
    attributes: Attributes = {
        KIND: "LLM",
        **USAGE,
        "llm.model_name": "m",
        "llm.finish_reason": "stop",
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 30,
        "gen_ai.response.finish_reasons": ("stop",),
    }
    tape.span("response", 2, 3, attributes, parent=bot, status=OK)
    assert told(tape) == "bot\n  1 m stop 120/30"


RESPONSES: dict[str, tuple[dict[str, object], str]] = {
    "done": ({"status": "completed"}, "completed"),
    "asks for a tool": ({"status": "completed", "output": [{"type": "function_call"}]}, "tool_calls"),
    "cut": ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "(max_output_tokens)"),
    "gave no reason": ({"status": "incomplete"}, "incomplete"),
}


@pytest.mark.parametrize(("response", "said"), RESPONSES.values(), ids=RESPONSES)
def test_the_status_of_a_response_is_its_finish(response: dict[str, object], said: str) -> None:
    """A client's own instrumentation sets no finish reason for the Responses API."""
    tape = Tape("openinference.instrumentation.openai")
    value = json.dumps({"object": "response", **response})
    tape.span("Response", 0, 1, {KIND: "LLM", "llm.model_name": "m", "output.value": value}, status=OK)
    assert told(tape) == f"?\n  1 m {said}"


MESSAGES: dict[str, tuple[dict[str, object], str]] = {
    "refused beside its text": (
        {"response_metadata": {"finish_reason": "stop"}, "additional_kwargs": {"refusal": "no"}},
        "stop refused",
    ),
    "refused in a part": (
        {"response_metadata": {"object": "response", "status": "completed"}, "content": [{"type": "refusal"}]},
        "completed refused",
    ),
    "cut": ({"response_metadata": {"incomplete_details": {"reason": "content_filter"}}}, "(content_filter)"),
}


@pytest.mark.parametrize(("message", "said"), MESSAGES.values(), ids=MESSAGES)
def test_the_message_of_langchain_says_what_the_attributes_leave_out(message: dict[str, object], said: str) -> None:
    """The Responses API and refusals have no attribute of their own."""
    tape = Tape(LANGCHAIN)
    head = tape.span("bot", 0, 9, {KIND: "CHAIN", "metadata": '{"lc_agent_name": "bot"}'}, status=OK)
    value = json.dumps({"generations": [[{"text": "", "message": {"kwargs": message}}]]})
    tape.span("Chat", 1, 2, {KIND: "LLM", "llm.model_name": "m", "output.value": value}, parent=head, status=OK)
    assert told(tape) == f"bot\n  1 m {said}"


SMOL = "openinference.instrumentation.smolagents"
LLAMA = "openinference.instrumentation.llama_index"


def smol_step(tape: Tape, parent: Span, begin: float, tool: str) -> None:
    outer = tape.span("Step", begin, begin + 1.9, {KIND: "CHAIN"}, parent=parent, status=OK)
    asked: Attributes = {KIND: "LLM", "llm.model_name": "m", "output.value": '{"raw": "finish_reason=\'tool_calls\'"}'}
    tape.span("Model.generate", begin, begin + 1, asked, parent=outer, status=OK)
    tape.span("SimpleTool", begin + 1, begin + 1.5, {KIND: "TOOL", "tool.name": tool}, parent=outer, status=OK)


class TestOtherFrameworks:
    """Each shows its end in a way of its own."""

    def test_an_output_tool_is_the_answer(self) -> None:
        """The last response asks for a tool, and the run is done."""
        tape = Tape(SMOL)
        head = tape.span("bot.run", 0, 9, {KIND: "AGENT", "smolagents.max_steps": 3}, status=OK)
        smol_step(tape, head, 1, "search")
        smol_step(tape, head, 3, "final_answer")
        said = "bot | runtime says completed\n  1 m tool_calls [search ok]\n  2 m tool_calls [final_answer! ok]"
        assert told(tape) == said

    def test_a_request_beside_the_spent_steps_is_forced(self) -> None:
        """Nothing but its place tells that the steps ran out."""
        tape = Tape(SMOL)
        head = tape.span("bot.run", 0, 9, {KIND: "AGENT", "smolagents.max_steps": 1}, status=OK)
        smol_step(tape, head, 1, "search")
        answer: Attributes = {KIND: "LLM", "llm.model_name": "m", "output.value": '{"finish_reason": "stop"}'}
        tape.span("Model.generate", 4, 5, answer, parent=head, status=OK)
        assert told(tape) == "bot | limit steps 1 | runtime says step_limit\n  1 m tool_calls [search ok]\n  2 m stop"
        assert [step.forced_final for turn in turns_from(tape.records).turns for step in turn.steps] == [None, True]

    def test_a_request_beside_the_steps_before_they_are_spent_is_none_of_that(self) -> None:
        """A plan is made beside the steps, too."""
        tape = Tape(SMOL)
        head = tape.span("bot.run", 0, 9, {KIND: "AGENT", "smolagents.max_steps": 5}, status=OK)
        smol_step(tape, head, 1, "search")
        tape.span("Model.generate", 4, 5, {KIND: "LLM", "llm.model_name": "m"}, parent=head, status=OK)
        assert "step_limit" not in told(tape)

    def test_what_only_prepares_a_request_is_none(self) -> None:
        """It has the kind of one, and no answer."""
        tape = Tape(LLAMA)
        head = tape.span("FunctionAgent.run", 0, 9, {KIND: "CHAIN"}, status=OK)
        tape.span("OpenAI._prepare_chat_with_tools", 1, 1.1, {KIND: "LLM", "output.value": "{}"}, parent=head)
        tape.span("OpenAI.chat", 2, 3, {KIND: "LLM", "llm.model_name": "m", "llm.finish_reason": "stop"}, parent=head)
        assert told(tape) == "FunctionAgent\n  1 m stop"

    STOPS = {"workflow cancelled by user": "host says user_stop", "step cancelled": "host says cancelled"}  # noqa: RUF012 - cases by name

    @pytest.mark.parametrize(("reason", "said"), STOPS.items(), ids=STOPS)
    def test_a_stopped_workflow_is_an_event(self, reason: str, said: str) -> None:
        """Its status is OK."""
        tape = Tape(LLAMA)
        events: list[tuple[str, Attributes]] = [("span.cancelled", {"reason": reason})]
        head = tape.span("FunctionAgent.run", 0, 9, {KIND: "CHAIN"}, status=OK, events=events)
        tape.span("OpenAI.chat", 2, 3, {KIND: "LLM", "llm.model_name": "m", **USAGE}, parent=head, status=OK)
        assert told(tape) == f"FunctionAgent | {said}\n  1 m 120/30"

    def test_an_exception_on_a_span_that_is_ok_ended_nothing(self) -> None:
        """A stream that was read to its end is closed by one."""
        tape = Tape("openinference.instrumentation.autogen_agentchat")
        closed: list[tuple[str, Attributes]] = [("exception", {"exception.type": "GeneratorExit"})]
        head = tape.span("bot.on_messages_stream", 0, 9, {KIND: "AGENT"}, status=OK, events=closed)
        value = '{"finish_reason": "stop"}'
        tape.span("Client.create", 2, 3, {KIND: "LLM", "llm.model_name": "m", "output.value": value}, parent=head)
        assert told(tape) == "bot\n  1 m stop"

    def test_a_wait_for_a_person_on_a_span_that_is_ok_is_one(self) -> None:
        """Only a cancellation may be a stream's mere end."""
        tape = Tape(LANGCHAIN)
        thrown: list[tuple[str, Attributes]] = [("exception", {"exception.type": "GraphInterrupt"})]
        named: Attributes = {KIND: "CHAIN", "metadata": '{"lc_agent_name": "bot"}'}
        head = tape.span("bot", 0, 9, named, status=OK, events=thrown)
        tape.span("Chat", 1, 2, {KIND: "LLM", "llm.model_name": "m"}, parent=head, status=OK)
        assert told(tape) == "bot | runtime says interrupt\n  1 m"

    NAMES = {  # noqa: RUF012 - cases by name
        "of the framework": ("Crew_01234567-89ab-cdef-0123-456789abcdef.kickoff", "Crew\na | below Crew\n  1 m stop\nb | below Crew\n  1 m stop"),
        "of the application": ("session", "a\n  1 m stop\nb\n  1 m stop"),
    }  # fmt: skip

    @pytest.mark.parametrize(("name", "said"), NAMES.values(), ids=NAMES)
    def test_several_agents_of_one_message_are_one_turn(self, name: str, said: str) -> None:
        """A framework's own root works on one message; one that the application made may hold a conversation."""
        tape = Tape("openinference.instrumentation.crewai")
        root = tape.span(name, 0, 9, {KIND: "CHAIN"}, status=OK)
        for begin, who in ((1, "a"), (4, "b")):
            head = tape.span(f"{who}._execute_core", begin, begin + 2, {KIND: "AGENT"}, parent=root, status=OK)
            asked: Attributes = {KIND: "LLM", "llm.model_name": "m", "llm.finish_reason": "stop"}
            tape.span("Chat", begin, begin + 1, asked, parent=head, status=OK)
        assert told(tape) == said

    def test_a_turn_span_may_tell_the_last_response_alone(self) -> None:
        """No request has a span; the tool calls before it belong to a step that is not told."""
        tape = Tape("openinference.instrumentation.claude_agent_sdk")
        whole: Attributes = {KIND: "AGENT", "llm.model_name": "m", "llm.finish_reason": "max_tokens", **USAGE}
        head = tape.span("ClaudeAgentSDK.query", 0, 9, whole, status=OK)
        tape.span("Bash", 2, 3, {KIND: "TOOL", "tool.name": "Bash", "tool.id": "k1"}, parent=head, status=OK)
        (turn,) = turns_from(tape.records).turns
        assert tell([turn]) == "ClaudeAgentSDK\n  1 [Bash ok]\n  2 m max_tokens"
        assert turn.usage is not None
        assert (turn.usage.input_tokens, turn.steps[0].tool_calls[0].id) == (120, "k1")

    def test_the_finish_of_a_turn_that_failed_is_not_its_own(self) -> None:
        """The program makes up a message that tells the failure."""
        tape = Tape("openinference.instrumentation.claude_agent_sdk")
        whole: Attributes = {KIND: "AGENT", "llm.model_name": "<synthetic>", "llm.finish_reason": "stop_sequence"}
        text = "Claude Code returned an error result: Reached maximum number of turns (2)"
        tape.span("ClaudeAgentSDK.query", 0, 9, whole, raised=("ResultError", text))
        assert told(tape) == "ClaudeAgentSDK | runtime says error_max_turns"

    def test_a_structured_response_is_the_answer(self) -> None:
        """The graph returned what the last response put into a call."""
        tape = Tape(LANGCHAIN)
        output = '{"messages": [], "structured_response": {"x": 1}}'
        head = tape.span("bot", 0, 9, {KIND: "CHAIN", "metadata": '{"lc_agent_name": "bot"}', "output.value": output})
        part = "llm.output_messages.0.message.tool_calls.0.tool_call."
        asked: Attributes = {f"{part}id": "k1", f"{part}function.name": "Out", "llm.finish_reason": "tool_calls"}
        tape.span("Chat", 1, 2, {KIND: "LLM", "llm.model_name": "m", **asked}, parent=head, status=OK)
        assert told(tape) == "bot | runtime says completed\n  1 m tool_calls [Out! ok]"
