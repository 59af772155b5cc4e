"""Claude Code: log events of every prompt, and the beta spans where they are on.

| fact | where | from | trap |
|---|---|---|---|
| turn | span ``claude_code.interaction``; ``prompt.id`` of the events | 2.1, 2.1 | status always UNSET, no outcome; without spans no event ends a turn |
| turn id | the interaction's span, which the events name as theirs; without spans ``prompt.id`` | | |
| request | span ``claude_code.llm_request``; event ``api_request`` (or ``api_error``) | | the same request twice: paired by ``request_id``, which some gateways do not give, else by counts and time; a span of a request in flight at the end is missing |
| sub-agent | ``agent_id`` on spans and events, ``agent.name`` | 2.1.300 | its spans may hang below a request or a later tool of its parent, its first request's parent is not exported |
| other requests | ``query_source`` other than the main thread, ``llm_request.context`` = ``standalone``, below a tool | | titles, compaction, sub-agents: turns of their own below the prompt's |
| finish reason | ``stop_reason`` on the span, as the provider spelled it | | events have none |
| refusal | event ``api_refusal``, ``category`` | 2.1 | comes before the event of its request; the CLI may ask another model |
| usage | ``input_tokens``, ``output_tokens``, ``cache_read_tokens``, ``cache_creation_tokens`` | | the input excludes the cache |
| cost | ``cost_usd`` of ``api_request`` | | |
| failure | ``error``, ``status_code``, ``attempt`` (attempts made) | | |
| tool call | span ``claude_code.tool``: ``tool_name``, ``tool_use_id``; event ``tool_result`` | | ``.execution``, ``.blocked_on_user``, ``tool_decision`` are the same call |
| tool error | ``success`` of ``tool_result`` (text!) and of ``claude_code.tool.execution`` | | the tool span itself stays UNSET |
| denial | ``decision`` = ``reject``, ``source`` | | |
| finish hook | event ``hook_execution_complete`` with ``hook_event`` ``Stop``: ``num_blocking`` | 2.1 | |
| conversation | ``session.id`` | | |
| attended | ``terminal.type`` other than ``non-interactive``, unless ``query_source`` is ``sdk`` | | a program's terminal is that of the shell it runs in |
| step limit | nothing: the last ``stop_reason`` is ``tool_use`` | | an interrupt looks the same |
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from turnout.outcomes.facts import CheckVerdict, FinishCheck, Refusal, Step, StepError, ToolCall, ToolStatus
from turnout.pipeline.dialects import errors, values
from turnout.pipeline.dialects.claude_spans import SOURCE, OpenRequests, agent_draft, agent_of, gather_agents
from turnout.pipeline.dialects.draft import Draft
from turnout.pipeline.dialects.events import LOG, ended, in_order, node_of
from turnout.pipeline.dialects.plan import Plan
from turnout.pipeline.dialects.reading import Node, Reading, Role
from turnout.pipeline.dialects.tree import Key
from turnout.pipeline.telemetry import Attributes, LogRecord, Span

SCOPE = "com.anthropic.claude_code"

_ROLES = {"interaction": Role.AGENT, "llm_request": Role.CALL, "tool": Role.TOOL}
_USAGE: Mapping[str, values.Names] = {
    "input_tokens": ("input_tokens",),
    "output_tokens": ("output_tokens",),
    "cache_read_tokens": ("cache_read_tokens",),
    "cache_write_tokens": ("cache_creation_tokens",),
}
_EVENTS = frozenset(
    {
        "user_prompt",
        "api_request",
        "api_error",
        "api_refusal",
        "tool_result",
        "tool_decision",
        "assistant_response",
        "hook_execution_complete",
    }
)
_REQUESTS = frozenset({"api_request", "api_error"})
_MAIN = ("sdk", "repl_main_thread", "main")
_PROGRAM = "sdk"
_KIND = re.compile(r"[.:]")
_BY_PERSON = frozenset({"user_reject", "user_abort"})


def speaks(scope: str) -> bool:
    """Whether a scope is Claude Code's."""
    return scope.startswith(SCOPE)


