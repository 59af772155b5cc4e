"""The registry of metrics: what each counts, in words, and the `.sql` file that counts it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import polars as pl

from turnout.pipeline.query.dimensions import DIMENSIONS, EVERYTHING
from turnout.pipeline.query.engine import resource
from turnout.pipeline.query.errors import QueryError
from turnout.pipeline.query.filters import Filters
from turnout.pipeline.query.warehouse import Warehouse

FIGURES: Final = ("numerator", "denominator", "rate", "low", "high")
"""The columns of every metric after those that it is grouped by; ``low`` and ``high`` are the 95 % Wilson interval."""


class Good(StrEnum):
    """Which way is better."""

    UP = "up"
    DOWN = "down"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric; ``parts`` are columns that it is always split by: with them the shares of a group sum to one.

    ``reads`` are the columns of its view that its SQL reads, where it counts by ``n`` and so can be answered from a cube.
    """

    name: str
    title: str
    definition: str
    unit: str
    good_direction: Good
    view: str = "counted_turns"
    parts: tuple[str, ...] = ()
    reads: tuple[str, ...] | None = None

    @property
    def dimensions(self) -> tuple[str, ...]:
        """What it can be grouped by."""
        return DIMENSIONS[self.view]

    @property
    def file(self) -> str:
        """The `.sql` file, below the room's ``sql``."""
        return f"metrics/{self.name}.sql"

    @property
    def statement(self) -> str:
        """The SQL, with ``$by`` as its one parameter."""
        return resource(self.file)


def run(warehouse: Warehouse, name: str, filters: Filters | None = None, by: Sequence[str] = ()) -> pl.DataFrame:
    """Compute one metric.

    Args:
        warehouse: where.
        name: of the metric.
        filters: over which turns.
        by: its dimensions to group by, in the order of the columns.

    Returns:
        The ``by`` columns, the metric's own parts, then `FIGURES`; sorted by the first ones, not recorded last.

    Raises:
        QueryError: for a metric or dimension that does not exist.
    """
    wanted = metric(name)
    for dimension in by:
        if dimension not in (*wanted.dimensions, *wanted.parts):
            raise QueryError(
                f"metric {name}: cannot be grouped by {dimension!r}, expected some of {', '.join(wanted.dimensions)}"
            )
    groups = [dimension for dimension in dict.fromkeys(by) if dimension not in wanted.parts]
    parameters = {"by": groups or [EVERYTHING]}
    if wanted.reads is None:
        rows = warehouse.sql(wanted.statement, parameters, filters)
    else:
        columns = {*wanted.reads, *groups}
        rows = warehouse.counted(wanted.statement, parameters, filters, view=wanted.view, columns=columns)
    keys = [*groups, *wanted.parts]
    return rows.select(*keys, *FIGURES).sort(keys, nulls_last=True) if keys else _one_row(rows.select(FIGURES))


def metric(name: str) -> Metric:
    """A metric by name.

    Raises:
        QueryError: when there is none of that name.
    """
    found = next((metric for metric in METRICS if metric.name == name), None)
    if found is None:
        raise QueryError(f"metric: got {name!r}, expected one of {', '.join(metric.name for metric in METRICS)}")
    return found


def _one_row(rows: pl.DataFrame) -> pl.DataFrame:
    """Nothing to count is a row of zeros, not no row."""
    nothing = {"numerator": 0, "denominator": 0, "rate": None, "low": None, "high": None}
    return rows if rows.height else pl.DataFrame([nothing], schema=rows.schema)


