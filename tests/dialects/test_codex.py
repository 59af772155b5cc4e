"""Codex CLI: conversations cut into turns, responses told twice, spans that mostly do not count."""

import pytest

from made_telemetry import Attributes, Tape, tell
from turnout.pipeline.dialects import is_relevant, link_keys, turns_from
from turnout.pipeline.telemetry import Span, Value

COUNTS: Attributes = {
    "input_token_count": "120",
    "output_token_count": 30,
    "cached_token_count": 40,
    "reasoning_token_count": 7,
    "tool_token_count": 150,
}


def tape() -> Tape:
    return Tape("codex_otel.log_only", resource={"service.name": "codex_exec"})


def told(made: Tape) -> str:
    return tell(turns_from(made.records).turns)


def event(made: Tape, name: str, at: float, **attributes: Value) -> None:
    named: Attributes = {"event.name": f"codex.{name}", "conversation.id": "c1", "model": "m"}
    made.log(f"codex.{name}", at, {**named, **{key.replace("__", "."): value for key, value in attributes.items()}})


def request(made: Tape, at: float, **more: Value) -> None:
    event(made, "api_request", at, endpoint="/responses", duration_ms="500", **more)


def answer(made: Tape, at: float, kind: str = "response.completed") -> None:
    event(made, "sse_event", at, event__kind=kind)
    if kind == "response.completed":
        event(made, "sse_event", at, event__kind=kind, **COUNTS)


def test_a_turn_of_events_alone() -> None:
    """A response is told twice and counts once; its kind is the only finish there is."""
    made = tape()
    event(made, "user_prompt", 0)
    request(made, 1)
    event(made, "sse_event", 1.1, event__kind="response.created")
    answer(made, 2)
    event(made, "tool_decision", 3, call_id="k1", tool_name="exec", decision="approved", source="Config")
    event(made, "tool_result", 4, call_id="k1", tool_name="exec", success="true")
    request(made, 5)
    answer(made, 6)
    (turn,) = turns_from(made.records).turns
    assert tell([turn]) == "codex | conversation c1\n  1 m completed 120/30 [exec ok]\n  2 m completed 120/30"
    assert (turn.turn_id.startswith("codex:c1:"), turn.attended, turn.open) == (True, False, None)


def test_a_conversation_is_cut_at_each_prompt() -> None:
    """Events have no turn id."""
    made = tape()
    for at in (0, 10):
        event(made, "user_prompt", at)
        request(made, at + 1)
        answer(made, at + 2)
    assert told(made) == "\n".join(["codex | conversation c1\n  1 m completed 120/30"] * 2)


def test_a_request_without_an_answer_stays_open_ended() -> None:
    """Nothing is made up for it."""
    made = tape()
    event(made, "user_prompt", 0)
    request(made, 1)
    assert told(made) == "codex | conversation c1\n  1 m"


@pytest.mark.parametrize(
    ("kind", "said"), [("response.incomplete", "1 m incomplete"), ("response.failed", "1 m error None None")]
)
def test_other_ends_of_a_response(kind: str, said: str) -> None:
    """Incomplete hides why; a failure has its words in the event."""
    made = tape()
    event(made, "user_prompt", 0)
    request(made, 1)
    event(made, "sse_event", 2, event__kind=kind, **({"error.message": "boom"} if kind.endswith("failed") else {}))
    assert told(made) == f"codex | conversation c1\n  {said}"


def test_failed_attempts_are_one_step() -> None:
    """Each is a request of its own in the events."""
    made = tape()
    event(made, "user_prompt", 0)
    request(made, 1, **{"http.response.status_code": "503", "error.message": "unavailable"})
    request(made, 3)
    answer(made, 4)
    event(made, "api_request", 5, endpoint="/models", duration_ms=1)
    assert told(made) == "codex | conversation c1\n  1 m completed 120/30 attempts 2"


def test_a_denied_call_is_denied_and_abort_stops_the_turn() -> None:
    """The answer of a person that means stop is a claim."""
    made = tape()
    event(made, "user_prompt", 0)
    request(made, 1)
    answer(made, 2)
    event(made, "tool_decision", 3, call_id="k1", tool_name="exec", decision="abort", source="User")
    assert told(made) == "codex | conversation c1 | host says user_stop\n  1 m completed 120/30 [exec denied]"


