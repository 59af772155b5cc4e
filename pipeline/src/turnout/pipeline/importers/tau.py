"""tau-bench results: a list of ``{task_id, trial, reward, info, traj}``; a run is one turn, an assistant message a step.

There is no field for the end. The simulated user says ``###STOP###``, or the agent calls the tool that hands over to a human, which
ends the run; the only other way out of the loop is its step cap, which nothing states, so it is said as a text marker.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from turnout.outcomes.facts import (
    Claim,
    Layer,
    Output,
    Step,
    TaskResult,
    ToolCall,
    ToolStatus,
    TurnFacts,
    YieldRecord,
)
from turnout.pipeline.importers import fields
from turnout.pipeline.importers.base import Damaged, Imported, Record, Skipped, Source, content_id

KIND = "tau"
_STOP = "###STOP###"
_HAND_OVER = "transfer_to_human_agents"
_CAP = "maximum number of steps"

Value = Mapping[str, object]


def parse(source: Source, records: Iterable[Record | Damaged]) -> Iterator[Imported]:
    """Read each run of a results file into its turn."""
    for record in records:
        if isinstance(record, Damaged):
            yield record
        elif recognise([record.value], source.path):
            yield _turn(source, record.value)
        else:
            yield Skipped(path=source.path, why=f"record {record.number} is no tau-bench run: no task_id with a traj")


def recognise(sample: Sequence[Value], name: str) -> bool:
    """Know a run by its task and its messages."""
    del name
    return any("task_id" in value and isinstance(value.get("traj"), list) for value in sample)


def _turn(source: Source, run: Value) -> TurnFacts:
    messages = fields.objects(run, "traj")
    steps = tuple(
        _step(source, message, messages[place + 1 :], index)
        for index, (place, message) in enumerate(
            ((place, message) for place, message in enumerate(messages) if message.get("role") == "assistant"), 1
        )
    )
    handed_over = _handed_over(steps)
    return TurnFacts(
        turn_id=":".join((KIND, fields.label(run, "task_id") or "task", content_id(run))),
        agent="tau-bench",
        source=KIND,
        attended=False,
        steps=steps,
        yield_=handed_over,
        claims=() if handed_over is not None else _claims(run, messages),
        task_result=_result(run),
    )


def _handed_over(steps: Sequence[Step]) -> YieldRecord | None:
    """The tool that hands over to a human ends the run when it is the last thing called."""
    call = next((call for call in steps[-1].tool_calls if call.name == _HAND_OVER), None) if steps else None
    return None if call is None else YieldRecord(reason="handoff", tool_call_id=call.id)


def _claims(run: Value, messages: Sequence[Value]) -> tuple[Claim, ...]:
    error = fields.text(run, "info", "error")
    if error is not None:
        return (Claim(by=Layer.HOST, reason="error", error_type=_exception(run), message=error),)
    if not messages:
        return ()
    last = messages[-1]
    if last.get("role") == "user" and _STOP in (fields.text(last, "content") or ""):
        return (Claim(by=Layer.HOST, reason="completed", status=_STOP),)
    return (Claim(by=Layer.HOST, message=_CAP),)


def _exception(run: Value) -> str | None:
    """Name the exception by the last line of its traceback."""
    lines = (fields.text(run, "info", "traceback") or "").strip().splitlines()
    return lines[-1].split(":", 1)[0].rsplit(".", 1)[-1] if lines else None


def _step(source: Source, message: Value, after: Sequence[Value], index: int) -> Step:
    said = fields.text(message, "content") or ""
    calls = tuple(_call(source, call, after) for call in fields.objects(message, "tool_calls"))
    return Step(
        index=index,
        output=Output(text_chars=len(said), parts=(said != "") + len(calls)),
        tool_calls=calls,
    )


def _call(source: Source, call: Value, after: Sequence[Value]) -> ToolCall:
    call_id = fields.text(call, "id")
    reply = next((message for message in after if message.get("role") == "tool" and _answers(message, call_id)), None)
    failed = reply is not None and (fields.text(reply, "content") or "").startswith("Error")
    return ToolCall(
        id=call_id,
        name=fields.text(call, "function", "name"),
        status=ToolStatus.UNKNOWN if reply is None else ToolStatus.ERROR if failed else ToolStatus.OK,
        arguments_digest=source.digest(fields.value_at(call, "function", "arguments")),
    )


def _answers(message: Value, call_id: str | None) -> bool:
    return call_id is not None and fields.text(message, "tool_call_id") == call_id


def _result(run: Value) -> TaskResult | None:
    reward = fields.number(run, "reward")
    return None if reward is None else TaskResult(reward=reward)
