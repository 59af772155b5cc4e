"""A DuckDB that sees the files of one lake and nothing else.

Views read the files that variables of the connection name, so that each question opens only the files that can matter to it. A file
without rows but with every column always comes first: an empty lake has the right columns, and files of an older schema read as null.
"""

import tempfile
from collections.abc import Iterable, Mapping
from importlib.resources import files as package_files
from pathlib import Path
from typing import Final

import duckdb
import polars as pl

from turnout.pipeline.counted import VIEWS
from turnout.pipeline.cubes import COUNT, CUBES, Cube
from turnout.pipeline.query.errors import QueryError
from turnout.pipeline.schema import TABLES

RELATIONS: Final[Mapping[str, str]] = {
    "turn_segments": "turns",
    "steps": "steps",
    "tool_calls": "tool_calls",
    "ledger": "ledger",
}
"""The views that stand on files, and the tables they read."""

LOCATED: Final = "located_segments"
"""The view of segments that also says which file each is in."""

STANDING: Final = ("turns", *VIEWS, "all_links")
"""The views on views, each in a file of its own."""

_ON_FILES: Final = "create view {view} as select {columns} from read_parquet(getvariable('{table}_files'){options})"
_BY_NAME: Final = ", union_by_name = true"
_DATED: Final = ", hive_partitioning = true, hive_types = {'date': varchar}"
_DAY: Final = "cast(hour as date) as day"
_EVERYTHING: Final = "'all' as everything"
_NO_DATE: Final = "date=1970-01-01"
_MACROS: Final = "macros.sql"
# In a tree of a statement; within its texts every quote has a backslash before it.
_COPY: Final = '"type":"COPY_QUERY_NODE"'
_FOREIGN: Final = ("INTERVAL", "UNION", "BIT", "BIGNUM", "VARIANT")


def resource(name: str) -> str:
    """The text of a `.sql` file of this room."""
    return package_files("turnout.pipeline.query").joinpath("sql", name).read_text(encoding="utf-8")


class Engine:
    """An in-memory DuckDB with the views of a lake over whatever files a question names."""

    def __init__(self, folders: Iterable[str], *, uniform: bool) -> None:
        """Open it.

        Args:
            folders: the only folders that statements may read, besides our own empty files.
            uniform: every file has every column, so that not all of them must be looked at first.
        """
        # Kept as long as the engine: it goes when the engine goes.
        self._scratch = tempfile.TemporaryDirectory(prefix="turnout-")
        scratch = Path(self._scratch.name)
        self._empty = {table: _empty_file(scratch, table, dict(columns)) for table, columns in TABLES.items()}
        self._empty |= {cube_files(cube): _empty_file(scratch, cube_files(cube), dict(cube.schema)) for cube in CUBES}
        self._connection = duckdb.connect(
            config={"python_enable_replacements": False, "temp_directory": self._scratch.name}
        )
        # A day is a UTC day, wherever this runs; only a global setting reaches every cursor.
        self._connection.execute("set global TimeZone = 'UTC'")
        for relation in self._empty:
            self._name_files(self._connection, relation, ())
        self._define_views("" if uniform else _BY_NAME)
        # Files never change, so what their footers say is read once.
        self._connection.execute("set parquet_metadata_cache = true")
        self._connection.execute("set allowed_directories = $folders", {"folders": [*folders, self._scratch.name]})
        self._connection.execute("set enable_external_access = false")
        self._connection.execute("set lock_configuration = true")

    def frame(
        self, statement: str, parameters: Mapping[str, object] | None, files: Mapping[str, Iterable[str]]
    ) -> pl.DataFrame:
        """The rows of one statement that only reads.

        Args:
            statement: one ``select``.
            parameters: by name.
            files: paths by table or `cube_files`; what is not named is read as empty.

        Raises:
            QueryError: when it is not one statement, does more than read, or DuckDB refuses it.
        """
        with self._connection.cursor() as cursor:
            try:
                _check(cursor, statement)
                for relation in self._asked_of(statement):
                    self._name_files(cursor, relation, files.get(relation, ()))
                return pl.DataFrame(_portable(cursor.sql(statement, params=dict(parameters or {}))))
            except duckdb.Error as error:
                raise QueryError(f"sql: {_first_line(error)}; {_help_with(error)}") from error

    def _asked_of(self, statement: str) -> Iterable[str]:
        """What a statement may read: any table, whose views are many, but of the cubes only those that it names."""
        return (relation for relation in self._empty if relation in TABLES or relation in statement)

    def _name_files(self, connection: duckdb.DuckDBPyConnection, relation: str, paths: Iterable[str]) -> None:
        connection.execute(f"set variable {relation}_files = $files", {"files": [self._empty[relation], *paths]})

    def _define_views(self, options: str) -> None:
        self._connection.execute(resource(_MACROS))
        for view, table in RELATIONS.items():
            columns = ", ".join(f'"{column}"' for column in TABLES[table])
            how = options + (_DATED if "date" in TABLES[table] else "")
            self._connection.execute(_ON_FILES.format(view=view, columns=columns, table=table, options=how))
        self._connection.execute(
            _ON_FILES.format(view=LOCATED, columns="*, filename", table="turns", options=options + _DATED)
        )
        for cube in CUBES:
            name = cube_files(cube)
            columns = ", ".join((*cube.columns, *cube.sums, COUNT, _DAY, _EVERYTHING))
            self._connection.execute(_ON_FILES.format(view=name, columns=columns, table=name, options=""))
        for view in STANDING:
            self._connection.execute(f"create view {view} as {resource(f'views/{view}.sql')}")


