"""The figures of the handed logs, counted from the facts that the importers make of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.facts import ToolCall, ToolStatus, TurnFacts, Usage
from turnout.outcomes.verdict import Flag
from turnout.pipeline.importers import KINDS, Damaged, Skipped, detect
from turnout.pipeline.importing import import_logs
from turnout.pipeline.lake import Lake

Files = Callable[..., Sequence[Path]]
TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


@dataclass
class Figures:
    """What a set of files came to."""

    turns: list[TurnFacts] = field(default_factory=list)
    damaged: list[Damaged] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    records: int = 0

    @property
    def steps(self) -> int:
        return sum(len(turn.steps) for turn in self.turns)

    @property
    def tool_calls(self) -> int:
        return len(list(self._calls()))

    @property
    def tool_errors(self) -> int:
        return sum(call.status is ToolStatus.ERROR for call in self._calls())

    @property
    def reasons(self) -> dict[str | None, int]:
        return dict(Counter(claim.reason for turn in self.turns for claim in turn.claims))

    def tokens(self, *names: str) -> tuple[int, ...]:
        """Sum counts over the steps."""
        usages = [step.usage for turn in self.turns for step in turn.steps if step.usage is not None]
        return tuple(sum(getattr(usage, name) or 0 for usage in usages) for name in names)

    def _calls(self) -> Iterable[ToolCall]:
        return [call for turn in self.turns for step in turn.steps for call in step.tool_calls]


def figures(kind: str, paths: Sequence[Path]) -> Figures:
    found = Figures()
    assert paths
    for path in paths:
        reading = KINDS[kind].read(path)
        for item in reading:
            match item:
                case TurnFacts():
                    found.turns.append(item)
                case Damaged():
                    found.damaged.append(item)
                case Skipped():
                    found.skipped.append(item)
        found.records += reading.records
    return found


def outcomes(found: Figures) -> dict[str, int]:
    """Count the outcomes of turns, each turn once."""
    turns = {turn.turn_id: turn for turn in found.turns}
    return dict(Counter(str(classify(turn).outcome) for turn in turns.values()))


def test_mini_swe_agent(files: Files) -> None:
    """Every trajectory is a submitted run; steps, tokens and cost are the sums of its answers."""
    found = figures("mini-swe-agent", files("mini-swe-agent/*.traj.json"))
    assert (len({turn.turn_id for turn in found.turns}), found.records, found.damaged, found.skipped) == (
        31,
        31,
        [],
        [],
    )
    assert found.reasons == {"completed": 31}
    assert found.steps == 1275
    assert found.tokens("input_tokens", "cache_read_tokens", "output_tokens", "reasoning_tokens") == (
        23_267_080,
        19_625_771,
        433_339,
        6_602,
    )
    assert sum(turn.cost_usd or 0 for turn in found.turns) == pytest.approx(16.4078402)
    cut = [turn.turn_id for turn in found.turns for step in turn.steps if step.finish_reason == "length"]
    assert [turn_id.split(":")[1] for turn_id in cut] == ["scikit-learn__scikit-learn-25102"]
    assert outcomes(found) == {"completed": 31}


def test_claude_code(files: Files) -> None:
    """One step a message id, the last line's usage, sub-agents as children."""
    found = figures("claude-code", files("claude-code/projects/*/*.jsonl"))
    main = [turn for turn in found.turns if turn.parent_turn_id is None]
    assert (len(main), len({turn.conversation_id for turn in main})) == (4, 3)
    assert (found.steps, found.tool_calls, found.tool_errors) == (199, 200, 27)
    assert found.tokens("input_tokens", "output_tokens", "cache_write_tokens", "cache_read_tokens") == (
        1_240,
        56_535,
        198_421,
        4_075_332,
    )
    assert found.damaged == []
    ends = Counter(
        path.name
        for path in files("claude-code/projects/*/*.jsonl")
        if last_finish(figures("claude-code", [path]).turns) == "end_turn"
    )
    assert len(ends) == 3
    assert set(outcomes(found)) == {"completed", "unknown"}


def last_finish(turns: Sequence[TurnFacts]) -> str | None:
    """The finish reason of the latest step of a file."""
    latest = max(turns, key=lambda turn: (turn.parent_turn_id is None, turn.last_seen_at or 0))
    return latest.steps[-1].raw_finish_reason


