"""The names that are emitted, and the order of the columns."""

from turnout.instrumentation import attributes as names
from turnout.instrumentation.columns import end_attributes, end_row, start_attributes
from turnout.outcomes.classify import classify
from turnout.outcomes.facts import (
    Limits,
    Output,
    Refusal,
    Step,
    ToolCall,
    ToolStatus,
    TurnFacts,
    Usage,
)

PAST_COLUMNS = (
    "agent.turn.schema",
    "agent.turn.id",
    "agent.turn.root_id",
    "agent.turn.parent_id",
    "agent.turn.continues_id",
    "gen_ai.conversation.id",
    "gen_ai.agent.name",
    "gen_ai.agent.version",
    "agent.turn.source",
    "agent.turn.attended",
    "agent.turn.limit.steps",
    "agent.turn.limit.tool_calls",
    "agent.turn.limit.total_tokens",
    "agent.turn.limit.seconds",
    "agent.turn.limit.cost_usd",
    "agent.turn.outcome",
    "agent.turn.budget_kind",
    "agent.turn.cause",
    "agent.turn.resumable",
    "agent.turn.evidence",
    "agent.turn.rule",
    "agent.turn.flags",
    "agent.turn.finish_reason",
    "agent.turn.raw_finish_reason",
    "agent.turn.refusal.category",
    "agent.turn.steps",
    "agent.turn.tool_calls",
    "agent.turn.tool_errors",
    "agent.turn.unsettled_tools",
    "agent.turn.usage.input_tokens",
    "agent.turn.usage.output_tokens",
    "agent.turn.usage.cache_read_tokens",
    "agent.turn.usage.cache_write_tokens",
    "agent.turn.usage.reasoning_tokens",
    "agent.turn.usage_complete",
    "agent.turn.duration_ms",
    "agent.turn.last_tool",
)
"""The columns that have ever been released; this tuple only ever grows at the end."""

WHOLE = TurnFacts(
    turn_id="turn-2",
    root_turn_id="turn-1",
    parent_turn_id="turn-0",
    continues_turn_id="turn--1",
    conversation_id="conversation-1",
    agent="support",
    agent_version="7",
    source="turnout",
    attended=True,
    started_at=1_000_000_000,
    ended_at=3_500_000_000,
    limits=Limits(steps=2, tool_calls=9, total_tokens=5000, seconds=60.0, cost_usd=0.5),
    steps=(
        Step(
            index=1,
            provider="anthropic",
            finish_reason="tool-calls",
            raw_finish_reason="tool_use",
            usage=Usage(input_tokens=9, output_tokens=8, cache_read_tokens=3, cache_write_tokens=2, reasoning_tokens=1),
            tool_calls=(
                ToolCall(id="1", name="search", status=ToolStatus.ERROR),
                ToolCall(id="2", name="read", status=ToolStatus.OK),
            ),
        ),
        Step(
            index=2,
            provider="anthropic",
            finish_reason="content-filter",
            raw_finish_reason="refusal",
            refusal=Refusal(category="cyber"),
            usage=Usage(input_tokens=1, output_tokens=1),
            output=Output(text_chars=3, parts=1),
        ),
    ),
)


def test_the_past_columns_keep_their_place() -> None:
    """A store that addresses by position reads old and new rows alike."""
    assert names.END_COLUMNS[: len(PAST_COLUMNS)] == PAST_COLUMNS


def test_every_new_column_is_held_by_the_test_above() -> None:
    """A column that is added is added to the past of the next change."""
    assert len(names.END_COLUMNS) == len(PAST_COLUMNS)


def test_the_start_columns_are_among_the_end_columns_in_the_same_order() -> None:
    """What the start event says, the end event says again."""
    assert [name for name in names.END_COLUMNS if name in names.START_COLUMNS] == list(names.START_COLUMNS)


def test_no_two_names_are_the_same() -> None:
    """Two meanings never share a name; a metric and an attribute may, as backends keep them apart."""
    texts = {key: value for key, value in vars(names).items() if key.isupper() and isinstance(value, str)}
    for kind in (
        [value for key, value in texts.items() if key.startswith("METRIC_")],
        [value for key, value in texts.items() if not key.startswith("METRIC_")],
    ):
        assert len(kind) == len(set(kind))


def test_a_row_holds_every_column() -> None:
    """One value stands at the place of its column, and the values of one turn are these."""
    verdict = classify(WHOLE)
    row = end_row(WHOLE, verdict)
    assert dict(zip(names.END_COLUMNS, row, strict=True)) == {
        "agent.turn.schema": 1,
        "agent.turn.id": "turn-2",
        "agent.turn.root_id": "turn-1",
        "agent.turn.parent_id": "turn-0",
        "agent.turn.continues_id": "turn--1",
        "gen_ai.conversation.id": "conversation-1",
        "gen_ai.agent.name": "support",
        "gen_ai.agent.version": "7",
        "agent.turn.source": "turnout",
        "agent.turn.attended": True,
        "agent.turn.limit.steps": 2,
        "agent.turn.limit.tool_calls": 9,
        "agent.turn.limit.total_tokens": 5000,
        "agent.turn.limit.seconds": 60.0,
        "agent.turn.limit.cost_usd": 0.5,
        "agent.turn.outcome": "refused",
        "agent.turn.budget_kind": None,
        "agent.turn.cause": "provider_refusal",
        "agent.turn.resumable": "no",
        "agent.turn.evidence": "derived",
        "agent.turn.rule": verdict.rule,
        "agent.turn.flags": tuple(flag.value for flag in verdict.flags) or None,
        "agent.turn.finish_reason": "content-filter",
        "agent.turn.raw_finish_reason": "refusal",
        "agent.turn.refusal.category": "cyber",
        "agent.turn.steps": 2,
        "agent.turn.tool_calls": 2,
        "agent.turn.tool_errors": 1,
        "agent.turn.unsettled_tools": 0,
        "agent.turn.usage.input_tokens": 10,
        "agent.turn.usage.output_tokens": 9,
        "agent.turn.usage.cache_read_tokens": 3,
        "agent.turn.usage.cache_write_tokens": 2,
        "agent.turn.usage.reasoning_tokens": 1,
        "agent.turn.usage_complete": True,
        "agent.turn.duration_ms": 2500.0,
        "agent.turn.last_tool": "read",
    }


def test_attributes_are_the_row_without_what_is_not_recorded() -> None:
    """An event's attributes keep the order of the columns."""
    verdict = classify(WHOLE)
    row = dict(zip(names.END_COLUMNS, end_row(WHOLE, verdict), strict=True))
    recorded = {name: value for name, value in row.items() if value is not None}
    assert list(end_attributes(WHOLE, verdict).items()) == list(recorded.items())
    assert list(start_attributes(WHOLE)) == list(names.START_COLUMNS)
