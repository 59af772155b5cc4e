"""OpenHands outputs (``output.jsonl``): one run of one task a line, its history of actions and observations.

The end is the agent's ``finish`` action, or the error that the record keeps. Calls of one model answer are one step; where the
history does not name the answers, every action of the agent is a step of its own. A cost of zero can mean an unknown price.
A trajectory, the list of events of one conversation, is read too.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from turnout.outcomes.facts import (
    Claim,
    Instant,
    Layer,
    Output,
    Step,
    TaskResult,
    ToolCall,
    ToolStatus,
    TurnFacts,
    Usage,
)
from turnout.pipeline.importers import chat, fields
from turnout.pipeline.importers.base import Damaged, Imported, Record, Skipped, Source, content_id
from turnout.pipeline.importers.openhands_events import STOPPED, events_in, is_event, runs_of, tells

KIND = "openhands"
_NOT_ASKED = frozenset(
    {"system", "recall", "change_agent_state", "condensation", "condensation_request", "null", "pause"}
)
_MESSAGE = "message"
_FINISH = "finish"
_MUTATING = frozenset({"edit", "write"})
_READING = frozenset({"read", "think", "recall"})
_ERRORS = (
    ("maximum iteration", "max_iterations"),
    ("max iteration", "max_iterations"),
    ("maximum budget", "exit_cost"),
    ("max budget", "exit_cost"),
    ("stuck in a loop", "loop_detected"),
    ("AgentStuckInLoop", "loop_detected"),
    ("ContextWindowExceeded", "prompt_too_long"),
    ("ContentPolicyViolation", "content_filter"),
)

Entry = Mapping[str, object]


@dataclass(slots=True)
class Answer:
    """One answer of the model, as its actions come in."""

    started_at: Instant | None
    response: Mapping[str, object]
    chars: int = 0
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    last: Entry | None = None


def parse(source: Source, records: Iterable[Record | Damaged]) -> Iterator[Imported]:
    """Read each run of an output file, and each turn of a trajectory."""
    events: list[Entry] = []
    for record in records:
        if isinstance(record, Damaged):
            yield record
        elif _is_run(record.value):
            yield _turn(source, record.value)
        elif is_event(record.value):
            events.append(record.value)
        elif found := events_in(record.value):
            events.extend(found)
        else:
            yield Skipped(path=source.path, why=f"record {record.number} is no OpenHands run: no history with metrics")
    yield from (_turn(source, run) for run in runs_of(events))


def recognise(sample: Sequence[Mapping[str, object]], name: str) -> bool:
    """Know a run by its history beside its metrics, or its error, and a trajectory by its events."""
    del name
    return any(_is_run(value) or tells(value) or events_in(value) for value in sample)


def _is_run(value: Mapping[str, object]) -> bool:
    named = "error" in value or "instance_id" in value or "instruction" in value
    return named and isinstance(value.get("history"), list) and "metrics" in value


def _turn(source: Source, run: Mapping[str, object]) -> TurnFacts:
    history = _entries(run)
    answers = _answers(source, history)
    metrics = fields.mapping(run, "metrics")
    usages = fields.objects(metrics, "token_usages")
    steps = _priced(_steps(answers, usages), metrics)
    times = [at for entry in history if (at := fields.instant(entry, "timestamp")) is not None]
    claims = _claims(run, answers)
    return TurnFacts(
        turn_id=":".join(part for part in (KIND, _task(run), _mark(run)) if part is not None),
        agent=fields.text(run, "metadata", "agent_class") or KIND,
        source=KIND,
        attended=False,
        started_at=min(times, default=None),
        ended_at=max(times, default=None) if claims else None,
        last_seen_at=max(times, default=None),
        steps=steps,
        claims=claims,
        usage=_total(usages) if all(step.usage is None for step in steps) else None,
        cost_usd=fields.amount(metrics, "accumulated_cost") or None,
        task_result=_result(run),
    )


def _entries(run: Mapping[str, object]) -> tuple[Entry, ...]:
    """Flatten the history: entries, or in older files pairs of an action and its observation."""
    found: list[Entry] = []
    for item in fields.items(run, "history"):
        found.extend(part for part in (item if isinstance(item, list) else [item]) if isinstance(part, Mapping))
    return tuple(found)


def _task(run: Mapping[str, object]) -> str | None:
    issue = fields.mapping(run, "issue")
    named = fields.text(run, "instance_id")
    parts = (fields.text(issue, "owner"), fields.text(issue, "repo"), fields.label(issue, "number"))
    return named or ("/".join(part for part in parts if part is not None) or None)


def _mark(run: Mapping[str, object]) -> str:
    """Name a run by all that it holds, and a turn of a conversation that may go on by what opened it."""
    return content_id(run["opened_by"] if "opened_by" in run else run.get("history"))


def _answers(source: Source, history: Sequence[Entry]) -> list[Answer]:
    answers: list[Answer] = []
    for place, entry in enumerate(history):
        if _is_of_agent(entry, place):
            answer = _answer_of(answers, entry)
            answer.last = entry
            if entry.get("action") == _MESSAGE:
                answer.chars += len(_words(entry))
            else:
                answer.calls.append(_call(source, entry, _observation(history, place)))
    return answers


def _is_of_agent(entry: Entry, place: int) -> bool:
    """Tell the agent's actions from the person's; without a source the first message is the task."""
    action = fields.text(entry, "action")
    if action is None or action in _NOT_ASKED:
        return False
    source = fields.text(entry, "source")
    return source == "agent" or (source is None and (action != _MESSAGE or place > 0))


def _answer_of(answers: list[Answer], entry: Entry) -> Answer:
    response = fields.mapping(entry, "tool_call_metadata", "model_response")
    same = answers and response.get("id") is not None and answers[-1].response.get("id") == response.get("id")
    if not same:
        answers.append(Answer(fields.instant(entry, "timestamp"), response))
    return answers[-1]


def _words(entry: Entry) -> str:
    return fields.text(entry, "content") or fields.text(entry, "args", "content") or fields.text(entry, "message") or ""


def _observation(history: Sequence[Entry], place: int) -> Entry | None:
    """Find what came of an action: the observation that names it as its cause, else the next entry."""
    number = fields.integer(history[place], "id")
    after = history[place + 1 :]
    if number is not None:
        return next((entry for entry in after if entry.get("cause") == number and "observation" in entry), None)
    return next(iter(after[:1]), None) if after and "observation" in after[0] else None


def _call(source: Source, entry: Entry, seen: Entry | None) -> ToolCall:
    action = fields.text(entry, "action")
    final = action == _FINISH
    call = ToolCall(
        id=fields.text(entry, "tool_call_metadata", "tool_call_id"),
        name=fields.text(entry, "tool_call_metadata", "function_name") or action,
        final=True if final else None,
        mutating=True if action in _MUTATING else False if action in _READING else None,
        arguments_digest=source.digest(entry.get("args") or entry.get("command") or entry.get("code")),
        started_at=fields.instant(entry, "timestamp"),
    )
    if seen is None:
        return replace(call, status=ToolStatus.OK if final else ToolStatus.UNKNOWN)
    error = _error(seen)
    status = ToolStatus.OK if error is None else ToolStatus.ERROR
    return replace(call, status=status, error_type=error, ended_at=fields.instant(seen, "timestamp"))


def _error(seen: Entry) -> str | None:
    code = fields.integer(seen, "exit_code")
    code = fields.integer(seen, "extras", "metadata", "exit_code") if code is None else code
    code = fields.integer(seen, "extras", "exit_code") if code is None else code
    if code not in {None, 0, -1}:
        return "exit_code"
    return "error" if seen.get("observation") == "error" else None


def _steps(answers: Sequence[Answer], usages: Sequence[Mapping[str, object]]) -> tuple[Step, ...]:
    by_response = {fields.text(usage, "response_id"): usage for usage in usages}
    by_place = len(usages) == len(answers)
    return tuple(
        _step(answer, by_response.get(fields.text(answer.response, "id")) or (usages[place] if by_place else {}), place)
        for place, answer in enumerate(answers)
    )


def _step(answer: Answer, usage: Mapping[str, object], place: int) -> Step:
    choice = next(iter(fields.objects(answer.response, "choices")), {})
    model = fields.text(answer.response, "model") or fields.text(usage, "model")
    ended = [call.ended_at for call in answer.calls if call.ended_at is not None]
    return Step(
        index=place + 1,
        message_id=fields.text(answer.response, "id"),
        provider=chat.provider_of(model),
        model=model,
        started_at=answer.started_at,
        ended_at=max(ended, default=answer.started_at),
        finish_reason=fields.text(choice, "finish_reason"),
        usage=_usage(usage) or chat.usage_of(fields.mapping(answer.response, "usage")),
        output=Output(text_chars=answer.chars, parts=(answer.chars > 0) + len(answer.calls)),
        tool_calls=tuple(answer.calls),
    )


def _usage(usage: Mapping[str, object]) -> Usage | None:
    found = Usage(
        input_tokens=fields.count(usage, "prompt_tokens"),
        output_tokens=fields.count(usage, "completion_tokens"),
        cache_read_tokens=fields.count(usage, "cache_read_tokens"),
        cache_write_tokens=fields.count(usage, "cache_write_tokens"),
    )
    return None if found == Usage() else found


def _total(usages: Sequence[Mapping[str, object]]) -> Usage | None:
    known = [usage for item in usages if (usage := _usage(item)) is not None]
    if not known:
        return None
    return Usage(
        input_tokens=sum(usage.input_tokens or 0 for usage in known),
        output_tokens=sum(usage.output_tokens or 0 for usage in known),
        cache_read_tokens=sum(usage.cache_read_tokens or 0 for usage in known),
        cache_write_tokens=sum(usage.cache_write_tokens or 0 for usage in known),
    )


def _priced(steps: Sequence[Step], metrics: Mapping[str, object]) -> tuple[Step, ...]:
    """Give each step its cost where the record lists one cost a request."""
    listed = fields.items(metrics, "costs")
    costs = [fields.amount(item, "cost") if isinstance(item, Mapping) else fields.amount(item) for item in listed]
    if len(costs) != len(steps) or not any(costs):
        return tuple(steps)
    return tuple(replace(step, cost_usd=cost) for step, cost in zip(steps, costs, strict=True))


def _claims(run: Mapping[str, object], answers: Sequence[Answer]) -> tuple[Claim, ...]:
    error = fields.text(run, "error")
    if error == STOPPED:
        return (Claim(by=Layer.RUNTIME, reason="user_stop", status=error),)
    if error is not None:
        reason = next((word for words, word in _ERRORS if words.lower() in error.lower()), "error")
        kind = error.split(":", 1)[0].split("(", 1)[0].strip()
        named = kind if reason == "error" and kind.isidentifier() else None
        return (Claim(by=Layer.RUNTIME, reason=reason, error_type=named, message=error),)
    last = answers[-1].last if answers else None
    if last is not None and last.get("action") == _FINISH:
        return (Claim(by=Layer.RUNTIME, reason="completed", status=_FINISH, at=fields.instant(last, "timestamp")),)
    return ()


def _result(run: Mapping[str, object]) -> TaskResult | None:
    resolved = fields.boolean(run, "test_result", "report", "resolved")
    resolved = fields.boolean(run, "success") if resolved is None else resolved
    return None if resolved is None else TaskResult(resolved=resolved)
