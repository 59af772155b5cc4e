"""Langfuse exports: ``{trace, observations[]}``; a trace is a turn, each of its generations a step.

Generations are counted as they stand in the export, also where one library's wraps another's. Tools run as observations of their own
and settle the calls that the generations asked for.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from turnout.outcomes.facts import (
    Claim,
    Instant,
    Layer,
    Output,
    Step,
    StepError,
    ToolCall,
    ToolStatus,
    TurnFacts,
    Usage,
)
from turnout.outcomes.providers import vocabularies
from turnout.pipeline.importers import chat, fields
from turnout.pipeline.importers.base import Damaged, Imported, Record, Skipped, Source
from turnout.pipeline.importers.langfuse_outputs import read_output

KIND = "langfuse"
_GENERATION = "GENERATION"
_TOOL = "TOOL"
_ERROR = "ERROR"
_PREFIXES = ("running tool: ", "execute_tool ", "tool: ", "tool.")
_LANGCHAIN_NAMES = {"google_vertexai": "google", "google_genai": "google", "amazon_bedrock": "bedrock"}
"""How LangChain calls providers that are known by another name."""
_PROVIDERS = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider")

Value = Mapping[str, object]


def parse(source: Source, records: Iterable[Record | Damaged]) -> Iterator[Imported]:
    """Read each exported trace into its turn."""
    for record in records:
        if isinstance(record, Damaged):
            yield record
            continue
        found = _traces(record.value)
        if not found:
            yield Skipped(path=source.path, why="no Langfuse export: no trace with observations")
        for trace, observations in found:
            if any(item.get("type") == _GENERATION for item in observations):
                yield _turn(source, trace, observations)
            else:
                why = f"trace {trace.get('id')}: got no generation, so no turn of an agent"
                yield Skipped(path=source.path, why=why)


def recognise(sample: Sequence[Value], name: str) -> bool:
    """Know an export by its trace and observations."""
    del name
    return any(_traces(value) for value in sample)


def _traces(value: Value) -> list[tuple[Value, Sequence[Value]]]:
    """Each trace with its observations: one of them, or a list of them whose observations lie beside it."""
    observations = fields.objects(value, "observations")
    several = [trace for trace in fields.objects(value, "traces") if "id" in trace]
    if several and isinstance(value.get("observations"), list):
        return [(trace, [item for item in observations if item.get("traceId") == trace["id"]]) for trace in several]
    trace = _trace(value)
    return [] if trace is None else [(trace, observations)]


def _trace(value: Value) -> Value | None:
    """Find the trace: beside its observations, or around them."""
    if not isinstance(value.get("observations"), list):
        return None
    beside = fields.mapping(value, "trace")
    if "id" in beside:
        return beside
    return value if "id" in value and ("projectId" in value or "timestamp" in value) else None


def _turn(source: Source, trace: Value, observations: Sequence[Value]) -> TurnFacts:
    ordered = sorted(observations, key=_place)
    steps = _with_tools(_steps(source, ordered), ordered)
    starts = [at for item in ordered if (at := fields.instant(item, "startTime")) is not None]
    ends = [at for item in ordered if (at := fields.instant(item, "endTime")) is not None]
    trace_id = fields.text(trace, "id") or ""
    return TurnFacts(
        turn_id=f"{KIND}:{trace_id}",
        trace_id=trace_id or None,
        conversation_id=fields.text(trace, "sessionId"),
        user_id=source.digest(fields.text(trace, "userId")),
        environment=fields.text(trace, "environment"),
        agent=fields.text(trace, "name"),
        agent_version=fields.text(trace, "version") or fields.text(trace, "release"),
        source=KIND,
        started_at=min(starts, default=fields.instant(trace, "timestamp")),
        ended_at=max(ends, default=None),
        last_seen_at=max(ends, default=None),
        steps=steps,
        claims=tuple(_failures(ordered)),
    )


def _place(item: Value) -> tuple[Instant, Instant, str]:
    """Order by end, and a wrapper after what it wraps."""
    start, end = fields.instant(item, "startTime") or 0, fields.instant(item, "endTime")
    return (end or start, -start, fields.text(item, "id") or "")


def _failures(observations: Sequence[Value]) -> Iterator[Claim]:
    """A root that is marked as an error is the runtime's word on the end."""
    known = {fields.text(item, "id") for item in observations}
    for item in observations:
        if item.get("level") == _ERROR and fields.text(item, "parentObservationId") not in known:
            at, words = fields.instant(item, "endTime"), fields.text(item, "statusMessage")
            yield Claim(by=Layer.RUNTIME, reason="error", at=at, message=words)


def _steps(source: Source, observations: Sequence[Value]) -> list[Step]:
    generations = [item for item in observations if item.get("type") == _GENERATION]
    steps = [_step(source, item, index) for index, item in enumerate(generations, 1)]
    # A wrapper and what it wraps log the same calls: the later step keeps them.
    seen: set[str] = set()
    for place in range(len(steps) - 1, -1, -1):
        own = tuple(call for call in steps[place].tool_calls if call.id not in seen)
        seen.update(call.id for call in own if call.id is not None)
        steps[place] = replace(steps[place], tool_calls=own)
    return steps


