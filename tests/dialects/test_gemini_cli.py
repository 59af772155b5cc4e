"""Gemini CLI: prompts told by events, sub-agents with a vocabulary of their own, and the loop guard."""

import pytest

from made_telemetry import Attributes, Tape, tell
from turnout.outcomes.classify import classify
from turnout.outcomes.facts import Usage
from turnout.pipeline.dialects import is_relevant, link_keys, turns_from


def tape() -> Tape:
    return Tape("gemini-cli", "v1")


def told(made: Tape) -> str:
    return tell(turns_from(made.records).turns)


def event(made: Tape, name: str, at: float, attributes: Attributes | None = None, prompt: str | None = "p1") -> None:
    named: Attributes = {"session.id": "s1", "prompt_id": prompt, "event.name": name, "interactive": False}
    made.log(name, at, {**named, **(attributes or {})})


def asked(made: Tape, at: float, prompt: str = "p1", **more: str) -> None:
    event(made, "gemini_cli.api_request", at, {"model": "m", **more}, prompt)


def answered(made: Tape, at: float, finish: str = "stop", prompt: str = "p1", **more: str) -> None:
    counts: Attributes = {
        "input_token_count": 120,
        "output_token_count": 23,
        "thoughts_token_count": 7,
        "cached_content_token_count": 40,
    }
    event(made, "gemini_cli.api_response", at, {"model": "m-x", "finish_reasons": (finish,), **counts, **more}, prompt)


def test_a_prompt_is_a_turn_and_stop_stands_beside_tool_calls() -> None:
    """Thoughts are outside the output; a call has no id."""
    made = tape()
    asked(made, 1)
    answered(made, 2)
    event(made, "gemini_cli.tool_call", 3, {"function_name": "read", "success": False, "error_type": "bad"})
    asked(made, 4)
    answered(made, 5)
    (turn,) = turns_from(made.records).turns
    assert tell([turn]) == "gemini-cli | conversation s1\n  1 m stop 120/23 [read error]\n  2 m stop 120/23"
    step = turn.steps[0]
    assert (step.usage, step.reasoning_in_output) == (
        Usage(input_tokens=120, output_tokens=23, cache_read_tokens=40, reasoning_tokens=7),
        False,
    )
    assert (turn.turn_id, turn.attended) == ("gemini_cli:p1", False)


def test_the_loop_guard_ends_the_turn_the_second_time() -> None:
    """The first time it tries to recover; its prompt is empty, and the requests that it cut have no answer."""
    made = tape()
    for at in (1, 3):
        asked(made, at)
        event(made, "loop_detected", at + 0.5, {"count": at // 2 + 1}, prompt="")
    assert told(made) == "gemini-cli | conversation s1 | runtime says loop_detected\n  1 m aborted\n  2 m"


ENDS = {
    "GOAL": "goal",
    "MAX_TURNS": "max_turns",
    "TIMEOUT": "agent_timeout",
    "ABORTED": "aborted",
    "ERROR": "error",
    "ERROR_NO_COMPLETE_TASK_CALL": "error",
}


@pytest.mark.parametrize(("reason", "said"), ENDS.items(), ids=ENDS)
def test_a_sub_agent_says_how_it_ended(reason: str, said: str) -> None:
    """Its prompts carry its id and a number; it is a turn below the prompt's."""
    made = tape()
    asked(made, 1)
    answered(made, 2)
    event(made, "gemini_cli.agent.start", 3, {"agent_id": "s1-dig-x", "agent_name": "dig"}, None)
    asked(made, 4, "s1-dig-x#0")
    answered(made, 5, prompt="s1-dig-x#0")
    event(
        made,
        "gemini_cli.agent.finish",
        6,
        {"agent_id": "s1-dig-x", "agent_name": "dig", "terminate_reason": reason},
        None,
    )
    asked(made, 7)
    answered(made, 8)
    assert told(made) == (
        "gemini-cli | conversation s1\n  1 m stop 120/23\n  2 m stop 120/23\n"
        f"dig | conversation s1 | below gemini-cli | runtime says {said}\n  1 m stop 120/23"
    )


def test_side_jobs_are_turns_below() -> None:
    """Routing and the like are no steps of the loop."""
    made = tape()
    asked(made, 1, role="main")
    answered(made, 2, role="main")
    asked(made, 3, role="utility_router")
    answered(made, 4, role="utility_router")
    assert told(made) == (
        "gemini-cli | conversation s1\n  1 m stop 120/23\nutility_router | conversation s1 | below gemini-cli\n  1 m stop 120/23"
    )


def test_errors_cancellations_and_denials() -> None:
    """An abort is no failure, a person's no is no error."""
    made = tape()
    asked(made, 1)
    event(made, "gemini_cli.api_error", 2, {"status_code": 400, "error_type": "ApiError", "error": "bad"})
    event(made, "gemini_cli.tool_call", 3, {"function_name": "rm", "success": False, "decision": "reject"})
    asked(made, 4)
    event(made, "gemini_cli.api_error", 5, {"error_type": "AbortError", "error": "aborted"})
    assert told(made) == "gemini-cli | conversation s1\n  1 m error ApiError 400 [rm denied]\n  2 m aborted"


def test_interactive_prompts_are_turns_of_one_session() -> None:
    """Their ids are the session's with a number; all events hang together."""
    made = tape()
    for number in (0, 1):
        asked(made, number * 10 + 1, f"s1########{number}")
        answered(made, number * 10 + 2, prompt=f"s1########{number}")
    assert told(made) == "\n".join(["gemini-cli | conversation s1\n  1 m stop 120/23"] * 2)
    assert link_keys(made.records[0]) == ("gemini_cli:s1",)


def test_spans_only_repeat_the_events() -> None:
    """They are not needed."""
    made = tape()
    assert not is_relevant(made.span("llm_call", 0, 1, {"gen_ai.operation.name": "llm_call"}))


def test_two_calls_of_one_tool_at_once_are_two() -> None:
    """Both are reported in the same millisecond, and neither has an id."""
    made = tape()
    asked(made, 1)
    answered(made, 2)
    for words in ("a", "b"):
        more: Attributes = {"function_name": "run", "success": True, "duration_ms": 100, "function_args": words}
        event(made, "gemini_cli.tool_call", 3, more)
    (turn,) = turns_from(made.records).turns
    assert len({call.id for call in turn.steps[0].tool_calls}) == 2
    assert classify(turn).tool_calls == 2