METRICS: Final = (
    Metric(
        name="outcomes",
        title="How turns end",
        definition="Share of each outcome among all turns. A turn is counted once, by its last segment.",
        unit="turns",
        good_direction=Good.NEITHER,
        parts=("outcome",),
        reads=("outcome",),
    ),
    Metric(
        name="finished",
        title="Finished",
        definition="Turns that completed or were handed back on purpose, of all turns.",
        unit="turns",
        good_direction=Good.UP,
        reads=("outcome",),
    ),
    Metric(
        name="abnormal",
        title="Abnormal finishes",
        definition="Turns that ended by budget, length, context overflow, refusal, interruption or error, of all turns.",
        unit="turns",
        good_direction=Good.DOWN,
        reads=("abnormal",),
    ),
    Metric(
        name="abnormal_by_cause",
        title="What is behind abnormal finishes",
        definition="Share of each outcome and cause among the abnormal turns.",
        unit="abnormal turns",
        good_direction=Good.NEITHER,
        parts=("outcome", "cause"),
        reads=("abnormal", "outcome", "cause"),
    ),
    Metric(
        name="unknown",
        title="Not recorded",
        definition="Turns of which nobody recorded how they ended, of all turns. They are never counted as finished.",
        unit="turns",
        good_direction=Good.DOWN,
        reads=("outcome",),
    ),
    Metric(
        name="reported",
        title="Reported outcomes",
        definition="Turns whose outcome a layer reported itself, of all turns; the others are derived from facts or inferred.",
        unit="turns",
        good_direction=Good.UP,
        reads=("evidence",),
    ),
    Metric(
        name="budget_cut",
        title="Cut by a limit",
        definition="Turns that a spent limit of any kind cut (steps, tool calls, tokens, time, cost), of all turns.",
        unit="turns",
        good_direction=Good.DOWN,
        reads=("outcome",),
    ),
    Metric(
        name="step_limit_cut",
        title="Cut by the step limit",
        definition="Turns that their step limit cut, of the turns with a recorded step limit.",
        unit="turns with a step limit",
        good_direction=Good.DOWN,
        reads=("budget_kind", "limit_steps"),
    ),
    Metric(
        name="steps_charged",
        title="Steps against the limit",
        definition=(
            "Share of the turns under one step limit that spent so many steps. Turns whose steps were not recorded are left out; "
            "a limit that was not recorded is a group of its own."
        ),
        unit="turns",
        good_direction=Good.NEITHER,
        parts=("limit_steps", "steps_charged"),
        reads=("limit_steps", "steps_charged"),
    ),
    Metric(
        name="length_cut",
        title="Answers cut off",
        definition="Turns whose answer hit its cap of output tokens, of all turns. A context overflow is not one of them.",
        unit="turns",
        good_direction=Good.DOWN,
        reads=("outcome",),
    ),
    Metric(
        name="context_overflow",
        title="Context full",
        definition="Turns whose conversation no longer fitted the model's context window, of all turns.",
        unit="turns",
        good_direction=Good.DOWN,
        reads=("outcome",),
    ),
    Metric(
        name="refused",
        title="Refused",
        definition="Turns that the provider, a content filter or a guardrail refused, of all turns.",
        unit="turns",
        good_direction=Good.DOWN,
        reads=("outcome",),
    ),
    Metric(
        name="refused_without_output",
        title="Refused with nothing to see",
        definition="Refused turns in which a person saw no output at all, of the refused turns.",
        unit="refused turns",
        good_direction=Good.DOWN,
        reads=("outcome", "flags"),
    ),
    Metric(
        name="refused_again",
        title="Refused again",
        definition=(
            "Refused turns of a conversation in which an earlier one of the counted turns had already been refused, "
            "of the refused turns with a recorded conversation."
        ),
        unit="refused turns",
        good_direction=Good.DOWN,
        view="counted_links",
        reads=("outcome", "conversation_id", "counted_at"),
    ),
    Metric(
        name="interrupted",
        title="Died",
        definition="Turns that died without anybody closing them, of all turns.",
        unit="turns",
        good_direction=Good.DOWN,
        reads=("outcome",),
    ),
    Metric(
        name="error",
        title="Failed",
        definition="Turns that ended in an error, of all turns.",
        unit="turns",
        good_direction=Good.DOWN,
        reads=("outcome",),
    ),
    Metric(
        name="stopped",
        title="Stopped",
        definition="Turns that a person, the runtime or the host stopped, of all turns.",
        unit="turns",
        good_direction=Good.NEITHER,
        reads=("outcome",),
    ),
    Metric(
        name="can_continue",
        title="Can be continued",
        definition="Abnormal turns that can be continued by a person who is there, of the abnormal turns.",
        unit="abnormal turns",
        good_direction=Good.UP,
        reads=("abnormal", "can_continue"),
    ),
    Metric(
        name="continued",
        title="Were continued",
        definition="Abnormal turns that a later turn says it continues, of the abnormal turns.",
        unit="abnormal turns",
        good_direction=Good.NEITHER,
        view="counted_links",
        reads=("abnormal", "turn_id", "segment_of", "continues_turn_id"),
    ),
    Metric(
        name="after_continue",
        title="How continuations end",
        definition=(
            "Share of each outcome among the turns that continue one of the counted turns, by how that one had ended. A turn that had completed "
            "is continued by nothing."
        ),
        unit="continuations",
        good_direction=Good.NEITHER,
        view="counted_links",
        parts=("continued_outcome", "outcome"),
        reads=("outcome", "turn_id", "segment_of", "continues_turn_id"),
    ),
    Metric(
        name="tool_abnormal",
        title="Abnormal finishes by tool used",
        definition="Turns that ended abnormally, of the turns that called the tool at all; a turn counts once for each of its tools.",
        unit="turns with the tool",
        good_direction=Good.DOWN,
        view="counted_tools_used",
        parts=("tool",),
        reads=("abnormal", "tool"),
    ),
    Metric(
        name="flags",
        title="Worth knowing",
        definition="Turns with each flag (integrity and coverage), of all turns; a turn counts once for each of its flags.",
        unit="turns",
        good_direction=Good.DOWN,
        parts=("flag",),
        reads=("flags",),
    ),
    Metric(
        name="finish_reason_coverage",
        title="Finish reasons recorded",
        definition="Turns whose last step has its finish reason recorded, of the turns with at least one step.",
        unit="turns with a step",
        good_direction=Good.UP,
        reads=("has_steps", "has_finish_reason"),
    ),
    Metric(
        name="usage_coverage",
        title="Tokens recorded",
        definition="Turns in which every model call reports its tokens, of the turns with at least one step.",
        unit="turns with a step",
        good_direction=Good.UP,
        reads=("has_steps", "usage_complete"),
    ),
    Metric(
        name="call_cut",
        title="Model calls cut off",
        definition="Model calls that hit their cap of output tokens, of the calls with a finish reason.",
        unit="model calls",
        good_direction=Good.DOWN,
        view="counted_steps",
        reads=("finish_class",),
    ),
    Metric(
        name="call_cut_recovered",
        title="Cut calls that were recovered",
        definition="Cut model calls after which the turn went on, of the cut calls.",
        unit="cut model calls",
        good_direction=Good.UP,
        view="counted_steps",
        reads=("finish_class", "is_last"),
    ),
    Metric(
        name="output_at_cap",
        title="Output at the cap",
        definition="Model calls that used their whole cap of output tokens, of the calls with cap and usage recorded.",
        unit="model calls",
        good_direction=Good.DOWN,
        view="counted_steps",
        reads=("used_from",),
    ),
    Metric(
        name="output_against_cap",
        title="Output tokens against the cap",
        definition=(
            "Share of the model calls under one cap that used so much of it, in twentieths; the last bin holds the calls that used it all. "
            "Calls without a recorded cap or usage are left out."
        ),
        unit="model calls",
        good_direction=Good.NEITHER,
        view="counted_steps",
        parts=("max_output_tokens", "used_from"),
        reads=("max_output_tokens", "used_from"),
    ),
    Metric(
        name="call_refused",
        title="Model calls refused",
        definition="Model calls that the provider refused, of the calls with a finish reason.",
        unit="model calls",
        good_direction=Good.DOWN,
        view="counted_steps",
        reads=("finish_class", "refused"),
    ),
    Metric(
        name="call_refused_recovered",
        title="Refused calls that were recovered",
        definition="Refused model calls after which the turn went on, by a retry or with another model, of the refused calls.",
        unit="refused model calls",
        good_direction=Good.UP,
        view="counted_steps",
        reads=("refused", "is_last"),
    ),
    Metric(
        name="refusal_categories",
        title="What is refused",
        definition="Share of each category among the refused model calls.",
        unit="refused model calls",
        good_direction=Good.NEITHER,
        view="counted_steps",
        parts=("refusal_category",),
        reads=("refused", "refusal_category"),
    ),
    Metric(
        name="call_error",
        title="Model calls failed",
        definition="Model calls that ended in an error, of all model calls.",
        unit="model calls",
        good_direction=Good.DOWN,
        view="counted_steps",
        reads=("has_error",),
    ),
    Metric(
        name="call_finish_reasons",
        title="Finish reasons as spelled",
        definition="Share of each finish reason, as the provider and the runtime spell it, among the model calls.",
        unit="model calls",
        good_direction=Good.NEITHER,
        view="counted_steps",
        parts=("provider", "raw_finish_reason", "finish_reason"),
        reads=("provider", "raw_finish_reason", "finish_reason"),
    ),
    Metric(
        name="tool_error",
        title="Tool errors",
        definition="Tool calls that failed, of the settled calls (ok, error or denied).",
        unit="tool calls",
        good_direction=Good.DOWN,
        view="counted_tool_calls",
        reads=("status",),
    ),
    Metric(
        name="tool_denied",
        title="Tool calls denied",
        definition="Tool calls that were denied, of the settled calls (ok, error or denied).",
        unit="tool calls",
        good_direction=Good.NEITHER,
        view="counted_tool_calls",
        reads=("status",),
    ),
    Metric(
        name="tool_unsettled",
        title="Tool calls left open",
        definition="Tool calls whose end nobody saw, of the calls with a recorded status.",
        unit="tool calls",
        good_direction=Good.DOWN,
        view="counted_tool_calls",
        reads=("status",),
    ),
    Metric(
        name="arguments_cut",
        title="Tool calls cut off while written",
        definition="Tool calls whose arguments were cut off while the model was writing them, of all tool calls.",
        unit="tool calls",
        good_direction=Good.DOWN,
        view="counted_tool_calls",
        reads=("status", "arguments_valid"),
    ),
)
"""Every metric; the order is that of the list a person reads."""
