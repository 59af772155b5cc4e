"""What tests of the query room share."""

import pytest

from turnout.pipeline.query import Warehouse
from turnout.pipeline.testing import EXAMPLE, lake_of


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A warehouse over the lake that can be counted by hand."""
    return Warehouse(lake_of(str(tmp_path_factory.mktemp("example") / "lake"), EXAMPLE).root)


@pytest.fixture
def empty(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A warehouse over a lake that is not there."""
    return Warehouse(str(tmp_path_factory.mktemp("empty") / "lake"))
