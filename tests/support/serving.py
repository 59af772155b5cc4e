"""A whole receiver over a lake of its own, and what came into the lake."""

import json
import time
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

from turnout.pipeline.assemble import SECOND, Pace
from turnout.pipeline.lake import Lake
from turnout.pipeline.query import Warehouse
from turnout.pipeline.receive.bodies import Signal
from turnout.pipeline.receive.service import Service

HASTY = Pace(settle=SECOND // 20, patience=SECOND // 4, calm=SECOND // 20, quiet=SECOND // 2)
"""Waits so little that a test need not."""

ServeFixture = Callable[..., Service]
"""The fixture `serve`: takes options by name."""


def post(
    service: Service, body: bytes, signal: Signal = Signal.TRACES, content_type: str = "application/x-protobuf"
) -> None:
    """Send one body; anything but 200 raises."""
    request = urllib.request.Request(
        f"{service.endpoint}/v1/{signal}", data=body, headers={"content-type": content_type}
    )
    with urllib.request.urlopen(request) as answer:
        answer.read()


def post_line(service: Service, line: bytes) -> None:
    """Send one line of an OTLP JSON-lines file to the addresses of the signals that it holds."""
    document: Mapping[str, object] = json.loads(line)
    for key, signal in (
        ("resourceSpans", Signal.TRACES),
        ("resourceLogs", Signal.LOGS),
        ("resourceMetrics", Signal.METRICS),
    ):
        if key in document:
            post(service, json.dumps({key: document[key]}).encode(), signal, "application/json")


def rows(lake: Path, table: str = "turn_segments") -> list[dict[str, object]]:
    """All rows of a table in an order of its own, without what tells when and from where they came."""
    frame = Warehouse(str(lake)).sql(f"select * from {table}", {})
    frame = frame.drop("received_at", "updated_at", "date", strict=False)
    return sorted(frame.to_dicts(), key=repr)


def facts(lake: Path) -> dict[str, object]:
    """The facts of every turn of a lake, by id."""
    ids = Warehouse(str(lake)).sql("select turn_id from turn_segments", {})["turn_id"].to_list()
    return dict(Lake.open(str(lake)).facts(ids))


def wait_for(true: Callable[[], bool], seconds: float = 120.0) -> None:
    """Wait until something that happens elsewhere has happened; never so long that a run hangs."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "waited for something that does not happen"
        time.sleep(0.01)