def _step(source: Source, item: Value, index: int) -> Step:
    said = read_output(source, item)
    model = fields.text(item, "model")
    failed = item.get("level") == _ERROR
    return Step(
        index=index,
        request_id=fields.text(item, "id"),
        message_id=said.response_id,
        provider=_provider(item) or chat.provider_of(model),
        api=said.api,
        model=model,
        started_at=fields.instant(item, "startTime"),
        ended_at=fields.instant(item, "endTime"),
        finish_reason=said.reported_finish,
        raw_finish_reason=said.raw_finish,
        max_output_tokens=_cap(item),
        usage=_usage(fields.mapping(item, "usageDetails")) or _usage_of_columns(item),
        cost_usd=fields.amount(item, "totalCost") or fields.amount(item, "costDetails", "total"),
        output=_output(said.text_chars, len(said.calls)),
        error=StepError(message=fields.text(item, "statusMessage")) if failed else None,
        tool_calls=said.calls,
    )


def _output(chars: int, calls: int) -> Output | None:
    """Nothing found is not nothing said: libraries log outputs in shapes of their own."""
    return Output(text_chars=chars, parts=(chars > 0) + calls) if chars or calls else None


def _cap(item: Value) -> int | None:
    caps = (fields.integer(item, "modelParameters", name) for name in ("max_tokens", "maxTokens", "max_output_tokens"))
    return next((cap for cap in caps if cap is not None and cap > 0), None)


def _provider(item: Value) -> str | None:
    metadata = chat.parsed(item.get("metadata"))
    attributes = chat.parsed(fields.value_at(metadata, "attributes"))
    library = fields.text(metadata, "ls_provider")
    library = library and _LANGCHAIN_NAMES.get(library, library)
    words = (*(fields.text(attributes, name) for name in _PROVIDERS), library)
    named = [word.lower() for word in words if word is not None]
    return next((word for word in named if vocabularies(word)), next(iter(named), None))


def _usage(details: Value) -> Usage | None:
    def count(*names: str) -> int | None:
        return next((number for name in names if (number := fields.count(details, name)) is not None), None)

    found = Usage(
        input_tokens=count("input", "prompt", "input_tokens"),
        output_tokens=count("output", "completion", "output_tokens"),
        cache_read_tokens=count("input_cache_read", "prompt_details.cache_read", "cache_read_input_tokens"),
        cache_write_tokens=count("input_cache_creation", "cache_creation_input_tokens"),
        reasoning_tokens=count("output_reasoning", "completion_details.reasoning", "output_reasoning_tokens"),
    )
    return None if found == Usage() else found


def _usage_of_columns(item: Value) -> Usage | None:
    """The counts of exports without details; there a zero on both sides is how "not recorded" is written."""
    counts = (fields.count(item, "inputUsage"), fields.count(item, "outputUsage"))
    if not any(counts):
        counts = (fields.count(item, "usage", "input"), fields.count(item, "usage", "output"))
    return Usage(input_tokens=counts[0], output_tokens=counts[1]) if any(counts) else None


def _with_tools(steps: list[Step], observations: Sequence[Value]) -> tuple[Step, ...]:
    """Settle the calls by the tool observations, and add the tools that nobody is seen to have asked for."""
    asked = {call.name for step in steps for call in step.tool_calls}
    for item in sorted(observations, key=lambda item: fields.instant(item, "startTime") or 0):
        if item.get("type") == _GENERATION:
            continue
        name = _tool_name(item)
        if name in asked or item.get("type") == _TOOL:
            _settle(steps, item, name, fields.text(_attributes(item), "gen_ai.tool.call.id"))
    return tuple(_finals_settled(step) for step in steps)


def _attributes(item: Value) -> object:
    return chat.parsed(fields.value_at(chat.parsed(item.get("metadata")), "attributes"))


def _tool_name(item: Value) -> str | None:
    name = fields.text(_attributes(item), "gen_ai.tool.name") or fields.text(item, "name")
    if name is None:
        return None
    return next((name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix)), name)


def _settle(steps: list[Step], item: Value, name: str | None, call_id: str | None) -> None:
    open_calls = [
        (place, position, call)
        for place, step in enumerate(steps)
        for position, call in enumerate(step.tool_calls)
        if call.status is None and name == call.name
    ]
    if open_calls:
        named = (found for found in open_calls if found[2].id == call_id)
        place, position, call = next(named, open_calls[0])
        calls = list(steps[place].tool_calls)
        calls[position] = _ran(call, item)
        steps[place] = replace(steps[place], tool_calls=tuple(calls))
        return
    if item.get("type") == _TOOL and steps:
        start = fields.instant(item, "startTime") or 0
        before = [place for place, step in enumerate(steps) if (step.started_at or 0) <= start]
        place = before[-1] if before else 0
        call = _ran(ToolCall(id=fields.text(item, "id"), name=name), item)
        steps[place] = replace(steps[place], tool_calls=(*steps[place].tool_calls, call))


def _ran(call: ToolCall, item: Value) -> ToolCall:
    failed = item.get("level") == _ERROR
    return replace(
        call,
        status=ToolStatus.ERROR if failed else ToolStatus.OK,
        started_at=fields.instant(item, "startTime"),
        ended_at=fields.instant(item, "endTime"),
    )


def _finals_settled(step: Step) -> Step:
    """An output tool does not run; any other call without an observation is not known to have run."""
    calls = tuple(
        call if call.status is not None else replace(call, status=ToolStatus.OK if call.final else ToolStatus.UNKNOWN)
        for call in step.tool_calls
    )
    return replace(step, tool_calls=calls)
