"""Measure, and print one JSON line a figure: ``name``, ``value``, ``unit``, and ``limit`` and ``ratio`` where one was measured beside it.

Each topic is a module of this folder with ``NAMES``, the figures it can measure, and ``figures()``, which yields them. Numbers of this
kind move with the machine: read ratios inside one run, and totals as an order of size.
"""

import argparse
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TOPICS = ("classify", "cli", "recorder", "ingest", "query", "peers")


def topics(only: str | None) -> Iterator[Any]:
    """The modules that measure something wanted."""
    sys.path.insert(0, str(HERE))
    for topic in TOPICS:
        if not (HERE / f"{topic}_bench.py").exists():
            continue
        module = importlib.import_module(f"{topic}_bench")
        if only is None or any(name.startswith(only) for name in module.NAMES):
            yield module


def main() -> None:
    """Run the topics that hold a wanted figure, and print what is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="the name of a figure, or how it starts")
    only = parser.parse_args().only
    printed = 0
    for module in topics(only):
        for figure in module.figures():
            if only is None or figure["name"].startswith(only):
                print(json.dumps(figure), flush=True)  # noqa: T201 - the printed lines are the result
                printed += 1
    if printed == 0:
        sys.exit(f"bench: no figure of that name, got {only!r}; run without --only to see them all")


if __name__ == "__main__":
    main()
