"""The decision after a step: three separate facts in, one of three values out.

Pure and total. This is the only place that turns facts into a terminal reason; the loop emits the reason as it is and infers
nothing afterwards. A reason may be added to the closed enums here when it is a claim reason of ``turnout.turn/1``, so that the
classifier reads the loop's own word as the outcome that the loop meant.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias, assert_never

from turnout.outcomes.facts import StopMode
from turnout.outcomes.verdict import BudgetKind


class StopReason(StrEnum):
    """Why somebody outside the turn asked it to stop."""

    USER_STOP = "user_stop"
    ABORTED = "aborted"
    CANCELLED = "cancelled"


class YieldReason(StrEnum):
    """Why a tool ended the turn and handed back."""

    PLAN_HANDOFF = "plan_handoff"
    PERMISSION_HANDOFF = "permission_handoff"
    GRAPH_YIELD = "graph_yield"
    HANDOFF = "handoff"
    INTERRUPT = "interrupt"


class Finish(StrEnum):
    """The provider's own end of a step that leaves no work."""

    END_TURN = "end_turn"
    LENGTH = "max_tokens"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    CONTEXT_OVERFLOW = "context_budget_exhausted"
    ERROR = "error"
    UNKNOWN = "unknown"


class BudgetReason(StrEnum):
    """Which spent limit ended the turn."""

    STEP_LIMIT = "step_limit"
    TOOL_CALLS_LIMIT = "tool_calls_limit"
    TOKEN_BUDGET = "token_budget"  # noqa: S105 - a count of tokens, no secret
    TIME_BUDGET = "time_budget"
    EXIT_COST = "exit_cost"


class FailReason(StrEnum):
    """Why the turn failed rather than ended."""

    PREREQUISITE_MISS = "prerequisite_miss"


TerminalReason: TypeAlias = StopReason | YieldReason | Finish | BudgetReason
"""Every reason with which a turn may end; the four kinds share no value."""


@dataclass(frozen=True, slots=True)
class StopRequest:
    """Somebody outside the turn asks it to stop; never a tool's yield."""

    mode: StopMode
    reason: StopReason | BudgetReason


@dataclass(frozen=True, slots=True)
class TurnYield:
    """A tool ended the turn."""

    reason: YieldReason


@dataclass(frozen=True, slots=True)
class FinishCandidate:
    """Nothing is demanded: the provider ended the step and every finish hook allowed it."""

    finish: Finish


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """The model asked for tools; their results wait for it."""


@dataclass(frozen=True, slots=True)
class PrerequisiteMiss:
    """A tool could not run before something else is done, which takes another step."""


@dataclass(frozen=True, slots=True)
class Steering:
    """The provider ended the step, but a message of the user arrived meanwhile."""

    finish: Finish


@dataclass(frozen=True, slots=True)
class FinishVeto:
    """A finish hook rejected the finish candidate."""


@dataclass(frozen=True, slots=True)
class Aborted:
    """An immediate stop cut the turn."""

    stop: StopRequest


@dataclass(frozen=True, slots=True)
class StopLatched:
    """A stop waits for the end of the step."""

    stop: StopRequest


@dataclass(frozen=True, slots=True)
class BudgetSpent:
    """A limit is used up, which is not the same as configured."""

    kind: BudgetKind


Demand: TypeAlias = FinishCandidate | ToolCalls | PrerequisiteMiss | Steering | FinishVeto
Constraint: TypeAlias = Aborted | StopLatched | BudgetSpent


@dataclass(frozen=True, slots=True)
class StepFacts:
    """What is known once a step has settled; the three are found independently of each other."""

    yield_: TurnYield | None
    demand: Demand
    constraint: Constraint | None


@dataclass(frozen=True, slots=True)
class Continue:
    """Take another step."""


@dataclass(frozen=True, slots=True)
class Terminate:
    """End the turn with this reason."""

    reason: TerminalReason


@dataclass(frozen=True, slots=True)
class Fail:
    """End the turn as failed."""

    reason: FailReason


Decision: TypeAlias = Continue | Terminate | Fail

BUDGET_REASONS: Mapping[BudgetKind, BudgetReason] = MappingProxyType(
    {
        BudgetKind.STEPS: BudgetReason.STEP_LIMIT,
        BudgetKind.TOOL_CALLS: BudgetReason.TOOL_CALLS_LIMIT,
        BudgetKind.TOKENS: BudgetReason.TOKEN_BUDGET,
        BudgetKind.TIME: BudgetReason.TIME_BUDGET,
        BudgetKind.COST: BudgetReason.EXIT_COST,
    }
)
"""The reason with which a turn ends when this limit is spent and work is left."""

WORK_LEFT: Demand = ToolCalls()
"""The demand before anything has settled: the user's message, or a request that was kept back, still waits for an answer."""

HOST_CANCEL = StopRequest(StopMode.IMMEDIATE, StopReason.CANCELLED)
"""What the cancellation of the turn's task says."""

PERMISSION_YIELD = TurnYield(YieldReason.PERMISSION_HANDOFF)
"""How a turn hands back when a call waits for an approval that nobody is there to give."""

CLIENT_YIELD = TurnYield(YieldReason.HANDOFF)
"""How a turn hands back when the client itself answers a call."""

_DEMAND_ORDER: tuple[type[Demand], ...] = (PrerequisiteMiss, ToolCalls, FinishVeto, Steering)


def select_demand(demands: Collection[Demand], finish: Finish) -> Demand:
    """The one demand that counts of several at once; without any, the finish is a candidate that nobody opposes."""
    for kind in _DEMAND_ORDER:
        for demand in demands:
            if isinstance(demand, kind):
                return demand
    return FinishCandidate(finish)


def spent_stop(kind: BudgetKind) -> StopRequest:
    """The stop by which a limit that runs out during a step cuts it."""
    return StopRequest(StopMode.IMMEDIATE, BUDGET_REASONS[kind])


def decide_step(facts: StepFacts) -> Decision:
    """Decide what follows a settled step; the first matching case wins."""
    match facts:
        case StepFacts(constraint=Aborted(stop)):
            return Terminate(stop.reason)
        case StepFacts(yield_=TurnYield(reason)):
            return Terminate(reason)
        case StepFacts(demand=FinishCandidate(finish)):
            return Terminate(finish)
        case StepFacts(constraint=StopLatched(stop)):
            return Terminate(stop.reason)
        case StepFacts(demand=demand, constraint=BudgetSpent(kind)):
            return _without_budget(demand, kind)
        case StepFacts():
            return Continue()


def ends_by_budget(decision: Terminate | Fail) -> bool:
    """Whether the turn ended because a limit was spent, between its steps or during one."""
    return isinstance(decision, Terminate) and isinstance(decision.reason, BudgetReason)


def _without_budget(demand: Demand, kind: BudgetKind) -> Decision:
    match demand:
        case PrerequisiteMiss():
            return Fail(FailReason.PREREQUISITE_MISS)
        case Steering(finish) | FinishCandidate(finish):
            return Terminate(finish)
        case ToolCalls() | FinishVeto():
            return Terminate(BUDGET_REASONS[kind])
        case _:
            assert_never(demand)
