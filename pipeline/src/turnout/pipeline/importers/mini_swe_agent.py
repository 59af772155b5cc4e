"""mini-swe-agent trajectories (``*.traj.json``): one run of one task a file.

The formats are ``mini-swe-agent-1``, ``-1.1``, and the first one, which had no name. A step is a model request: a stored answer, or a
user message that says an answer was rejected (the answer itself is then not stored). The exit status of the run is the runtime's claim.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from turnout.outcomes.facts import (
    Claim,
    Instant,
    Layer,
    Limits,
    Output,
    Step,
    ToolCall,
    ToolStatus,
    TurnFacts,
)
from turnout.pipeline.importers import chat, fields
from turnout.pipeline.importers.base import Damaged, Imported, Record, Skipped, Source, content_id

KIND = "mini-swe-agent"
_FORMAT = "mini-swe-agent-"
_ACTION = re.compile(r"```(?:bash|mswea_bash_command)\s*\n(.*?)\n```", re.DOTALL)
_RETURN_CODE = re.compile(r"<returncode>(-?\d+)</returncode>")
_TIMED_OUT = re.compile(r"^The last command .{0,2000}? timed out", re.DOTALL)
_REASONS = {
    "submitted": "completed",
    "timeexceeded": "time_budget",
    "userinterruption": "user_stop",
    "keyboardinterrupt": "user_stop",
    "contentpolicyviolationerror": "content_filter",
    "contextwindowexceeded": "prompt_too_long",
    "contextwindowexceedederror": "prompt_too_long",
}

Message = Mapping[str, object]


def parse(source: Source, records: Iterable[Record | Damaged]) -> Iterator[Imported]:
    """Read the trajectory of one file into its turn."""
    for record in records:
        if isinstance(record, Damaged):
            yield record
        elif recognise([record.value], source.path):
            yield _turn(source, record.value)
        else:
            yield Skipped(path=source.path, why="no mini-swe-agent trajectory: no trajectory_format of its kind")


def recognise(sample: Sequence[Mapping[str, object]], name: str) -> bool:
    """Know a trajectory by the format that it names, or by its messages beside the exit status and the submission."""
    del name
    return any(_is_named(value) or _is_of_first_format(value) for value in sample)


def _is_named(value: Mapping[str, object]) -> bool:
    return (fields.text(value, "trajectory_format") or "").startswith(_FORMAT)


def _is_of_first_format(value: Mapping[str, object]) -> bool:
    info = fields.mapping(value, "info")
    has_messages = isinstance(value.get("messages"), list) and "trajectory_format" not in value
    return has_messages and "exit_status" in info and "submission" in info


def _turn(source: Source, run: Mapping[str, object]) -> TurnFacts:
    info = fields.mapping(run, "info")
    messages = fields.objects(run, "messages")
    exit_status = fields.text(info, "exit_status") or _exit_of(messages, "exit_status")
    steps = _steps(source, messages, fields.text(info, "config", "model", "model_name"), exit_status)
    limits = _limits(info)
    stamps = [stamp for step in steps for stamp in (step.started_at, step.ended_at) if stamp is not None]
    last = max([*stamps, *(at for message in messages if (at := _at(message)) is not None)], default=None)
    return TurnFacts(
        turn_id=_turn_id(run, steps),
        agent=KIND,
        agent_version=fields.text(info, "mini_version"),
        source=KIND,
        attended=_attended(fields.text(info, "config", "agent_type")),
        started_at=min(stamps, default=None),
        ended_at=None if exit_status is None else last,
        last_seen_at=last,
        limits=limits,
        steps=steps,
        claims=() if exit_status is None else (_claim(exit_status, info, messages, limits),),
        cost_usd=fields.amount(info, "model_stats", "instance_cost"),
    )


def _turn_id(run: Mapping[str, object], steps: Sequence[Step]) -> str:
    """Name a run by its task and its first answer; two runs of a task differ in the answer's id, or in all that they hold."""
    task = fields.text(run, "instance_id")
    answer = next((step.message_id for step in steps if step.message_id is not None), None)
    if answer is None:
        answer = content_id([run.get("info"), run.get("messages")])
    return ":".join(part for part in (KIND, task, answer) if part is not None)