class TestWithSpans:
    """The turn span closes the turn; without it the turn is open."""

    def made(self, *, closed: bool, aborted: bool = False) -> Tape:
        made = tape()
        made.scope = "codex_exec"
        event(made, "user_prompt", 0)
        named: Attributes = {"turn.id": "t1", "conversation.id": "c1"}
        sampling = made.span("codex.sampling", 1, 2, named, parent="00000000000000ee")
        request(made, 1)
        answer(made, 2)
        made.span("exec", 3, 4, {**named, "call_id": "k1", "aborted": aborted}, parent="00000000000000ee")
        event(made, "tool_result", 4, call_id="k1", tool_name="exec", success="true")
        made.records[0] = made.log("codex.user_prompt", 0, made.records[0].attributes, within=sampling)
        made.records.pop()
        if closed:
            made.span(
                "session_task.turn",
                0,
                5,
                {"turn.id": "t1", "thread.id": "c1", "codex.turn.token_usage.input_tokens": 120},
            )
        return made

    def test_the_turn_span_names_the_turn_and_has_its_sum(self) -> None:
        """Its totals are a check, not an addition."""
        (turn,) = turns_from(self.made(closed=True).records).turns
        assert (turn.turn_id, turn.open, turn.usage and turn.usage.input_tokens) == ("codex:t1", None, 120)
        assert tell([turn]) == "codex | conversation c1\n  1 m completed 120/30 [exec ok]"

    def test_a_turn_without_its_span_is_open(self) -> None:
        """An interrupted run never exports it."""
        (turn,) = turns_from(self.made(closed=False).records).turns
        assert (turn.turn_id, turn.open) == ("codex:t1", True)

    def test_an_aborted_tool_is_a_word_on_the_end(self) -> None:
        """The only one that this dialect has."""
        assert "host says turn_aborted" in told(self.made(closed=True, aborted=True))


def test_noise_is_passed_over_and_a_conversation_hangs_together() -> None:
    """Some 500 spans a turn say nothing of it."""
    made = tape()
    made.scope = "codex_exec"
    event(made, "user_prompt", 0)
    noise = made.span("fs.get_metadata", 1, 2)
    turn = made.span("session_task.turn", 0, 5, {"turn.id": "t1", "thread.id": "c1"})
    delta = made.log(
        "codex.sse_event", 1, {"event.name": "codex.sse_event", "event.kind": "response.output_text.delta"}
    )
    assert [is_relevant(record) for record in (noise, turn, delta)] == [False, True, False]
    assert link_keys(turn) == (made.trace, "codex:c1")
    assert isinstance(noise, Span)
    assert dict(turns_from([noise]).unrecognised) == {}


BROKEN = {
    "broke off": ("stream disconnected before completion: stream closed", "1 m completed 120/30 attempts 2"),
    "cut": (
        "Incomplete response returned, reason: max_output_tokens",
        "1 m (max_output_tokens)\n  2 m completed 120/30",
    ),
}


@pytest.mark.parametrize(("message", "said"), BROKEN.values(), ids=BROKEN)
def test_a_completed_response_with_an_error_is_none(message: str, said: str) -> None:
    """The record of a stream that broke off has the kind of one that was completed; the next request is its second attempt."""
    made = tape()
    event(made, "user_prompt", 0)
    request(made, 1)
    event(made, "sse_event", 1.5, event__kind="response.completed", error__message=message)
    request(made, 2)
    answer(made, 3)
    assert told(made) == f"codex | conversation c1\n  {said}"


def test_a_request_that_the_server_rejected_was_not_cut() -> None:
    """It has no answer, but a status."""
    made = tape()
    event(made, "user_prompt", 0)
    request(made, 1)
    answer(made, 1.5)
    event(made, "tool_result", 2, call_id="k1", tool_name="exec", success="true")
    request(made, 3, http__response__status_code="500", error__message="http 500")
    assert told(made).endswith("  2 m error None 500")
