"""What is known of a turn at one moment, as plain values that become facts or the JSON contract's object when a sink asks.

Values are dictionaries with the keys of ``turnout.turn/1``, but for instants, which are integers; what is not recorded is not in them.
Recording into them is cheap, and a sink that writes JSON alone never pays for the dataclasses.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from turnout.outcomes.facts import (
    TURN_SCHEMA,
    AttemptEnd,
    CheckVerdict,
    Claim,
    FinishCheck,
    Layer,
    Limits,
    Output,
    Refusal,
    Requester,
    Step,
    StepError,
    StopMode,
    StopRecord,
    TaskResult,
    ToolCall,
    ToolStatus,
    TurnFacts,
    Usage,
    YieldRecord,
)
from turnout.outcomes.instants import format_instant

Values: TypeAlias = dict[str, Any]
_Parts: TypeAlias = tuple[tuple[str, Callable[[Any], Any]], ...]

_INSTANTS: Final = ("started_at", "ended_at", "at", "last_seen_at")
_LISTS: Final = ("finish_checks", "stop_requests", "claims")


class KnownTurn:
    """A turn's values with those of its steps and calls, none of which changes any more.

    `record` gives exactly what `turnout.outcomes.record.turn_record` gives of `facts`.
    """

    __slots__ = ("_facts", "steps", "turn")

    def __init__(self, turn: Values, steps: list[tuple[Values, list[Values]]]) -> None:
        self.turn = turn
        self.steps = steps
        self._facts: TurnFacts | None = None

    @property
    def facts(self) -> TurnFacts:
        """The facts as a value."""
        if self._facts is None:
            self._facts = _turn_facts(self.turn, tuple([step_facts(step, calls) for step, calls in self.steps]))
        return self._facts

    def record(self) -> dict[str, object]:
        """The facts as a ``turnout.turn/1`` object."""
        record: dict[str, Any] = {"schema": TURN_SCHEMA, **_recorded(self.turn)}
        for name in _LISTS:
            if name in record:
                record[name] = [_recorded(part) for part in record[name]]
        if self.steps:
            record["steps"] = [_step_record(step, calls) for step, calls in self.steps]
        return record


def values_of(part: Any) -> Values:
    """The values of a facts object that exists already."""
    values: Values = {}
    for name in part.__slots__:
        value = getattr(part, name)
        if value is not None and value != ():
            values["yield" if name == "yield_" else name] = _plain(value)
    return values


def usage_values(usage: Usage) -> Values:
    """`values_of` a usage, at the speed of every step."""
    counts = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }
    return {name: count for name, count in counts.items() if count is not None}


def output_values(output: Output) -> Values:
    """`values_of` an output, at the speed of every step."""
    counts = {"text_chars": output.text_chars, "parts": output.parts, "last_at": output.last_at}
    return {name: count for name, count in counts.items() if count is not None}


def known_turn(turn: TurnFacts) -> KnownTurn:
    """The same for a whole turn."""
    values = values_of(turn)
    steps = values.pop("steps", [])
    return KnownTurn(values, [(step, step.pop("tool_calls", [])) for step in steps])


def step_facts(step: Values, calls: list[Values]) -> Step:
    """A step's values and those of its calls as a value."""
    fields = step.copy()
    if "usage" in step:
        fields["usage"] = Usage(**step["usage"])
    if "output" in step:
        fields["output"] = Output(**step["output"])
    if "refusal" in step:
        fields["refusal"] = Refusal(**step["refusal"])
    if "error" in step:
        fields["error"] = StepError(**step["error"])
    if "attempt_ends" in step:
        fields["attempt_ends"] = tuple([AttemptEnd(**end) for end in step["attempt_ends"]])
    if calls:
        fields["tool_calls"] = tuple([call_facts(call) for call in calls])
    return Step(**fields)


def call_facts(call: Values) -> ToolCall:
    """A tool call's values as a value."""
    fields = call.copy()
    if "status" in call:
        fields["status"] = _STATUSES[call["status"]]
    return ToolCall(**fields)


_STATUSES: Final = {status.value: status for status in ToolStatus}
_TURN_PARTS: Final[_Parts] = (
    ("limits", lambda part: Limits(**part)),
    ("usage", lambda part: Usage(**part)),
    ("task_result", lambda part: TaskResult(**part)),
    ("children_expected", tuple),
    ("finish_checks", lambda parts: tuple([FinishCheck(**_read(part, _CHECK_PARTS)) for part in parts])),
    ("stop_requests", lambda parts: tuple([StopRecord(**_read(part, _STOP_PARTS)) for part in parts])),
    ("claims", lambda parts: tuple([Claim(**_read(part, _CLAIM_PARTS)) for part in parts])),
)
_CHECK_PARTS: Final[_Parts] = (("verdict", CheckVerdict),)
_STOP_PARTS: Final[_Parts] = (("mode", StopMode), ("by", Requester))
_CLAIM_PARTS: Final[_Parts] = (("by", Layer),)


def _turn_facts(turn: Values, steps: tuple[Step, ...]) -> TurnFacts:
    fields = _read(turn, _TURN_PARTS)
    if "yield" in fields:
        fields["yield_"] = YieldRecord(**fields.pop("yield"))
    return TurnFacts(steps=steps, **fields)


def _read(values: Values, parts: _Parts) -> Values:
    fields = values.copy()
    for name, read in parts:
        if name in fields:
            fields[name] = read(fields[name])
    return fields


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, str):
        return str(value)
    return values_of(value) if hasattr(value, "__slots__") else value


def _recorded(values: Values) -> Values:
    record = values.copy()
    for name in _INSTANTS:
        if name in record:
            record[name] = format_instant(record[name])
    return record


def _step_record(step: Values, calls: list[Values]) -> Values:
    record = _recorded(step)
    output = record.get("output")
    if output is not None and "last_at" in output:
        record["output"] = {**output, "last_at": format_instant(output["last_at"])}
    if "attempt_ends" in record:
        record["attempt_ends"] = [_recorded(end) for end in record["attempt_ends"]]
    if calls:
        record["tool_calls"] = [_recorded(call) for call in calls]
    return record
