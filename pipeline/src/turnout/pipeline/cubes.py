"""Cubes: rows of a table counted together by the hour and a few columns, so that a long window is answered from thousands of rows instead of millions.

A cube belongs to one file of rows and counts exactly what a counted view shows of these; cubes of several files add up. What a metric may
be answered from is decided in the query room; that both ways give the same is held by a test.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import polars as pl

from turnout.pipeline.counted import VIEWS, column, shown, total, types

COUNT: Final = "n"
"""The column that says how many rows are counted together."""


@dataclass(frozen=True, slots=True)
class Cube:
    """One cube; ``columns`` and ``sums`` are those of its counted view, the latter are added up.

    A cube of ``single`` rows keeps each row by itself: there is little to count together, but few rows and columns to read.
    """

    name: str
    view: str
    columns: tuple[str, ...]
    sums: tuple[str, ...] = ()
    single: bool = False

    @property
    def table(self) -> str:
        """The table that it counts rows of."""
        return VIEWS[self.view]

    @property
    def key(self) -> str:
        """Its name and what it holds: a cube of other columns, as another turnout made it, is another cube."""
        held = ",".join((self.view, *self.columns, "+", *self.sums))
        return f"{self.name}-{blake2b(held.encode(), digest_size=4).hexdigest()}"

    @property
    def schema(self) -> pl.Schema:
        """The types of its columns, of the sums and of the count."""
        kinds = types(self.view)
        return pl.Schema({name: kinds[name] for name in (*self.columns, *self.sums)} | {COUNT: pl.Int64()})

    def rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Count the rows of one file of its table, as its view shows them."""
        held = shown(self.view, frame.lazy()).select(column(self.view, name) for name in (*self.columns, *self.sums))
        return self.together([held.with_columns(pl.lit(1, pl.Int64()).alias(COUNT)).collect()])

    def together(self, parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """One cube of what several count, or a cube with more columns."""
        every = pl.concat(part.select(*self.columns, *self.sums, COUNT) for part in parts)
        if not self.single:
            every = every.group_by(self.columns).agg(*map(total, self.sums), pl.col(COUNT).sum())
        return every.select(*self.columns, *self.sums, COUNT).cast(self.schema).sort("hour")

    def within(self, other: "Cube") -> bool:
        """Whether the other cube, which is not this one, knows everything that this one counts."""
        known = set(self.columns) <= set(other.columns) and set(self.sums) <= set(other.sums)
        return known and other is not self and other.view == self.view and not other.single


_EVERYWHERE: Final = ("hour", "environment", "agent")
_BY_MODEL: Final = ("hour", "environment", "model")
_PLACES: Final = ("hour", "service", "environment", "agent", "agent_version", "source")
_ENDS: Final = (
    "attended",
    "outcome",
    "budget_kind",
    "cause",
    "resumable",
    "evidence",
    "abnormal",
    "can_continue",
    "flags",
    "has_steps",
    "has_finish_reason",
    "usage_complete",
)
_SPENT: Final = ("attended", "outcome", "budget_kind", "limit_steps", "steps_charged", "step")
_OUTPUTS: Final = ("attended", "outcome", "budget_kind", "step_cut", "step_output_cap", "step_output_tokens")
_COSTS: Final = (
    "priced",
    "unpriced",
    "cost_usd",
    "input_tokens",
    "cache_read_tokens",
    "output_tokens",
)
_CALL: Final = ("attended", "finish_class", "refused", "refusal_category", "is_last", "has_error")
_CAPS: Final = ("attended", "cap", "max_output_tokens", "used_from", "finish_class")
_TOOL: Final = ("attended", "status", "arguments_valid")
_PROGRESS: Final = ("tokens", "tokens_known", "cost_usd", "cost_usd_known", "seconds", "seconds_known")

CUBES: Final = (
    Cube("whole", "counted_turns", ("hour", "environment", *_ENDS)),
    Cube("spent", "counted_turns", ("hour", "environment", *_SPENT)),
    Cube("ends", "counted_turns", (*_EVERYWHERE, "model", "models", *_ENDS)),
    Cube("routes", "counted_turns", (*_BY_MODEL, "models", "provider", "providers", *_ENDS)),
    Cube("places", "counted_turns", (*_PLACES, *_ENDS)),
    Cube("last_tools", "counted_turns", (*_EVERYWHERE, "tool", *_ENDS)),
    Cube("spent_models", "counted_turns", (*_BY_MODEL, "models", *_SPENT)),
    Cube("spent_agents", "counted_turns", (*_EVERYWHERE, *_SPENT)),
    Cube("outputs", "counted_turns", (*_EVERYWHERE, *_OUTPUTS)),
    Cube("costs", "counted_turns", (*_EVERYWHERE, "model", "models", "attended", "outcome"), _COSTS),
    Cube("cost_places", "counted_turns", (*_PLACES, "attended", "outcome"), _COSTS),
    Cube(
        "cost_routes", "counted_turns", (*_BY_MODEL, "models", "provider", "providers", "attended", "outcome"), _COSTS
    ),
    Cube(
        "links",
        "counted_links",
        (
            *_PLACES,
            "model",
            "models",
            "provider",
            "providers",
            "tool",
            "tools",
            "step",
            "attended",
            "outcome",
            "budget_kind",
            "cause",
            "resumable",
            "evidence",
            "rule",
            "refusal_category",
            "abnormal",
            "counted_at",
            "over_at",
            "turn_id",
            "segment_of",
            "conversation_id",
            "continues_turn_id",
            "step_cut",
            "step_output_tokens",
            "steps_charged",
            "tool_calls",
            "input_tokens",
            "output_tokens",
            "duration_s",
            "cost_usd",
        ),
        single=True,
    ),
    Cube("agents_tools", "counted_tools_used", (*_EVERYWHERE, "tool", "attended", "outcome", "abnormal")),
    Cube("models_tools", "counted_tools_used", (*_BY_MODEL, "models", "tool", "attended", "outcome", "abnormal")),
    Cube("calls", "counted_steps", (*_EVERYWHERE, "model", "outcome", *_CALL)),
    Cube("call_steps", "counted_steps", (*_BY_MODEL, "step", *_CALL)),
    Cube("call_places", "counted_steps", (*_PLACES, *_CALL)),
    Cube("reasons", "counted_steps", (*_BY_MODEL, "provider", "api", *_CALL, "finish_reason", "raw_finish_reason")),
    Cube(
        "agents_reasons",
        "counted_steps",
        (*_EVERYWHERE, "provider", *_CALL, "finish_reason", "raw_finish_reason", "error_type", "error_status"),
    ),
    Cube("caps", "counted_steps", (*_BY_MODEL, *_CAPS)),
    Cube("agents_caps", "counted_steps", (*_EVERYWHERE, *_CAPS)),
    Cube("every_cap", "counted_steps", (*_EVERYWHERE, "model", *_CAPS)),
    Cube("progress", "counted_progress", (*_EVERYWHERE, "attended", "outcome", "position"), _PROGRESS),
    Cube(
        "tool_ends",
        "counted_tool_calls",
        (*_EVERYWHERE, "tool", *_TOOL, "error_type", "denied_by", "mutating"),
    ),
    Cube("models_tool_ends", "counted_tool_calls", (*_BY_MODEL, "tool", *_TOOL)),
    Cube("tool_places", "counted_tool_calls", (*_PLACES, *_TOOL)),
    Cube("tool_steps", "counted_tool_calls", ("hour", "environment", "tool", "step", *_TOOL)),
    Cube("every_tool_end", "counted_tool_calls", (*_EVERYWHERE, "tool", "model", "outcome", *_TOOL)),
)
"""Every cube; of several that can answer, the first is taken."""


def of_table(table: str) -> tuple[Cube, ...]:
    """The cubes of a table's files."""
    return tuple(cube for cube in CUBES if cube.table == table)


def source_of(cube: Cube, made: Iterable[Cube]) -> Cube | None:
    """The first of some cubes that this one can be counted from, so that the rows need not be counted again."""
    return next((other for other in made if cube.within(other)), None)
