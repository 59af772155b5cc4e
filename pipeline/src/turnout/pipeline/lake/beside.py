"""Do the files beside the tables say what the tables say? Cubes are counted again, index files must name all that their group is found by."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

import polars as pl

from turnout.pipeline.cubes import CUBES, Cube
from turnout.pipeline.lake.cubing import FOLDER, path_of
from turnout.pipeline.lake.errors import LakeError, reason_of
from turnout.pipeline.lake.files import DataFile
from turnout.pipeline.lake.index import FOLDER as INDEX_FOLDER
from turnout.pipeline.lake.index import IdIndex
from turnout.pipeline.lake.index import path_of as index_path_of
from turnout.pipeline.lake.problems import Found
from turnout.pipeline.lake.store import Store
from turnout.pipeline.lake.writing import ids_of

_DELETE_CUBE: Final = f"delete it from {FOLDER}: the rows themselves are read then"
_DELETE_INDEX: Final = f"delete it from {INDEX_FOLDER}: the group itself is searched then"


def check_cubes(store: Store, table: str, file: DataFile, rows: pl.DataFrame, found: Found) -> None:
    """Count the cubes of a file again, those that it has."""
    for cube in CUBES:
        path = path_of(cube, file.path)
        if cube.table == table and store.has(FOLDER, path):
            try:
                stored = pl.read_parquet(store.local(FOLDER, path), hive_partitioning=False, glob=False)
            except (OSError, LakeError, pl.exceptions.PolarsError) as error:
                found.note("a cube cannot be read", _DELETE_CUBE, [f"{path}: {reason_of(error)}"])
                continue
            if _content(cube, [stored]) != _content(cube, [cube.rows(rows)]):
                found.note("a cube counts something else than its rows", _DELETE_CUBE, [path])


def check_index(index: IdIndex, file: DataFile, rows: pl.DataFrame, found: Found) -> None:
    """See that the index file of a group names everything that its turns are found by."""
    place = file.date, file.group
    held = index.holds_all(place, ids_of(rows.lazy()))
    if held is None:
        searched = "nothing: the group itself is searched until it is merged with others"
        found.note("an index file is missing or not whole", searched, [index_path_of(place)])
    elif not held:
        found.note("an index file leaves out turns of its group", _DELETE_INDEX, [index_path_of(place)])


def _content(cube: Cube, parts: Iterable[pl.DataFrame]) -> Counter[tuple[object, ...]]:
    """The rows of a cube, in whatever order; sums of fractions depend a little on theirs."""
    names = list(cube.schema)
    try:
        rows = (row for part in parts for row in part.select(names).iter_rows())
        return Counter(tuple(_comparable(value) for value in row) for row in rows)
    except pl.exceptions.ColumnNotFoundError:
        return Counter()


def _comparable(value: object) -> object:
    match value:
        case float():
            return f"{value:.9g}"
        case list():
            return tuple(map(str, value))
        case _:
            return value
