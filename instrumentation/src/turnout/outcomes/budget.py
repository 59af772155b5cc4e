"""Which limits of a turn were spent, from what was counted; a configured limit is no evidence by itself."""

from collections.abc import Iterable, Iterator

from turnout.outcomes.facts import Instant, Limits, TurnFacts
from turnout.outcomes.reading import Reading
from turnout.outcomes.usage import total_tokens
from turnout.outcomes.verdict import BudgetKind

_NANOS_PER_SECOND = 1_000_000_000
_NO_LIMITS = Limits()


def spent(reading: Reading) -> list[BudgetKind]:
    """The limits that were reached, in the order in which one of several is named."""
    limits = reading.turn.limits
    if limits is None:
        return []
    measured: tuple[tuple[BudgetKind, float | None, float | None], ...] = (
        (BudgetKind.STEPS, limits.steps, reading.charged),
        (BudgetKind.TOOL_CALLS, limits.tool_calls, sum(len(step.tool_calls) for step in reading.steps)),
        (BudgetKind.TOKENS, limits.total_tokens, total_tokens(reading.used.usage)),
        (BudgetKind.TIME, limits.seconds, duration(reading.turn)),
        (BudgetKind.COST, limits.cost_usd, cost(reading.turn)),
    )
    return [kind for kind, limit, used in measured if limit is not None and used is not None and used >= limit]


def below_step_limit(reading: Reading) -> bool:
    """Whether fewer steps were charged than the recorded limit allows."""
    limit = (reading.turn.limits or _NO_LIMITS).steps
    return limit is not None and reading.charged is not None and reading.charged < limit


def contradicts_budget(reading: Reading, kind: BudgetKind | None) -> bool:
    """Whether the facts speak against a limit of this kind as the end: fewer steps than the limit, or an allowed finish."""
    below = kind is BudgetKind.STEPS and below_step_limit(reading)
    return below or (reading.allowed and not reading.calls_tools)


def forced_by(reading: Reading) -> list[BudgetKind]:
    """The limits that made the runtime ask for a final answer without tools, unless the finish hooks allowed that answer."""
    if not reading.forced or reading.allowed:
        return []
    kinds = spent(reading)
    return kinds or ([] if below_step_limit(reading) else [BudgetKind.STEPS])


def first_kind(kinds: Iterable[BudgetKind]) -> BudgetKind | None:
    """Of several limits spent at once, the one that is named."""
    found = set(kinds)
    return next((kind for kind in BudgetKind if kind in found), None)


def duration(turn: TurnFacts) -> float | None:
    """Seconds from the first to the last instant known of a turn."""
    start, end = turn.started_at, turn.ended_at
    if start is None:
        start = min((step.started_at for step in turn.steps if step.started_at is not None), default=None)
    if end is None:
        end = max((at for at in _instants(turn) if at is not None), default=None)
    return None if start is None or end is None else (end - start) / _NANOS_PER_SECOND


def _instants(turn: TurnFacts) -> Iterator[Instant | None]:
    yield turn.last_seen_at
    yield from (step.ended_at for step in turn.steps)
    yield from (claim.at for claim in turn.claims)


def cost(turn: TurnFacts) -> float | None:
    """The cost that the source reports for the calls, else for the whole turn."""
    parts = [step.cost_usd for step in turn.steps if step.cost_usd is not None]
    return sum(parts) if parts else turn.cost_usd


def seconds_not_reached(turn: TurnFacts) -> bool:
    """Whether a time limit is recorded and known not to have been reached."""
    limit = (turn.limits or _NO_LIMITS).seconds
    took = None if limit is None else duration(turn)
    return limit is not None and took is not None and took < limit
