"""MedAgentBench task files: one run of one task a file, a round is a model request, its action the tool call.

``status`` is the harness's word on the end; ``correct`` is the grader's on the work, which is another question.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from turnout.outcomes.facts import Claim, Layer, Limits, Output, Step, TaskResult, ToolCall, ToolStatus, TurnFacts
from turnout.pipeline.importers import fields
from turnout.pipeline.importers.base import Damaged, Imported, Record, Skipped, Source, content_id

KIND = "medagentbench"
_ENDS = {
    "completed": "completed",
    "task_limit_reached": "step_limit",
    "agent_context_limit": "prompt_too_long",
    "agent_invalid_action": "error",
    "agent_validation_failed": "error",
    "task_error": "error",
    "cancelled": "cancelled",
}
_FINISH = "finish"
_WRITES = frozenset({"post", "put", "patch", "delete"})
_INVALID = "invalid"

Value = Mapping[str, object]


def parse(source: Source, records: Iterable[Record | Damaged]) -> Iterator[Imported]:
    """Read the run of one task file into its turn."""
    for record in records:
        if isinstance(record, Damaged):
            yield record
        elif recognise([record.value], source.path):
            yield _turn(source, record.value)
        else:
            yield Skipped(path=source.path, why="no MedAgentBench task: no task_id with its turns and status")


def recognise(sample: Sequence[Value], name: str) -> bool:
    """Know a task file by its task, its rounds and its status."""
    del name
    return any(
        "task_id" in value and "status" in value and isinstance(value.get("turns"), list) and "rounds" in value
        for value in sample
    )


def _turn(source: Source, run: Value) -> TurnFacts:
    provenance = fields.mapping(run, "diagnostics", "provenance")
    rounds = fields.objects(run, "turns")
    limit = fields.count(provenance, "max_round")
    task = fields.label(run, "task_id") or "task"
    return TurnFacts(
        turn_id=":".join((KIND, task, content_id([rounds, run.get("status"), provenance.get("captured_at")]))),
        agent=fields.text(provenance, "agent_id") or KIND,
        source=KIND,
        attended=False,
        last_seen_at=fields.instant(provenance, "captured_at"),
        limits=None if limit is None else Limits(steps=limit),
        steps=tuple(_step(source, step, index) for index, step in enumerate(rounds, 1)),
        claims=_claims(run),
        task_result=_result(run),
    )


def _claims(run: Value) -> tuple[Claim, ...]:
    status = fields.text(run, "status")
    if fields.boolean(run, "infra_fail") is True:
        words = fields.text(run, "infra_reason")
        return (Claim(by=Layer.HOST, reason="error", status=status, error_type="infra_fail", message=words),)
    if status is None:
        return ()
    reason = _ENDS.get(status)
    return (Claim(by=Layer.HOST, reason=reason, status=status, error_type=status if reason == "error" else None),)


def _step(source: Source, step: Value, index: int) -> Step:
    said = fields.text(step, "agent_reply") or ""
    action = fields.text(step, "action_kind") or _INVALID
    calls = () if action == _INVALID else (_call(source, step, action),)
    return Step(index=index, output=Output(text_chars=len(said), parts=int(said != "")), tool_calls=calls)


def _call(source: Source, step: Value, action: str) -> ToolCall:
    final = action == _FINISH
    seen = fields.text(step, "observation")
    failed = seen is not None and seen.lstrip().lower().startswith(("error", "invalid"))
    return ToolCall(
        name=action,
        status=ToolStatus.ERROR if failed else ToolStatus.OK if final or seen is not None else ToolStatus.UNKNOWN,
        final=True if final else None,
        mutating=action in _WRITES,
        arguments_digest=source.digest([step.get("url"), step.get("payload")]),
    )


def _result(run: Value) -> TaskResult | None:
    correct = fields.boolean(run, "correct")
    return None if correct is None else TaskResult(correct=correct)
