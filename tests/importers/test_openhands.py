"""OpenHands outputs: actions and observations in both shapes, answers with several calls, ends and errors."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.facts import Claim, Layer, Output, Step, TaskResult, ToolCall, ToolStatus, TurnFacts, Usage
from turnout.outcomes.instants import parse_instant
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.importers import KINDS, Damaged, Skipped, detect
from turnout.pipeline.importers.base import content_id

Document = Callable[[str, object], Path]
Lines = Callable[..., Path]
Value = dict[str, Any]

TASK = {"action": "message", "content": "do it"}
FINISH = {"action": "finish", "outputs": {}, "thought": "done"}


def run(*history: object, **more: object) -> Value:
    return {
        "instance_id": "task-1",
        "instruction": "do it",
        "history": list(history),
        "metrics": {"accumulated_cost": 0.0, "costs": []},
        "error": None,
        **more,
    }


def turns(path: Path) -> list[TurnFacts]:
    return [item for item in KINDS["openhands"].read(path) if isinstance(item, TurnFacts)]


def test_a_plain_history(lines: Lines) -> None:
    """Without ids each action of the agent is a step, its observation the next entry, one listed cost a request."""
    value = run(
        TASK,
        {"action": "run", "command": "ls"},
        {"observation": "run", "exit_code": 2},
        FINISH,
        metrics={"accumulated_cost": 0.75, "costs": [0.25, 0.5]},
        success=True,
    )
    assert turns(lines("output.jsonl", value)) == [
        TurnFacts(
            turn_id=f"openhands:task-1:{content_id(value['history'])}",
            agent="openhands",
            source="openhands",
            attended=False,
            steps=(
                Step(
                    index=1,
                    cost_usd=0.25,
                    output=Output(text_chars=0, parts=1),
                    tool_calls=(ToolCall(name="run", status=ToolStatus.ERROR, error_type="exit_code"),),
                ),
                Step(
                    index=2,
                    cost_usd=0.5,
                    output=Output(text_chars=0, parts=1),
                    tool_calls=(ToolCall(name="finish", status=ToolStatus.OK, final=True),),
                ),
            ),
            claims=(Claim(by=Layer.RUNTIME, reason="completed", status="finish"),),
            cost_usd=0.75,
            task_result=TaskResult(resolved=True),
        )
    ]


def test_a_history_that_names_answers(lines: Lines) -> None:
    """Calls of one answer are one step; observations name their cause; usage is found by the answer's id."""

    def action(number: int, name: str, call: str, **more: object) -> Value:
        response = {"id": "r1", "model": "claude-x", "choices": [{"finish_reason": "tool_calls"}]}
        return {
            "id": number,
            "source": "agent",
            "timestamp": f"2026-01-05T10:00:0{number}",
            "action": name,
            "tool_call_metadata": {"function_name": f"do_{name}", "tool_call_id": call, "model_response": response},
            **more,
        }

    value = run(
        {"id": 0, "source": "user", "action": "message", "args": {"content": "do it"}},
        {"id": 9, "source": "agent", "action": "system"},
        action(1, "run", "c1"),
        action(2, "edit", "c2"),
        {"id": 3, "source": "environment", "cause": 2, "observation": "error", "timestamp": "2026-01-05T10:00:04"},
        {
            "id": 4,
            "source": "agent",
            "cause": 1,
            "observation": "run",
            "extras": {"metadata": {"exit_code": 0}},
            "timestamp": "2026-01-05T10:00:05",
        },
        metrics={
            "token_usages": [
                {"response_id": "other", "prompt_tokens": 1},
                {
                    "response_id": "r1",
                    "model": "claude-x",
                    "prompt_tokens": 30,
                    "completion_tokens": 4,
                    "cache_read_tokens": 20,
                    "cache_write_tokens": 6,
                },
            ]
        },
    )
    (turn,) = turns(lines("output.jsonl", value))
    (step,) = turn.steps
    assert (step.message_id, step.provider, step.finish_reason) == ("r1", "anthropic", "tool_calls")
    assert step.usage == Usage(input_tokens=30, output_tokens=4, cache_read_tokens=20, cache_write_tokens=6)
    assert [(call.name, call.status, call.mutating) for call in step.tool_calls] == [
        ("do_run", ToolStatus.OK, None),
        ("do_edit", ToolStatus.ERROR, True),
    ]
    assert (turn.started_at, turn.claims) == (parse_instant("2026-01-05T10:00:01Z"), ())


def test_pairs_of_actions_and_observations(lines: Lines) -> None:
    """Older files pair an action with its observation."""
    value = run(
        [TASK, {"observation": "null"}], [{"action": "run"}, {"observation": "run", "exit_code": 0}], [FINISH, {}]
    )
    (turn,) = turns(lines("output.jsonl", value))
    assert [[call.name for call in step.tool_calls] for step in turn.steps] == [["run"], ["finish"]]


