"""The environment variables that the instrumentation reads, beside the standard ``OTEL_*`` ones."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from opentelemetry.sdk.resources import Resource

TURNOUT_FILE: Final = "TURNOUT_FILE"
"""A path: turns are appended to this file as ``turnout.turn/1`` lines instead of being sent by OTLP."""

TURNOUT_HASH_KEY: Final = "TURNOUT_HASH_KEY"
"""The key of the hashes of user ids and tool arguments; without one, neither is recorded."""

TURNOUT_DISABLED: Final = "TURNOUT_DISABLED"
"""``true`` records nothing, as does the standard ``OTEL_SDK_DISABLED``."""

OTEL_SDK_DISABLED: Final = "OTEL_SDK_DISABLED"
OTEL_TRACES_EXPORTER: Final = "OTEL_TRACES_EXPORTER"
OTEL_LOGS_EXPORTER: Final = "OTEL_LOGS_EXPORTER"
OTEL_METRICS_EXPORTER: Final = "OTEL_METRICS_EXPORTER"
OTEL_EXPORTER_OTLP_PROTOCOL: Final = "OTEL_EXPORTER_OTLP_PROTOCOL"
OTEL_METRIC_EXPORT_INTERVAL: Final = "OTEL_METRIC_EXPORT_INTERVAL"
OTEL_BSP_SCHEDULE_DELAY: Final = "OTEL_BSP_SCHEDULE_DELAY"
OTEL_BSP_MAX_QUEUE_SIZE: Final = "OTEL_BSP_MAX_QUEUE_SIZE"
OTEL_BSP_MAX_EXPORT_BATCH_SIZE: Final = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"

_UNKNOWN_SERVICE = "unknown_service"
_ENVIRONMENT_KEYS = ("deployment.environment.name", "deployment.environment")


@dataclass(frozen=True, slots=True)
class Settings:
    """What our own variables say."""

    file: str | None
    hash_key: bytes | None
    disabled: bool


def settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Read our own variables; empty means not set."""
    key = environ.get(TURNOUT_HASH_KEY) or None
    return Settings(
        file=environ.get(TURNOUT_FILE) or None,
        hash_key=key.encode() if key is not None else None,
        disabled=any(environ.get(name, "").strip().lower() == "true" for name in (TURNOUT_DISABLED, OTEL_SDK_DISABLED)),
    )


def identity(resource: Resource) -> tuple[str | None, str | None]:
    """The service and the environment that a resource names."""
    service = _text(resource, "service.name")
    if service is not None and service.startswith(_UNKNOWN_SERVICE):
        service = None
    environment = next((text for key in _ENVIRONMENT_KEYS if (text := _text(resource, key)) is not None), None)
    return service, environment


def _text(resource: Resource, key: str) -> str | None:
    value = resource.attributes.get(key)
    return value if isinstance(value, str) and value else None
