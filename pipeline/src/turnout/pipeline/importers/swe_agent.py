"""SWE-agent trajectories (``.traj``): one run of one task a file; the exit status of the run is the runtime's claim.

A step is an entry of the trajectory. Only the history of a file without one is known, and a history may open with a worked
example, so such a file tells of no step. Token counts of zero mean that nobody counted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from turnout.outcomes.facts import Claim, Layer, Limits, Output, Step, ToolCall, ToolStatus, TurnFacts, Usage
from turnout.pipeline.importers import chat, fields
from turnout.pipeline.importers.base import Damaged, Imported, Record, Skipped, Source, content_id
from turnout.pipeline.json_text import parse_log_json

KIND = "swe-agent"
_EXITS = {
    "submitted": "completed",
    "exit_cost": "exit_cost",
    "exit_context": "exit_context",
    "exit_total_execution_time": "time_budget",
}
_FAILED = ("exit_", "early_exit")
_TIMED_OUT = ("EXECUTION TIMED OUT", "The command", "Command")

Value = Mapping[str, object]


def parse(source: Source, records: Iterable[Record | Damaged]) -> Iterator[Imported]:
    """Read the run of one file into its turn."""
    for record in records:
        if isinstance(record, Damaged):
            yield record
        elif recognise([record.value], source.path):
            yield _turn(source, record.value)
        else:
            yield Skipped(path=source.path, why="no SWE-agent run: neither a trajectory nor a history")


def recognise(sample: Sequence[Value], name: str) -> bool:
    """Know a run by its trajectory beside its info, or by the history that its file name promises."""
    return any(
        (isinstance(value.get("trajectory"), list) and "info" in value)
        or (".traj" in name and (isinstance(value.get("history"), list) or isinstance(value.get("trajectory"), list)))
        for value in sample
    )


def _turn(source: Source, run: Value) -> TurnFacts:
    info, entries = fields.mapping(run, "info"), fields.objects(run, "trajectory")
    model = _model(run)
    status = fields.text(info, "exit_status")
    stats = fields.mapping(info, "model_stats")
    name = fields.text(model, "name")
    steps = _steps(source, entries, name if name != "replay" else None, status)
    return TurnFacts(
        turn_id=f"{KIND}:{content_id(run.get('trajectory') or run.get('history'))}",
        agent=KIND,
        agent_version=fields.text(info, "swe_agent_version"),
        source=KIND,
        attended=False,
        limits=_limits(model),
        steps=steps,
        claims=() if status is None else (_claim(status),),
        usage=_usage(stats),
        cost_usd=fields.amount(stats, "instance_cost") or None,
    )


def _model(run: Value) -> Value:
    """Find the settings of the model in the configuration for a replay, which older versions keep as text."""
    config: object = run.get("replay_config")
    if isinstance(config, str):
        try:
            config = parse_log_json(config)
        except ValueError:
            return {}
    return fields.mapping(config, "agent", "model")


def _limits(model: Value) -> Limits | None:
    found = Limits(
        steps=fields.count(model, "per_instance_call_limit") or None,
        cost_usd=fields.amount(model, "per_instance_cost_limit") or None,
    )
    return None if found == Limits() else found


def _usage(stats: Value) -> Usage | None:
    sent, received = fields.count(stats, "tokens_sent"), fields.count(stats, "tokens_received")
    return Usage(input_tokens=sent, output_tokens=received) if sent or received else None


def _claim(status: str) -> Claim:
    """Read an exit status; "submitted (exit_cost)" says that a limit was hit and what there was handed in."""
    word = status.partition("(")[2].rstrip(")").strip() or status.strip()
    reason = _EXITS.get(word) or ("error" if word.startswith(_FAILED) and word != "exit_forfeit" else word)
    return Claim(
        by=Layer.RUNTIME,
        reason=reason,
        status=status,
        error_type=word if reason == "error" else None,
    )


def _steps(source: Source, entries: Sequence[Value], model: str | None, status: str | None) -> tuple[Step, ...]:
    asked = [entry for entry in entries if not _is_exit_note(entry)]
    steps = [_step(source, entry, model, index) for index, entry in enumerate(asked, 1)]
    if steps and status == "submitted" and steps[-1].tool_calls:
        (call,) = steps[-1].tool_calls
        submitted = replace(call, status=ToolStatus.OK, error_type=None, final=True)
        steps[-1] = replace(steps[-1], tool_calls=(submitted,))
    return tuple(steps)


def _is_exit_note(entry: Value) -> bool:
    """Tell the entry that the run wrote about its own exit from an answer of the model."""
    silent = not (fields.text(entry, "response") or fields.text(entry, "action"))
    return silent and (fields.text(entry, "thought") or "").startswith("Exit")


def _step(source: Source, entry: Value, model: str | None, index: int) -> Step:
    said = fields.text(entry, "response") or ""
    action = (fields.text(entry, "action") or "").strip()
    calls = (_call(source, entry, action),) if action else ()
    return Step(
        index=index,
        provider=chat.provider_of(model),
        model=model,
        output=Output(text_chars=len(said), parts=(said != "") + len(calls)),
        tool_calls=calls,
    )


def _call(source: Source, entry: Value, action: str) -> ToolCall:
    """The command is the tool: its first word names it."""
    call = ToolCall(name=action.split(None, 1)[0], arguments_digest=source.digest(action))
    seen = entry.get("observation")
    if not isinstance(seen, str):
        return replace(call, status=ToolStatus.UNKNOWN)
    words = seen.strip()
    if words.startswith(_TIMED_OUT) and "timed out" in words[:200].lower():
        return replace(call, status=ToolStatus.ERROR, error_type="timeout")
    return replace(call, status=ToolStatus.OK)