def event_of(log: LogRecord) -> str:
    """The event's name without its prefix."""
    return log.name.removeprefix("claude_code.")


def is_relevant(log: LogRecord) -> bool:
    """Whether an event says anything of a turn."""
    return event_of(log) in _EVENTS


def link_keys(record: Span | LogRecord) -> tuple[str, ...]:
    """The prompt ties events without a trace to each other."""
    prompt = values.text(record.attributes, "prompt.id")
    return (f"{SOURCE}:{prompt}",) if prompt else ()


# --- spans


def reading(span: Span) -> Reading:
    """Read a beta span."""
    kind = values.text(span.attributes, "span.type") or span.name.removeprefix("claude_code.")
    role = _ROLES.get(kind, Role.INNER)
    base = _about(role, span.attributes)
    match role:
        case Role.CALL:
            return replace(base, step=_span_step(span), answered=True)
        case Role.TOOL:
            return replace(base, tool=_span_tool(span.attributes))
        case _:
            return replace(base, tool=_span_tool(span.attributes)) if kind.startswith("tool.") else base


def _about(role: Role, attributes: Attributes) -> Reading:
    return Reading(
        role=role,
        source=SOURCE,
        agent=_agent(attributes),
        conversation_id=values.text(attributes, "session.id"),
        attended=_attended(role, attributes),
    )


def _agent(attributes: Attributes) -> str | None:
    """The program, or the kind of its sub-agent, which the source of a request ends with."""
    if "agent_id" not in attributes:
        return "claude-code"
    asked_by = values.text(attributes, "query_source", "query_source_safe") or ""
    kind = _KIND.split(asked_by)[-1] if asked_by.startswith("agent") else ""
    return values.text(attributes, "agent.name") or kind or None


def _attended(role: Role, attributes: Attributes) -> bool | None:
    """Whether somebody is there: the requests of a program say so, though its terminal is that of the shell."""
    terminal = values.text(attributes, "terminal.type")
    asked_by = values.text(attributes, "query_source", "query_source_safe") or ""
    if terminal == "non-interactive" or asked_by.startswith(_PROGRAM):
        return False
    return None if terminal is None or role is Role.AGENT else True


def _span_step(span: Span) -> Step:
    a = span.attributes
    failed = values.flag(a, "success") is False or values.text(a, "error") is not None
    return replace(
        _request(a),
        finish_reason=values.text(a, "stop_reason"),
        raw_finish_reason=values.text(a, "stop_reason") or values.finish_reason(a, "gen_ai.response.finish_reasons"),
        error=_error(a) if failed else None,
    )


def _request(attributes: Attributes) -> Step:
    attempts = values.whole(attributes, "attempt")
    return Step(
        request_id=values.text(attributes, "request_id"),
        provider="anthropic",
        model=values.model(attributes, "model", "gen_ai.request.model"),
        usage=values.usage(attributes, _USAGE),
        cache_in_input=False,
        cost_usd=values.number(attributes, "cost_usd"),
        attempts=attempts if attempts is not None and attempts > 1 else None,
    )


def _error(attributes: Attributes) -> StepError:
    message = values.text(attributes, "error")
    return StepError(
        type=values.text(attributes, "error_class"),
        status=values.whole(attributes, "status_code") or errors.status_in(message),
        message=message,
    )


def _span_tool(attributes: Attributes) -> ToolCall:
    rejected = values.text(attributes, "decision") == "reject"
    success = values.flag(attributes, "success")
    status = (
        ToolStatus.DENIED if rejected else None if success is None else ToolStatus.OK if success else ToolStatus.ERROR
    )
    return ToolCall(
        id=values.text(attributes, "tool_use_id", "gen_ai.tool.call.id"),
        name=values.text(attributes, "tool_name"),
        status=status,
        error_type=values.text(attributes, "error_type", "error") if success is False else None,
        denied_by=_denier(values.text(attributes, "source", "decision_source")) if rejected else None,
    )


def _denier(source: str | None) -> str | None:
    return "user" if source in _BY_PERSON else source


# --- events


