"""kill -9 under load, at every named point of a commit and at random: no acknowledged span is lost, none counts twice."""

import http.client
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from killed_receiver import POINTS
from otlp_corpus import Request, endless
from serving import ServeFixture, wait_for
from turnout.pipeline.query import Warehouse

PROGRAM = Path(__file__).resolve().parent.parent / "support" / "killed_receiver.py"
RANDOM_KILLS = int(os.environ.get("TURNOUT_TEST_KILLS", "5"))


class Victim:
    """A receiver that will be killed, and the sender that notes what it acknowledged."""

    def __init__(self, lake: Path, point: str = "never", count: int = 1) -> None:
        arguments = [sys.executable, str(PROGRAM), str(lake), point, str(count)]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.port = int(line) if line.strip() else 0

    def send(self, requests: Iterator[Request], acknowledged: list[Request], seconds: float) -> None:
        """Send until it dies or the time is over; what was in flight at its death is sent again to the next."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            request = next(requests)
            if not self.post(request):
                return
            acknowledged.append(request)

    def send_until_dead(self, requests: Iterator[Request], acknowledged: list[Request]) -> bool:
        """Send now and then, with quiet moments between; false when it does not die of it."""
        for _ in range(100):
            self.send(requests, acknowledged, 0.1)
            if self.process.poll() is not None:
                return True
            time.sleep(0.1)
        return False

    def post(self, request: Request) -> bool:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            connection.request("POST", "/v1/traces", request.body, {"content-type": "application/x-protobuf"})
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


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
def test_a_kill_at_a_named_point_loses_and_doubles_nothing(point: str, serve: ServeFixture, tmp_path: Path) -> None:
    """Twice at each point, each time after other commits."""
    requests, acknowledged = endless(3, seed=1), list[Request]()
    for count in (1, 4):
        victim = Victim(tmp_path / "lake", point, count)
        reached = not victim.port or victim.send_until_dead(requests, acknowledged)
        victim.kill()
        assert reached
    check(tmp_path / "lake", acknowledged, serve)


def test_kills_at_random_lose_and_double_nothing(serve: ServeFixture, tmp_path: Path) -> None:
    """The process group is killed under load, again and again over one lake (TURNOUT_TEST_KILLS says how often)."""
    draw = random.Random(4)
    requests, acknowledged = endless(3, seed=2), list[Request]()
    for _ in range(RANDOM_KILLS):
        victim = Victim(tmp_path / "lake")
        victim.send(requests, acknowledged, draw.uniform(0.05, 1.5))
        victim.kill()
    assert acknowledged
    check(tmp_path / "lake", acknowledged, serve)


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
    wait_for(lambda: not _group_lives(process.pid))
    found = Warehouse(str(tmp_path / "lake")).sql("select trace_id from turns", {})
    assert set(found["trace_id"]) == {trace.hex() for trace in request.traces}
    del serve


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
