"""A synthetic lake of any size: seven days of turns, six model calls and five tool calls each on average.

Rows are drawn column by column, not classified one by one: what is measured over it is reading. The same seed gives the same lake.
"""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import uuid4

import numpy as np
import polars as pl

from turnout.outcomes.classify import CLASSIFIER_VERSION
from turnout.pipeline.lake import Lake
from turnout.pipeline.lake.cubing import Cubing
from turnout.pipeline.lake.store import FolderStore
from turnout.pipeline.lake.writing import Writer
from turnout.pipeline.schema import STEPS, TOOL_CALLS, TURNS

END: Final = datetime(2026, 1, 8, tzinfo=UTC)
HOURS: Final = 7 * 24
_OUTCOMES: Final = {
    "completed": 0.80,
    "yielded": 0.02,
    "budget": 0.05,
    "length": 0.02,
    "context_overflow": 0.005,
    "refused": 0.015,
    "stopped": 0.04,
    "interrupted": 0.01,
    "error": 0.03,
    "unknown": 0.01,
}
_ABNORMAL: Final = ("budget", "length", "context_overflow", "refused", "interrupted", "error")
_MODELS: Final = [f"model-{n:02}" for n in range(16)]
_PROVIDERS: Final = ["anthropic", "openai", "aws.bedrock", "google"]
_AGENTS: Final = [f"agent-{n:02}" for n in range(12)]
_TOOLS: Final = [f"tool_{n:02}" for n in range(24)]
_DIGESTS: Final = [f"{n:032x}" for n in range(40)]
_LIMITS: Final = [10, 30, 50]
_CAPS: Final = [1024, 4096, 8192]
_MEAN_STEPS: Final = 6
_WORDS: Final = pl.List(pl.String)
_DIMENSIONS: Final = (
    "service",
    "environment",
    "agent",
    "agent_version",
    "source",
    "attended",
    "outcome",
    "model",
    "provider",
)


def big_lake(root: Path, turns: int) -> Lake:
    """The lake of that many turns below a folder, made if it is not there."""
    wanted = root / f"{turns}"
    if not (wanted / "whole").exists():
        shutil.rmtree(wanted, ignore_errors=True)
        _make(str(wanted), turns)
        (wanted / "whole").touch()
    return Lake.open(str(wanted))