@dataclass(slots=True)
class _Prompt:
    """The events of one prompt."""

    key: str
    events: list[LogRecord] = field(default_factory=list[LogRecord])


def add(plan: Plan, logs: Iterable[LogRecord]) -> None:
    """Put what the spans below a tool and the events say to the drafts; prompts without spans become drafts of their own."""
    _settle_tools(plan)
    gather_agents(plan)
    requests = OpenRequests(plan.nodes(SOURCE, Role.CALL))
    tools: dict[str | None, list[Node]] = defaultdict(list)
    for node in plan.nodes(SOURCE, Role.TOOL):
        tools[node.reading.tool.id if node.reading.tool else None].append(node)
    for prompt in _prompts(logs):
        _Told(plan, prompt, requests, tools).put()


def _settle_tools(plan: Plan) -> None:
    """The state of a tool call stands on the spans below it."""
    for node in plan.nodes(SOURCE, Role.INNER):
        told = node.reading.tool
        above = plan.above(node, Role.TOOL)
        if told is not None and above is not None and above.reading.tool is not None:
            above.reading = replace(above.reading, tool=_settled(above.reading.tool, told))
    for node in plan.nodes(SOURCE, Role.TOOL):
        if node.reading.tool is not None and node.reading.tool.status is None:
            node.reading = replace(node.reading, tool=replace(node.reading.tool, status=ToolStatus.OK))


def _prompt_first(log: LogRecord) -> tuple[bool, tuple[int, int, int, str]]:
    return (event_of(log) != "user_prompt", in_order(log))


def _prompts(logs: Iterable[LogRecord]) -> list[_Prompt]:
    """The events by prompt; without an id of the prompt, from one prompt of a session to the next."""
    found: dict[str, _Prompt] = {}
    current: dict[str, str] = {}
    for log in sorted(logs, key=in_order):
        session = values.text(log.attributes, "session.id") or ""
        if event_of(log) == "user_prompt":
            current[session] = f"{session}:{log.time or log.observed or 0}"
        key = values.text(log.attributes, "prompt.id") or current.get(session) or session
        if key and is_relevant(log):
            found.setdefault(key, _Prompt(key)).events.append(log)
    return list(found.values())


