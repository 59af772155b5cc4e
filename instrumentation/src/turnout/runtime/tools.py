"""Tools as values, and how one call of a tool ends."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from turnout.outcomes.decide import TurnYield
from turnout.outcomes.facts import ToolStatus
from turnout.runtime.messages import CallRequest
from turnout.runtime.model import ToolSpec
from turnout.runtime.process import GRACE_SECONDS, ProcessEnd, ProcessWork


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool found; the model reads ``content``. ``error_type`` marks a call that failed."""

    content: str
    error_type: str | None = None


@dataclass(frozen=True, slots=True)
class ToolYield:
    """The tool ends the turn: it hands back to whoever started it."""

    turn_yield: TurnYield
    content: str


class PrerequisiteMissing(Exception):  # noqa: N818 - it asks for something, it is no error of the tool
    """Raised by a tool that cannot run before something else was done; the text tells the model what."""


@dataclass(frozen=True, slots=True)
class Approved:
    """The call may run."""


@dataclass(frozen=True, slots=True)
class Denied:
    """The call may not run; ``by`` is who said so."""

    by: str
    why: str = "The call was denied."


Approval: TypeAlias = Approved | Denied | None
"""None: nobody is there to say; the turn hands back and waits for an answer."""


class ToolContext:
    """What a running tool may use; its processes end with the call."""

    def __init__(self, turn_id: str, call: CallRequest, arguments: Mapping[str, Any]) -> None:
        self.turn_id = turn_id
        self.call = call
        self.arguments = arguments
        self._processes: list[ProcessWork] = []

    async def run_process(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        grace_seconds: float = GRACE_SECONDS,
    ) -> ProcessEnd:
        """Run a program to its end; when the turn is stopped, all of its processes are ended."""
        process = await ProcessWork.start(argv, env=env, cwd=cwd, grace_seconds=grace_seconds)
        self._processes.append(process)
        return await process.finished()

    async def end(self) -> None:
        """End every process that the call started."""
        await asyncio.gather(*(process.end() for process in self._processes))


ToolFunction: TypeAlias = Callable[[ToolContext], Coroutine[Any, Any, ToolOutput | ToolYield | str]]
Approver: TypeAlias = Callable[[CallRequest], Coroutine[Any, Any, Approval]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool of an agent.

    ``run`` is a coroutine function; None means that the client answers the call, in a turn to come. ``mutating`` says whether running it twice could do harm;
    ``final`` that its call is the answer. ``approve`` is asked before each call.
    """

    name: str
    run: ToolFunction | None
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    mutating: bool | None = None
    final: bool | None = None
    approve: Approver | None = None

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model sees it."""
        return ToolSpec(self.name, self.description, self.parameters)


def arguments_of(call: CallRequest) -> dict[str, Any] | None:
    """The call's arguments, or None where the model wrote no JSON object."""
    try:
        arguments = json.loads(call.arguments or "{}")
    except ValueError:
        return None
    return arguments if isinstance(arguments, dict) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnd:
    """How a call ended: its status for the record, what the model reads, and what it asks of the turn."""

    status: ToolStatus
    content: str | None = None
    error_type: str | None = None
    denied_by: str | None = None
    turn_yield: TurnYield | None = None
    misses: bool = False
