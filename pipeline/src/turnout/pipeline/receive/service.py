"""The receiver as one thing: journal, converter and the two doors, started and stopped together."""

import gc
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import FrameType

import structlog

from turnout.outcomes.facts import Instant
from turnout.pipeline.assemble import Pace
from turnout.pipeline.receive.access import Access, check_exposure
from turnout.pipeline.receive.apart import Apart
from turnout.pipeline.receive.cadence import Cadence
from turnout.pipeline.receive.commit import GroupCommit
from turnout.pipeline.receive.conversion import Conversion, Work
from turnout.pipeline.receive.counters import Counters, Gauge
from turnout.pipeline.receive.exposition import exposition
from turnout.pipeline.receive.grpc import GrpcListener
from turnout.pipeline.receive.http import HttpApp, Timeouts
from turnout.pipeline.receive.intake import QUEUE_BYTES, Intake
from turnout.pipeline.receive.journal import SEGMENT_BYTES, Journal, journal_id
from turnout.pipeline.receive.listener import Listener, Tls
from turnout.pipeline.receive.memory import MEMORY_BYTES, Memory, resident_bytes

_log: structlog.stdlib.BoundLogger = structlog.get_logger("turnout.receive")

HTTP_PORT, GRPC_PORT = 4318, 4317

_GARBAGE = (50_000, 20, 100)
_STATUS_SECONDS = 1.0
_DRAIN_SECONDS = 0.01


def _nothing(point: str) -> None:
    del point


def clock_start() -> Instant:
    """What to add to the monotonic clock of this machine for a clock that starts at the wall's time and is never set back or forward by it."""
    return time.time_ns() - time.monotonic_ns()


def journal_folder(lake: str) -> Path:
    """Where the journal of a lake stands: inside a folder lake, beside the working directory for an object store."""
    if "://" in lake and not lake.startswith("file://"):
        return Path("turnout-journal") / sha256(lake.encode()).hexdigest()[:12]
    return Path(lake.removeprefix("file://")) / "journal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a receiver runs. Port 0 takes a free one; ``grpc_port`` None leaves gRPC out."""

    host: str = "127.0.0.1"
    port: int = HTTP_PORT
    grpc_port: int | None = GRPC_PORT
    journal: Path | None = None
    segment_bytes: int = SEGMENT_BYTES
    access: Access = field(default_factory=Access)
    tls: Tls | None = None
    insecure: bool = False
    memory_bytes: int = MEMORY_BYTES
    queue_bytes: int = QUEUE_BYTES
    pace: Pace = field(default_factory=Pace)
    cadence: Cadence = field(default_factory=Cadence)
    timeouts: Timeouts = field(default_factory=Timeouts)
    apart: bool = False
    """Whether the converter is a process of its own; needed to keep up with more than one processor can convert."""
    reached: Callable[[str], None] = _nothing
    """Called with the name of each point of a commit; tests end the process there."""