def test_swe_agent(files: Files) -> None:
    """Each file is a run; steps are entries of trajectories, tokens those that were counted."""
    found = figures("swe-agent", files("swe-agent/*.traj"))
    assert (len({turn.turn_id for turn in found.turns}), found.steps) == (22, 227)
    assert outcomes(found) == {"completed": 21, "unknown": 1}
    counted = [turn.usage for turn in found.turns if turn.usage is not None]
    assert (sum(u.input_tokens or 0 for u in counted), sum(u.output_tokens or 0 for u in counted)) == (182_614, 1_938)


STREAMS = {
    "issue-724__solution-draft-1": (1, 68, 67, 0),
    "issue-724__solution-draft-2": (2, 134, 173, 3),
    "pr-4-ci-log-issue__session-1": (1, 55, 64, 9),
    "pr-4-ci-log-issue__session-2": (1, 40, 43, 1),
    "pr-4-ci-log-issue__session-3": (1, 8, 14, 0),
    "pr-4-ci-log-issue__session-4": (1, 9, 14, 0),
    "pr-4-revert-issue__session1": (1, 26, 35, 0),
    "pr-4-revert-issue__session2": (1, 23, 28, 0),
    "pr-4-revert-issue__session3": (1, 21, 29, 1),
    "pr-52": (1, 55, 69, 3),
}


@pytest.mark.parametrize("name", STREAMS, ids=list(STREAMS))
def test_claude_stream(files: Files, name: str) -> None:
    """Message ids, tool calls and errors of each log; a log without its result is damaged and never interrupted."""
    found = figures("claude-stream", files(f"agent-cli-logs/{name}*"))
    assert (len(found.turns), found.steps, found.tool_calls, found.tool_errors) == STREAMS[name]
    if found.reasons == {"success": len(found.turns)}:
        assert (outcomes(found), found.damaged) == ({"completed": len(found.turns)}, [])
    else:
        assert found.reasons == {"damaged_record": 1}
        assert (outcomes(found), len(found.damaged)) == ({"unknown": 1}, 1)
        assert Flag.DAMAGED_RECORD in classify(found.turns[0]).flags


def test_claude_stream_totals(files: Files) -> None:
    """The result line's counts, its cache within the input, and its cost; a session that two logs hold is one turn."""
    found = figures("claude-stream", files("agent-cli-logs/issue-724__solution-draft-*"))
    turns = {turn.turn_id: turn for turn in found.turns}
    totals = sorted(
        (
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            usage.input_tokens,
            round(turn.cost_usd or 0, 6),
        )
        for turn in turns.values()
        if (usage := turn.usage) is not None
    )
    assert totals == [
        (19_988, 6_040_814, 106_195, 130 + 6_040_814 + 106_195, 2.593711),
        (28_577, 4_188_294, 82_322, 9_835 + 4_188_294 + 82_322, 2.194802),
    ]


def test_codex_exec(files: Files) -> None:
    """Two completed turns, usage of the whole turn."""
    found = figures("codex-exec", files("agent-cli-logs/issue-642*"))
    assert outcomes(found) == {"completed": 2}
    assert [turn.usage for turn in found.turns] == [
        Usage(input_tokens=177_136, cache_read_tokens=163_840, output_tokens=2_836),
        Usage(input_tokens=101_835, cache_read_tokens=90_752, output_tokens=2_113),
    ]


def test_codex(files: Files) -> None:
    """Three tasks in a session log."""
    found = figures("codex", files("codex-tui/*.jsonl"))
    assert (found.records, outcomes(found)) == (8_041, {"completed": 3})


def test_tau(files: Files) -> None:
    """The ends that nothing names, and the published reward."""
    found = figures("tau", files("tau-bench/*.json"))
    assert outcomes(found) == {"completed": 147, "yielded": 48, "budget": 5}
    assert (len({turn.turn_id for turn in found.turns}), found.steps, found.tool_calls) == (200, 2_454, 1_164)
    assert sum(turn.task_result is not None and turn.task_result.reward == 1 for turn in found.turns) == 84


