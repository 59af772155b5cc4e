"""What an exception that left a turn, a step or a tool says: PURE, from exceptions to facts. Its text is kept nowhere."""

import asyncio
from typing import Final

from turnout.instrumentation.texts import OTHER, word
from turnout.outcomes.facts import (
    Claim,
    Instant,
    Layer,
    Limits,
    Requester,
    Step,
    StepError,
    StopMode,
    StopRecord,
    TurnFacts,
)
from turnout.outcomes.phrases import without_text

CUTS: Final = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit)
"""Exceptions that end work from outside: what they pass through did not fail, it was cut."""

_NANOS_PER_SECOND = 1_000_000_000


def error_without_text(error: StepError) -> StepError:
    """The error with the known phrase of its message alone."""
    if error.message is None:
        return error
    stripped = without_text(TurnFacts(turn_id="", steps=(Step(error=error),))).steps[0].error
    assert stripped is not None
    return stripped


def claim_without_text(claim: Claim) -> Claim:
    """The claim with the known phrase of its message alone."""
    return claim if claim.message is None else without_text(TurnFacts(turn_id="", claims=(claim,))).claims[0]


def type_name(error: BaseException) -> str:
    """The full name of an exception's class; the bare name of a built-in one."""
    kind = type(error)
    return (
        word(kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}") or OTHER
    )


def step_error(error: BaseException) -> StepError:
    """A failed model request: class and status, and the known phrase in its code or text, if it holds one."""
    return error_without_text(StepError(type=type_name(error), status=http_status(error), message=_words(error)))


def http_status(error: BaseException) -> int | None:
    """The HTTP status that clients carry under one of several names."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "http_status", "status", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and 100 <= value < 600:  # noqa: PLR2004 - HTTP
                return int(value)
    return None


def stop_of(error: BaseException, at: Instant) -> StopRecord | None:
    """The request to stop that an exception stands for: a person's Ctrl-C, or the process's own exit."""
    if isinstance(error, KeyboardInterrupt):
        return StopRecord(mode=StopMode.IMMEDIATE, reason="user_stop", by=Requester.USER, at=at)
    if isinstance(error, SystemExit):
        return StopRecord(mode=StopMode.IMMEDIATE, reason="exit", by=Requester.HOST, at=at)
    return None


def claim_of(
    error: BaseException,
    *,
    at: Instant,
    started_at: Instant,
    limits: Limits | None,
    passed_a_step: bool,
    stopping: bool,
) -> Claim | None:
    """What an exception that left the turn claims of its end.

    A cancellation is the host's word, and means the time limit where that is spent; after a request to stop it only carries that out.
    A stream that its consumer left claims nothing: nobody said how the turn ended.
    """
    name = type_name(error)
    spent = limits is not None and limits.seconds is not None and at - started_at >= limits.seconds * _NANOS_PER_SECOND
    if isinstance(error, GeneratorExit):
        return None
    if isinstance(error, CUTS):
        if stopping:
            return None
        return Claim(by=Layer.HOST, reason="time_budget" if spent else "cancelled", at=at, error_type=name)
    if isinstance(error, TimeoutError) and not passed_a_step:
        return Claim(by=Layer.HOST, reason="timeout", at=at, error_type=name)
    claim = Claim(by=Layer.RUNTIME, reason="error", at=at, error_type=name, message=_words(error))
    return claim_without_text(claim)


def _words(error: BaseException) -> str:
    """An exception's machine-readable code, where it has one, and its text."""
    code = getattr(error, "code", None)
    return f"{code} {error}" if isinstance(code, str) else str(error)
