"""Every framework's table holds every listed ending, or says why the framework has none such."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from listed_endings import LISTED, Never, complaints
from turnout.instrumentation.integrations.everything import FRAMEWORKS

HERE = Path(__file__).parent
TABLES = (*(module for _, module in FRAMEWORKS.values()), "functions")


def table(name: str) -> ModuleType:
    """The test module of a framework; it skips where the framework is not installed."""
    path = HERE / f"test_{name}.py"
    spec = spec_from_file_location(f"endings_of_{name}", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", TABLES)
def test_a_table_holds_every_listed_ending(name: str) -> None:
    """A row, a test, or a written reason for each."""
    assert complaints(table(name)) == []


def test_a_gap_is_found() -> None:
    """What is missing, unknown, renamed or unreasoned is said."""

    def test_that() -> None:
        """A test."""

    def helper() -> None:
        """No test."""

    whole: dict[str, Any] = dict.fromkeys(LISTED, ("row", test_that, Never("It raises at every limit.")))
    module = SimpleNamespace(ENDINGS={"row": ()}, test_that=test_that, helper=helper, COVERAGE=whole)
    assert complaints(module) == []
    faults = {"normal": (), "timeout": ("gone",), "user stop": (helper,), "tool calls": (Never("no"),), "odd": ("row",)}
    module.COVERAGE = whole | faults
    assert complaints(module) == [
        "no word on 'normal'",
        "'odd' is not listed",
        "'tool calls': a reason takes a sentence",
        "'user stop': helper is no test of the module",
        "'timeout': there is no row 'gone'",
    ]
