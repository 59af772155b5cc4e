"""What a turn of the demonstration will do, drawn once, before anything runs: steps, calls and how it ends."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from turnout.demo.cast import Agent, Ending, ModelInfo
from turnout.outcomes.facts import Limits

CHARS_PER_TOKEN = 4
PARALLEL = 0.15
"""How many of the working steps make two tool calls at once."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A tool call and how it goes."""

    tool: str
    fails: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A model request that succeeds; without calls it is the answer."""

    calls: tuple[PlannedCall, ...]
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """One turn: its agent as configured at that time, its steps, and what befalls it after ``steps``."""

    agent: Agent
    version: str
    limits: Limits
    model: ModelInfo
    max_output_tokens: int
    steps: tuple[PlannedStep, ...]
    ending: Ending
    conversation: str
    category: str | None


@dataclass(frozen=True, slots=True)
class Setting:
    """An agent's configuration at a moment, after the changes up to it."""

    version: str
    limits: Limits
    max_output_tokens: int
    weights: dict[Ending, float]
    harder: float


def setting(agent: Agent, moment: datetime, now: datetime) -> Setting:
    """Apply the changes that were in force at ``moment``, in the order in which they came."""
    current = Setting(agent.version, agent.limits, agent.max_output_tokens, agent.weights, 1.0)
    for change in sorted(agent.changes, key=lambda change: change.ago, reverse=True):
        if moment >= now - change.ago:
            current = Setting(
                change.version or current.version,
                change.limits or current.limits,
                change.max_output_tokens or current.max_output_tokens,
                {**current.weights, **change.weights},
                change.harder,
            )
    return current


def plan(agent: Agent, moment: datetime, now: datetime, draw: random.Random) -> TurnPlan:
    """Draw one turn of an agent at a moment."""
    current = setting(agent, moment, now)
    model = draw.choices(list(agent.models), list(agent.models.values()))[0]
    ending = _ending(current.weights, draw)
    working = max(0, _steps_needed(agent.typical_steps * current.harder, draw) - 1)
    steps = [_working_step(agent, number, draw) for number in range(1, working + 1)]
    steps.append(_answer(agent, len(steps) + 1, current.max_output_tokens, draw))
    conversation = f"{agent.name}-{draw.getrandbits(40):010x}"
    category = draw.choice(["cyber", "bio", None, None]) if model.provider == "anthropic" else None
    return TurnPlan(
        agent,
        current.version,
        current.limits,
        model,
        current.max_output_tokens,
        tuple(steps),
        ending,
        conversation,
        category,
    )


def rest_of(cut: TurnPlan, draw: random.Random) -> TurnPlan:
    """The turn that goes on where another was cut: what is left of its work, then an answer."""
    done = cut.limits.steps or 0
    left = max(0, len(cut.steps) - 1 - done) + draw.randint(0, 2)
    steps = [_working_step(cut.agent, done + number, draw) for number in range(1, left + 1)]
    steps.append(_answer(cut.agent, done + left + 1, cut.max_output_tokens, draw))
    return replace(cut, steps=tuple(steps), ending=Ending.FINISH)


def _ending(weights: dict[Ending, float], draw: random.Random) -> Ending:
    named = list(weights)
    rest = max(0.0, 1.0 - sum(weights.values()))
    return draw.choices([*named, Ending.FINISH], [*weights.values(), rest])[0]


def _steps_needed(mean: float, draw: random.Random) -> int:
    """Skewed, as real turns are: most are short and some are very long."""
    return max(1, round(draw.lognormvariate(math.log(mean), 0.55)))


def _working_step(agent: Agent, number: int, draw: random.Random) -> PlannedStep:
    parallel = 2 if draw.random() < PARALLEL else 1
    calls = tuple(_call(agent, draw) for _ in range(parallel))
    return _step(calls, number, draw.randint(40, 320), draw)


def _call(agent: Agent, draw: random.Random) -> PlannedCall:
    return PlannedCall(draw.choice(agent.tools), draw.random() < agent.tool_error_rate, draw.uniform(0.05, 2.5))


def _answer(agent: Agent, number: int, cap: int, draw: random.Random) -> PlannedStep:
    wanted = round(draw.lognormvariate(math.log(agent.answer_tokens), 0.5))
    return _step((), number, max(8, min(wanted, cap - 1)), draw)


def _step(calls: Sequence[PlannedCall], number: int, output_tokens: int, draw: random.Random) -> PlannedStep:
    input_tokens = 1800 + 900 * number + draw.randint(0, 600)
    cached = int(input_tokens * draw.uniform(0.4, 0.9)) if number > 1 else 0
    return PlannedStep(tuple(calls), input_tokens, cached, output_tokens, draw.uniform(0.8, 6.0))
