"""The ``opentelemetry-instrument`` entry point: `instrument` without a line of code.

    opentelemetry-instrument python my_agent.py

``turnout[auto]`` brings what the command needs. Spans, events and metrics go out through our own exporters, by the standard variables;
over HTTP, unless the gRPC exporter is installed or ``OTEL_EXPORTER_OTLP_PROTOCOL`` says otherwise (`turnout.instrumentation.without_code`).
"""

from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any


class _Switching:
    """What the entry point does; the class that OpenTelemetry loads is this one joined to its own base."""

    def instrumentation_dependencies(self) -> Collection[str]:
        """None: each integration looks for its framework itself."""
        return ()

    def _instrument(self, **kwargs: Any) -> None:
        del kwargs
        everything().instrument()

    def _uninstrument(self, **kwargs: Any) -> None:
        del kwargs
        everything().uninstrument()


def everything() -> Any:
    """The module that switches on every integration."""
    return import_module("turnout.instrumentation.integrations.everything")


def __getattr__(name: str) -> Callable[[], Any]:
    if name != "TurnoutInstrumentor":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    base = import_module("opentelemetry.instrumentation.instrumentor").BaseInstrumentor
    made: Callable[[], Any] = type(name, (_Switching, base), {})
    return made
