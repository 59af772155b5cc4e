"""The figures of the handed logs, counted from the facts that the importers make of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from turnout.outcomes.facts import ToolCall, ToolStatus, TurnFacts
from turnout.pipeline.importers import KINDS, Damaged, Skipped

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
    cut = [
        (turn.conversation_id, step.index)
        for turn in found.turns
        for step in turn.steps
        if step.finish_reason == "length"
    ]
    assert [task for task, _ in cut] == ["scikit-learn__scikit-learn-25102"]


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
