"""The cubes of a lake of a hundred million turns, without the rows: what long windows of a busy product are answered from.

Ten draws of an hour are counted and laid on top of each other for each hour of the week, with ids of its own for each hour; the files of rows
are named in the lake's logs and are not there.
"""

import io
import json
import shutil
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import uuid4

import numpy as np
import polars as pl

from big_lake import END, HOURS, hour_of_turns
from turnout.pipeline.cubes import CUBES, Cube, source_of
from turnout.pipeline.lake import Lake
from turnout.pipeline.lake.cubing import FOLDER, Cubing, path_of
from turnout.pipeline.lake.files import DataFile, micros
from turnout.pipeline.lake.parquet import BOUNDED, NewFile, name_of
from turnout.pipeline.lake.store import FolderStore
from turnout.pipeline.lake.writing import Writer

_LAYERS: Final = 10
_IDS: Final = ("turn_id", "segment_of", "conversation_id", "continues_turn_id")
_TIMES: Final = ("counted_at", "over_at")
_ROWS_A_TURN: Final = {"turns": 1, "steps": 6, "tool_calls": 5}


def big_cubes(root: Path, turns: int) -> Lake:
    """The lake of cubes of that many turns below a folder, made if it is not there."""
    wanted = root / f"cubes-{turns}"
    if not (wanted / "whole").exists():
        shutil.rmtree(wanted, ignore_errors=True)
        _make(str(wanted), turns)
        (wanted / "whole").touch()
    return Lake.open(str(wanted))


def _make(root: str, turns: int) -> None:
    store = FolderStore(root)
    tables = Writer(store, lambda: uuid4().hex[:16], lambda _: None, Cubing()).tables
    hours = [END - timedelta(hours=HOURS - hour) for hour in range(HOURS)]
    # One table's cubes at a time, so that little is held.
    for name in ("steps", "tool_calls", "turns"):
        layers = dict(_layers(name, hours[0], turns // HOURS // _LAYERS))
        for number, hour in enumerate(hours):
            new = _file(name, hour, f"hour{number:03}", turns // HOURS)
            for cube, rows in layers.items():
                buffer = io.BytesIO()
                _of_hour(cube, rows, number, hour, hours[0]).write_parquet(
                    buffer, compression="zstd", compression_level=1
                )
                store.put(FOLDER, path_of(cube, new.file.path), buffer.getvalue())
            tables[name].commit([new], transactions=tables.names() if name == "turns" else None)


def _layers(table: str, start: datetime, turns: int) -> Iterator[tuple[Cube, pl.DataFrame]]:
    """The cubes of a table over all layers together."""
    cubes = [cube for cube in CUBES if cube.table == table]
    bases = [cube for cube in cubes if source_of(cube, cubes) is None]
    parts: dict[Cube, list[pl.DataFrame]] = {cube: [] for cube in bases}
    for layer in range(_LAYERS):
        rows = hour_of_turns(np.random.default_rng(layer), start, turns)[table]
        for cube in bases:
            parts[cube].append(cube.rows(rows))
    whole = {cube: cube.together(counted) for cube, counted in parts.items()}
    for cube in cubes:
        source = source_of(cube, whole)
        yield cube, whole[cube] if source is None else cube.together([whole[source]])


def _of_hour(cube: Cube, rows: pl.DataFrame, number: int, hour: datetime, first: datetime) -> pl.DataFrame:
    later = pl.lit(hour - first)
    own = {name: pl.lit(f"{number:04}") + pl.col(name).str.slice(4) for name in _IDS if name in cube.columns}
    moved = {name: pl.col(name) + later for name in _TIMES if name in cube.columns}
    return rows.with_columns(hour=pl.lit(hour).cast(rows.schema["hour"]), **own, **moved)


def _file(table: str, hour: datetime, group: str, turns: int) -> NewFile:
    """What the commit of a file says that is not there."""
    date, rows = f"{hour:%Y-%m-%d}", turns * _ROWS_A_TURN[table]
    last = hour + timedelta(hours=1) - timedelta(milliseconds=1)
    bounds: Mapping[str, object] = {
        "numRecords": rows,
        "minValues": {column: _text(hour) for column in BOUNDED[table]},
        "maxValues": {column: _text(last) for column in BOUNDED[table]},
        "nullCount": dict.fromkeys(BOUNDED[table], 0),
    }
    path = name_of(date, group, uuid4().hex[:16])
    return NewFile(DataFile(path, date, rows, 1, micros(hour), micros(last), micros(last)), json.dumps(bounds))


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"