def _attended(agent_type: str | None) -> bool | None:
    if agent_type is None:
        return None
    if "interactive" in agent_type.lower():
        return True
    return False if ".run." in agent_type else None


def _limits(info: Mapping[str, object]) -> Limits | None:
    agent = fields.mapping(info, "config", "agent")
    found = Limits(
        steps=fields.count(agent, "step_limit") or None,
        cost_usd=fields.amount(agent, "cost_limit") or None,
        seconds=fields.amount(agent, "wall_time_limit_seconds") or None,
    )
    return None if found == Limits() else found


def _claim(status: str, info: Mapping[str, object], messages: Sequence[Message], limits: Limits | None) -> Claim:
    reason = _reason(status, info, limits)
    failed = reason == "error"
    words = fields.text(info, "traceback") or _exit_of(messages, "exception_str") or _exit_of(messages, "traceback")
    return Claim(
        by=Layer.RUNTIME,
        reason=reason,
        status=status,
        error_type=status if failed or reason in {"content_filter", "prompt_too_long"} else None,
        message=words if failed else None,
        at=_at(messages[-1]) if messages else None,
    )


def _reason(status: str, info: Mapping[str, object], limits: Limits | None) -> str:
    """Say in the words of the contract what an exit status says; anything that is no status is an exception's name."""
    if status.lower() == "limitsexceeded":
        return _limit_reason(info, limits or Limits())
    return _REASONS.get(status.lower(), "error")


def _limit_reason(info: Mapping[str, object], limits: Limits) -> str:
    """One status stands for both limits: the one that is spent, else the only one there is."""
    calls = fields.count(info, "model_stats", "api_calls") or 0
    cost = fields.amount(info, "model_stats", "instance_cost") or 0.0
    if limits.steps is not None and calls >= limits.steps:
        return "step_limit"
    if limits.cost_usd is not None and (cost >= limits.cost_usd or limits.steps is None):
        return "exit_cost"
    return "step_limit"


def _exit_of(messages: Sequence[Message], key: str) -> str | None:
    if not messages or messages[-1].get("role") != "exit":
        return None
    return fields.text(messages[-1], "extra", key)


def _steps(source: Source, messages: Sequence[Message], model: str | None, exit_status: str | None) -> tuple[Step, ...]:
    steps: list[Step] = []
    for position, message in enumerate(messages):
        if _is_answer(message):
            replies = _replies(messages, position)
            steps.append(_step(source, message, replies, model))
        elif fields.text(message, "extra", "interrupt_type") == "FormatError" and not _answers_before(
            messages, position
        ):
            steps.append(_rejected(message, model))
    if steps and _is_submitted(exit_status) and steps[-1].tool_calls:
        *others, answer = steps[-1].tool_calls
        submitted = replace(answer, status=ToolStatus.OK, error_type=None, final=True)
        steps[-1] = replace(steps[-1], tool_calls=(*others, submitted))
    return tuple(replace(step, index=index) for index, step in enumerate(steps, 1))


def _is_submitted(exit_status: str | None) -> bool:
    return exit_status is not None and exit_status.lower() == "submitted"


def _is_answer(message: Message) -> bool:
    return message.get("role") == "assistant" or message.get("object") == "response"


def _answers_before(messages: Sequence[Message], position: int) -> bool:
    """Whether the rejected answer itself stands before the message that rejects it."""
    return position > 0 and _is_answer(messages[position - 1])


def _replies(messages: Sequence[Message], position: int) -> Sequence[Message]:
    after = messages[position + 1 :]
    length = next((index for index, message in enumerate(after) if _is_answer(message)), len(after))
    return after[:length]


