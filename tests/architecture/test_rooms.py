"""The walls between the rooms, read from the source itself."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE_ROOTS = (
    ROOT / "instrumentation/src/turnout",
    ROOT / "pipeline/src/turnout",
    ROOT / "dashboards/src/turnout",
)
ATTRIBUTES = SOURCE_ROOTS[0] / "instrumentation/attributes.py"


def modules(*rooms: str) -> Iterator[Path]:
    """Every source module, or those of some rooms, named by their path below ``turnout``."""
    for root in SOURCE_ROOTS:
        for path in sorted(root.rglob("*.py")):
            name = path.relative_to(root).as_posix()
            if not rooms or name.startswith(rooms):
                yield path


def imported(path: Path) -> Iterator[str]:
    """The dotted names that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def literals(path: Path) -> Iterator[str]:
    """The string literals of a module that are not docstrings."""
    tree = ast.parse(path.read_text())
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def importers_of(library: str) -> set[str]:
    """The rooms whose modules import a library."""
    found: set[str] = set()
    for root in SOURCE_ROOTS:
        for path in root.rglob("*.py"):
            if any(name.split(".")[0] == library for name in imported(path)):
                found.add(path.parent.relative_to(root).as_posix())
    return found


def test_the_namespace_package_has_no_init() -> None:
    """``turnout`` itself stays a namespace, so that three source roots can share it."""
    assert [root for root in SOURCE_ROOTS if (root / "__init__.py").exists()] == []


def test_outcomes_imports_the_standard_library_alone() -> None:
    """The room that decides depends on nothing that could change under it."""
    outside = {
        name
        for path in modules("outcomes/")
        for name in imported(path)
        if name.split(".")[0] not in sys.stdlib_module_names and not name.startswith("turnout.outcomes")
    }
    assert outside == set()


@pytest.mark.parametrize(("library", "room"), [("deltalake", "pipeline/lake"), ("duckdb", "pipeline/query")])
def test_an_engine_is_known_to_one_room(library: str, room: str) -> None:
    """Delta tables belong to the lake room and DuckDB to the query room."""
    assert importers_of(library) == {room}


def test_names_that_we_emit_are_spelled_in_one_place() -> None:
    """No literal of ours stands outside ``attributes.py``, so that a name can only change there."""
    spelled = {
        f"{path.name}: {text}"
        for path in modules()
        if path != ATTRIBUTES
        for text in literals(path)
        if text.startswith("agent.turn.")
    }
    assert spelled == set()


def test_the_emitter_takes_every_name_from_one_place() -> None:
    """The emitting rooms do not spell GenAI names either."""
    spelled = {
        f"{path.name}: {text}"
        for path in modules("instrumentation/", "runtime/", "demo/")
        if path != ATTRIBUTES
        for text in literals(path)
        if text.startswith("gen_ai.")
    }
    assert spelled == set()


@pytest.mark.parametrize("engine", ["duckdb", "polars", "streamlit", "deltalake", "scipy", "altair", "granian"])
def test_help_loads_no_engine(engine: str) -> None:
    """``turnout --help`` answers from data, without importing what commands need."""
    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from turnout.cli.group import turnout\n"
        "assert CliRunner().invoke(turnout, ['--help']).exit_code == 0\n"
        f"sys.exit({engine!r} in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