class _Told:
    """One prompt's events on their way into the drafts."""

    def __init__(
        self, plan: Plan, prompt: _Prompt, requests: OpenRequests, tools: Mapping[str | None, list[Node]]
    ) -> None:
        self._plan = plan
        self._prompt = prompt
        self._requests = requests
        self._draft = self._head()
        self._tools = tools
        self._resulted: set[Key] = set()

    def put(self) -> None:
        for log in self._prompt.events:
            match event_of(log):
                case "api_request" | "api_error":
                    self._request(log)
                case "tool_result" | "tool_decision":
                    self._tool(log)
                case "hook_execution_complete":
                    self._hook(log)
                case _:
                    pass
        for log in self._prompt.events:
            if event_of(log) == "api_refusal":
                self._refusal(log)  # it comes before the event of the request that was refused

    def _head(self) -> Draft:
        """The draft of the interaction that the events name as their span, else one of the prompt alone."""
        key = next((key for log in sorted(self._prompt.events, key=_prompt_first) if (key := self._named(log))), None)
        if key is None:
            draft = self._plan.make((SOURCE, self._prompt.key))
            draft.name = f"{SOURCE}:{self._prompt.key}"
            return draft
        draft = self._plan.make(key)
        draft.cut_off = draft.cut_off or not draft.heads
        return draft

    def _named(self, log: LogRecord) -> Key | None:
        """The span that an event names, unless that is known to be something below the interaction."""
        if not log.trace_id or not log.span_id or event_of(log) == "tool_decision":
            return None
        node = self._plan.node((log.trace_id, log.span_id))
        return (log.trace_id, log.span_id) if node is None or node.reading.role is Role.AGENT else None

    def _request(self, log: LogRecord) -> None:
        a = log.attributes
        told = _request(a)
        if event_of(log) == "api_error":
            told = replace(told, error=_error(a))
        known = self._requests.take(told, log)
        if known is not None:
            self._known(known, told)
            return
        draft = self._agents(log) or self._side(values.text(a, "query_source"))
        draft.calls.append(node_of(log, replace(_about(Role.CALL, a), step=told)))

    def _known(self, node: Node, told: Step) -> None:
        """A request whose span is here: the event adds the cost, and whose prompt it was."""
        step = node.reading.step or told
        step = replace(
            step, cost_usd=told.cost_usd if step.cost_usd is None else step.cost_usd, usage=step.usage or told.usage
        )
        node.reading = replace(node.reading, step=step)
        owner = self._plan.owner_of(node)
        if owner is not self._draft and not owner.heads and owner.parent is None:
            owner.parent = self._draft.key

    def _agents(self, log: LogRecord) -> Draft | None:
        """The draft of the sub-agent that an event names."""
        agent = agent_of(log)
        if agent is None:
            return None
        draft = agent_draft(self._plan, log.trace_id, agent)
        draft.parent = draft.parent or self._draft.key
        return draft

    def _side(self, source: str | None) -> Draft:
        """The draft for requests of one subsystem: the prompt's own for the main thread."""
        if source is None or source.startswith(_MAIN):
            return self._draft
        draft = self._plan.make((SOURCE, f"{self._prompt.key}:{source}"))
        draft.name = f"{self._draft.turn_id}:{source}"
        draft.parent = self._draft.key
        return draft

    def _tool(self, log: LogRecord) -> None:
        told = _span_tool(log.attributes)
        decided = event_of(log) == "tool_decision"
        draft = self._agents(log) or self._draft
        node = self._call_of(told.id, log, draft)
        if node is None:
            told = replace(told, status=ToolStatus.RUNNING) if told.status is None else told
            node = node_of(log, replace(_about(Role.TOOL, log.attributes), tool=told))
            draft.tools.append(node)
        elif node.reading.tool is not None:
            node.reading = replace(node.reading, tool=_settled(node.reading.tool, told))
        if not decided:
            self._resulted.add(node.key)
            node.span = ended(node, log.time).span

    def _call_of(self, call_id: str | None, log: LogRecord, draft: Draft) -> Node | None:
        """The tool call that an event is about: the nearest with this id that has no result yet."""
        known = [*self._tools.get(call_id, ()), *(node for node in draft.tools if node.key[1].startswith(LOG))]
        same = [
            node
            for node in known
            if node.reading.tool is not None
            and node.reading.tool.id == call_id
            and node.key not in self._resulted
            and (node.span.trace_id == log.trace_id or node in draft.tools)
        ]
        return min(same, key=lambda node: (abs((node.span.end or 0) - (log.time or 0)), node.key), default=None)

    def _refusal(self, log: LogRecord) -> None:
        refusal = Refusal(category=values.text(log.attributes, "category", "refusal_category"))
        wanted = values.text(log.attributes, "request_id")
        nodes = [node for node in self._draft.calls if (node.span.start or 0) <= (log.time or 0)]
        named = [node for node in nodes if wanted and node.reading.step and node.reading.step.request_id == wanted]
        for node in (named or nodes)[-1:]:
            node.reading = replace(node.reading, step=replace(node.reading.step or Step(), refusal=refusal))

    def _hook(self, log: LogRecord) -> None:
        if values.text(log.attributes, "hook_event") != "Stop":
            return
        blocking = values.whole(log.attributes, "num_blocking")
        if blocking is None:
            return
        step = sum(1 for node in self._draft.calls if (node.span.start or 0) <= (log.time or 0))
        verdict = CheckVerdict.VETO if blocking else CheckVerdict.ALLOW
        self._draft.checks.append(FinishCheck(step=step or None, verdict=verdict, by="stop-hook"))


def _settled(held: ToolCall, told: ToolCall) -> ToolCall:
    """A call with what another record of it says: a denial stays, a result replaces what was not settled."""
    if told.status is None or held.status is ToolStatus.DENIED:
        return replace(held, name=held.name or told.name)
    return replace(
        held, name=held.name or told.name, status=told.status, error_type=told.error_type, denied_by=told.denied_by
    )
