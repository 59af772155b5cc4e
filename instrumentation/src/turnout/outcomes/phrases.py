"""The closed list of phrases that free text is read for; everything else in a text is never looked at.

A phrase in a claim's message gives an outcome where no layer gave a reason; a phrase in an error's message gives the closer
cause. `without_text` keeps exactly these phrases, so that what is stored holds no text and still gets the same verdict.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from turnout.outcomes.facts import Claim, FinishCheck, Step, TurnFacts
from turnout.outcomes.quick import replace
from turnout.outcomes.verdict import BudgetKind, Cause, Outcome


class Phrase(NamedTuple):
    """One marker: the spellings it is found by (the first stands for all), and what it says."""

    spellings: tuple[str, ...]
    outcome: Outcome
    budget_kind: BudgetKind | None = None
    cause: Cause | None = None
    passing: bool = False

    @property
    def text(self) -> str:
        """The phrase that stands for every spelling."""
        return self.spellings[0]


def _budget(kind: BudgetKind, *spellings: str) -> Phrase:
    return Phrase(spellings, Outcome.BUDGET, kind)


def _error(cause: Cause, *spellings: str, passing: bool = False) -> Phrase:
    return Phrase(spellings, Outcome.ERROR, None, cause, passing)


OVERFLOW = Phrase(
    (
        "prompt is too long",
        "exceeds the maximum number of tokens allowed",
        "context_length_exceeded",
        "maximum context length",
        "exceeds the context window",
        "exceeds the model's context window",
        "exceed context limit",
        "context limit reached",
        "exceeds context limit",
        "context window exceeded",
        "context length exceeded",
        "exceeded the context",
        "exceeds the available context size",
        "input is too long",
        "maximum prompt length is",
        "exceeds the context length",
        "exceeds model context window",
        "context window exceeds limit",
        "longer than the model's context length",
        "longer than the maximum model length",
        "greater than the context length",
        "exceeded model token limit",
        "tokens exceed the configured limit",
        "number of tokens in the prompt cannot exceed",
        "too many tokens: size limit exceeded",
        "prompt token count of",
        "input length and `max_tokens` exceed",
        "prompt too long",
        "too many input tokens",
        "model_context_window_exceeded",
        "reduce the length of the messages",
    ),
    Outcome.CONTEXT_OVERFLOW,
    cause=Cause.CONTEXT_REJECTED,
)

FILTERED = Phrase(
    (
        "content management policy",
        "blocked by content filter",
        "content filter triggered",
        "responsibleaipolicyviolation",
    ),
    Outcome.REFUSED,
    cause=Cause.CONTENT_FILTER,
)

ENDS: tuple[Phrase, ...] = (
    _budget(
        BudgetKind.STEPS,
        "agent stopped due to iteration limit",
        "agent stopped due to max iterations",
        "stopped due to max iterations",
        "stopped due to iteration limit",
    ),
    _budget(BudgetKind.TIME, "agent stopped due to time limit", "stopped due to time limit", "time budget exceeded"),
    _budget(BudgetKind.STEPS, "need more steps to process this request"),
    _budget(BudgetKind.STEPS, "recursion limit of", "recursion limit reached", "graphrecursionerror"),
    _budget(BudgetKind.STEPS, "model call limits exceeded", "model call limit exceeded", "model call limit reached"),
    _budget(
        BudgetKind.STEPS,
        "max turns exceeded",
        "max turns reached",
        "reached max turns",
        "reached maximum number of turns",
        "maximum number of turns",
        "max turns (",
        "max_turns exceeded",
        "exceeded max_turns",
        "exceeded max turns",
        "maximum turns",
    ),
    _budget(
        BudgetKind.STEPS,
        "reached max steps",
        "reached maximum steps",
        "max steps reached",
        "max steps exceeded",
        "maximum steps reached",
        "maximum number of steps",
        "step limit reached",
        "step limit exceeded",
        "reached the step limit",
        "max_steps reached",
    ),
    _budget(
        BudgetKind.STEPS,
        "maximum iterations reached",
        "max iterations reached",
        "reached max iterations",
        "reached maximum iterations",
        "maximum number of iterations",
        "iteration limit reached",
        "iteration limit exceeded",
        "reached the iteration limit",
    ),
    _budget(BudgetKind.STEPS, "request_limit of"),
    _budget(
        BudgetKind.TOOL_CALLS,
        "tool_calls_limit of",
        "tool call limits exceeded",
        "tool call limit exceeded",
        "tool call limit reached",
        "maximum number of tool calls",
    ),
    _budget(
        BudgetKind.TOKENS,
        "total_tokens_limit of",
        "input_tokens_limit of",
        "output_tokens_limit of",
        "token budget exceeded",
        "token budget exhausted",
        "token budget reached",
    ),
    _budget(
        BudgetKind.COST,
        "cost limit exceeded",
        "cost limit reached",
        "maximum budget",
        "max budget",
        "budget of $",
        "cost budget exceeded",
    ),
    Phrase(
        (
            "request interrupted by user",
            "interrupted by user",
            "interrupted by the user",
            "cancelled by user",
            "canceled by user",
            "cancelled by the user",
            "stopped by user",
            "stopped by the user",
            "aborted by user",
            "user cancelled",
            "user aborted",
        ),
        Outcome.STOPPED,
    ),
    Phrase(("guardrail tripwire triggered", "guardrail triggered", "guardrailtripwiretriggered"), Outcome.REFUSED),
    Phrase(("model refused to produce output", "the model refused"), Outcome.REFUSED),
    FILTERED,
    Phrase(("loop detected", "loop guard", "stuck in a loop"), Outcome.ERROR),
    OVERFLOW,
)
"""What a claim's message may say of the end, in the order in which one message is read."""

