"""A lake in an object store does what a lake in a folder does."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from made_spans import request_of, turn
from serving import HASTY, ServeFixture, post, wait_for
from turnout.pipeline.lake import Lake, LakeError, Position, Written
from turnout.pipeline.lake.sweep import Swept
from turnout.pipeline.query import QueryError, Warehouse, run
from turnout.pipeline.receive.service import Options, Service
from turnout.pipeline.testing import EXAMPLE, Sketch, stored

pytest.importorskip("moto", reason="moto[s3,server] is not installed")

WRITER = (
    Path(__file__)
    .with_name("test_two_writers.py")
    .read_text()
    .split('WRITER = """')[1]
    .split('"""')[0]
    .replace("range(12)", "range(5)")
)

# A process of its own: a client that waits for an answer may hold this interpreter while it does.
SERVER = """
import sys
import boto3
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
endpoint = "http://{}:{}".format(*server.get_host_and_port())
access = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **access).create_bucket(Bucket="lake")
print(endpoint, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A bucket of a server on this machine, reached as a real one is: by the environment."""
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ENDPOINT_URL", server.stdout.readline().strip())
        environment.setenv("AWS_ALLOW_HTTP", "true")
        environment.setenv("AWS_REGION", "us-east-1")
        environment.setenv("AWS_ACCESS_KEY_ID", "test")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "test")
        yield "s3://lake"
    server.stdin.close()
    server.wait()


@pytest.fixture
def serve() -> Iterator[ServeFixture]:
    """Starts receivers over a bucket; stops those that still run."""
    running: list[Service] = []

    def started(lake: str, journal: Path) -> Service:
        options = Options(port=0, grpc_port=None, pace=HASTY, memory_bytes=1 << 34, journal=journal)
        running.append(Service(lake, options))
        running[-1].start()
        return running[-1]

    yield started
    for service in running:
        service.stop()


@pytest.fixture
def url(bucket: str) -> str:
    return f"{bucket}/{uuid4().hex}"


def test_turns_are_written_upserted_and_asked_for(url: str) -> None:
    """The same figures as from a folder, and the same refusals."""
    lake = Lake.open(url)
    assert lake.snapshot().version == -1
    assert lake.write([stored(sketch) for sketch in EXAMPLE[:8]], position=Position("j", 1)) == Written(8, 0, 0)
    assert Lake.open(url).write([stored(sketch) for sketch in EXAMPLE]) == Written(8, 0, 8)
    assert lake.position("j") == 1
    warehouse = Warehouse(url)
    assert run(warehouse, "abnormal").row(0)[:2] == (7, 15)
    assert warehouse.require("t04").steps.height == 10
    assert warehouse.turns(limit=2)["turn_id"].to_list() == ["t14b", "t15"]
    with pytest.raises(QueryError, match="Cannot access file"):
        warehouse.sql("select * from read_csv('/etc/passwd')")


def test_it_is_looked_after(url: str) -> None:
    """Merged, verified, swept, forgotten."""
    lake = Lake.open(url)
    for sketch in EXAMPLE[:3]:
        lake.write([stored(sketch)])
    lake.write([stored(Sketch(turn_id="mine", user="u"))])
    assert lake.compact() == 4
    assert list(lake.verify()) == []
    assert lake.forget(user_id="u") == 1
    assert lake.sweep(grace=0).waiting == 0
    assert list(lake.verify()) == []
    assert sorted(Warehouse(url).turns()["turn_id"]) == ["t01", "t02", "t03"]


WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None
from turnout.pipeline.lake import Lake

lake = Lake.open(sys.argv[1])
lake.compact()
print(lake.sweep(grace=0).deleted, lake.sweep(grace=0))
"""


def test_it_is_swept_without_pyarrow(url: str) -> None:
    """Which is no requirement: the objects of merged files go, with the index files beside them."""
    lake = Lake.open(url)
    for sketch in EXAMPLE[:2]:
        lake.write([stored(sketch)])
    swept = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYARROW, url], capture_output=True, text=True, check=True, timeout=120
    )
    assert swept.stdout == f"8 {Swept(0, 0, 0)}\n"
    assert list(lake.verify()) == []


def test_two_receivers_write_one_bucket(url: str, serve: ServeFixture, tmp_path: Path) -> None:
    """Spans in, turns queryable: each has a journal of its own here, and a turn whose spans came to both is one turn."""
    receivers = [serve(url, journal=tmp_path / name) for name in ("a", "b")]
    spans = turn(1)
    for receiver, share in zip(receivers, (spans[::2], spans[1::2]), strict=True):
        post(receiver, request_of(share), content_type="application/json")
    post(receivers[0], request_of(turn(2)), content_type="application/json")
    expected = [(f"{number:032x}:{1:016x}", "completed", 3, 2) for number in (1, 2)]
    warehouse = Warehouse(url)

    def found() -> list[tuple[object, ...]]:
        warehouse.refresh()
        return warehouse.sql("select turn_id, outcome, steps, tool_calls from turns order by all").rows()

    wait_for(lambda: found() == expected)
    for receiver in receivers:
        receiver.stop()
    assert list(Lake.open(url).verify()) == []


def test_two_writers_both_commit_everything_once(url: str) -> None:
    """Nobody can be kept waiting here: who loses does it again."""
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, url, name]) for name in ("one", "two")]
    assert [writer.wait() for writer in writers] == [0, 0]
    lake = Lake.open(url)
    expected = sorted(f"{name}-{number}" for name in ("one", "two", "both") for number in range(5))
    assert sorted(Warehouse(url).sql("select turn_id from turn_segments")["turn_id"]) == expected
    assert list(lake.verify()) == []
    assert (lake.position("one"), lake.position("two")) == (4, 4)


BARE = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
NOBODY = BARE | {"AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
UNREACHABLE = {
    "no credentials": (NOBODY, "credential"),
    "nobody answers": (
        NOBODY
        | {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"},
        "Connection refused",
    ),
}


@pytest.mark.parametrize(("environment", "why"), UNREACHABLE.values(), ids=UNREACHABLE)
def test_a_bucket_out_of_reach_is_one_line_and_soon(environment: dict[str, str], why: str) -> None:
    """Nothing of the client's own log, the cause and what to do; exit status 1."""
    command = [sys.executable, "-c", "from turnout.cli import main; main()", "turns", "--lake", "s3://lake/x"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    (line,) = ended.stderr.splitlines()
    assert (ended.returncode, ended.stdout) == (1, "")
    assert line.startswith("turnout: lake s3://lake/x: table turns cannot be read, got ")
    assert why in line
    assert line.endswith("or name another with --lake or TURNOUT_LAKE")


def test_a_bucket_that_is_not_there_is_one_sentence(bucket: str) -> None:
    """Named, with what to do."""
    with pytest.raises(LakeError, match=r"lake s3://nowhere/x: "):
        Lake.open("s3://nowhere/x").write([stored(Sketch(turn_id="t"))])
    assert bucket
