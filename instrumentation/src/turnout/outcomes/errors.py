"""Why a request failed, from its status, type and message; and whether it may go away by itself."""

from functools import lru_cache
from typing import NamedTuple

from turnout.outcomes.facts import Step
from turnout.outcomes.finishes import read_finish
from turnout.outcomes.phrases import FILTERED, OVERFLOW, phrase_of_error
from turnout.outcomes.providers import FinishClass, fold, meanings_anywhere
from turnout.outcomes.verdict import Cause, Outcome, Resumable


class Failure(NamedTuple):
    """How a failed request ends a turn that ends with it; ``passing`` failures are worth another try."""

    outcome: Outcome
    cause: Cause
    passing: bool = False
    rejected: bool = False


_TIMEOUT, _TOO_MANY, _OVERLOADED = 408, 429, 529
_AUTH = frozenset({401, 403})
_SERVER = range(500, 600)
_CLIENT = range(400, 500)
# Where a provider answers with another status, words about length or content are not about this request.
_MAY_REJECT = frozenset({400, 413, 422})
_CANCELLED = frozenset({"aborterror", "abort", "aborted", "cancelled", "canceled", "cancellederror"})

# In the order in which a type is read; the first word that stands in it decides.
_TYPE_WORDS: tuple[tuple[str, Cause, bool], ...] = (
    ("loop_detected", Cause.LOOP_DETECTED, False),
    ("rate_limit", Cause.RATE_LIMIT, True),
    ("ratelimit", Cause.RATE_LIMIT, True),
    ("throttl", Cause.RATE_LIMIT, True),
    ("too_many_requests", Cause.RATE_LIMIT, True),
    ("quota", Cause.RATE_LIMIT, False),
    ("auth", Cause.AUTH, False),
    ("permission", Cause.AUTH, False),
    ("forbidden", Cause.AUTH, False),
    ("api_key", Cause.AUTH, False),
    ("access_denied", Cause.AUTH, False),
    ("timeout", Cause.TIMEOUT, True),
    ("timed_out", Cause.TIMEOUT, True),
    ("deadline", Cause.TIMEOUT, True),
    ("truncated", Cause.STREAM_TRUNCATED, True),
    ("incomplete_stream", Cause.STREAM_TRUNCATED, True),
    ("empty_response", Cause.EMPTY_RESPONSE, False),
    ("malformed", Cause.MALFORMED_TOOL_CALL, False),
    ("stalled", Cause.STALLED, False),
    ("overloaded", Cause.PROVIDER_UNAVAILABLE, True),
    ("unavailable", Cause.PROVIDER_UNAVAILABLE, True),
    ("server_error", Cause.PROVIDER_UNAVAILABLE, True),
    ("internalserver", Cause.PROVIDER_UNAVAILABLE, True),
    ("internal_error", Cause.PROVIDER_UNAVAILABLE, True),
    ("bad_gateway", Cause.PROVIDER_UNAVAILABLE, True),
    ("network", Cause.PROVIDER_UNAVAILABLE, True),
    ("connect", Cause.PROVIDER_UNAVAILABLE, True),
    ("econn", Cause.PROVIDER_UNAVAILABLE, True),
    ("socket", Cause.PROVIDER_UNAVAILABLE, True),
    ("dns", Cause.PROVIDER_UNAVAILABLE, True),
    ("tool_", Cause.TOOL_ERROR, False),
    ("toolerror", Cause.TOOL_ERROR, False),
)
_OVERFLOW_TYPES = ("context_length", "context_overflow", "context_window", "prompt_too_long", "contextwindow")


def failure_of(step: Step) -> Failure | None:
    """What the recorded error of a step says; ``None`` where none is recorded or the request was merely cancelled."""
    error = step.error
    if error is None or was_cancelled(step):
        return None
    failure = read_failure(step.provider, error.type, error.status, error.message)
    return failure if error.retryable is None else failure._replace(passing=error.retryable)


def was_cancelled(step: Step) -> bool:
    """Whether the error of a step is the trace of a cancelled request."""
    return step.error is not None and step.error.type is not None and names_cancelling(step.error.type)


def names_cancelling(error_type: str) -> bool:
    """Whether an error's type says that somebody cancelled the request."""
    return fold(error_type) in _CANCELLED


def was_rejected(step: Step) -> bool:
    """Whether the provider turned the request away before any token was used."""
    failure = failure_of(step)
    return failure is not None and failure.rejected


@lru_cache(maxsize=4096)
def read_failure(provider: str | None, kind: str | None, status: int | None, message: str | None) -> Failure:
    """Read one error; a listed code first, then the status, then the words of its type, then those of its message."""
    failure = (
        _listed(provider, kind)
        or _rejection(kind, status, message)
        or _by_status(status)
        or _by_type(kind)
        or _by_message(message)
        or Failure(Outcome.ERROR, Cause.OTHER)
    )
    turned_away = failure.cause in {Cause.RATE_LIMIT, Cause.AUTH, Cause.CONTEXT_REJECTED}
    return failure._replace(rejected=turned_away if status is None else status in _CLIENT)


def _listed(provider: str | None, code: str | None) -> Failure | None:
    """An error code that a provider's list holds, where it says more than that it is an error."""
    if not code or not meanings_anywhere(code):
        return None
    finish = read_finish(provider, None, None, code, tools=False)
    match finish.kind:
        case FinishClass.CONTEXT_OVERFLOW:
            return Failure(Outcome.CONTEXT_OVERFLOW, Cause.CONTEXT_REJECTED)
        case FinishClass.REFUSAL:
            return Failure(Outcome.REFUSED, finish.cause or Cause.PROVIDER_REFUSAL)
        case FinishClass.TIMEOUT:
            return Failure(Outcome.ERROR, Cause.TIMEOUT, passing=True)
        case FinishClass.ERROR if finish.cause is not Cause.OTHER:
            return Failure(Outcome.ERROR, finish.cause or Cause.OTHER, finish.resumable is Resumable.YES)
        case _:
            return None


def _rejection(kind: str | None, status: int | None, message: str | None) -> Failure | None:
    if status is not None and status not in _MAY_REJECT:
        return None
    named = kind is not None and any(word in fold(kind) for word in _OVERFLOW_TYPES)
    said = None if message is None else phrase_of_error(message)
    if named or said is OVERFLOW:
        return Failure(Outcome.CONTEXT_OVERFLOW, Cause.CONTEXT_REJECTED)
    return Failure(Outcome.REFUSED, Cause.CONTENT_FILTER) if said is FILTERED else None


def _by_status(status: int | None) -> Failure | None:
    if status is None:
        return None
    if status in _AUTH:
        return Failure(Outcome.ERROR, Cause.AUTH)
    if status == _TIMEOUT:
        return Failure(Outcome.ERROR, Cause.TIMEOUT, passing=True)
    if status == _TOO_MANY:
        return Failure(Outcome.ERROR, Cause.RATE_LIMIT, passing=True)
    if status in _SERVER:
        return Failure(Outcome.ERROR, Cause.PROVIDER_UNAVAILABLE, passing=True)
    return None


def _by_type(kind: str | None) -> Failure | None:
    if not kind:
        return None
    name = fold(kind)
    found = next(((cause, passing) for word, cause, passing in _TYPE_WORDS if word in name), None)
    return None if found is None else Failure(Outcome.ERROR, *found)


def _by_message(message: str | None) -> Failure | None:
    phrase = None if message is None else phrase_of_error(message)
    if phrase is None or phrase.outcome is not Outcome.ERROR:
        return None
    return Failure(Outcome.ERROR, phrase.cause or Cause.OTHER, phrase.passing)
