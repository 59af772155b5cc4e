"""MedAgentBench task files: the harness's word on the end, the grader's on the work."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.facts import Claim, Layer, Limits, Output, Step, TaskResult, ToolCall, ToolStatus, TurnFacts
from turnout.outcomes.instants import parse_instant
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.importers import KINDS, Skipped

Document = Callable[[str, object], Path]
Value = dict[str, Any]


def step(action: str, observation: str | None = None, reply: str = "GET x") -> Value:
    return {
        "round": 0,
        "agent_reply": reply,
        "action_kind": action,
        "url": "x",
        "payload": None,
        "observation": observation,
    }


def task(*rounds: Value, status: str | None = "completed", **more: object) -> Value:
    provenance = {"agent_id": "a1", "max_round": 8, "captured_at": "2026-01-05T10:00:00+00:00"}
    return {
        "task_id": "task1_1",
        "status": status,
        "rounds": len(rounds),
        "turns": list(rounds),
        "correct": False,
        "diagnostics": {"provenance": provenance},
        **more,
    }


def turn_of(document: Document, value: Value) -> TurnFacts:
    (turn,) = KINDS["medagentbench"].read(document("x.json", value))
    assert isinstance(turn, TurnFacts)
    return turn


def test_a_task_is_one_turn(document: Document) -> None:
    """Rounds are steps, actions are calls, the finishing one is the answer; a wrong answer is a completed turn."""
    turn = turn_of(document, task(step("get", "Here"), step("post", "Error: 400"), step("finish", None, "FINISH([1])")))
    assert turn == TurnFacts(
        turn_id=turn.turn_id,
        agent="a1",
        source="medagentbench",
        attended=False,
        last_seen_at=parse_instant("2026-01-05T10:00:00Z"),
        limits=Limits(steps=8),
        steps=(
            Step(
                index=1,
                output=Output(text_chars=5, parts=1),
                tool_calls=(ToolCall(name="get", status=ToolStatus.OK, mutating=False),),
            ),
            Step(
                index=2,
                output=Output(text_chars=5, parts=1),
                tool_calls=(ToolCall(name="post", status=ToolStatus.ERROR, mutating=True),),
            ),
            Step(
                index=3,
                output=Output(text_chars=11, parts=1),
                tool_calls=(ToolCall(name="finish", status=ToolStatus.OK, final=True, mutating=False),),
            ),
        ),
        claims=(Claim(by=Layer.HOST, reason="completed", status="completed"),),
        task_result=TaskResult(correct=False),
    )


ENDS: Mapping[str, tuple[Value, Outcome]] = {
    "invalid action": (task(step("invalid"), status="agent_invalid_action"), Outcome.ERROR),
    "limit": (task(*[step("get", "x")] * 8, status="task_limit_reached"), Outcome.BUDGET),
    "overflow": (task(step("get", "x"), status="agent_context_limit"), Outcome.CONTEXT_OVERFLOW),
    "broke": (task(step("get", "x"), infra_fail=True, infra_reason="timeout"), Outcome.ERROR),
    "cancelled": (task(step("get", "x"), status="cancelled"), Outcome.STOPPED),
    "novel": (task(step("get", "x"), status="novel"), Outcome.UNKNOWN),
    "not recorded": (task(step("get", "x"), status=None), Outcome.UNKNOWN),
}


@pytest.mark.parametrize("name", ENDS, ids=list(ENDS))
def test_the_status_decides(document: Document, name: str) -> None:
    """Every status of the harness is said in the words of the contract."""
    value, outcome = ENDS[name]
    assert classify(turn_of(document, value)).outcome is outcome


def test_reports_beside_the_tasks_are_skipped(document: Document) -> None:
    """Summaries of a run hold no turn."""
    (skipped,) = KINDS["medagentbench"].read(document("SUMMARY.json", {"suite": "medagentbench", "status": "complete"}))
    assert isinstance(skipped, Skipped)
