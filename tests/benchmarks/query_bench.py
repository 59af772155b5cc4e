"""How long questions take over a large synthetic lake, beside plain DuckDB over the same files in the same run.

``TURNOUT_BENCH_TURNS`` (default 10,000,000) sets its size and ``TURNOUT_BENCH_LAKE`` (default ``build/bench-lake``) where it is kept; making it takes
some minutes, once. With ``TURNOUT_BENCH_CUBES`` (such as 100,000,000) the metrics are asked again of a lake of that many turns of which only the
cubes are there.
"""

import os
import resource as usage
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import duckdb
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from big_cubes import big_cubes
from big_lake import END, big_lake
from turnout.pipeline.analysis.budget import Limit
from turnout.pipeline.budgets import budget, ends
from turnout.pipeline.query import METRICS, Filters, Warehouse, run
from turnout.pipeline.query.engine import STANDING, resource
from turnout.pipeline.what_changed import what_changed

TURNS = int(os.environ.get("TURNOUT_BENCH_TURNS", "10000000"))
CUBED_TURNS = int(os.environ.get("TURNOUT_BENCH_CUBES", "0"))
WHERE = Path(os.environ.get("TURNOUT_BENCH_LAKE", "build/bench-lake"))
WEEK, DAY = Filters(), Filters(since=END - timedelta(hours=24), until=END)
SOME = Filters(agent=("agent-03",), environment=("prod",))
RUNS = 5
MEBIBYTE = 1024

WINDOWS = ("7d", "24h", "by_model_7d", "by_agent_7d", "by_environment_7d", "some_7d", "some_24h")
NAMES = (
    *(f"metric_{metric.name}_{window}_ms" for metric in METRICS for window in WINDOWS),
    "budget_curve_ms",
    *(f"budget_{limit}_ms" for limit in Limit),
    "what_changed_ms",
    "turn_by_id_ms",
    "turn_by_id_and_hour_ms",
    "latest_abnormal_ms",
    *(f"metric_{metric.name}_100m_ms" for metric in METRICS if CUBED_TURNS),
    *(("budget_curve_100m_ms", "what_changed_100m_ms", "rss_100m_mib") if CUBED_TURNS else ()),
)


def figures() -> Iterator[dict[str, object]]:
    """Milliseconds, warm; ``limit`` is the same statement by plain DuckDB, which knows neither cubes nor what a file may hold."""
    warehouse = Warehouse(big_lake(WHERE, TURNS).root)
    plain = plain_duckdb(warehouse)
    for metric in METRICS:
        asked = partial(run, warehouse, metric.name)
        yield figure(f"metric_{metric.name}_7d_ms", partial(asked, WEEK), partial(plainly, plain, metric.statement))
        yield figure(f"metric_{metric.name}_24h_ms", partial(asked, DAY))
        for dimension in ("model", "agent", "environment"):
            yield figure(f"metric_{metric.name}_by_{dimension}_7d_ms", partial(asked, WEEK, (dimension,)))
        yield figure(f"metric_{metric.name}_some_7d_ms", partial(asked, SOME))
        yield figure(f"metric_{metric.name}_some_24h_ms", partial(asked, narrow(DAY)))
    yield figure("budget_curve_ms", lambda: ends(warehouse, Limit.STEPS).curve())
    for limit in Limit:
        yield figure(f"budget_{limit}_ms", partial(budget, warehouse, limit), runs=2)
    yield figure("what_changed_ms", partial(what_changed, warehouse), runs=2)
    yield from single_turns(warehouse, plain)
    yield from cubes_alone()


def narrow(filters: Filters) -> Filters:
    """One agent in one environment, of a window."""
    return Filters(since=filters.since, until=filters.until, agent=SOME.agent, environment=SOME.environment)