TAU2 = {
    "toolorchestra-airline": ({"completed": 50}, 505, 581, (0, 0), 0.56),
    "activegraph-20260531": ({"completed": 9, "budget": 1}, 37, 14, (12_568, 625), 0.8),
    "activegraph-20260601": ({"completed": 4, "budget": 1}, 48, 27, (190_364, 2_185), 0.2),
}


@pytest.mark.parametrize("name", TAU2, ids=list(TAU2))
def test_tau2(files: Files, name: str) -> None:
    """A content user completes the turn, the cap spends it, and only the agent's tokens count."""
    found = figures("tau2", files(f"tau2/{name}*.json"))
    ends, steps, calls, tokens, reward = TAU2[name]
    assert (outcomes(found), found.steps, found.tool_calls, found.tool_errors) == (ends, steps, calls, 0)
    assert found.tokens("input_tokens", "output_tokens") == tokens
    rewards = [turn.task_result.reward for turn in found.turns if turn.task_result is not None]
    assert sum(value or 0 for value in rewards) / len(rewards) == pytest.approx(reward)


def test_medagentbench(files: Files) -> None:
    """The harness's ends, the rounds, and the grader's count."""
    found = figures("medagentbench", files("medagentbench/*/tasks/*.json"))
    assert (outcomes(found), found.steps) == ({"completed": 91, "error": 9}, 247)
    assert sum(turn.task_result is not None and turn.task_result.correct is True for turn in found.turns) == 54


def test_langfuse(files: Files) -> None:
    """Generations are steps, with the counts of their own columns."""
    each = [figures("langfuse", [path]) for path in files("langfuse/*.trace.json")]
    assert [len(found.turns) for found in each] == [1] * 8
    assert [found.steps for found in each] == [4, 4, 1, 2, 2, 2, 4, 2]
    assert [found.tokens("input_tokens", "output_tokens") for found in each] == [
        (2_936, 903),
        (34, 232),
        (190, 164),
        (67, 9),
        (321, 59),
        (140, 44),
        (1_315, 209),
        (76, 128),
    ]


def test_ai_sdk(files: Files) -> None:
    """Leaves only: the outer spans repeat the usage of the inner ones; embeddings are no turns."""
    found = figures("ai-sdk", files("ai-sdk-spans/all-spans.json"))
    assert (found.records, outcomes(found), found.steps, len(found.skipped)) == (10, {"completed": 4}, 4, 2)
    assert found.tokens("input_tokens", "output_tokens") == (142, 297)
    assert [turn.usage for turn in found.turns] == [None] * 4


def test_openhands(files: Files) -> None:
    """Every run ends in the finish action or in an error of the record."""
    found = figures("openhands", files("openhands/*.jsonl"))
    assert found.turns
    assert set(outcomes(found)) <= {"completed", "error", "budget"}


def test_every_handed_log_tells_its_kind(files: Files) -> None:
    """The folder's name is the kind's, or the kind's own file name."""
    kinds = {
        "swe-agent/*": "swe-agent",
        "mini-swe-agent/*": "mini-swe-agent",
        "claude-code/**/*.jsonl": "claude-code",
        "agent-cli-logs/issue-642*": "codex-exec",
        "agent-cli-logs/pr-*": "claude-stream",
        "codex-tui/*": "codex",
        "tau-bench/*": "tau",
        "tau2/*": "tau2",
        "langfuse/*": "langfuse",
        "openhands/*": "openhands",
        "medagentbench/*/tasks/*": "medagentbench",
        "ai-sdk-spans/ai-*": "ai-sdk",
    }
    found = {pattern: {detect(path) for path in files(pattern)} for pattern in kinds}
    assert found == {pattern: {kind} for pattern, kind in kinds.items()}


def test_all_logs_into_one_lake_and_again(transcripts: Path, tmp_path: Path) -> None:
    """One import of everything, then a second that adds nothing."""
    lake, now = Lake.open(str(tmp_path / "lake")), 1_767_607_200_000_000_000
    first, second = (import_logs(lake, "auto", [str(transcripts)], clock=lambda: now) for _ in range(2))
    assert (first.turns, first.duplicates, first.damaged) == (460, 1, 2)
    assert (second.turns, second.steps, second.duplicates) == (0, 0, 461)