def _make(root: str, turns: int) -> None:
    random = np.random.default_rng(7)
    writer = Writer(FolderStore(root), lambda: uuid4().hex[:16], lambda _: None, Cubing())
    tables = writer.tables
    for hour in range(HOURS):
        start = END - timedelta(hours=HOURS - hour)
        frames = hour_of_turns(random, start, turns // HOURS)
        place = (f"{start:%Y-%m-%d}", f"hour{hour:03}")
        writer.index.write(place, frames["turns"]["turn_id"])
        for name in ("steps", "tool_calls", "turns"):
            names = tables.names() if name == "turns" else None
            tables[name].commit([tables.put(name, place, frames[name])], transactions=names)


def hour_of_turns(random: np.random.Generator, start: datetime, count: int) -> dict[str, pl.DataFrame]:
    """The rows of the three tables for turns that started within an hour."""
    turns = _turns(random, start, count)
    steps = _steps(random, turns)
    largest = steps.group_by("turn_id").agg(
        step_output_tokens=pl.col("output_tokens").max(),
        step_output_cap=pl.col("max_output_tokens").max(),
        step_cut=(pl.col("finish_class") == "length").any(),
    )
    return {
        "turns": _shaped(turns.join(largest, on="turn_id", how="left", maintain_order="left"), TURNS),
        "steps": _shaped(steps, STEPS),
        "tool_calls": _shaped(_tool_calls(random, steps), TOOL_CALLS),
    }


def _turns(random: np.random.Generator, start: datetime, count: int) -> pl.DataFrame:
    outcome = random.choice(list(_OUTCOMES), count, p=list(_OUTCOMES.values()))
    limit = random.choice(_LIMITS, count)
    spent = np.where(outcome == "budget", limit, np.minimum(random.geometric(1 / _MEAN_STEPS, count), limit))
    started = int(start.timestamp() * 1_000_000) + np.sort(random.integers(0, 3_600_000_000, count))
    seconds = random.exponential(40, count) + 1
    tools = pl.DataFrame({"one": random.choice(_TOOLS, count), "other": random.choice(_TOOLS, count)})
    conversations = pl.Series(_ids(random, count // 3 + 1))
    turn_ids = _ids(random, count)
    drawn = {
        "turn_id": turn_ids,
        "conversation_id": conversations.gather(random.integers(0, len(conversations), count)),
        "trace_id": _ids(random, count),
        "outcome": outcome,
        "steps": spent,
        "limit_steps": limit,
        "started_at": started,
        "ended_at": started + (seconds * 1_000_000).astype(np.int64),
        "duration_s": seconds,
        "service": random.choice([f"service-{n}" for n in range(6)], count),
        "environment": random.choice(["prod", "staging"], count),
        "agent": random.choice(_AGENTS, count),
        "agent_version": random.choice(["1.0", "1.1", "1.2"], count),
        "source": random.choice(["own", "openinference", "claude-code"], count),
        "attended": random.random(count) < 0.7,
        "model": random.choice(_MODELS, count),
        "provider": random.choice(_PROVIDERS, count),
        "last_tool": tools["one"],
        "tools": tools.select(pl.concat_list("one", "other").list.unique().list.sort()).to_series(),
        "input_tokens": random.integers(1000, 60_000, count),
        "output_tokens": random.integers(20, 6000, count),
        "last_output_tokens": random.integers(1, 1024, count),
        "last_max_output_tokens": random.choice(_CAPS, count),
        "cost_usd": random.exponential(0.03, count),
        "digest": _ids(random, count),
    }
    # One turn in twenty-five continues another of its hour, which had not completed.
    ids = pl.Series(turn_ids).filter(pl.Series(outcome) != "completed")
    continued = pl.Series(random.random(count) < 0.04)
    return pl.DataFrame(drawn).with_columns(
        pl.col("started_at", "ended_at").cast(pl.Datetime("us")).dt.replace_time_zone("UTC"),
        root_turn_id=pl.col("turn_id"),
        continues_turn_id=pl.when(continued).then(ids.gather(random.integers(0, len(ids), count))),
        models=pl.concat_list("model"),
        providers=pl.concat_list("provider"),
        steps_charged=pl.col("steps"),
        last_step=pl.col("steps"),
        tool_calls=pl.col("steps") - 1,
        abnormal=pl.col("outcome").is_in(_ABNORMAL),
        budget_kind=_where("budget", "steps"),
        refusal_category=_where("refused", "cyber"),
        resumable=pl.when(_resumable()).then(pl.lit("yes")).otherwise(pl.lit("no")),
        can_continue=_resumable() & pl.col("attended"),
        flags=pl.when(pl.col("outcome") == "refused").then(pl.lit(["zero_output"])).otherwise(pl.lit([], _WORDS)),
        conflicts=pl.lit([], _WORDS),
        evidence=pl.lit("reported"),
        rule=pl.lit("claim"),
        last_raw_finish_reason=pl.lit("end_turn"),
        usage_complete=pl.lit(value=True),
        finished=pl.lit(value=True),
        last_segment=pl.lit(value=True),
        notice=pl.lit("none"),
        classifier_version=pl.lit(CLASSIFIER_VERSION),
        facts=pl.concat_str(pl.lit('{"schema":"turnout.turn/1","turn_id":"'), "turn_id", pl.lit('"}')),
        **{column: _cast_start() for column in ("received_at", "updated_at")},
    )


def _steps(random: np.random.Generator, turns: pl.DataFrame) -> pl.DataFrame:
    rows = turns.select(
        "turn_id",
        "root_turn_id",
        *_DIMENSIONS,
        turn_started_at="started_at",
        wanted=pl.col("steps").cast(pl.UInt32),
    )
    rows = rows.select(pl.all().repeat_by("wanted").explode()).with_columns(
        step=pl.int_range(1, pl.len() + 1).over("turn_id")
    )
    count = rows.height
    last = pl.col("step") == pl.col("wanted")
    ended = (
        pl.when(last & (pl.col("outcome") == "length"))
        .then(pl.lit("length"))
        .otherwise(
            pl.when(last & (pl.col("outcome") == "refused")).then(pl.lit("refusal")).otherwise(pl.lit("tool_calls"))
        )
    )
    cap, used = pl.Series("cap", random.choice(_CAPS, count)), pl.Series("used", random.integers(1, 1024, count))
    six_seconds = pl.duration(seconds=6)
    return rows.with_columns(
        pl.Series("input_tokens", random.integers(1000, 60_000, count)),
        pl.Series("cost_usd", random.exponential(0.005, count)),
        max_output_tokens=cap,
        output_tokens=pl.when(ended == "length").then(cap).otherwise(used),
        started_at=pl.col("turn_started_at") + (pl.col("step") - 1) * six_seconds,
        ended_at=pl.col("turn_started_at") + pl.col("step") * six_seconds,
        is_last=last,
        finish_class=ended,
        raw_finish_reason=ended,
        refused=last & (pl.col("outcome") == "refused"),
        refusal_category=pl.when(last & (pl.col("outcome") == "refused")).then(pl.lit("cyber")),
        tool_calls=pl.when(last).then(0).otherwise(1),
        position=pl.lit(1),
        attempts=pl.lit(1),
    )


def _tool_calls(random: np.random.Generator, steps: pl.DataFrame) -> pl.DataFrame:
    rows = steps.filter(~pl.col("is_last"))
    count = rows.height
    return rows.with_columns(
        pl.Series("tool", random.choice(_TOOLS, count)),
        pl.Series("status", random.choice(["ok", "error", "denied", "running"], count, p=[0.93, 0.05, 0.01, 0.01])),
        pl.Series("duration_s", random.exponential(2, count)),
        pl.Series("arguments_digest", random.choice(_DIGESTS, count)),
        is_last=pl.col("step") == pl.col("wanted") - 1,
    )


def _shaped(frame: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """Every column of the schema but the date; what was not drawn is null."""
    columns = [
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in schema.items()
        if name != "date"
    ]
    return frame.select(columns)


def _ids(random: np.random.Generator, count: int) -> list[str]:
    raw = random.bytes(16 * count).hex()
    return [raw[32 * n : 32 * n + 32] for n in range(count)]


def _where(outcome: str, value: str) -> pl.Expr:
    return pl.when(pl.col("outcome") == outcome).then(pl.lit(value))


def _resumable() -> pl.Expr:
    return pl.col("outcome").is_in(["budget", "length", "interrupted"])


def _cast_start() -> pl.Expr:
    return pl.col("started_at").cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
