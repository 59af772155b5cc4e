"""Gemini CLI: log events of every prompt; its spans are flat and say less.

| fact | where | from | trap |
|---|---|---|---|
| event | attribute ``event.name`` | 0.2 | ``loop_detected`` has no prefix, and its ``prompt_id`` may be empty |
| turn | ``prompt_id`` | | no event ends it; a prompt of a sub-agent is ``{agent_id}#{n}`` |
| conversation | ``session.id`` | | |
| request | ``gemini_cli.api_request``, answered by ``api_response`` or ``api_error`` | | paired by order; requests with a ``role`` other than ``main`` are side jobs |
| finish reason | ``finish_reasons`` of ``api_response`` | 0.10 | the CLI's own words; ``stop`` also for tool calls and for reasons it does not know |
| usage | ``input_token_count``, ``output_token_count``, ``thoughts_token_count``, ``cached_content_token_count`` | | thoughts are outside the output |
| failure | ``api_error``: ``status_code``, ``error_type``, ``error`` | | |
| tool call | ``gemini_cli.tool_call``: ``function_name``, ``success``, ``decision`` | | no call id, and those that ran at once have one time; a refused one has no span |
| sub-agent | ``gemini_cli.agent.start``, ``agent.finish``: ``terminate_reason`` | 0.15 | a full vocabulary of ends |
| loop guard | ``loop_detected`` with ``count`` of 2 and more | | the first time it recovers |
| step limit of the session | nothing is exported | | |
| attended | ``interactive`` | | |
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from turnout.outcomes.facts import Claim, Layer, Step, StepError, ToolCall, ToolStatus
from turnout.pipeline.dialects import errors, values
from turnout.pipeline.dialects.draft import Draft
from turnout.pipeline.dialects.events import in_order, node_of
from turnout.pipeline.dialects.plan import Plan
from turnout.pipeline.dialects.reading import Node, Reading, Role
from turnout.pipeline.telemetry import LogRecord, Span, Value

SOURCE = "gemini_cli"
SCOPE = "gemini-cli"

_REQUEST, _RESPONSE, _ERROR = "api_request", "api_response", "api_error"
_EVENTS = frozenset(
    {
        _REQUEST,
        _RESPONSE,
        _ERROR,
        "tool_call",
        "loop_detected",
        "agent.start",
        "agent.finish",
        "chat.content_retry_failure",
    }
)
_USAGE: Mapping[str, values.Names] = {
    "input_tokens": ("input_token_count",),
    "output_tokens": ("output_token_count",),
    "cache_read_tokens": ("cached_content_token_count",),
    "reasoning_tokens": ("thoughts_token_count",),
}
_ENDS = {
    "GOAL": "goal",
    "MAX_TURNS": "max_turns",
    "TIMEOUT": "agent_timeout",
    "ABORTED": "aborted",
    "ERROR": "error",
    "ERROR_NO_COMPLETE_TASK_CALL": "error",
}
_SUB_PROMPT = re.compile(r"(?P<agent>.*[^#])#(?P<turn>\d+)")
_GIVES_UP = 2
"""How often a loop is seen before the CLI ends the turn."""


def speaks(scope: str) -> bool:
    """Whether a scope is Gemini CLI's."""
    return scope == SCOPE


def event_of(log: LogRecord) -> str:
    """The event's name without its prefix."""
    return log.name.removeprefix("gemini_cli.")


def is_relevant(record: Span | LogRecord) -> bool:
    """Whether a record says anything of a turn: spans only repeat the events."""
    return isinstance(record, LogRecord) and event_of(record) in _EVENTS


def link_keys(record: Span | LogRecord) -> tuple[str, ...]:
    """The session ties all events to each other: some name no prompt."""
    session = values.text(record.attributes, "session.id", "gen_ai.conversation.id")
    return (f"{SOURCE}:{session}",) if session else ()


# --- turns


@dataclass(slots=True)
class _Job:
    """The events of one prompt, sub-agent or side job."""

    id: str
    parent: str | None = None
    agent: str = SCOPE
    events: list[LogRecord] = field(default_factory=list[LogRecord])


def add(plan: Plan, logs: Iterable[LogRecord]) -> None:
    """Make the drafts of all prompts of all sessions."""
    sessions: dict[str, list[LogRecord]] = defaultdict(list)
    for log in logs:
        sessions[values.text(log.attributes, "session.id") or ""].append(log)
    for session, events in sorted(sessions.items()):
        jobs = _jobs(session, sorted(events, key=in_order))
        for job in jobs.values():
            _put(plan, session, job)


def _jobs(session: str, events: Sequence[LogRecord]) -> dict[str, _Job]:
    agents = {agent: log for log in events if (agent := _agent_id(log)) is not None}
    jobs: dict[str, _Job] = {}
    current = session
    for log in events:
        prompt = values.text(log.attributes, "prompt_id")
        job = _job_of(jobs, log, prompt or current, agents, current)
        job.events.append(log)
        if event_of(log) == _REQUEST and job.parent is None:
            current = job.id
    return jobs


def _agent_id(log: LogRecord) -> str | None:
    return values.text(log.attributes, "agent_id") if event_of(log).startswith("agent.") else None


