"""How fast the receiver takes telemetry from HTTP into the lake, how soon a turn can be seen, and what it needs for that.

A receiver of its own runs as a process; requests of the corpus are sent over keep-alive connections and a span counts once its turn can be
queried. The limit measured beside it is what the protobuf library alone needs to parse the same bodies.
"""

import http.client
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from otlp_corpus import Request, endless, requests
from turnout.pipeline.query import Warehouse

NAMES = ("ingest_spans_per_s", "ingest_rss_mib", "bytes_per_span", "visible_s_p50", "visible_s_p99")
SPANS = int(os.environ.get("TURNOUT_BENCH_SPANS", "200000"))
CONNECTIONS = 4
PROBES = 60
_HEADERS = {"content-type": "application/x-protobuf"}


@dataclass(frozen=True)
class Receiver:
    """A running receiver and its lake."""

    process: "subprocess.Popen[str]"
    port: int
    lake: Path

    def post(self, bodies: Iterator[Request], spans: int) -> int:
        """Send requests over one connection until they held so many spans; gives how many they held."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        sent = 0
        while sent < spans:
            request = next(bodies)
            connection.request("POST", "/v1/traces", body=request.body, headers=_HEADERS)
            answer = connection.getresponse()
            answer.read()
            if answer.status == http.client.OK:
                sent += request.spans
            else:
                time.sleep(float(answer.headers.get("retry-after", "1")))
        connection.close()
        return sent

    def memory(self, key: str = "VmHWM") -> float:
        """The largest resident size so far, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith(key))
        return int(line.split()[1]) / 1024


@contextmanager
def receiver() -> Generator[Receiver]:
    """Run a receiver over an empty lake."""
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder) / "lake"
        program = "from turnout.cli import main; main()"
        arguments = [sys.executable, "-c", program, "serve", "--lake", str(lake), "--port", "0", "--no-grpc"]
        process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        line = process.stderr.readline()
        port = int(line.split("http://127.0.0.1:")[1].split(",")[0])
        threading.Thread(target=process.stderr.read, daemon=True).start()
        try:
            yield Receiver(process, port, lake)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def figures() -> Iterator[dict[str, object]]:
    """Throughput with memory and size after it, then the time to visibility under light load."""
    with receiver() as running:
        yield from _throughput(running)
    with receiver() as running:
        yield from _visibility(running)


def _throughput(running: Receiver) -> Iterator[dict[str, object]]:
    limit = _parse_rate()
    sent: list[int] = []
    started = time.perf_counter()

    def send(seed: int) -> None:
        sent.append(running.post(endless(40, seed), SPANS // CONNECTIONS))

    senders = [threading.Thread(target=send, args=(seed,)) for seed in range(CONNECTIONS)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    total = sum(sent)
    warehouse = Warehouse(str(running.lake))
    while _stored_spans(warehouse) < total:
        time.sleep(0.1)
    rate = total / (time.perf_counter() - started)
    yield {
        "name": "ingest_spans_per_s",
        "value": round(rate),
        "unit": "spans/s",
        "limit": round(limit),
        "ratio": round(rate / limit, 3),
    }
    yield {"name": "ingest_rss_mib", "value": round(running.memory()), "unit": "MiB"}
    size = sum(path.stat().st_size for path in running.lake.rglob("*.parquet"))
    yield {"name": "bytes_per_span", "value": round(size / total, 1), "unit": "bytes"}


def _stored_spans(warehouse: Warehouse) -> int:
    """A turn of the corpus has one span, and one for each step and tool call."""
    warehouse.refresh()
    frame = warehouse.sql("select coalesce(sum(1 + steps + tool_calls), 0)::bigint as spans from turns", {})
    return int(frame["spans"][0])


def _is_visible(warehouse: Warehouse, trace: str) -> bool:
    warehouse.refresh()
    return bool(len(warehouse.sql("select 1 as found from turns where trace_id = $trace", {"trace": trace})))


def _parse_rate() -> float:
    bodies = requests(40)
    started = time.perf_counter()
    for request in bodies:
        ExportTraceServiceRequest.FromString(request.body)
    return sum(request.spans for request in bodies) / (time.perf_counter() - started)


def _visibility(running: Receiver) -> Iterator[dict[str, object]]:
    """From the acknowledgement of a request to the moment when a query sees its turns, a few requests a second."""
    warehouse = Warehouse(str(running.lake))
    stream = endless(4, seed=99)
    delays: list[float] = []
    for _ in range(PROBES):
        request = next(stream)
        running.post(iter([request]), 1)
        acknowledged = time.perf_counter()
        trace = request.traces[0].hex()
        while not _is_visible(warehouse, trace):
            time.sleep(0.01)
        delays.append(time.perf_counter() - acknowledged)
        time.sleep(0.1)
    delays.sort()
    yield {"name": "visible_s_p50", "value": round(delays[len(delays) // 2], 3), "unit": "s"}
    yield {"name": "visible_s_p99", "value": round(delays[int(len(delays) * 0.99)], 3), "unit": "s"}
