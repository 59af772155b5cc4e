"""One request told by two libraries beside each other, in one turn or in none."""

from dataclasses import replace

import pytest

from made_telemetry import Attributes, Tape, moment, tell
from turnout.outcomes.facts import Usage
from turnout.pipeline.dialects import turns_from
from turnout.pipeline.telemetry import Span


def request(
    tape: Tape,
    parent: Span | None,
    times: tuple[float, float],
    told: Attributes,
    scope: str,
    raised: tuple[str, str] | None = None,
) -> Span:
    named: Attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **told}
    return tape.span("chat m", *times, named, parent=parent, scope=scope, raised=raised)


def used(output: int = 30) -> Attributes:
    return {"gen_ai.usage.input_tokens": 120, "gen_ai.usage.output_tokens": output}


def finished(reason: str, **more: str) -> Attributes:
    return {"gen_ai.response.finish_reasons": (reason,), **used(), **more}


TWO_STEPS = ("  1 m stop 120/30", "  2 m stop 120/30")
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bot"}


def test_a_client_that_traces_itself_beside_its_instrumentation_makes_no_second_step() -> None:
    """What the instrumentation does not tell is taken from the client's own span."""
    tape = Tape("framework")
    head = tape.span("invoke_agent bot", 0, 9, AGENT)
    request(tape, head, (1, 3), used(), "instrumentation")
    request(
        tape,
        head,
        (1.1, 2.9),
        {"anthropic.message.stop_reason": "max_tokens", "gen_ai.provider.name": "anthropic", **used()},
        "sdk",
    )
    assert tell(turns_from(tape.records).turns) == "bot\n  1 m max_tokens 120/30"


def test_two_tellings_of_one_failure_fill_each_other() -> None:
    """The status of the one and the text of the other are one failure."""
    tape = Tape("framework")
    head = tape.span("invoke_agent bot", 0, 9, AGENT)
    request(tape, head, (1, 3), {}, "instrumentation", raised=("BadRequestError", "prompt is too long"))
    request(tape, head, (1.1, 2.9), {"error.type": "invalid_request_error", "http.response.status_code": 400}, "sdk")
    (turn,) = turns_from(tape.records).turns
    (step,) = turn.steps
    assert step.error is not None
    assert (step.error.type, step.error.status, step.error.message) == ("BadRequestError", 400, "prompt is too long")


def test_counts_that_only_one_tells_are_added_to_the_others() -> None:
    """The cache of the second telling, the rest of the first."""
    tape = Tape("framework")
    head = tape.span("invoke_agent bot", 0, 9, AGENT)
    request(tape, head, (1, 3), finished("stop"), "instrumentation")
    request(tape, head, (1, 3), {**used(31), "gen_ai.usage.cache_read.input_tokens": 40}, "sdk")
    (turn,) = turns_from(tape.records).turns
    assert [step.usage for step in turn.steps] == [Usage(input_tokens=120, output_tokens=30, cache_read_tokens=40)]


def test_requests_beside_the_agents_belong_to_those_that_they_double() -> None:
    """A client's requests hang from the server's span, the framework's from its agents: one agent and its sub-agent, four requests."""
    tape = Tape("framework")
    server = tape.span("POST /", 0, 20, scope="web")
    head = tape.span("invoke_agent bot", 0, 19, AGENT, parent=server)
    inside: Attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ask"}
    tool = tape.span("execute_tool ask", 4, 12, inside, parent=head)
    sub = tape.span("invoke_agent sub", 5, 11, {**AGENT, "gen_ai.agent.name": "sub"}, parent=tool)
    for parent, begin in ((head, 1), (sub, 6), (sub, 8), (head, 14)):
        request(tape, parent, (begin, begin + 1), finished("stop"), "framework")
        request(tape, server, (begin + 0.1, begin + 0.9), finished("stop"), "client")
    turns = ["bot", "  1 m stop 120/30 [ask ok]", "  2 m stop 120/30", "sub | below bot", *TWO_STEPS]
    assert tell(turns_from(tape.records).turns).splitlines() == turns


def test_attempts_inside_one_request_stay_attempts() -> None:
    """The client failed once and was asked again, the framework tells one request."""
    tape = Tape("framework")
    head = tape.span("invoke_agent bot", 0, 9, AGENT)
    request(tape, head, (1, 5), finished("stop"), "framework")
    request(tape, head, (1.1, 2), {"http.response.status_code": 503}, "client", raised=("APIError", "busy"))
    request(tape, head, (2.5, 4.9), finished("stop"), "client")
    assert tell(turns_from(tape.records).turns) == "bot\n  1 m stop 120/30 attempts 2"


