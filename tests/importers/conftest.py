"""Files for the importers: small ones written on the spot, and the handed ones where they are there."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest


@pytest.fixture
def lines(tmp_path: Path) -> Callable[..., Path]:
    """Write JSON lines into a file of a given name; text goes in as it is."""

    def write(name: str, *values: object) -> Path:
        body = "\n".join(value if isinstance(value, str) else json.dumps(value) for value in values)
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body + "\n")
        return path

    return write


@pytest.fixture
def document(tmp_path: Path) -> Callable[[str, object], Path]:
    """Write one indented JSON document into a file of a given name."""

    def write(name: str, value: object) -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(value, indent=1))
        return path

    return write


@pytest.fixture(scope="session")
def transcripts() -> Path:
    """The folder of handed logs; the test skips where it is not set."""
    folder = os.environ.get("TURNOUT_TEST_DATA")
    if not folder:
        pytest.skip("TURNOUT_TEST_DATA is not set")
    return Path(folder) / "transcripts"


@pytest.fixture(scope="session")
def files(transcripts: Path) -> Callable[..., Sequence[Path]]:
    """Find handed logs by patterns, in order."""

    def find(*patterns: str) -> list[Path]:
        return sorted(path for pattern in patterns for path in transcripts.glob(pattern))

    return find
