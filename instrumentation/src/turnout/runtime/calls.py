"""Running the tool calls of one step."""

import asyncio
from collections.abc import Awaitable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnout.outcomes.decide import CLIENT_YIELD, PERMISSION_YIELD
from turnout.outcomes.facts import ToolCall, ToolStatus
from turnout.runtime.agent import Agent
from turnout.runtime.log import CUT_SHORT, CallLog, StepLog
from turnout.runtime.messages import CallRequest
from turnout.runtime.race import Cut, Finished, held, race_abort
from turnout.runtime.stop import StopLatch
from turnout.runtime.tools import (
    Approved,
    CallEnd,
    Denied,
    PrerequisiteMissing,
    Tool,
    ToolContext,
    ToolOutput,
    ToolYield,
    arguments_of,
)


@dataclass(slots=True)
class Calls:
    """Runs calls side by side, each until its own end or an immediate stop."""

    agent: Agent
    turn_id: str
    stop: StopLatch
    works: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])
    """Work that outlived its call; the host waits for it apart from the turn."""

    async def run(self, requests: Sequence[CallRequest], step: StepLog, left: int | None) -> list[CallEnd]:
        """Run the calls of a step; beyond ``left`` the budget denies them."""
        logs = [step.call(self.facts_of(request, ToolStatus.RUNNING), request.arguments) for request in requests]
        runs = [
            self._settle(request, log) if left is None or place < left else self._deny(log)
            for place, (request, log) in enumerate(zip(requests, logs, strict=True))
        ]
        try:
            return await _side_by_side(runs)
        except BaseException:
            for log in logs:
                log.cut_short()
            raise

    def leave(self, requests: Sequence[CallRequest], step: StepLog) -> None:
        """Record calls that are never run, because the step ended before they could be."""
        for request in requests:
            step.call(self.facts_of(request, ToolStatus.STREAMING), request.arguments)

    def answered(self, requests: Sequence[CallRequest], ends: Sequence[CallEnd]) -> bool:
        """Whether a call of an output tool went well: its call is the answer."""
        pairs = zip(requests, ends, strict=True)
        return any(
            tool.final and end.status is ToolStatus.OK for r, end in pairs if (tool := self._tool(r)) is not None
        )

    def facts_of(self, request: CallRequest, status: ToolStatus) -> ToolCall:
        """The call's facts at its start."""
        tool = self._tool(request)
        return ToolCall(
            id=request.id or None,
            name=request.name or None,
            status=status,
            arguments_valid=arguments_of(request) is not None,
            mutating=tool.mutating if tool is not None else None,
            final=tool.final if tool is not None else None,
        )

    def _tool(self, request: CallRequest) -> Tool | None:
        return next((tool for tool in self.agent.tools if tool.name == request.name), None)

    async def _deny(self, log: CallLog) -> CallEnd:
        end = CallEnd(status=ToolStatus.DENIED, content="No tool calls are left in the budget.", denied_by="runtime")
        log.stands(end)
        return end

    async def _settle(self, request: CallRequest, log: CallLog) -> CallEnd:
        tool, arguments = self._tool(request), arguments_of(request)
        if tool is None:
            end = _failed(f"There is no tool named {request.name!r}.", "unknown_tool")
        elif arguments is None:
            end = _failed("The arguments are not a JSON object.", "invalid_arguments")
        elif tool.run is None:
            end = CallEnd(status=ToolStatus.AWAITING_CLIENT, turn_yield=CLIENT_YIELD)
        else:
            context = ToolContext(self.turn_id, request, arguments)
            raced = await race_abort(_run(tool, context, log), self.stop, work=context)
            end = raced.value if isinstance(raced, Finished) else self._outlived(raced, log)
        log.stands(end)
        return end

    def _outlived(self, cut: Cut, log: CallLog) -> CallEnd:
        async def told() -> None:
            await asyncio.shield(cut.work_ended)
            log.stands(CUT_SHORT)

        self.works.append(held(asyncio.create_task(told())))
        return CallEnd(status=ToolStatus.RUNNING)


async def _side_by_side(runs: Sequence[Coroutine[Any, Any, CallEnd]]) -> list[CallEnd]:
    """All of them to their ends; where one breaks the loop, the others are ended before that is known."""
    tasks = [asyncio.create_task(run) for run in runs]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise


async def _run(tool: Tool, context: ToolContext, log: CallLog) -> CallEnd:
    refused = await _asked(tool, context, log)
    if refused is not None:
        return refused
    assert tool.run is not None
    try:
        output = await _awaitable(tool, tool.run(context))
    except PrerequisiteMissing as missing:
        return CallEnd(status=ToolStatus.ERROR, content=str(missing), error_type="prerequisite_missing", misses=True)
    except Exception as error:  # noqa: BLE001 - a tool's fault is a result for the model
        return _failed(f"{type(error).__name__}: {error}", type(error).__qualname__)
    match output:
        case ToolYield(turn_yield, content):
            return CallEnd(status=ToolStatus.OK, content=content, turn_yield=turn_yield)
        case ToolOutput(content, error_type) if error_type is not None:
            return _failed(content, error_type)
        case ToolOutput(content) | str(content):
            return CallEnd(status=ToolStatus.OK, content=content)


def _awaitable(tool: Tool, made: object) -> Awaitable[ToolOutput | ToolYield | str]:
    if not isinstance(made, Awaitable):
        raise TypeError(
            f"the tool {tool.name!r} gave a {type(made).__name__}, expected an awaitable: write it as `async def`"
        )
    return made


async def _asked(tool: Tool, context: ToolContext, log: CallLog) -> CallEnd | None:
    """Ask for approval where the tool wants it; None when the call may run."""
    if tool.approve is None:
        return None
    log.stands(CallEnd(status=ToolStatus.AWAITING_APPROVAL))
    match await tool.approve(context.call):
        case Approved():
            log.stands(CallEnd(status=ToolStatus.RUNNING))
            return None
        case Denied(by, why):
            return CallEnd(status=ToolStatus.DENIED, content=why, denied_by=by)
        case None:
            return CallEnd(status=ToolStatus.AWAITING_APPROVAL, turn_yield=PERMISSION_YIELD)


def _failed(content: str, error_type: str) -> CallEnd:
    return CallEnd(status=ToolStatus.ERROR, content=content, error_type=error_type)
