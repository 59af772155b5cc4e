"""How fast the receiver takes telemetry from HTTP into the lake, how soon a turn can be seen, and what it needs for that.

A receiver of its own runs as `turnout serve` does; requests of the corpus are sent over keep-alive connections and a span counts once its turn can be
queried. The limit measured beside it is what the protobuf library alone needs to parse the same bodies. Lag is from the acknowledgement to the moment
when a query sees it; memory is that of all processes of the receiver together.

TURNOUT_BENCH_SECONDS keeps up an offered rate of TURNOUT_BENCH_RATE spans a second for so long, in place of sending TURNOUT_BENCH_SPANS as fast as it can.
"""

import http.client
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from otlp_corpus import Request, endless, requests
from turnout.pipeline.query import Warehouse

NAMES = (
    "ingest_spans_per_s",
    "ingest_lag_s_max",
    "ingest_rss_mib",
    "ingest_cpu_us_per_span",
    "bytes_per_span",
    "visible_s_p50",
    "visible_s_p99",
)
SPANS = int(os.environ.get("TURNOUT_BENCH_SPANS", "200000"))
SECONDS = float(os.environ.get("TURNOUT_BENCH_SECONDS", "0"))
RATE = float(os.environ.get("TURNOUT_BENCH_RATE", "20000"))
CONNECTIONS = 4
PROBES = 60
LOOK_SECONDS = 2.0
_HEADERS = {"content-type": "application/x-protobuf"}


@dataclass(frozen=True)
class Receiver:
    """A running receiver and its lake."""

    process: "subprocess.Popen[str]"
    port: int
    lake: Path

    def post(self, bodies: Iterator[Request], spans: int, sent: "Sent | None" = None, rate: float = 0) -> int:
        """Send requests over one connection until they held so many spans, no faster than a rate; gives how many they held."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        started = time.monotonic()
        total = 0
        while total < spans:
            request = next(bodies)
            connection.request("POST", "/v1/traces", body=request.body, headers=_HEADERS)
            answer = connection.getresponse()
            answer.read()
            if answer.status != http.client.OK:
                time.sleep(float(answer.headers.get("retry-after", "1")))
                continue
            total += request.spans
            if sent is not None:
                sent.add(request.spans)
            if rate:
                time.sleep(max(0.0, started + total / rate - time.monotonic()))
        connection.close()
        return total

    def memory(self) -> float:
        """The resident size of its processes together, in MiB; a page that several share counts once."""
        return sum(_shared_out(process) for process in _family(self.process.pid)) / 1024

    def busy(self) -> float:
        """Processor seconds of its processes since they started."""
        ticks = os.sysconf("SC_CLK_TCK")
        return sum(sum(_times(process)) for process in _family(self.process.pid)) / ticks


@dataclass
class Sent:
    """How many spans had been acknowledged at what time."""

    total: int = 0
    times: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    guard: threading.Lock = field(default_factory=threading.Lock)

    def add(self, spans: int) -> None:
        """Note an acknowledgement."""
        with self.guard:
            self.total += spans
            self.times.append((time.monotonic(), self.total))

    def waits(self, stored: int) -> float:
        """How long the oldest span that is not among so many stored ones has been waiting."""
        place = bisect_right(self.times, stored, key=lambda entry: entry[1])
        return time.monotonic() - self.times[place][0] if place < len(self.times) else 0.0


def _family(process: int) -> Iterator[int]:
    """A process and all below it."""
    yield process
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in task.read_text().split():
            yield from _family(int(child))


def _shared_out(process: int) -> int:
    rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    return next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))


def _times(process: int) -> list[int]:
    """User and system time."""
    return [int(part) for part in Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[11:13]]


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
    sent = Sent()
    target = int(SECONDS * RATE) if SECONDS else SPANS
    busy, started = running.busy(), time.perf_counter()

    def send(seed: int) -> None:
        rate = RATE / CONNECTIONS if SECONDS else 0
        running.post(endless(40, seed), target // CONNECTIONS, sent, rate)

    senders = [threading.Thread(target=send, args=(seed,)) for seed in range(CONNECTIONS)]
    for sender in senders:
        sender.start()
    lags, sizes = _watched(running, sent, lambda: any(sender.is_alive() for sender in senders))
    rate = sent.total / (time.perf_counter() - started)
    yield {
        "name": "ingest_spans_per_s",
        "value": round(rate),
        "unit": "spans/s",
        "limit": round(limit),
        "ratio": round(rate / limit, 3),
    }
    yield {"name": "ingest_lag_s_max", "value": round(max(lags, default=0.0), 1), "unit": "s"}
    thirds = [round(sizes[len(sizes) * part // 10]) for part in (1, 5, 9)]
    yield {"name": "ingest_rss_mib", "value": round(max(sizes)), "unit": "MiB", "early_midway_late": thirds}
    cost = (running.busy() - busy) / sent.total * 1_000_000
    yield {"name": "ingest_cpu_us_per_span", "value": round(cost, 1), "unit": "us"}
    size = sum(path.stat().st_size for path in running.lake.rglob("*.parquet"))
    yield {"name": "bytes_per_span", "value": round(size / sent.total, 1), "unit": "bytes"}


def _watched(running: Receiver, sent: Sent, sending: Callable[[], bool]) -> tuple[list[float], list[float]]:
    """Look again and again until all that was sent can be queried; gives the lag and the memory at each look."""
    warehouse = Warehouse(str(running.lake))
    lags: list[float] = []
    sizes: list[float] = [running.memory()]
    while True:
        going = sending()
        stored = _stored_spans(warehouse)
        lags.append(sent.waits(stored))
        sizes.append(running.memory())
        if not going and stored >= sent.total:
            return lags, sizes
        time.sleep(LOOK_SECONDS if going else 0.1)


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