class Service:
    """A receiver over one lake. `start` opens it, `stop` ends it when all that was acknowledged is read; `run` does both around signals."""

    def __init__(self, lake: str, options: Options | None = None) -> None:
        self.options = options or Options()
        self.lake = lake
        self.folder = self.options.journal or journal_folder(lake)
        self._clock_start = clock_start()
        self.counters = Counters(clock=self.clock)
        self.memory = Memory(self.options.memory_bytes, self._resident)
        self._conversion: Conversion | None = None
        self._stopping = threading.Event()
        self._ready = False
        self._closers: list[Callable[[], None]] = []

    def clock(self) -> Instant:
        """The receiver's own time, which never goes back."""
        return self._clock_start + time.monotonic_ns()

    @property
    def root(self) -> str:
        """Where the lake is."""
        if "://" in self.lake and not self.lake.startswith("file://"):
            return self.lake
        return str(Path(self.lake.removeprefix("file://")).absolute())

    @property
    def endpoint(self) -> str:
        """The address for OTEL_EXPORTER_OTLP_ENDPOINT."""
        scheme = "https" if self.options.tls else "http"
        return f"{scheme}://{_literal(self.options.host)}:{self.http.port}"

    @property
    def grpc_endpoint(self) -> str | None:
        """The address of the gRPC door, if there is one."""
        if self.grpc is None:
            return None
        scheme = "https" if self.options.tls else "http"
        return f"{scheme}://{_literal(self.options.host)}:{self.grpc.port}"

    def start(self) -> None:
        """Open everything; it accepts once this returns.

        Raises:
            TurnoutError: when an address, the journal or the lake cannot be opened; nothing stays open then.
        """
        try:
            self._open()
        except BaseException:
            self._close()
            raise

    def stop(self) -> None:
        """Stop accepting, convert what was acknowledged, and let go of everything."""
        self._ready = False
        self._close()

    def run(self, started: Callable[[], None]) -> None:
        """Serve until SIGINT or SIGTERM; ``started`` is called once it accepts."""
        if not self.options.apart:
            # Records come and go by the ten thousand and hold no cycles: looking for cycles among them at the usual pace costs a sixth of all work.
            gc.set_threshold(*_GARBAGE)
        ended = threading.Event()

        def end(number: int, frame: FrameType | None) -> None:
            del number, frame
            ended.set()

        before = {name: signal.signal(name, end) for name in (signal.SIGINT, signal.SIGTERM)}
        try:
            self.start()
            started()
            while not ended.wait(1.0):  # with a timeout, so that a signal gets its turn on this thread
                pass
        finally:
            self.stop()
            for name, handler in before.items():
                signal.signal(name, handler)

    def drain(self, seconds: float = 60.0, *, quiet: bool = False) -> bool:
        """Wait until everything acknowledged so far is converted and every turn that is over is in the lake.

        With ``quiet`` also until the quiet time has closed every turn that is open. False when that took longer than ``seconds``.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self._converting.is_settled(quiet=quiet):
                return True
            time.sleep(_DRAIN_SECONDS)
        return False

    def health(self) -> Mapping[str, object]:
        """Live: the process answers. Ready: it takes telemetry and the lake can be written."""
        failing = self._conversion.failing if self._conversion else ""
        return {
            "live": True,
            "ready": self._ready and not failing,
            "lake": failing or "ok",
            "queued_bytes": self._conversion.queued if self._conversion else 0,
        }

    def _open(self) -> None:
        options = self.options
        check_exposure(options.host, options.access, insecure=options.insecure)
        name = journal_id(self.folder)
        journal = Journal(self.folder, segment_bytes=options.segment_bytes, reached=options.reached)
        self._closers.append(journal.close)
        self.counters.journal = name
        self.counters.restore(self.folder)
        work = Work(
            lake=self.lake,
            journal=journal,
            journal_id=name,
            counters=self.counters,
            clock=self.clock,
            pace=options.pace,
            cadence=options.cadence,
            reached=options.reached,
            tells_points=options.reached is not _nothing,
        )
        self._conversion = Apart(work, self._clock_start) if options.apart else _in_thread(work)
        self._conversion.start()
        self._closers.append(self._conversion.stop)
        self._start_watch()
        commit = GroupCommit(journal)
        self._closers.append(commit.close)
        self._open_doors(commit)
        self._ready = True

    def _open_doors(self, commit: GroupCommit) -> None:
        options = self.options
        intake = Intake(
            commit,
            self.counters,
            self.memory,
            options.access,
            self.clock,
            lambda: self._converting.queued,
            options.queue_bytes,
        )
        app = HttpApp(intake, self.health, lambda: exposition(self.counters), options.timeouts)
        self.http = Listener(app, options.host, options.port, options.tls)
        self.grpc: GrpcListener | None = None
        if options.grpc_port is not None:
            self.grpc = GrpcListener(intake, options.host, options.grpc_port, options.tls)
            self.grpc.start()
            self._closers.append(self.grpc.stop)
        self.http.start()
        self._closers.append(self.http.stop)

    def _start_watch(self) -> None:
        thread = threading.Thread(target=self._watch, name="turnout-watch", daemon=True)
        thread.start()

        def end() -> None:
            self._stopping.set()
            thread.join()
            self._look_after()

        # Before the converter stops nobody looks any more but once, when it has.
        self._closers.insert(1, end)

    def _watch(self) -> None:
        while not self._stopping.wait(_STATUS_SECONDS):
            self._look_after()

    @property
    def _converting(self) -> Conversion:
        assert self._conversion is not None
        return self._conversion

    def _resident(self) -> int:
        return resident_bytes() + (self._conversion.resident() if self._conversion else 0)

    def _look_after(self) -> None:
        """Measure memory, and write the status file for those who look from outside."""
        size = self.memory.look()
        if self.memory.over:
            self._converting.relieve()
            size = self.memory.look()
        self.counters.put(Gauge.RSS_BYTES, size)
        self.counters.put(Gauge.IN_FLIGHT_BYTES, self.memory.in_flight)
        self.counters.put(Gauge.OPEN_TURNS, self._converting.open_groups())
        try:
            self.counters.save(self.folder)
        except OSError as error:
            _log.warning("status_not_written", why=str(error))

    def _close(self) -> None:
        while self._closers:
            self._closers.pop()()


def _in_thread(work: Work) -> Conversion:
    from turnout.pipeline.receive.in_thread import InThread  # noqa: PLC0415 - the lake's libraries, only where it is written here

    return InThread(work)


def _literal(host: str) -> str:
    return f"[{host}]" if ":" in host else host
