"""The recorder and its sinks: what an agent's process emits of its turns.

Effects live here (clocks, ids, threads, files, sockets); every conclusion comes from `turnout.outcomes`. Names that are emitted stand in
`attributes` alone, and only ever grow. Public names load when they are first used, so that a reader of `attributes` loads no exporter.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from turnout.instrumentation.file import FileSink
    from turnout.instrumentation.integrations.default import default_recorder
    from turnout.instrumentation.integrations.everything import instrument, uninstrument
    from turnout.instrumentation.integrations.functions import recorded
    from turnout.instrumentation.losses import LOSSES, Losses
    from turnout.instrumentation.otel import OtelSink
    from turnout.instrumentation.otlp import otlp_sink
    from turnout.instrumentation.recorder import Recorder
    from turnout.instrumentation.sink import FanOut, Sink
    from turnout.instrumentation.steps import StepHandle
    from turnout.instrumentation.structured import StructlogSink
    from turnout.instrumentation.tools import ToolHandle
    from turnout.instrumentation.turn import TurnHandle, current_turn
    from turnout.outcomes.facts import Limits, Output, Refusal, Usage

__all__ = [
    "LOSSES",
    "FanOut",
    "FileSink",
    "Limits",
    "Losses",
    "OtelSink",
    "Output",
    "Recorder",
    "Refusal",
    "Sink",
    "StepHandle",
    "StructlogSink",
    "ToolHandle",
    "TurnHandle",
    "Usage",
    "current_turn",
    "default_recorder",
    "instrument",
    "otlp_sink",
    "recorded",
    "uninstrument",
]

_HERE: Final = "turnout.instrumentation"
_MODULES: Final = {
    "LOSSES": f"{_HERE}.losses",
    "FanOut": f"{_HERE}.sink",
    "FileSink": f"{_HERE}.file",
    "Limits": "turnout.outcomes.facts",
    "Losses": f"{_HERE}.losses",
    "OtelSink": f"{_HERE}.otel",
    "Output": "turnout.outcomes.facts",
    "Recorder": f"{_HERE}.recorder",
    "Refusal": "turnout.outcomes.facts",
    "Sink": f"{_HERE}.sink",
    "StepHandle": f"{_HERE}.steps",
    "StructlogSink": f"{_HERE}.structured",
    "ToolHandle": f"{_HERE}.tools",
    "TurnHandle": f"{_HERE}.turn",
    "Usage": "turnout.outcomes.facts",
    "current_turn": f"{_HERE}.turn",
    "default_recorder": f"{_HERE}.integrations.default",
    "instrument": f"{_HERE}.integrations.everything",
    "otlp_sink": f"{_HERE}.otlp",
    "recorded": f"{_HERE}.integrations.functions",
    "uninstrument": f"{_HERE}.integrations.everything",
}


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {_HERE!r} has no attribute {name!r}")
    return getattr(import_module(module), name)