def _check(cursor: duckdb.DuckDBPyConnection, statement: str) -> None:
    statements = cursor.extract_statements(statement)
    if len(statements) != 1:
        raise QueryError(f"sql: got {len(statements)} statements, expected one; run them one by one")
    kind = statements[0].type.name.lower()
    if kind == "select" and _copies(cursor, statement):
        kind = "copy"
    if kind != "select":
        raise QueryError(f"sql: got {kind}, expected a select: the lake is read-only here; {_help()}")


def _copies(cursor: duckdb.DuckDBPyConnection, statement: str) -> bool:
    """Whether a select writes a file: its ``with`` may hold a ``copy``, and the folders that it may read it may write too."""
    if "copy" not in statement.lower():
        return False
    parsed = cursor.execute("select json_serialize_sql($statement::varchar)", {"statement": statement}).fetchall()
    return _COPY in str(parsed[0][0])


def _portable(rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """The same rows with a name of its own for each column, and as text what Polars has no type for."""
    names = _distinct(rows.columns)
    foreign = [any(word in str(kind) for word in _FOREIGN) for kind in rows.types]
    if names == rows.columns and not any(foreign):
        return rows
    values = (f"#{place}::varchar" if cast else f"#{place}" for place, cast in enumerate(foreign, 1))
    return rows.project(", ".join(f'{value} as "{_quoted(name)}"' for value, name in zip(values, names, strict=True)))


def _distinct(names: Iterable[str]) -> list[str]:
    """The names with a number behind each that was there before."""
    given, found = list(names), dict[str, None]()
    for name in given:
        number = 0
        free = name
        while free in found or (number and free in given):
            number += 1
            free = f"{name}_{number}"
        found[free] = None
    return list(found)


def _quoted(name: str) -> str:
    return name.replace('"', '""')


def _help() -> str:
    return "the views are turns, turn_segments, steps, tool_calls and ledger"


def _help_with(error: duckdb.Error) -> str:
    if isinstance(error, duckdb.IOException | duckdb.InvalidInputException) and ".parquet" in str(error):
        return "a file of the lake is gone or damaged: ask again, and if it stays so `turnout lake verify` says what is missing"
    return _help()


def _first_line(error: Exception) -> str:
    return " ".join(line.strip() for line in str(error).split("\n\n")[0].splitlines() if line.strip())


def cube_files(cube: Cube) -> str:
    """The view of a cube, by which its files are named too."""
    return f"cube_{cube.name}"


def _empty_file(scratch: Path, relation: str, columns: dict[str, pl.DataType]) -> str:
    folder = scratch / relation
    if columns.pop("date", None) is not None:
        folder /= _NO_DATE
    folder.mkdir(parents=True)
    path = folder / "empty.parquet"
    pl.DataFrame(schema=columns).write_parquet(path)
    return str(path)
