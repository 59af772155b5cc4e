"""mini-swe-agent trajectories: answers, rejected answers, commands, limits and every way a run ends."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from turnout.outcomes.facts import Claim, Layer, Limits, Output, Step, ToolCall, ToolStatus, TurnFacts, Usage
from turnout.pipeline.importers import KINDS, Damaged, Imported, Skipped, detect

Document = Callable[[str, object], Path]
Value = dict[str, Any]

SECOND = 1_000_000_000


def say(words: str, number: int, **more: Any) -> Value:
    choice = {"finish_reason": more.pop("finish", "stop"), "native_finish_reason": more.pop("native", "STOP")}
    response = {
        "id": f"gen-{number}",
        "model": "google/gemini-x",
        "created": 100 + number,
        "choices": [choice],
        "usage": {
            "prompt_tokens": 10,
            "completion_tokens": 4,
            "prompt_tokens_details": {"cached_tokens": 6},
            "completion_tokens_details": {"reasoning_tokens": 1},
            "cost": 0.25,
        },
    }
    return {"role": "assistant", "content": words, "extra": {"response": response}, **more}


def reply(words: str) -> Value:
    return {"role": "user", "content": words}


def run(
    *messages: Value, status: str | None = "Submitted", calls: int = 1, cost: float = 0.25, **agent: object
) -> Value:
    info: Value = {
        "model_stats": {"instance_cost": cost, "api_calls": calls},
        "mini_version": "1.15.0",
        "config": {"agent": agent, "model": {"model_name": "google/gemini-x"}},
    }
    if status is not None:
        info["exit_status"] = status
    head = [{"role": "system", "content": "be good"}, reply("the task")]
    return {
        "trajectory_format": "mini-swe-agent-1",
        "instance_id": "task-1",
        "info": info,
        "messages": [*head, *messages],
    }


def read(path: Path) -> list[Imported]:
    return list(KINDS["mini-swe-agent"].read(path))


def turn_of(document: Document, value: Value) -> TurnFacts:
    (turn,) = read(document("x.traj.json", value))
    assert isinstance(turn, TurnFacts)
    return turn


def test_a_submitted_run_is_one_turn(document: Document) -> None:
    """Each answer is a step with its one command; the command that submits is the answer."""
    value = run(
        say("```bash\nls\n```", 1),
        reply("<returncode>2</returncode>\n<output>no</output>"),
        say("```bash\nsubmit\n```", 2),
        reply("diff"),
        step_limit=250,
        cost_limit=3.0,
        calls=2,
        cost=0.5,
    )

    def step(index: int, words: str, call: ToolCall) -> Step:
        return Step(
            index=index,
            message_id=f"gen-{index}",
            provider="google",
            model="google/gemini-x",
            started_at=(100 + index) * SECOND,
            finish_reason="stop",
            raw_finish_reason="STOP",
            usage=Usage(input_tokens=10, output_tokens=4, cache_read_tokens=6, reasoning_tokens=1),
            cost_usd=0.25,
            output=Output(text_chars=len(words), parts=2),
            tool_calls=(call,),
        )

    assert turn_of(document, value) == TurnFacts(
        turn_id="mini-swe-agent:task-1:gen-1",
        agent="mini-swe-agent",
        agent_version="1.15.0",
        source="mini-swe-agent",
        started_at=101 * SECOND,
        ended_at=102 * SECOND,
        last_seen_at=102 * SECOND,
        limits=Limits(steps=250, cost_usd=3.0),
        steps=(
            step(1, "```bash\nls\n```", ToolCall(name="bash", status=ToolStatus.ERROR, error_type="returncode")),
            step(2, "```bash\nsubmit\n```", ToolCall(name="bash", status=ToolStatus.OK, final=True)),
        ),
        claims=(Claim(by=Layer.RUNTIME, reason="completed", status="Submitted"),),
        cost_usd=0.5,
    )


ENDS: Mapping[str, tuple[Value, str | None]] = {
    "steps": ({"status": "LimitsExceeded", "calls": 5, "step_limit": 5, "cost_limit": 3.0}, "step_limit"),
    "cost": ({"status": "LimitsExceeded", "cost": 3.1, "step_limit": 250, "cost_limit": 3.0}, "exit_cost"),
    "only cost": ({"status": "LimitsExceeded", "step_limit": 0, "cost_limit": 3.0}, "exit_cost"),
    "neither known": ({"status": "LimitsExceeded"}, "step_limit"),
    "time": ({"status": "TimeExceeded"}, "time_budget"),
    "rate limit": ({"status": "RateLimitError"}, "error"),
    "environment": ({"status": "TimeoutExpired"}, "error"),
    "refusal": ({"status": "ContentPolicyViolationError"}, "content_filter"),
    "overflow": ({"status": "ContextWindowExceededError"}, "prompt_too_long"),
    "stopped": ({"status": "UserInterruption"}, "user_stop"),
    "unfinished": ({"status": ""}, None),
    "not recorded": ({"status": None}, None),
}


@pytest.mark.parametrize("name", ENDS, ids=list(ENDS))
def test_the_exit_status_is_the_claim_of_the_runtime(document: Document, name: str) -> None:
    """The status keeps its own word and is said in the contract's; without one there is no claim and no end."""
    arguments, reason = ENDS[name]
    turn = turn_of(document, run(say("hm", 1), reply("try again"), **arguments))
    assert [(claim.reason, claim.status) for claim in turn.claims] == (
        [(reason, arguments["status"])] if reason else []
    )
    assert (turn.ended_at is None) is (reason is None)


