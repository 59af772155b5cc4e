"""The converter as a process of its own: the same lake, whichever of the two processes dies, and never in silence."""

import http.client
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from otlp_corpus import Request, endless, requests
from serving import ServeFixture, facts, post, wait_for
from turnout.pipeline.query import Warehouse
from turnout.pipeline.receive.apart import ConverterError
from turnout.pipeline.receive.counters import Count, Gauge, read_status
from turnout.pipeline.receive.service import Options, Service

PROGRAM = Path(__file__).resolve().parent.parent / "support" / "apart_receiver.py"
POINTS = (
    "journal.before_write",
    "journal.before_sync",
    "journal.after_sync",
    "convert.before_write",
    "convert.after_write",
    "convert.before_state",
    "convert.after_state",
    "journal.release",
)


class Victim:
    """A receiver in a process group of its own, and the sender that notes what it acknowledged."""

    def __init__(self, lake: Path, point: str = "never", count: int = 1) -> None:
        arguments = [sys.executable, str(PROGRAM), str(lake), point, str(count)]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.port = int(line) if line.strip() else 0

    def send(self, bodies: Iterator[Request], acknowledged: list[Request], seconds: float) -> None:
        """Send until it dies or the time is over."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            request = next(bodies)
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
                connection.request("POST", "/v1/traces", request.body, {"content-type": "application/x-protobuf"})
                if connection.getresponse().status != http.client.OK:
                    return
            except (OSError, http.client.HTTPException):
                return
            acknowledged.append(request)

    def send_until_dead(self, bodies: Iterator[Request], acknowledged: list[Request]) -> bool:
        """Send now and then, with quiet moments between; false when it does not die of it."""
        for _ in range(200):
            self.send(bodies, acknowledged, 0.05)
            if self.process.poll() is not None:
                return True
            time.sleep(0.05)
        return False

    def below(self, steps: int) -> int | None:
        """The process so many steps below it, while there is one: the converter, then the one that holds the lake."""
        found: int | None = self.process.pid
        for _ in range(steps):
            found = None if found is None else next(children(found), None)
        return found

    def kill(self) -> None:
        """Both processes at once."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def children(process: int) -> Iterator[int]:
    """The processes that a process has started and that run."""
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            yield from map(int, task.read_text().split())


def check(lake: Path, acknowledged: list[Request], serve: ServeFixture) -> None:
    """A last receiver finishes what is left; then each acknowledged turn is there once with all its spans, and no row is double."""
    service = serve(apart=True)
    assert service.drain(quiet=True)
    service.stop()
    found = Warehouse(str(lake)).sql("select trace_id, 1 + steps + tool_calls as spans from turn_segments", {})
    spans = dict(zip(found["trace_id"], found["spans"], strict=True))
    assert acknowledged
    assert len(spans) == len(found)
    wanted = {trace.hex() for request in acknowledged for trace in request.traces}
    assert wanted - spans.keys() == set()
    assert sum(spans[trace] for trace in wanted) == sum(request.spans for request in acknowledged)


def test_a_kill_of_both_at_any_point_loses_and_doubles_nothing(serve: ServeFixture, tmp_path: Path) -> None:
    """At every named point of a commit, wherever it is passed, over one lake."""
    bodies, acknowledged = endless(3, seed=1), list[Request]()
    for point in POINTS:
        victim = Victim(tmp_path / "lake", point, 2)
        reached = not victim.port or victim.send_until_dead(bodies, acknowledged)
        victim.kill()
        assert reached
    check(tmp_path / "lake", acknowledged, serve)


@pytest.mark.parametrize("below", [1, 2], ids=["the converter", "the process that holds the lake"])
def test_a_process_that_is_killed_is_followed_by_another(below: int, serve: ServeFixture, tmp_path: Path) -> None:
    """Again and again under load, while the receiver goes on taking telemetry."""
    draw = random.Random(5)
    bodies, acknowledged = endless(3, seed=6), list[Request]()
    victim = Victim(tmp_path / "lake")
    for _ in range(3):
        victim.send(bodies, acknowledged, draw.uniform(0.1, 0.6))
        killed = victim.below(below)
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        victim.send(bodies, acknowledged, 0.1)
        wait_for(lambda gone=killed: victim.below(below) not in {None, gone})  # type: ignore[misc]
    assert victim.process.poll() is None
    victim.kill()
    check(tmp_path / "lake", acknowledged, serve)


def test_processes_whose_receiver_is_killed_end(serve: ServeFixture, tmp_path: Path) -> None:
    """They hold the journal until then, so that no other converter is at work beside them."""
    bodies, acknowledged = endless(3, seed=7), list[Request]()
    victim = Victim(tmp_path / "lake")
    victim.send(bodies, acknowledged, 0.5)
    left = [victim.below(1), victim.below(2)]
    os.kill(victim.process.pid, signal.SIGKILL)
    wait_for(lambda: not any(Path(f"/proc/{process}/exe").exists() for process in left))
    check(tmp_path / "lake", acknowledged, serve)
    victim.kill()


def test_what_is_acknowledged_is_in_the_lake_and_counted(serve: ServeFixture, tmp_path: Path) -> None:
    """Every turn, and the counts of both processes in one place, on the disk too; after a clean stop the journal is empty."""
    service = serve(apart=True)
    sent = requests(3)
    for request in sent:
        post(service, request.body)
    assert service.drain()
    turns = sum(len(request.traces) for request in sent)
    counts = (Count.REQUESTS_JOURNALED, Count.REQUESTS_CONVERTED, Count.RECORDS_CONVERTED, Count.TURNS_WRITTEN)
    assert [service.counters.count(count) for count in counts] == [3, 3, sum(request.spans for request in sent), turns]
    assert service.health() == {"live": True, "ready": True, "lake": "ok", "queued_bytes": 0}
    service.stop()
    assert len(facts(tmp_path / "lake")) == turns
    assert {path.name for path in (tmp_path / "lake" / "journal").iterdir()} == {
        "id",
        "lock",
        "state.msgpack",
        "status.json",
    }
    status = read_status(tmp_path / "lake" / "journal")
    assert status is not None
    assert (status.counts["turns_written", ""], status.gauges[Gauge.LAKE_POSITION]) == (turns, 3)


def test_a_lake_that_cannot_be_written_is_waited_for(serve: ServeFixture, tmp_path: Path) -> None:
    """Readiness says so, telemetry is taken on, and it gets there in the end."""
    failing = [True]

    def reached(point: str) -> None:
        if failing[0] and point == "convert.before_write":
            raise OSError(30, "Read-only file system")

    service = serve(apart=True, reached=reached)
    first, second = requests(2)
    post(service, first.body)
    wait_for(lambda: not service.health()["ready"])
    assert "Read-only file system" in str(service.health()["lake"])
    post(service, second.body)
    failing[0] = False
    assert service.drain()
    assert len(facts(tmp_path / "lake")) == len(first.traces) + len(second.traces)
    assert service.counters.count(Count.COMMITS_FAILED) > 0


def test_a_lake_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    """What the converter process cannot begin with is raised where the receiver was started, and nothing stays open."""
    (tmp_path / "file").write_text("in the way")
    options = Options(port=0, grpc_port=None, apart=True, journal=tmp_path / "journal")
    with pytest.raises(ConverterError, match="expected a folder"):
        Service(str(tmp_path / "file"), options).start()
    service = Service(str(tmp_path / "lake"), options)
    service.start()
    service.stop()
