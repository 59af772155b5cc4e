"""One run told by two instrumentations of one process."""

from made_telemetry import Attributes, Tape, tell
from turnout.pipeline.dialects import turns_from
from turnout.pipeline.telemetry import SpanStatus


def genai(tape: Tape, shift: float = 0, name: str = "bot", scope: str = "one") -> None:
    head = tape.span(
        "invoke_agent",
        shift,
        shift + 10,
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name},
        scope=scope,
    )
    chat: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 30,
    }
    tape.span("chat", shift + 1, shift + 3, chat, parent=head, scope=scope)


def openinference(tape: Tape, shift: float = 0) -> None:
    kind = "openinference.span.kind"
    head = tape.span(
        "bot", shift + 0.1, shift + 9.9, {kind: "AGENT", "session.id": "c1"}, scope="two", status=SpanStatus.OK
    )
    chat: Attributes = {
        kind: "LLM",
        "llm.finish_reason": "stop",
        "llm.token_count.prompt": 120,
        "llm.token_count.completion": 30,
    }
    tape.span("response", shift + 1.1, shift + 2.9, chat, parent=head, scope="two")


def test_two_tellings_of_one_run_count_once_and_complete_each_other() -> None:
    """The conversation comes from the one, the model from the other."""
    tape = Tape("app")
    genai(tape)
    openinference(tape)
    assert tell(turns_from(tape.records).turns) == "bot | conversation c1\n  1 m stop 120/30"


def test_runs_one_after_the_other_are_two() -> None:
    """Only what runs at the same time can be the same."""
    tape = Tape("app")
    genai(tape)
    openinference(tape, 20)
    assert len(turns_from(tape.records).turns) == 2


def test_parallel_runs_of_one_emitter_are_two() -> None:
    """An instrumentation does not tell a run twice."""
    tape = Tape("app")
    genai(tape)
    genai(tape, 0.1)
    assert len(turns_from(tape.records).turns) == 2


def test_two_traces_are_two() -> None:
    """Nothing ties them to each other."""
    tape = Tape("app")
    genai(tape)
    tape.trace = "0" * 30 + "b2"
    openinference(tape)
    assert len(turns_from(tape.records).turns) == 2


def test_a_bare_turn_span_beside_a_told_run_is_the_same_run() -> None:
    """One library exports the turn alone."""
    tape = Tape("app")
    genai(tape)
    tape.span("bot", 0.1, 9.9, {"openinference.span.kind": "AGENT", "agent.name": "bot"}, scope="two")
    assert tell(turns_from(tape.records).turns) == "bot\n  1 m stop 120/30"
