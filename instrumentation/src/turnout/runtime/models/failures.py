"""What the SDKs' exceptions have in common: how one becomes the failure that the seam and the record read."""

from collections.abc import Mapping
from http import HTTPStatus

from turnout.outcomes.errors import read_failure
from turnout.runtime.model import ModelError
from turnout.runtime.settle import STREAM_TRUNCATED


def rejected(
    provider: str,
    message: str,
    *,
    code: str | None,
    status: int | None,
    headers: Mapping[str, str],
    lasting: frozenset[str] = frozenset(),
) -> ModelError:
    """A request that the provider answered with an error, at once or in the middle of its stream.

    ``lasting`` are codes that do not go away by themselves although their status is one of those that do.
    """
    if status is not None and status < HTTPStatus.BAD_REQUEST:  # an error event inside a stream that had begun well
        status = None
    failure = read_failure(provider, code, status, message)
    return ModelError(
        message,
        type=code or "provider_error",
        status=status,
        retryable=failure.passing and code not in lasting,
        retry_after=_retry_after(headers),
    )


def unreachable(message: str, *, streaming: bool, timed_out: bool) -> ModelError:
    """A request that got no answer, or lost it on the way."""
    kind = "timeout" if timed_out else STREAM_TRUNCATED if streaming else "connection_error"
    return ModelError(message, type=kind, retryable=True)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds; the header may also be a date, which is left to the seam's own waits."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) / unit)
        except (KeyError, ValueError):
            continue
    return None
