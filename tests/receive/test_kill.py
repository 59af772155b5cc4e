"""kill -9 under load, at every named point of a commit and at random: no acknowledged span is lost, none counts twice."""

import http.client
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from killed_receiver import POINTS
from otlp_corpus import Request, endless
from serving import ServeFixture, wait_for
from turnout.pipeline.query import Warehouse

PROGRAM = Path(__file__).resolve().parent.parent / "support" / "killed_receiver.py"
RANDOM_KILLS = int(os.environ.get("TURNOUT_TEST_KILLS", "34"))
"""With the two at each named point at least fifty in all."""
KILLS_A_LAKE = 9


class Nursery:
    """The process that starts victims."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def victim(self, lake: Path, point: str = "never", count: int = 1) -> "Victim":
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps([str(lake), point, count])}\n")
        self._process.stdin.flush()
        pid, port = self._process.stdout.readline().split()
        return Victim(int(pid), int(port))

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


class Victim:
    """A receiver that will be killed, and the sender that notes what it acknowledged."""

    def __init__(self, pid: int, port: int) -> None:
        self.pid, self.port = pid, port

    @property
    def lives(self) -> bool:
        return _lives(os.kill, self.pid)

    def send(self, requests: Iterator[Request], acknowledged: list[Request], seconds: float) -> None:
        """Send until it dies or the time is over; what was in flight at its death is sent again to the next."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.lives:
            request = next(requests)
            if self.post(request) != http.client.OK:
                return
            acknowledged.append(request)

    def send_until_dead(self, requests: Iterator[Request], acknowledged: list[Request]) -> bool:
        """Send now and then, with quiet moments between; false when it does not die of it."""
        for _ in range(200):
            self.send(requests, acknowledged, 0.05)
            if not self.lives:
                return True
            time.sleep(0.05)
        return False

    def post(self, request: Request) -> int | None:
        """The status; None where there was no answer."""
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            connection.request("POST", "/v1/traces", request.body, {"content-type": "application/x-protobuf"})
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None

    def kill(self) -> None:
        """The whole process group at once."""
        if _lives(os.killpg, self.pid):
            os.killpg(self.pid, signal.SIGKILL)
        wait_for(lambda: not _lives(os.killpg, self.pid))


def check(lake: Path, acknowledged: list[Request], serve: ServeFixture) -> None:
    """A last receiver finishes what is left; then each acknowledged turn is there once with all its spans, and no row is double."""
    service = serve()
    assert service.drain(quiet=True)
    service.stop()
    found = Warehouse(str(lake)).sql("select trace_id, 1 + steps + tool_calls as spans from turn_segments", {})
    spans = dict(zip(found["trace_id"], found["spans"], strict=True))
    assert len(spans) == len(found)
    wanted = {trace.hex() for request in acknowledged for trace in request.traces}
    assert wanted - spans.keys() == set()
    assert sum(spans[trace] for trace in wanted) == sum(request.spans for request in acknowledged)
    tables = Warehouse(str(lake)).sql(
        "select (select count(*) from steps) + (select count(*) from tool_calls) as rows", {}
    )
    assert tables["rows"][0] == sum(spans.values()) - len(spans)


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_a_named_point_loses_and_doubles_nothing(
    point: str, nursery: Nursery, serve: ServeFixture, tmp_path: Path
) -> None:
    """Twice at each point, each time after other commits."""
    requests, acknowledged = endless(3, seed=1), list[Request]()
    for count in (1, 4):
        victim = nursery.victim(tmp_path / "lake", point, count)
        reached = not victim.port or victim.send_until_dead(requests, acknowledged)
        victim.kill()
        assert reached
    check(tmp_path / "lake", acknowledged, serve)


@pytest.mark.parametrize("first", range(0, RANDOM_KILLS, KILLS_A_LAKE))
def test_kills_at_random_lose_and_double_nothing(
    first: int, nursery: Nursery, serve: ServeFixture, tmp_path: Path
) -> None:
    """The process group is killed under load, again and again over one lake (TURNOUT_TEST_KILLS says how often in all)."""
    draw = random.Random(first)
    requests, acknowledged = endless(3, seed=2), list[Request]()
    for _ in range(min(KILLS_A_LAKE, RANDOM_KILLS - first)):
        victim = nursery.victim(tmp_path / "lake")
        victim.send(requests, acknowledged, draw.uniform(0.02, 0.5))
        victim.kill()
    assert acknowledged
    check(tmp_path / "lake", acknowledged, serve)


def test_a_disk_that_is_full_is_waited_for(nursery: Nursery, serve: ServeFixture, tmp_path: Path) -> None:
    """A real one: no file of the process may grow, so that every write of the journal and the lake fails. 503, then it recovers, and nothing is lost."""
    requests, acknowledged = endless(3, seed=5), list[Request]()
    victim = nursery.victim(tmp_path / "lake")
    victim.send(requests, acknowledged, 0.2)
    assert acknowledged
    before = resource.prlimit(victim.pid, resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
    refused = next(requests)
    assert [victim.post(refused) for _ in range(3)] == [503, 503, 503]
    resource.prlimit(victim.pid, resource.RLIMIT_FSIZE, before)
    assert victim.post(refused) == http.client.OK
    victim.kill()
    check(tmp_path / "lake", [*acknowledged, refused], serve)


def test_a_terminated_receiver_drains(tmp_path: Path, serve: ServeFixture) -> None:
    """SIGTERM is a clean end of `turnout serve`: what was acknowledged is converted before the process ends, and it leaves no child."""
    program = "from turnout.cli import main; main()"
    arguments = [
        sys.executable,
        "-c",
        program,
        "serve",
        "--lake",
        str(tmp_path / "lake"),
        "--port",
        "0",
        "--grpc-port",
        "0",
    ]
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    welcome = process.stderr.readline()
    assert "this machine alone" in welcome
    (request,) = [next(endless(1, seed=3))]
    port = int(welcome.split("http://127.0.0.1:")[1].split(" ")[0])
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", "/v1/traces", request.body, {"content-type": "application/x-protobuf"})
    assert connection.getresponse().status == 200
    connection.close()
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    process.stderr.close()
    wait_for(lambda: not _lives(os.killpg, process.pid))
    found = Warehouse(str(tmp_path / "lake")).sql("select trace_id from turns", {})
    assert set(found["trace_id"]) == {trace.hex() for trace in request.traces}
    del serve


def _lives(asked: Callable[[int, int], None], number: int) -> bool:
    """Whether a process (``os.kill``) or any of a group (``os.killpg``) is there."""
    try:
        asked(number, 0)
    except ProcessLookupError:
        return False
    return True
