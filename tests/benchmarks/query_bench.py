"""How long questions take over a large synthetic lake, beside plain DuckDB over the same files in the same run.

``TURNOUT_BENCH_TURNS`` (default 10,000,000) sets its size and ``TURNOUT_BENCH_LAKE`` (default ``build/bench-lake``) where it is kept; making it takes
some minutes, once.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import duckdb
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from big_lake import END, big_lake
from turnout.pipeline.analysis.budget import Limit
from turnout.pipeline.budgets import ends
from turnout.pipeline.query import METRICS, Filters, Warehouse, run
from turnout.pipeline.query.engine import resource

TURNS = int(os.environ.get("TURNOUT_BENCH_TURNS", "10000000"))
WHERE = Path(os.environ.get("TURNOUT_BENCH_LAKE", "build/bench-lake"))
WEEK, DAY = Filters(), Filters(since=END - timedelta(hours=24), until=END)
RUNS = 5

NAMES = (
    *(f"metric_{metric.name}_{window}_ms" for metric in METRICS for window in ("7d", "24h")),
    "budget_curve_ms",
    "turn_by_id_ms",
    "turn_by_id_and_hour_ms",
    "latest_abnormal_ms",
)


def figures() -> Iterator[dict[str, object]]:
    """Milliseconds, warm; ``limit`` is the same statement by plain DuckDB, which knows neither cubes nor what a file may hold."""
    warehouse = Warehouse(big_lake(WHERE, TURNS).root)
    plain = plain_duckdb(warehouse)
    for metric in METRICS:
        limit = spent(partial(plainly, plain, metric.statement))
        yield figure(f"metric_{metric.name}_7d_ms", partial(run, warehouse, metric.name, WEEK), limit)
        yield figure(f"metric_{metric.name}_24h_ms", partial(run, warehouse, metric.name, DAY))
    yield figure("budget_curve_ms", lambda: ends(warehouse, Limit.STEPS).curve())
    some = "select turn_id, started_at from turns where date = '2026-01-04' limit 1"
    turn_id, started = warehouse.sql(some).row(0)
    yield figure("turn_by_id_ms", lambda: warehouse.require(turn_id))
    yield figure("turn_by_id_and_hour_ms", lambda: warehouse.turn(turn_id, started))
    yield figure("latest_abnormal_ms", lambda: warehouse.turns(limit=50, abnormal=True))


def plainly(connection: duckdb.DuckDBPyConnection, statement: str) -> pl.DataFrame:
    """The rows of a metric's statement, not grouped."""
    return pl.DataFrame(connection.sql(statement, params={"by": ["everything"]}))


def figure(name: str, work: Callable[[], object], limit: float | None = None) -> dict[str, object]:
    """One figure, with the limit measured beside it where there is one."""
    value = spent(work)
    found: dict[str, object] = {"name": name, "value": round(value, 1), "unit": "ms"}
    return found if limit is None else found | {"limit": round(limit, 1), "ratio": round(value / limit, 2)}


def plain_duckdb(warehouse: Warehouse) -> duckdb.DuckDBPyConnection:
    """The same views over plain lists of files."""
    connection = duckdb.connect(config={"python_enable_replacements": False})
    connection.execute("set global TimeZone = 'UTC'")
    connection.execute(resource("macros.sql"))
    for view, table in {"turn_segments": "turns", "steps": "steps", "tool_calls": "tool_calls"}.items():
        paths = [f"{warehouse.root}/{table}/{file.path}" for file in warehouse.snapshot.files(table)]
        source = f"read_parquet({paths!r}, hive_partitioning = true, hive_types = {{'date': varchar}})"
        connection.execute(f"create view {view} as select * from {source}")
    for view in ("turns", "counted_turns", "counted_steps", "counted_tool_calls"):
        connection.execute(f"create view {view} as {resource(f'views/{view}.sql')}")
    return connection


def spent(work: Callable[[], object]) -> float:
    """The best of some runs, in milliseconds: the others only show what else the machine did."""
    best = float("inf")
    for _ in range(RUNS):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best * 1000
