"""The same spans into this receiver and into other programs that keep agents' spans, each alone on the machine, one after the other.

For each program: spans a second from the first request to the moment when all are in its store, bytes a span there, and how many acknowledged spans are
gone after kill -9 at the moment of the last acknowledgement. ``limit`` is what this program measured in the same run, ``ratio`` the other's share of
it. Not like for like: the others keep whole spans with every attribute, this one keeps what tells how turns ended, and is given more of the same spans,
since a few thousand are over before its first commit. `peers` installs the others.
"""

import http.client
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from otlp_corpus import Request, endless
from peer_programs import PEERS, Peer
from turnout.pipeline.query import Warehouse

INSTALLED = tuple(peer for peer in PEERS if peer.is_installed)
_KINDS = ("spans_per_s", "bytes_per_span", "lost_spans")
NAMES = tuple(f"{peer.name}_{kind}" for peer in INSTALLED for kind in _KINDS)
SPANS = int(os.environ.get("TURNOUT_BENCH_PEER_SPANS", "2000"))
OURS = 25 * SPANS
CLIENTS = 4
_START_SECONDS, _STORE_SECONDS = 300.0, 900.0
_SHORT = "from turnout.cli import main; main()"


@dataclass(frozen=True)
class Measured:
    """What one program did with the spans."""

    spans_per_s: float
    bytes_per_span: float
    lost_spans: int


@dataclass(frozen=True)
class Program:
    """A program as it is measured: how to start it in a folder on a port, and how many spans it has stored there."""

    start: Callable[[Path, int], "subprocess.Popen[bytes]"]
    stored: Callable[[Path], int]
    size: Callable[[Path], int]
    headers: Mapping[str, str]


def figures() -> Iterator[dict[str, object]]:
    """Measure this program, then each of the others."""
    if not INSTALLED:
        return
    ours = _measured(Program(_start_ours, _stored_by_us, _size_of_ours, {}), OURS)
    for peer in INSTALLED:
        theirs = _measured(_program(peer), SPANS)
        for kind, unit in zip(_KINDS, ("spans/s", "bytes", "spans"), strict=True):
            value, limit = getattr(theirs, kind), getattr(ours, kind)
            ratio = round(value / limit, 4) if limit else None
            yield {
                "name": f"{peer.name}_{kind}",
                "value": round(value, 1),
                "unit": unit,
                "limit": round(limit, 1),
                "ratio": ratio,
            }


def _program(peer: Peer) -> Program:
    def stored(folder: Path) -> int:
        return _rows(folder / peer.database)

    return Program(lambda folder, port: peer.start(folder, port, _free_port()), stored, _size_of_all, peer.headers)


def _measured(program: Program, spans: int) -> Measured:
    rate, size = _rate_and_size(program, spans)
    return Measured(rate, size, _lost(program))


def _rate_and_size(program: Program, spans: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder, port = Path(name), _free_port()
        process = _started(program, folder, port)
        try:
            began = time.perf_counter()
            total = _send(program, port, spans)
            _wait(lambda: program.stored(folder) >= total, _STORE_SECONDS, "for its spans to be stored")
            rate = total / (time.perf_counter() - began)
        finally:
            _end(process, signal.SIGTERM)
        return rate, program.size(folder) / total


def _lost(program: Program) -> int:
    """Acknowledged spans that are not stored, also after it was started again and has had time to catch up."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder, port = Path(name), _free_port()
        process = _started(program, folder, port)
        total = _send(program, port, SPANS // 4)
        _end(process, signal.SIGKILL)
        process = _started(program, folder, port)
        try:
            still = time.monotonic() + 10.0
            while program.stored(folder) < total and time.monotonic() < still:
                time.sleep(0.2)
            return total - min(total, program.stored(folder))
        finally:
            _end(process, signal.SIGKILL)


def _send(program: Program, port: int, spans: int) -> int:
    """Send from several clients until each has sent its share; gives how many spans were acknowledged."""

    def client(seed: int) -> int:
        bodies: Iterator[Request] = endless(4, seed)
        sent = 0
        while sent < spans // CLIENTS:
            request = next(bodies)
            if _post(program, port, request.body) != http.client.OK:
                time.sleep(0.5)
                continue
            sent += request.spans
        return sent

    with ThreadPoolExecutor(CLIENTS) as clients:
        return sum(clients.map(client, range(CLIENTS)))


def _post(program: Program, port: int, body: bytes) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    with closing(connection):
        headers = {"content-type": "application/x-protobuf", **program.headers}
        connection.request("POST", "/v1/traces", body=body, headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status


def _started(program: Program, folder: Path, port: int) -> "subprocess.Popen[bytes]":
    process = program.start(folder, port)

    def answers() -> bool:
        try:
            return _post(program, port, b"") < http.client.INTERNAL_SERVER_ERROR
        except (OSError, http.client.HTTPException):
            return False

    _wait(answers, _START_SECONDS, "for it to listen")
    return process


def _start_ours(folder: Path, port: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", _SHORT, "serve", "--lake", str(folder / "lake"), "--port", str(port), "--no-grpc"]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)


def _stored_by_us(folder: Path) -> int:
    """A turn of the corpus has one span, and one for each step and tool call."""
    frame = Warehouse(str(folder / "lake")).sql(
        "select coalesce(sum(1 + steps + tool_calls), 0)::bigint as n from turns"
    )
    return int(frame["n"][0])


def _size_of_ours(folder: Path) -> int:
    """What the tables and their indexes need; files that were merged and wait to be swept, and the journal, are there for an hour."""
    snapshot = Warehouse(str(folder / "lake")).snapshot
    tables = sum(file.size for table in ("turns", "steps", "tool_calls") for file in snapshot.files(table))
    return tables + sum(_size_of_all(folder / "lake" / beside) for beside in ("_index", "_cubes"))


def _size_of_all(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _rows(database: Path) -> int:
    """The spans in a SQLite database that its program may be writing."""
    if not database.exists():
        return 0
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=60)) as connection:
        try:
            return int(connection.execute("select count(*) from spans").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


def _wait(true: Callable[[], bool], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"peers: waited {seconds:g} s {what}")
        time.sleep(0.2)


def _end(process: "subprocess.Popen[bytes]", how: signal.Signals) -> None:
    os.killpg(process.pid, how)
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