@pytest.mark.parametrize(
    ("told", "times", "scope"),
    [
        pytest.param({}, (1, 3), "framework", id="of one library"),
        pytest.param({"gen_ai.response.id": "r2"}, (1, 3), "client", id="with another id"),
        pytest.param({"gen_ai.request.model": "other"}, (1, 3), "client", id="to another model"),
        pytest.param({"gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 8}, (1, 3), "client", id="with another usage"),
        pytest.param({}, (2.5, 4.5), "client", id="at another time"),
    ],
)  # fmt: skip
def test_two_requests_stay_two(told: Attributes, times: tuple[float, float], scope: str) -> None:
    """Only what lies on the other, from another library and without a contradiction, is the same request."""
    tape = Tape("framework")
    head = tape.span("invoke_agent bot", 0, 9, AGENT)
    request(tape, head, (1, 3), finished("stop", **{"gen_ai.response.id": "r1"}), "framework")
    request(tape, head, times, {**finished("stop"), **told}, scope)
    (turn,) = turns_from(tape.records).turns
    assert len(turn.steps) == 2


def test_a_tool_below_the_doubled_request_stays_with_the_turn() -> None:
    """A server tool hangs from the client's request; the step that is kept has it."""
    tape = Tape("framework")
    head = tape.span("invoke_agent bot", 0, 9, AGENT)
    request(tape, head, (1, 5), finished("stop"), "framework")
    double = request(tape, None, (1.1, 4.9), finished("stop"), "client")
    tape.span(
        "execute_tool find", 2, 3, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}, parent=double
    )
    assert tell(turns_from(tape.records).turns) == "bot\n  1 m stop 120/30 [find ok]"


def test_what_an_inner_telling_answers_was_not_cut() -> None:
    """The outer span of a streamed request is empty, the one inside has the answer."""
    tape = Tape("openinference.instrumentation.llama_index")
    kind: Attributes = {"openinference.span.kind": "LLM", "llm.model_name": "m"}
    head = tape.span("bot.run", 0, 9, {"openinference.span.kind": "AGENT", "agent.name": "bot"})
    outer = tape.span("astream_chat", 1, 3, kind, parent=head)
    tape.span("astream_chat", 1, 3, {**kind, "llm.finish_reason": "stop"}, parent=outer)
    assert tell(turns_from(tape.records).turns) == "bot\n  1 m stop"


def test_requests_without_times_are_left_alone() -> None:
    """Nothing lies on a request that has no times, unless the id is the same."""
    tape = Tape("framework")
    first = request(tape, None, (1, 3), finished("stop"), "framework")
    tape.records.append(replace(first, span_id="f" * 16, start=None, end=None))
    assert first.start == moment(1)
    assert sum(len(turn.steps) for turn in turns_from(tape.records).turns) == 2


def test_a_failed_attempt_inside_an_answered_request_is_no_failure() -> None:
    """A framework that falls back to another model tells the failure inside the request that was answered."""
    tape = Tape("pydantic-ai")
    head = tape.span("invoke_agent bot", 0, 9, AGENT)
    outer = request(tape, head, (1, 5), finished("stop"), "pydantic-ai")
    failed: Attributes = {"http.response.status_code": 500, "gen_ai.response.model": "m"}
    request(tape, outer, (1.1, 2), failed, "pydantic-ai", raised=("ModelServerError", "boom"))
    request(tape, outer, (2.5, 4.9), {**finished("end_turn"), "gen_ai.usage.cache_read.input_tokens": 40}, "sdk")
    (turn,) = turns_from(tape.records).turns
    (step,) = turn.steps
    assert (step.finish_reason, step.error, step.attempts) == ("stop", None, 2)
    assert step.usage == Usage(input_tokens=120, output_tokens=30, cache_read_tokens=40)


def test_a_client_says_how_often_it_sent_a_request() -> None:
    """Its retries are inside one span."""
    tape = Tape("sdk")
    request(tape, None, (1, 3), {**finished("stop"), "http.request.resend_count": 2}, "sdk")
    assert tell(turns_from(tape.records).turns) == "?\n  1 m stop 120/30 attempts 3"


def test_a_failure_that_only_the_second_telling_has_is_the_requests() -> None:
    """A stream that broke off: the one knows the response's id, the other that it failed."""
    tape = Tape("framework")
    head = tape.span("invoke_agent bot", 0, 9, AGENT)
    request(tape, head, (1, 3), {"gen_ai.response.id": "r1", **used(1)}, "instrumentation")
    request(tape, head, (1.1, 2.9), {"gen_ai.response.id": "r1"}, "sdk", raised=("APIError", "broken off"))
    assert tell(turns_from(tape.records).turns) == "bot\n  1 m 120/1 error APIError None"
