"""A lake of synthetic turns, and the pages over it."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from synthetic_lake import fill
from turnout.dashboards import app_file

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
"""When the synthetic lake was last written."""

Open = Callable[..., AppTest]


@pytest.fixture(scope="session")
def full_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fourteen days of turns up to noon, an incident in the last hour."""
    root = tmp_path_factory.mktemp("lake") / "full"
    fill(root, NOON, count=900)
    return root


@pytest.fixture
def open_page(monkeypatch: pytest.MonkeyPatch) -> Open:
    """Open a page of a lake with the filters of an address, as a browser would."""

    def run(lake: Path, topic: str, **address: str) -> AppTest:
        monkeypatch.setenv("TURNOUT_LAKE", str(lake))
        page = AppTest.from_file(str(app_file()), default_timeout=60)
        for name, value in address.items():
            page.query_params[name] = value
        page.run()
        return page if topic == "on_call" else page.switch_page(f"topics/{topic}.py").run()

    return run
