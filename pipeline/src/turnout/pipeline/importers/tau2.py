"""tau2-bench results: ``{info, tasks, simulations[]}``; a simulation is one turn, an assistant message a step.

The user simulator's messages, calls and tokens are not the agent's. ``user_stop`` means that the simulated user was content and
ended the talk: the agent's turn is completed. The cap counts messages of everybody, so it is no limit on steps.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from turnout.outcomes.facts import Claim, Layer, Output, Step, TaskResult, ToolCall, ToolStatus, TurnFacts
from turnout.pipeline.importers import chat, fields
from turnout.pipeline.importers.base import Damaged, Imported, Record, Skipped, Source, content_id

KIND = "tau2"
_ENDS = {
    "user_stop": "completed",
    "agent_stop": "completed",
    "max_steps": "step_limit",
    "timeout": "time_budget",
    "too_many_errors": "error",
    "agent_error": "error",
    "user_error": "error",
    "infrastructure_error": "error",
    "unexpected_error": "error",
}

Value = Mapping[str, object]


def unpack(document: object) -> Iterable[object]:
    """Find the simulations of a results file, each with what the file says of the run."""
    info = fields.value_at(document, "info")
    runs = fields.value_at(document, "simulations")
    if isinstance(runs, list):
        return [{"simulation": run, "info": info} for run in runs]
    return [{"simulation": document, "info": info}] if _is_simulation(document) else [document]


def _is_simulation(value: object) -> bool:
    """Whether a value is a simulation by itself, as runs that go on for long write them one a file."""
    named = fields.value_at(value, "termination_reason") is not None and fields.value_at(value, "task_id") is not None
    return named and isinstance(fields.value_at(value, "messages"), list)


def parse(source: Source, records: Iterable[Record | Damaged]) -> Iterator[Imported]:
    """Read each simulation of a results file into its turn."""
    for record in records:
        if isinstance(record, Damaged):
            yield record
        elif isinstance(fields.value_at(record.value, "simulation", "messages"), list):
            yield _turn(source, fields.mapping(record.value, "simulation"), fields.mapping(record.value, "info"))
        elif _is_simulation(record.value):
            yield _turn(source, record.value, {})
        elif "simulation" in record.value:
            yield Damaged(
                path=source.path, line=record.number, what="simulation: got no messages, expected a list of them"
            )
        else:
            yield Skipped(path=source.path, why="no tau2 results: no simulations")


def recognise(sample: Sequence[Value], name: str) -> bool:
    """Know a results file by its simulations, and a simulation by what ended it."""
    del name
    return any(
        (isinstance(value.get("simulations"), list) and "info" in value)
        or isinstance(fields.value_at(value, "simulation", "messages"), list)
        or _is_simulation(value)
        for value in sample
    )


def _turn(source: Source, run: Value, info: Value) -> TurnFacts:
    messages = fields.objects(run, "messages")
    replies = {fields.text(reply, "id"): reply for reply in _replies(messages)}
    model = fields.text(info, "agent_info", "llm")
    answers = [message for message in messages if message.get("role") == "assistant"]
    reason = fields.text(run, "termination_reason")
    ended_at = fields.instant(run, "end_time")
    return TurnFacts(
        turn_id=f"{KIND}:{fields.text(run, 'id') or content_id(run)}",
        agent=fields.text(info, "agent_info", "implementation") or KIND,
        source=KIND,
        attended=False,
        started_at=fields.instant(run, "start_time"),
        ended_at=None if reason is None else ended_at,
        last_seen_at=ended_at,
        steps=tuple(_step(source, message, replies, model, index) for index, message in enumerate(answers, 1)),
        claims=() if reason is None else (_claim(reason),),
        cost_usd=fields.amount(run, "agent_cost"),
        task_result=_result(run),
    )


def _replies(messages: Sequence[Value]) -> Iterator[Value]:
    """Find the tool messages, also those that one message bundles."""
    for message in messages:
        bundled = fields.objects(message, "tool_messages")
        yield from bundled or ((message,) if message.get("role") == "tool" else ())


def _claim(reason: str) -> Claim:
    word = _ENDS.get(reason.lower()) or ("error" if reason.lower().endswith("error") else reason)
    # The bare status would be read as a stop by a person, which the simulator's word is not.
    status = f"{KIND}:{reason}"
    return Claim(by=Layer.HOST, reason=word, status=status, error_type=reason if word == "error" else None)


def _step(source: Source, message: Value, replies: Mapping[str | None, Value], model: str | None, index: int) -> Step:
    raw = fields.mapping(message, "raw_data")
    choice = next(iter(fields.objects(raw, "choices")), {})
    name = fields.text(raw, "model") or model
    said = fields.text(message, "content") or ""
    calls = tuple(_call(source, call, replies) for call in fields.objects(message, "tool_calls"))
    usage = chat.usage_of(fields.mapping(raw, "usage")) or chat.usage_of(fields.mapping(message, "usage"))
    return Step(
        index=index,
        message_id=fields.text(raw, "id"),
        provider=chat.provider_of(model) or chat.provider_of(name),
        model=name,
        ended_at=fields.instant(message, "timestamp"),
        finish_reason=fields.text(choice, "finish_reason"),
        usage=usage,
        cost_usd=fields.amount(message, "cost") if usage is not None else None,
        output=Output(text_chars=len(said), parts=(said != "") + len(calls)),
        tool_calls=calls,
    )


def _call(source: Source, call: Value, replies: Mapping[str | None, Value]) -> ToolCall:
    reply = replies.get(fields.text(call, "id"))
    failed = reply is not None and reply.get("error") is True
    return ToolCall(
        id=fields.text(call, "id"),
        name=fields.text(call, "name"),
        status=ToolStatus.UNKNOWN if reply is None else ToolStatus.ERROR if failed else ToolStatus.OK,
        arguments_digest=source.digest(call.get("arguments")),
        ended_at=fields.instant(reply, "timestamp"),
    )


def _result(run: Value) -> TaskResult | None:
    reward = fields.number(run, "reward_info", "reward")
    return None if reward is None else TaskResult(reward=reward)
