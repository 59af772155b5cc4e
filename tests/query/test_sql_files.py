"""Every `.sql` file parses as DuckDB and reads what it may read."""

from pathlib import Path
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

import turnout.pipeline.query
from turnout.pipeline.query import METRICS
from turnout.pipeline.query.engine import LOCATED, RELATIONS, STANDING

ROOM = Path(turnout.pipeline.query.__file__).parent
FILES = sorted(path for path in (ROOM / "sql").rglob("*.sql") if path.name != "macros.sql")
VIEWS = {*RELATIONS, *STANDING, LOCATED}


def statements(path: Path) -> list[Any]:
    return [statement for statement in sqlglot.parse(path.read_text(), read="duckdb") if statement is not None]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOM / "sql")))
def test_a_file_is_one_statement_over_declared_views(path: Path) -> None:
    """It begins with a sentence on what it gives, and touches nothing but views, its own parts and its own lists."""
    (statement,) = statements(path)
    assert path.read_text().startswith("-- ")
    own = {cte.alias for cte in statement.find_all(exp.CTE)}
    read = {table.name for table in statement.find_all(exp.Table) if table.name}
    assert read <= VIEWS | own


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOM / "sql")))
def test_no_file_decides_an_outcome(path: Path) -> None:
    """Outcomes, causes and rules are taken over from rows, never concluded."""
    concluded = {
        alias.alias
        for statement in statements(path)
        for alias in statement.find_all(exp.Alias)
        if alias.find(exp.Case, exp.If, exp.Literal) is not None
    }
    assert not concluded & {"outcome", "cause", "abnormal", "resumable", "rule", "budget_kind"}


def test_every_metric_has_its_file_and_every_file_its_metric() -> None:
    """The registry and the folder say the same."""
    assert {path.stem for path in (ROOM / "sql/metrics").glob("*.sql")} == {metric.name for metric in METRICS}