def _step(source: Source, message: Message, replies: Sequence[Message], model: str | None) -> Step:
    response = fields.mapping(message, "extra", "response") or (message if "output" in message else {})
    choice = next(iter(fields.objects(response, "choices")), {})
    native = fields.text(choice, "native_finish_reason")
    name = fields.text(response, "model") or model
    text = fields.text(message, "content") or ""
    calls = tuple(_settled(call, reply) for call, reply in _paired(_calls(source, message, text), replies))
    made, kept = fields.instant(response, "created"), _at(message)
    return Step(
        message_id=fields.text(response, "id"),
        provider=chat.provider_of(name) or chat.provider_of(model),
        model=name,
        started_at=made or fields.instant(response, "created_at") or kept,
        ended_at=kept or fields.instant(response, "completed_at"),
        finish_reason=fields.text(choice, "finish_reason") or fields.text(response, "status"),
        raw_finish_reason=native,
        usage=chat.usage_of(fields.mapping(response, "usage")),
        cost_usd=_cost(message, response),
        output=Output(text_chars=len(text), parts=int(bool(text)) + len(calls)),
        tool_calls=calls,
    )


def _rejected(message: Message, model: str | None) -> Step:
    """Stand for an answer that the run threw away: a request made and charged, that said nothing usable."""
    at = _at(message)
    return Step(
        provider=chat.provider_of(model),
        model=model,
        started_at=at,
        ended_at=at,
        finish_reason="FormatError",
    )


def _cost(message: Message, response: Mapping[str, object]) -> float | None:
    kept = fields.amount(message, "extra", "cost")
    return kept if kept is not None else fields.amount(response, "usage", "cost")


def _calls(source: Source, message: Message, text: str) -> tuple[ToolCall, ...]:
    """Find the commands that an answer asked for: as tool calls, as actions that the run stored, or as its one code block."""
    asked = fields.objects(message, "tool_calls")
    if asked:
        return tuple(
            ToolCall(
                id=fields.text(call, "id"),
                name=fields.text(call, "function", "name"),
                arguments_digest=source.digest(fields.value_at(call, "function", "arguments")),
            )
            for call in asked
        )
    actions = fields.objects(message, "extra", "actions")
    if actions:
        return tuple(
            ToolCall(
                id=fields.text(action, "tool_call_id"),
                name="bash",
                arguments_digest=source.digest(action.get("command")),
            )
            for action in actions
        )
    blocks = _ACTION.findall(text)
    return (ToolCall(name="bash", arguments_digest=source.digest(blocks[0])),) if len(blocks) == 1 else ()


def _paired(calls: Sequence[ToolCall], replies: Sequence[Message]) -> Iterator[tuple[ToolCall, Message | None]]:
    """Give each call its reply: by id, else by place."""
    by_id = {call_id: reply for reply in replies if (call_id := fields.text(reply, "tool_call_id")) is not None}
    for position, call in enumerate(calls):
        placed = replies[position] if position < len(replies) else None
        yield call, by_id.get(call.id or "") or (None if by_id else placed)


def _settled(call: ToolCall, reply: Message | None) -> ToolCall:
    if reply is None or fields.text(reply, "extra", "interrupt_type") == "FormatError":
        return replace(call, status=ToolStatus.UNKNOWN)
    words = fields.text(reply, "content") or ""
    match = _RETURN_CODE.search(words[:200])
    code = fields.integer(reply, "extra", "returncode")
    code = int(match.group(1)) if code is None and match else code
    at = _at(reply)
    if _TIMED_OUT.match(words):
        return replace(call, status=ToolStatus.ERROR, error_type="timeout", ended_at=at)
    if fields.text(reply, "extra", "exception_info") is not None:
        return replace(call, status=ToolStatus.ERROR, error_type="exception", ended_at=at)
    if code:
        return replace(call, status=ToolStatus.ERROR, error_type="returncode", ended_at=at)
    return replace(call, status=ToolStatus.OK, ended_at=at)


def _at(message: Message) -> Instant | None:
    return fields.instant(message, "extra", "timestamp") or fields.instant(message, "timestamp")
