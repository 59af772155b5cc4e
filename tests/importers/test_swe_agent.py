"""SWE-agent runs: exit statuses, entries as steps, counts of zero and runs without a trajectory."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from turnout.outcomes.facts import Claim, Layer, Limits, Output, Step, ToolCall, ToolStatus, TurnFacts, Usage
from turnout.pipeline.importers import KINDS, Damaged, Skipped, detect
from turnout.pipeline.importers.base import content_id

Document = Callable[[str, object], Path]
Value = dict[str, Any]


def entry(action: str, observation: str | None = "ok", response: str = "think") -> Value:
    return {"action": action, "observation": observation, "response": response, "thought": response}


def run(*entries: Value, status: str | None = "submitted", sent: int = 0, received: int = 0, **more: object) -> Value:
    info: Value = {
        "model_stats": {"instance_cost": 0.5 if sent else 0, "tokens_sent": sent, "tokens_received": received}
    }
    if status is not None:
        info["exit_status"] = status
    return {"environment": "main", "trajectory": list(entries), "history": [], "info": info, **more}


def turn_of(document: Document, value: Value, name: str = "x.traj") -> TurnFacts:
    (turn,) = KINDS["swe-agent"].read(document(name, value))
    assert isinstance(turn, TurnFacts)
    return turn


def test_a_submitted_run(document: Document) -> None:
    """The first word of an action is the tool, the last submission is the answer, limits come from the replay's settings."""
    settings = '{"agent": {"model": {"name": "gpt-x", "per_instance_cost_limit": 3.0, "per_instance_call_limit": 0}}}'
    value = run(entry("find_file a.py"), entry("submit\n", "diff"), sent=70, received=7, replay_config=settings)
    assert turn_of(document, value) == TurnFacts(
        turn_id=f"swe-agent:{content_id(value['trajectory'])}",
        agent="swe-agent",
        source="swe-agent",
        attended=False,
        limits=Limits(cost_usd=3.0),
        steps=(
            Step(
                index=1,
                provider="openai",
                model="gpt-x",
                output=Output(text_chars=5, parts=2),
                tool_calls=(ToolCall(name="find_file", status=ToolStatus.OK),),
            ),
            Step(
                index=2,
                provider="openai",
                model="gpt-x",
                output=Output(text_chars=5, parts=2),
                tool_calls=(ToolCall(name="submit", status=ToolStatus.OK, final=True),),
            ),
        ),
        claims=(Claim(by=Layer.RUNTIME, reason="completed", status="submitted"),),
        usage=Usage(input_tokens=70, output_tokens=7),
        cost_usd=0.5,
    )


ENDS: Mapping[str, tuple[str | None, str | None]] = {
    "submitted": ("submitted", "completed"),
    "cost": ("exit_cost", "exit_cost"),
    "cost, handed in": ("submitted (exit_cost)", "exit_cost"),
    "context": ("exit_context", "exit_context"),
    "context, handed in": ("submitted (exit_context)", "exit_context"),
    "time": ("exit_total_execution_time", "time_budget"),
    "format": ("submitted (exit_format)", "error"),
    "environment": ("exit_environment_error", "error"),
    "early": ("early_exit", "error"),
    "given up": ("exit_forfeit", "exit_forfeit"),
    "not recorded": (None, None),
    "empty": ("", None),
}


@pytest.mark.parametrize("name", ENDS, ids=list(ENDS))
def test_the_exit_status_is_the_claim(document: Document, name: str) -> None:
    """What stands in brackets is why the run ended; an unknown word stays itself."""
    status, reason = ENDS[name]
    turn = turn_of(document, run(entry("ls"), status=status))
    assert [(claim.reason, claim.status) for claim in turn.claims] == ([(reason, status)] if reason else [])


def test_counts_of_zero_are_not_recorded(document: Document) -> None:
    """A replay counts no tokens and no cost."""
    turn = turn_of(document, run(entry("ls")))
    assert (turn.usage, turn.cost_usd) == (None, None)


def test_the_note_on_the_exit_is_no_step(document: Document) -> None:
    """The entry that the run wrote about its own exit is not an answer of the model."""
    note = {"action": "", "observation": "Exited (autosubmitted)", "response": "", "thought": "Exit due to cost limit"}
    turn = turn_of(document, run(entry("ls"), note, status="submitted (exit_cost)"))
    assert len(turn.steps) == 1


COMMANDS: Mapping[str, tuple[str | None, ToolStatus, str | None]] = {
    "timeout": ("\nEXECUTION TIMED OUT", ToolStatus.ERROR, "timeout"),
    "words about a timeout": ("the log says: it timed out", ToolStatus.OK, None),
    "no observation": (None, ToolStatus.UNKNOWN, None),
}


@pytest.mark.parametrize("name", COMMANDS, ids=list(COMMANDS))
def test_observations_settle_commands(document: Document, name: str) -> None:
    """A command without an observation is unsettled; one that was killed failed."""
    seen, status, error = COMMANDS[name]
    (call,) = turn_of(document, run(entry("python a.py", seen), entry("ls"))).steps[0].tool_calls
    assert (call.status, call.error_type) == (status, error)


def test_a_history_alone_tells_of_no_step(document: Document) -> None:
    """A history may open with a worked example, so a run without a trajectory has unknown steps and end."""
    turn = turn_of(document, {"history": [{"role": "assistant", "content": "x", "action": "ls"}]})
    assert (turn.steps, turn.claims) == ((), ())


def test_the_same_run_under_another_name_is_the_same_turn(document: Document) -> None:
    """A run has no id of its own; what it holds names it."""
    one, two = run(entry("ls")), run(entry("pwd"))
    ids = [
        turn_of(document, value, name).turn_id for value, name in ((one, "a.traj"), (one, "b.traj"), (two, "a.traj"))
    ]
    assert ids[0] == ids[1] != ids[2]


def test_other_documents_are_skipped_and_broken_ones_damaged(document: Document, tmp_path: Path) -> None:
    """A file that holds no run is said to be so."""
    (skipped,) = KINDS["swe-agent"].read(document("other.json", {"a": 1}))
    assert isinstance(skipped, Skipped)
    broken = tmp_path / "x.traj"
    broken.write_text('{"trajectory": [')
    (damaged,) = KINDS["swe-agent"].read(broken)
    assert isinstance(damaged, Damaged)


def test_a_trajectory_without_info_is_known_by_its_name(document: Document) -> None:
    """What a run that died early left is a run whose end is not recorded."""
    path = document("x.traj", {"trajectory": [{"response": "go", "action": "ls", "observation": "a"}]})
    assert detect(path) == "swe-agent"
    (turn,) = KINDS["swe-agent"].read(path)
    assert isinstance(turn, TurnFacts)
    assert (len(turn.steps), turn.claims) == (1, ())