def single_turns(warehouse: Warehouse, plain: duckdb.DuckDBPyConnection) -> Iterator[dict[str, object]]:
    """One turn with its steps, tool calls and segments, and the latest turns, beside the same columns by plain DuckDB."""
    some = "select turn_id, started_at from turns where date = '2026-01-04' limit 1"
    turn_id, started = warehouse.sql(some).row(0)
    of_turn = [f"select * from {view} where turn_id = $by" for view in ("turn_segments", "steps", "tool_calls")]
    hour = [f"{text} and {column} = $at" for text, column in zip(of_turn, _STARTS, strict=True)]
    latest = f"{resource('pages/turns.sql')}where abnormal order by over_at desc, turn_id limit 50"
    yield figure(
        "turn_by_id_ms",
        lambda: warehouse.require(turn_id),
        lambda: [plain.sql(text, params={"by": turn_id}).fetchall() for text in of_turn],
    )
    yield figure(
        "turn_by_id_and_hour_ms",
        lambda: warehouse.turn(turn_id, started),
        lambda: [plain.sql(text, params={"by": turn_id, "at": started}).fetchall() for text in hour],
    )
    yield figure(
        "latest_abnormal_ms",
        lambda: warehouse.turns(limit=50, abnormal=True),
        lambda: pl.DataFrame(plain.sql(latest)),
    )


_STARTS = ("started_at", "turn_started_at", "turn_started_at")


def cubes_alone() -> Iterator[dict[str, object]]:
    """The metrics over a lake of which only the cubes are there, in a process of its own, whose memory is measured."""
    if CUBED_TURNS:
        root = big_cubes(WHERE, CUBED_TURNS).root
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            yield from process.submit(measured_cubes, root).result()


def measured_cubes(root: str) -> list[dict[str, object]]:
    """What `cubes_alone` measures."""
    warehouse = Warehouse(root)
    found = [
        figure(f"metric_{metric.name}_100m_ms", partial(run, warehouse, metric.name), runs=2) for metric in METRICS
    ]
    found.append(figure("budget_curve_100m_ms", lambda: ends(warehouse, Limit.STEPS).curve(), runs=2))
    found.append(figure("what_changed_100m_ms", partial(what_changed, warehouse), runs=2))
    most = usage.getrusage(usage.RUSAGE_SELF).ru_maxrss / MEBIBYTE
    return [*found, {"name": "rss_100m_mib", "value": round(most), "unit": "MiB"}]


def plainly(connection: duckdb.DuckDBPyConnection, statement: str) -> pl.DataFrame:
    """The rows of a metric's statement, not grouped."""
    return pl.DataFrame(connection.sql(statement, params={"by": ["everything"]}))


def figure(
    name: str, work: Callable[[], object], plain: Callable[[], object] | None = None, runs: int = RUNS
) -> dict[str, object]:
    """One figure, with its processor time, and with the limit measured in turns with it where there is one."""
    spent: list[tuple[float, float]] = []
    limits: list[float] = []
    for _ in range(runs):
        spent.append(timed(work))
        if plain is not None:
            limits.append(timed(plain)[0])
    value = min(wall for wall, _ in spent)
    found: dict[str, object] = {"name": name, "value": round(value, 1), "unit": "ms"}
    found["cpu_ms"] = round(min(cpu for _, cpu in spent), 1)
    return found if plain is None else found | {"limit": round(min(limits), 1), "ratio": round(value / min(limits), 2)}


def plain_duckdb(warehouse: Warehouse) -> duckdb.DuckDBPyConnection:
    """The same views over plain lists of files."""
    connection = duckdb.connect(config={"python_enable_replacements": False})
    connection.execute("set global TimeZone = 'UTC'")
    connection.execute("set parquet_metadata_cache = true")
    connection.execute(resource("macros.sql"))
    for view, table in {"turn_segments": "turns", "steps": "steps", "tool_calls": "tool_calls"}.items():
        paths = [f"{warehouse.root}/{table}/{file.path}" for file in warehouse.snapshot.files(table)]
        source = f"read_parquet({paths!r}, hive_partitioning = true, hive_types = {{'date': varchar}})"
        connection.execute(f"create view {view} as select * from {source}")
    for view in STANDING:
        connection.execute(f"create view {view} as {resource(f'views/{view}.sql')}")
    return connection


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds by the clock and of the processor; the least of some is taken, for the others only show what else the machine did."""
    started, used = time.perf_counter(), time.process_time()
    work()
    return (time.perf_counter() - started) * 1000, (time.process_time() - used) * 1000
