"""The columns of the lake's tables, as Polars schemas: the one place where a column is added or changes its type.

A new column goes at the end of its table and raises `SCHEMA_VERSION`; old files read it as null. A column is never renamed and never
changes its type: other engines read the same files. Text stays plain text (no categories), an instant is microseconds in UTC,
and null means "not recorded". No column holds content: no prompt, no output, no tool argument.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

SCHEMA_VERSION: Final = 1
"""Raised with every new column; a lake made by a higher version is refused."""

INSTANT: Final = pl.Datetime("us", "UTC")
_WORDS: Final = pl.List(pl.String)


def _table(columns: Mapping[str, pl.DataType | type[pl.DataType]]) -> pl.Schema:
    """A schema; the type of the argument keeps a checker from widening the mixture of classes and instances to objects."""
    return pl.Schema(columns)


TURNS: Final = _table(
    {
        "turn_id": pl.String,
        "root_turn_id": pl.String,
        "parent_turn_id": pl.String,
        "continues_turn_id": pl.String,
        "conversation_id": pl.String,
        "trace_id": pl.String,
        "user_id": pl.String,
        "service": pl.String,
        "environment": pl.String,
        "agent": pl.String,
        "agent_version": pl.String,
        "source": pl.String,
        "attended": pl.Boolean,
        "started_at": INSTANT,
        "ended_at": INSTANT,
        "last_seen_at": INSTANT,
        "received_at": INSTANT,
        "date": pl.String,
        "open": pl.Boolean,
        "limit_steps": pl.Int64,
        "limit_tool_calls": pl.Int64,
        "limit_total_tokens": pl.Int64,
        "limit_seconds": pl.Float64,
        "limit_cost_usd": pl.Float64,
        "outcome": pl.String,
        "budget_kind": pl.String,
        "cause": pl.String,
        "resumable": pl.String,
        "abnormal": pl.Boolean,
        "evidence": pl.String,
        "rule": pl.String,
        "conflicts": _WORDS,
        "flags": _WORDS,
        "steps": pl.Int64,
        "steps_charged": pl.Int64,
        "tool_calls": pl.Int64,
        "tool_errors": pl.Int64,
        "unsettled_tools": pl.Int64,
        "input_tokens": pl.Int64,
        "output_tokens": pl.Int64,
        "cache_read_tokens": pl.Int64,
        "cache_write_tokens": pl.Int64,
        "reasoning_tokens": pl.Int64,
        "usage_complete": pl.Boolean,
        "finish_reason": pl.String,
        "interrupted": pl.Boolean,
        "finished": pl.Boolean,
        "notice": pl.String,
        "can_continue": pl.Boolean,
        "classifier_version": pl.String,
        "cost_usd": pl.Float64,
        "cost_source": pl.String,
        "price_list": pl.String,
        "duration_s": pl.Float64,
        "models": _WORDS,
        "providers": _WORDS,
        "tools": _WORDS,
        "model": pl.String,
        "provider": pl.String,
        "last_step": pl.Int64,
        "last_tool": pl.String,
        "last_finish_reason": pl.String,
        "last_raw_finish_reason": pl.String,
        "refusal_category": pl.String,
        "last_output_tokens": pl.Int64,
        "last_max_output_tokens": pl.Int64,
        "last_text_chars": pl.Int64,
        "task_resolved": pl.Boolean,
        "task_correct": pl.Boolean,
        "task_reward": pl.Float64,
        "digest": pl.String,
        "facts": pl.String,
        "last_segment": pl.Boolean,
        "updated_at": INSTANT,
        "segment_of": pl.String,
        "step_output_tokens": pl.Int64,
        "step_output_cap": pl.Int64,
        "step_cut": pl.Boolean,
    }
)
"""One row a segment, with the verdict beside the raw claims (inside ``facts``, the whole ``turnout.turn/1`` without any text).

``last_segment`` is true for the last segment of each root by ``started_at``; the view ``turns`` shows those rows alone.
``segment_of`` is the root where it is another id than the turn's own; almost always null, so that asking for it costs nothing.
``received_at`` is the first receipt, ``updated_at`` the last change of the row.
``step_output_tokens`` is the largest output of a model call, null where a call with a finish reason does not say; ``step_output_cap`` the
largest cap of output tokens that a call had; ``step_cut`` says whether any call was cut off by its cap.
"""

_TURN_DIMENSIONS: Final[Mapping[str, pl.DataType | type[pl.DataType]]] = {
    "service": pl.String,
    "environment": pl.String,
    "agent": pl.String,
    "agent_version": pl.String,
    "source": pl.String,
    "attended": pl.Boolean,
    "outcome": pl.String,
    "turn_started_at": INSTANT,
}

STEPS: Final = _table(
    {
        "turn_id": pl.String,
        "root_turn_id": pl.String,
        "date": pl.String,
        "step": pl.Int64,
        "started_at": INSTANT,
        "ended_at": INSTANT,
        "provider": pl.String,
        "api": pl.String,
        "model": pl.String,
        "finish_reason": pl.String,
        "raw_finish_reason": pl.String,
        "finish_class": pl.String,
        "refused": pl.Boolean,
        "refusal_category": pl.String,
        "stream_complete": pl.Boolean,
        "forced_final": pl.Boolean,
        "aborted": pl.Boolean,
        "max_output_tokens": pl.Int64,
        "input_tokens": pl.Int64,
        "output_tokens": pl.Int64,
        "cache_read_tokens": pl.Int64,
        "cache_write_tokens": pl.Int64,
        "reasoning_tokens": pl.Int64,
        "cost_usd": pl.Float64,
        "attempts": pl.Int64,
        "error_type": pl.String,
        "error_status": pl.Int64,
        "text_chars": pl.Int64,
        "parts": pl.Int64,
        "tool_calls": pl.Int64,
        "is_last": pl.Boolean,
        "position": pl.Int64,
        **_TURN_DIMENSIONS,
    }
)
"""One row a model call: attempts of one step that the source tells apart share ``step`` and count up in ``position`` from 1.

``input_tokens`` includes the cache, ``output_tokens`` the reasoning. ``is_last`` marks the call that ended the turn.
``turn_started_at`` falls back to the first receipt, as ``date`` does.
"""

TOOL_CALLS: Final = _table(
    {
        "turn_id": pl.String,
        "root_turn_id": pl.String,
        "date": pl.String,
        "step": pl.Int64,
        "position": pl.Int64,
        "call_id": pl.String,
        "tool": pl.String,
        "status": pl.String,
        "final": pl.Boolean,
        "arguments_valid": pl.Boolean,
        "arguments_digest": pl.String,
        "mutating": pl.Boolean,
        "error_type": pl.String,
        "denied_by": pl.String,
        "started_at": INSTANT,
        "ended_at": INSTANT,
        "duration_s": pl.Float64,
        "is_last": pl.Boolean,
        "model": pl.String,
        **_TURN_DIMENSIONS,
    }
)
"""One row a tool call, counted by ``position`` from 1 within its step. ``is_last`` marks the last call of the turn."""

LEDGER: Final = _table(
    {
        "kind": pl.String,
        "key": pl.String,
        "value": pl.String,
        "recorded_at": INSTANT,
        "position": pl.Int64,
    }
)
"""What the product itself did: alert history, export manifests, counts of what was skipped. ``value`` is JSON."""

TABLES: Final = {"turns": TURNS, "steps": STEPS, "tool_calls": TOOL_CALLS, "ledger": LEDGER}
"""Every table of a lake by name."""
