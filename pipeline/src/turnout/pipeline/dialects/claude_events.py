"""Claude Code's events of one prompt on their way into the turns: beside the spans of `claude_code`, or alone."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from turnout.outcomes.facts import CheckVerdict, FinishCheck, Refusal, Step, ToolCall, ToolStatus
from turnout.outcomes.quick import replace
from turnout.pipeline.dialects import values
from turnout.pipeline.dialects.claude_code import about, error_of, event_of, is_relevant, request_of, tool_of
from turnout.pipeline.dialects.claude_spans import SOURCE, OpenRequests, agent_draft, agent_of, gather_agents
from turnout.pipeline.dialects.draft import Draft
from turnout.pipeline.dialects.events import LOG, ended, in_order, node_of
from turnout.pipeline.dialects.plan import Plan
from turnout.pipeline.dialects.reading import Node, Role
from turnout.pipeline.dialects.tree import Key
from turnout.pipeline.telemetry import LogRecord

_MAIN = ("sdk", "repl_main_thread", "main")


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
        told = request_of(a)
        if event_of(log) == "api_error":
            told = replace(told, error=error_of(a))
        known = self._requests.take(told, log)
        if known is not None:
            self._known(known, told)
            return
        draft = self._agents(log) or self._side(values.text(a, "query_source"))
        draft.calls.append(node_of(log, replace(about(Role.CALL, a), step=told)))

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
        told = tool_of(log.attributes)
        decided = event_of(log) == "tool_decision"
        draft = self._agents(log) or self._draft
        node = self._call_of(told.id, log, draft)
        if node is None:
            told = replace(told, status=ToolStatus.RUNNING) if told.status is None else told
            node = node_of(log, replace(about(Role.TOOL, log.attributes), tool=told))
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
