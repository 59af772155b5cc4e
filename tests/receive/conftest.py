"""A real receiver door on a free loopback port, over a journal in a temporary folder."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from receiving import NOW, Door, OpenDoor
from serving import HASTY, ServeFixture
from turnout.pipeline.receive.access import Access
from turnout.pipeline.receive.commit import GroupCommit
from turnout.pipeline.receive.counters import Counters
from turnout.pipeline.receive.exposition import exposition
from turnout.pipeline.receive.http import HttpApp, Timeouts
from turnout.pipeline.receive.intake import Intake
from turnout.pipeline.receive.journal import Journal
from turnout.pipeline.receive.listener import Listener
from turnout.pipeline.receive.memory import Memory
from turnout.pipeline.receive.service import Options, Service

OPEN = Access()
PATIENT = Timeouts()


@pytest.fixture
def open_door(tmp_path: Path) -> Iterator[OpenDoor]:
    """Opens doors: access, memory and timeouts as the test wants them."""
    closing: list[Callable[[], None]] = []
    numbers = itertools.count()

    def opened(
        *,
        access: Access = OPEN,
        memory: Memory | None = None,
        timeouts: Timeouts = PATIENT,
        queue_bytes: int = 1 << 30,
    ) -> Door:
        journal = Journal(tmp_path / f"journal-{next(numbers)}")
        commit = GroupCommit(journal)
        counters = Counters(clock=lambda: NOW)
        queued = [0]
        room = memory or Memory()
        intake = Intake(commit, counters, room, access, lambda: NOW, lambda: queued[0], queue_bytes)
        app = HttpApp(intake, lambda: {"live": True, "ready": True}, lambda: exposition(counters), timeouts)
        listener = Listener(app, "127.0.0.1", 0)
        listener.start()
        closing.extend([journal.close, commit.close, listener.stop])
        return Door(listener, journal, counters, room, queued)

    yield opened
    for close in reversed(closing):
        close()


@pytest.fixture
def door(open_door: OpenDoor) -> Door:
    """A door with the defaults."""
    return open_door()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[ServeFixture]:
    """Starts receivers over `lake` in the temporary folder, on free ports; stops those that still run."""
    running: list[Service] = []

    def started(lake: str = "lake", **options: Any) -> Service:
        # The bound is on the whole process, and this one holds every test before it too.
        given: dict[str, Any] = {"port": 0, "grpc_port": None, "pace": HASTY, "memory_bytes": 1 << 34, **options}
        service = Service(str(tmp_path / lake), Options(**given))
        service.start()
        running.append(service)
        return service

    yield started
    for service in running:
        service.stop()
