"""How long ``turnout --help`` takes, beside an interpreter that does nothing."""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

NAMES = ("help_s",)
ROUNDS = 11


def seconds(command: list[str]) -> float:
    """The median wall-clock time of a command, in seconds."""
    spent: list[float] = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        spent.append(time.perf_counter() - started)
    return statistics.median(spent)


def figures() -> Iterator[dict[str, object]]:
    """The median of several starts; the limit is an empty program under the same interpreter."""
    value = seconds([str(Path(sys.executable).with_name("turnout")), "--help"])
    limit = seconds([sys.executable, "-c", "pass"])
    yield {
        "name": "help_s",
        "value": round(value, 4),
        "unit": "s",
        "limit": round(limit, 4),
        "ratio": round(value / limit, 2),
    }