def _job_of(jobs: dict[str, _Job], log: LogRecord, prompt: str, agents: Mapping[str, LogRecord], current: str) -> _Job:
    agent = _agent_id(log)
    sub = _SUB_PROMPT.fullmatch(prompt)
    if agent is None and sub is not None and (sub["agent"] in agents or not sub["agent"].endswith("#")):
        agent = sub["agent"] if "########" not in prompt or sub["agent"] in agents else None
    if agent is not None:
        started = agents.get(agent)
        name = values.text(started.attributes, "agent_name") if started else None
        return jobs.setdefault(agent, _Job(agent, current, name or agent))
    role = values.text(log.attributes, "role")
    if role is not None and role != "main":
        return jobs.setdefault(f"{prompt}:{role}", _Job(f"{prompt}:{role}", prompt, role))
    return jobs.setdefault(prompt, _Job(prompt))


def _put(plan: Plan, session: str, job: _Job) -> None:
    draft = plan.make((SOURCE, job.id))
    draft.name = f"{SOURCE}:{job.id}"
    draft.parent = (SOURCE, job.parent) if job.parent else None
    draft.calls = list(_calls(session, job))
    draft.tools = [
        node_of(log, replace(_about(Role.TOOL, log, session, job), tool=_tool(log, f"{job.id}:{number}")))
        for number, log in enumerate(_named(job, "tool_call"), start=1)
    ]
    draft.claims = list(_claims(job))
    if job.agent != SCOPE:
        _head(draft, session, job)


def _head(draft: Draft, session: str, job: _Job) -> None:
    """A sub-agent has an end of its own, which closes its turn."""
    for log in _named(job, "agent.finish"):
        draft.heads = [node_of(log, _about(Role.AGENT, log, session, job))]


def _named(job: _Job, name: str) -> list[LogRecord]:
    return [log for log in job.events if event_of(log) == name]


def _about(role: Role, log: LogRecord, session: str, job: _Job) -> Reading:
    return Reading(
        role=role,
        source=SOURCE,
        agent=job.agent,
        conversation_id=session or None,
        attended=values.flag(log.attributes, "interactive") if job.agent == SCOPE else False,
    )


# --- requests


def _calls(session: str, job: _Job) -> Iterator[Node]:
    requests = _named(job, _REQUEST)
    answers = [log for log in job.events if event_of(log) in {_RESPONSE, _ERROR}]
    for request, answer in _paired(requests, answers):
        opened = request or answer
        if opened is None:
            continue
        step = _step(request, answer)
        cut = answer is None and request is not requests[-1]
        read = replace(
            _about(Role.CALL, opened, session, job), step=replace(step, aborted=True if cut else step.aborted)
        )
        start = request.time if request is not None else None
        yield node_of(opened, read, start=start, end=answer.time if answer is not None else opened.time)


def _paired(
    requests: Sequence[LogRecord], answers: Sequence[LogRecord]
) -> Iterator[tuple[LogRecord | None, LogRecord | None]]:
    """Each answer with the latest request before it that has none; what is left over stands alone."""
    open_requests: list[LogRecord] = []
    order = sorted([(log, True) for log in requests] + [(log, False) for log in answers], key=lambda item: _rank(*item))
    for log, is_request in order:
        if is_request:
            open_requests.append(log)
        elif open_requests:
            yield open_requests.pop(), log
        else:
            yield None, log
    for log in open_requests:
        yield log, None


def _rank(log: LogRecord, is_request: bool) -> tuple[int, bool, str]:
    time, _, _, identity = in_order(log)
    return (time, is_request, identity)


def _step(request: LogRecord | None, answer: LogRecord | None) -> Step:
    asked = request.attributes if request is not None else {}
    told = answer.attributes if answer is not None else {}
    failed = answer is not None and event_of(answer) == _ERROR
    stopped = failed and errors.is_cancelled(values.text(told, "error_type", "error.type"))
    return Step(
        provider="gcp.gemini",
        model=values.model(asked, "model") or values.model(told, "model", "model_name"),
        finish_reason=values.finish_reason(told, "finish_reasons"),
        aborted=True if stopped else None,
        usage=None if failed else values.usage(told, _USAGE),
        reasoning_in_output=False,
        error=_error(told) if failed and not stopped else None,
    )


def _error(told: Mapping[str, Value]) -> StepError:
    return StepError(
        type=values.text(told, "error_type", "error.type"),
        status=values.whole(told, "status_code", "http.status_code"),
        message=values.text(told, "error", "error.message"),
    )


# --- tools and ends


def _tool(log: LogRecord, place: str) -> ToolCall:
    """A call without an id; its place in the turn tells it from one of the same tool at the same time."""
    a = log.attributes
    denied = values.text(a, "decision") == "reject"
    ok = values.flag(a, "success")
    status = (
        ToolStatus.DENIED if denied else ToolStatus.UNKNOWN if ok is None else ToolStatus.OK if ok else ToolStatus.ERROR
    )
    return ToolCall(
        id=values.text(a, "call_id") or place,
        name=values.text(a, "function_name"),
        status=status,
        error_type=values.text(a, "error_type", "error.type") if status is ToolStatus.ERROR else None,
        denied_by="user" if denied else None,
    )


def _claims(job: _Job) -> Iterator[Claim]:
    for log in job.events:
        match event_of(log):
            case "agent.finish":
                reason = values.text(log.attributes, "terminate_reason") or ""
                yield Claim(by=Layer.RUNTIME, reason=_ENDS.get(reason, reason), at=log.time)
            case "loop_detected" if (values.whole(log.attributes, "count") or 0) >= _GIVES_UP:
                yield Claim(by=Layer.RUNTIME, reason="loop_detected", at=log.time)
            case "chat.content_retry_failure":
                yield Claim(
                    by=Layer.RUNTIME,
                    reason="error",
                    status="error",
                    at=log.time,
                    error_type=values.text(log.attributes, "final_error_type"),
                )
            case _:
                pass