ERRORS: Mapping[str, tuple[str, Outcome, str | None]] = {
    "steps": ("RuntimeError: Agent reached maximum iteration in headless mode.", Outcome.BUDGET, None),
    "cost": ("RuntimeError: Agent reached maximum budget", Outcome.BUDGET, None),
    "loop": ("AgentStuckInLoopError: Agent got stuck in a loop", Outcome.ERROR, None),
    "overflow": ("ContextWindowExceededError: too long", Outcome.CONTEXT_OVERFLOW, None),
    "refusal": ("ContentPolicyViolationError: no", Outcome.REFUSED, None),
    "rate limit": ("RateLimitError: slow down", Outcome.ERROR, "RateLimitError"),
    "words": ("something broke", Outcome.ERROR, None),
}


@pytest.mark.parametrize("name", ERRORS, ids=list(ERRORS))
def test_the_error_of_the_record_is_the_end(lines: Lines, name: str) -> None:
    """What the record keeps as its error decides, whatever the last action was."""
    words, outcome, kind = ERRORS[name]
    (turn,) = turns(lines("output.jsonl", run(TASK, {"action": "run"}, {"observation": "run"}, error=words)))
    assert (classify(turn).outcome, turn.claims[0].error_type) == (outcome, kind)


def test_a_run_without_an_end_says_nothing(lines: Lines) -> None:
    """Neither finished nor broken: no claim, and a command that has no observation is unsettled."""
    (turn,) = turns(lines("output.jsonl", run(TASK, {"action": "run"})))
    assert (turn.claims, turn.steps[0].tool_calls[0].status) == ((), ToolStatus.UNKNOWN)


def test_damaged_and_other_lines_do_not_stop_the_rest(lines: Lines) -> None:
    """One run a line: each stands alone."""
    path = lines("output.jsonl", run(TASK, FINISH), "{cut", {"a": 1}, run(TASK, FINISH, instance_id="task-2"))
    kinds = [type(item) for item in KINDS["openhands"].read(path)]
    assert kinds == [TurnFacts, Damaged, Skipped, TurnFacts]


def event(number: int, source: str, **more: Any) -> Value:
    return {"id": number, "timestamp": f"2026-01-05T10:00:{number:02d}", "source": source, **more}


def asked(number: int) -> Value:
    return event(number, "user", action="message", args={"content": "do it"})


def ran(number: int, answer: str, tokens: int) -> list[Value]:
    """One command with the answer that asked for it, and what the conversation had used by then."""
    meta = {
        "tool_call_id": f"c{number}",
        "function_name": "bash",
        "model_response": {"id": answer, "model": "claude-x"},
    }
    usages = [{"response_id": f"r{n}", "prompt_tokens": n, "completion_tokens": 1} for n in range(1, tokens + 1)]
    action = event(number, "agent", action="run", tool_call_metadata=meta, llm_metrics={"token_usages": usages})
    return [action, event(number + 1, "agent", observation="run", cause=number, extras={"metadata": {"exit_code": 0}})]


def state(number: int, name: str, **extras: object) -> Value:
    return event(number, "environment", observation="agent_state_changed", extras={"agent_state": name, **extras})


@pytest.mark.parametrize("around", ["list", "events", "trajectory"])
def test_a_trajectory_has_a_turn_for_each_message_of_the_user(document: Document, around: str) -> None:
    """Each turn gets the usage of the requests that it made, and its own end."""
    events = [
        event(0, "agent", action="system"),
        asked(1),
        *ran(2, "r1", 1),
        event(4, "agent", action="finish"),
        state(5, "finished"),
        asked(6),
        *ran(7, "r2", 2),
        state(9, "error", reason="RuntimeError: Agent reached maximum iteration."),
    ]
    path = document("x.json", events if around == "list" else {around: events})
    assert detect(path) == "openhands"
    first, second = turns(path)
    assert [step.usage and step.usage.input_tokens for turn in (first, second) for step in turn.steps] == [1, None, 2]
    assert [claim.reason for turn in (first, second) for claim in turn.claims] == ["completed", "max_iterations"]
    assert first.turn_id != second.turn_id


@pytest.mark.parametrize(
    ("states", "reasons"),
    [
        (["running", "stopped"], ["user_stop"]),
        (["running", "awaiting_user_input", "stopped"], []),
        (["running", "error", "stopped"], ["error"]),
        (["running"], []),
    ],
    ids=["stopped at work", "closed at rest", "closed after an error", "never closed"],
)
def test_the_last_state_tells_of_the_end(document: Document, states: list[str], reasons: list[str]) -> None:
    """Closing a conversation stops the agent too, which is no end of a turn that had ended."""
    changes = [state(4 + place, name) for place, name in enumerate(states)]
    (turn,) = turns(document("x.json", [asked(1), *ran(2, "r1", 1), *changes]))
    assert [claim.reason for claim in turn.claims] == reasons
