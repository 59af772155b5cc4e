"""The recorder of a process that hands none over: made once, from the environment."""

import threading

from opentelemetry.sdk.resources import Resource

from turnout.instrumentation.environment import identity, settings
from turnout.instrumentation.file import FileSink
from turnout.instrumentation.otlp import otlp_sink
from turnout.instrumentation.recorder import Recorder
from turnout.instrumentation.sink import FanOut, Nothing, Sink
from turnout.instrumentation.structured import StructlogSink

_lock = threading.Lock()
_recorder: Recorder | None = None


def default_recorder() -> Recorder:
    """The process's recorder: into ``TURNOUT_FILE`` where that is set, else by OTLP; beside it, the application's structlog."""
    global _recorder  # noqa: PLW0603 - one a process, made when it is first needed
    with _lock:
        if _recorder is None:
            _recorder = from_environment()
        return _recorder


def from_environment() -> Recorder:
    """A recorder as the environment describes it."""
    said = settings()
    resource = Resource.create()
    service, environment = identity(resource)
    sink: Sink
    if said.disabled:
        sink = Nothing()
    elif said.file is not None:
        sink = FanOut(FileSink(said.file), StructlogSink())
    else:
        sink = FanOut(otlp_sink(resource=resource), StructlogSink())
    return Recorder(sink, service=service, environment=environment, hash_key=said.hash_key)