def test_an_exception_is_named_as_the_error(document: Document) -> None:
    """A status that is an exception's name is the type of the error."""
    turn = turn_of(document, run(say("hm", 1), status="AuthenticationError"))
    assert turn.claims[0].error_type == "AuthenticationError"


def test_what_broke_a_run_is_kept_in_its_words(document: Document) -> None:
    """The first format keeps a traceback beside the status, the later one in its last message; both are read for causes."""
    first = run(say("hm", 1), status="APIError")
    first["info"]["traceback"] = "Traceback: overloaded"
    last = {"role": "exit", "content": "", "extra": {"exit_status": "APIError", "exception_str": "overloaded"}}
    claims = [turn_of(document, value).claims[0] for value in (first, run(say("hm", 1), last, status=""))]
    assert [(claim.status, claim.message) for claim in claims] == [
        ("APIError", "Traceback: overloaded"),
        ("APIError", "overloaded"),
    ]


AGENTS = {
    "minisweagent.agents.interactive.InteractiveAgent": True,
    "minisweagent.run.extra.swebench.ProgressTrackingAgent": False,
    "minisweagent.agents.default.DefaultAgent": None,
}


@pytest.mark.parametrize("agent", AGENTS)
def test_the_class_of_the_agent_tells_whether_a_person_is_there(document: Document, agent: str) -> None:
    """The interactive agent is attended, one that a batch runs is not, the plain one may be either."""
    value = run(say("hm", 1))
    value["info"]["config"]["agent_type"] = agent
    assert turn_of(document, value).attended is AGENTS[agent]


def test_a_cut_answer_keeps_both_reasons(document: Document) -> None:
    """What the router says and what the provider said stand side by side."""
    turn = turn_of(document, run(say("long", 1, finish="length", native="MAX_TOKENS"), reply("found 0 actions")))
    step = turn.steps[0]
    assert (step.finish_reason, step.raw_finish_reason, step.tool_calls) == ("length", "MAX_TOKENS", ())


def test_a_rejected_answer_is_a_step_that_was_charged(document: Document) -> None:
    """Format 1.1 keeps only the message that rejects an answer; the request was made all the same."""
    value = run(
        {"role": "user", "content": "wrong format", "extra": {"interrupt_type": "FormatError", "timestamp": 150.5}},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "function": {"name": "bash", "arguments": "{}"}}],
            "extra": {
                "response": {"id": "r1", "model": "gpt-x", "choices": [{"finish_reason": "tool_calls"}], "usage": {}},
                "cost": 0.5,
                "timestamp": 151,
            },
        },
        {"role": "tool", "tool_call_id": "c1", "content": "fine", "extra": {"returncode": 0, "timestamp": 152}},
        {"role": "exit", "content": "", "extra": {"exit_status": "LimitsExceeded"}},
        status=None,
        calls=2,
        step_limit=2,
    )
    turn = turn_of(document, {**value, "trajectory_format": "mini-swe-agent-1.1"})
    assert [step.finish_reason for step in turn.steps] == ["FormatError", "tool_calls"]
    assert turn.steps[1].tool_calls == (ToolCall(id="c1", name="bash", status=ToolStatus.OK, ended_at=152 * SECOND),)
    assert [claim.reason for claim in turn.claims] == ["step_limit"]
    assert turn.started_at == 150_500_000_000


