"""Tokens of a turn: summed over its calls, cache inside the input and reasoning inside the output."""

from typing import NamedTuple

from turnout.outcomes.errors import was_rejected
from turnout.outcomes.facts import AttemptEnd, Step, TurnFacts, Usage

_SERVER_ERROR = 500


class TurnUsage(NamedTuple):
    """What a turn used; ``missing`` says that a call that was started reports nothing."""

    usage: Usage | None
    missing: bool
    only_aggregate: bool


def inclusive(step: Step) -> Usage | None:
    """The usage of one call with the cache inside the input and the reasoning inside the output; ``None`` where nothing is known."""
    usage = step.usage
    if usage is None:
        return None
    read, write, reasoning = usage.cache_read_tokens, usage.cache_write_tokens, usage.reasoning_tokens
    if step.cache_in_input is False and (read or write):
        usage = _with(usage, input_tokens=(usage.input_tokens or 0) + (read or 0) + (write or 0))
    if step.reasoning_in_output is False and reasoning:
        usage = _with(usage, output_tokens=(usage.output_tokens or 0) + reasoning)
    return usage if is_recorded(usage) else None


def is_recorded(usage: Usage) -> bool:
    """Whether any count is there."""
    return (
        usage.input_tokens is not None
        or usage.output_tokens is not None
        or usage.cache_read_tokens is not None
        or usage.cache_write_tokens is not None
        or usage.reasoning_tokens is not None
    )


def usage_of(turn: TurnFacts) -> TurnUsage:
    """Sum over the calls; the aggregate of the source stands in only where no call reports anything."""
    calls: list[Usage] = []
    missing = False
    for step in turn.steps:
        used = inclusive(step)
        if used is not None:
            calls.append(used)
        elif not was_rejected(step):
            missing = True
        if step.attempt_ends and not missing:
            missing = any(_went_unreported(end) for end in step.attempt_ends)
    if calls:
        return TurnUsage(_sum(calls), missing, only_aggregate=False)
    aggregate = turn.usage if turn.usage is not None and is_recorded(turn.usage) else None
    return TurnUsage(aggregate, missing, only_aggregate=aggregate is not None)


def total_tokens(usage: Usage | None) -> int | None:
    """Input and output together, as a token limit counts them; ``None`` where neither is known."""
    if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
        return None
    return (usage.input_tokens or 0) + (usage.output_tokens or 0)


def _went_unreported(end: AttemptEnd) -> bool:
    """An attempt that failed after the provider had taken it may have used tokens that nobody reports."""
    return end.status is not None and end.status >= _SERVER_ERROR


def _with(usage: Usage, *, input_tokens: int | None = None, output_tokens: int | None = None) -> Usage:
    return Usage(
        input_tokens=usage.input_tokens if input_tokens is None else input_tokens,
        output_tokens=usage.output_tokens if output_tokens is None else output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        reasoning_tokens=usage.reasoning_tokens,
    )


def _sum(calls: list[Usage]) -> Usage:
    if len(calls) == 1:
        return calls[0]
    return Usage(
        input_tokens=_total([call.input_tokens for call in calls]),
        output_tokens=_total([call.output_tokens for call in calls]),
        cache_read_tokens=_total([call.cache_read_tokens for call in calls]),
        cache_write_tokens=_total([call.cache_write_tokens for call in calls]),
        reasoning_tokens=_total([call.reasoning_tokens for call in calls]),
    )


def _total(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