CAUSES: tuple[Phrase, ...] = (
    _error(
        Cause.RATE_LIMIT, "rate limit", "rate_limit", "too many requests", "throttl", "quota exceeded", passing=True
    ),
    _error(
        Cause.AUTH,
        "unauthorized",
        "authentication",
        "invalid api key",
        "invalid x-api-key",
        "incorrect api key",
        "permission denied",
        "forbidden",
        "access denied",
    ),
    _error(
        Cause.TIMEOUT,
        "timed out",
        "timeout",
        "deadline exceeded",
        "etimedout",
        passing=True,
    ),
    _error(
        Cause.PROVIDER_UNAVAILABLE,
        "overloaded",
        "service unavailable",
        "temporarily unavailable",
        "internal server error",
        "bad gateway",
        "server error",
        passing=True,
    ),
    _error(
        Cause.PROVIDER_UNAVAILABLE,
        "connection error",
        "connection reset",
        "connection refused",
        "connection closed",
        "connection aborted",
        "connection lost",
        "econnreset",
        "econnrefused",
        "enotfound",
        "eai_again",
        "epipe",
        "socket hang up",
        "fetch failed",
        "network error",
        "network is unreachable",
        "name resolution",
        passing=True,
    ),
    _error(Cause.STREAM_TRUNCATED, "stream ended", "incomplete stream", "incomplete chunked read", passing=True),
)
"""What an error's message may say of its cause; ``passing`` errors may go away by themselves."""

_OF_ERRORS = (OVERFLOW, FILTERED, *CAUSES)
_OF_CLAIMS = (*ENDS, *CAUSES)


def _first(phrases: Sequence[Phrase], text: str) -> Phrase | None:
    lowered = " ".join(text.lower().split())
    return next((phrase for phrase in phrases if any(spelling in lowered for spelling in phrase.spellings)), None)


@lru_cache(maxsize=1024)
def phrase_of_claim(text: str) -> Phrase | None:
    """The one phrase that a claim's message is read for: an end before a mere cause."""
    return _first(_OF_CLAIMS, text)


@lru_cache(maxsize=1024)
def phrase_of_error(text: str) -> Phrase | None:
    """The one phrase that an error's message is read for: a rejected request before other causes."""
    return _first(_OF_ERRORS, text)


def _kept(phrases: Sequence[Phrase], text: str | None) -> str | None:
    found = None if text is None else _first(phrases, text)
    return None if found is None else found.text


def without_text(turn: TurnFacts) -> TurnFacts:
    """The same facts without any free text: a message becomes the marker it holds, or nothing."""
    return replace(
        turn,
        steps=tuple(_step_without_text(step) for step in turn.steps),
        finish_checks=tuple(_check_without_text(check) for check in turn.finish_checks),
        claims=tuple(_claim_without_text(claim) for claim in turn.claims),
    )


def _step_without_text(step: Step) -> Step:
    if step.error is not None and step.error.message is not None:
        step = replace(step, error=replace(step.error, message=_kept(_OF_ERRORS, step.error.message)))
    if step.refusal is not None and step.refusal.explanation is not None:
        step = replace(step, refusal=replace(step.refusal, explanation=None))
    return step


def _claim_without_text(claim: Claim) -> Claim:
    return claim if claim.message is None else replace(claim, message=_kept(_OF_CLAIMS, claim.message))


def _check_without_text(check: FinishCheck) -> FinishCheck:
    return check if check.why is None else replace(check, why=None)