def test_an_answer_of_the_responses_api_is_a_step(document: Document) -> None:
    """The responses API writes no role; its usage names differ and its status is the reason."""
    value = run(
        {
            "object": "response",
            "id": "resp-1",
            "model": "gpt-x",
            "status": "completed",
            "output": [],
            "created_at": 100,
            "usage": {
                "input_tokens": 9,
                "input_tokens_details": {"cached_tokens": 3},
                "output_tokens": 5,
                "output_tokens_details": {"reasoning_tokens": 2},
            },
        },
    )
    (step,) = turn_of(document, value).steps
    assert step.usage == Usage(input_tokens=9, output_tokens=5, cache_read_tokens=3, reasoning_tokens=2)
    assert (step.message_id, step.provider, step.finish_reason) == ("resp-1", "openai", "completed")


def test_a_command_without_a_reply_is_unsettled(document: Document) -> None:
    """A run that died within a command does not know what became of it."""
    turn = turn_of(document, run(say("```bash\nsleep 9\n```", 1), status=None))
    assert turn.steps[0].tool_calls == (ToolCall(name="bash", status=ToolStatus.UNKNOWN),)


def test_two_runs_of_one_task_are_two_turns_and_a_copy_is_none(document: Document) -> None:
    """The first answer tells runs of a task apart, whatever the files are called."""
    first, again, other = (run(say("hm", number), status=None) for number in (1, 1, 2))
    ids = [read(document(f"{index}.json", value))[0] for index, value in enumerate((first, again, other))]
    assert [item.turn_id for item in ids if isinstance(item, TurnFacts)] == [
        "mini-swe-agent:task-1:gen-1",
        "mini-swe-agent:task-1:gen-1",
        "mini-swe-agent:task-1:gen-2",
    ]


def test_other_documents_are_skipped_and_broken_ones_damaged(document: Document, tmp_path: Path) -> None:
    """A file that holds no trajectory is said to be so, one that is no JSON is damaged."""
    assert read(document("other.json", {"results": []})) == [
        Skipped(path=str(tmp_path / "other.json"), why="no mini-swe-agent trajectory: no trajectory_format of its kind")
    ]
    broken = tmp_path / "broken.traj.json"
    broken.write_text('{"trajectory_format": "mini-swe-agent-1", "messages": [')
    assert read(broken) == [
        Damaged(path=str(broken), what="got 55 bytes that are no JSON, expected a whole JSON document")
    ]


def test_the_first_format_has_no_name(document: Document) -> None:
    """Messages beside an exit status and a submission are a run of the first version."""
    value = run(say("go\n```bash\nls\n```", 1), reply("<returncode>0</returncode>"))
    del value["trajectory_format"]
    value["info"]["submission"] = "a patch"
    path = document("x.traj.json", value)
    assert detect(path) == "mini-swe-agent"
    (turn,) = read(path)
    assert isinstance(turn, TurnFacts)
    assert [claim.reason for claim in turn.claims] == ["completed"]


@pytest.mark.parametrize("status", ["submitted", "SUBMITTED"])
def test_the_case_of_an_exit_status_does_not_count(document: Document, status: str) -> None:
    """Forks of the program write it as they like; the last call is the submission all the same."""
    (turn,) = read(document("x.traj.json", run(say("go\n```bash\nls\n```", 1), status=status)))
    assert isinstance(turn, TurnFacts)
    assert [claim.reason for claim in turn.claims] == ["completed"]
    assert [call.final for call in turn.steps[-1].tool_calls] == [True]


def test_limits_and_sums_below_zero_are_none(document: Document) -> None:
    """A program that writes -1 for "no limit" has none."""
    (turn,) = read(document("x.traj.json", run(say("hi", 1), cost=-1.0, step_limit=-1, cost_limit=-1)))
    assert isinstance(turn, TurnFacts)
    assert (turn.limits, turn.cost_usd) == (None, None)
