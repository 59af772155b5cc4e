"""What is known of a turn at one moment, as plain values that become facts or the JSON contract's object when a sink asks.

Values are dictionaries with the keys of ``turnout.turn/1``, but for instants, which are integers; what is not recorded is not in them.
Recording into them is cheap, and a sink that writes JSON alone never pays for the dataclasses.
"""

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

_EMPTY_COUNTS: Final = frozenset({"refusal", "yield"})
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
        record = {"schema": TURN_SCHEMA, **_recorded(self.turn)}
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
        if value is None or value == ():
            continue
        key = "yield" if name == "yield_" else name
        plain = _plain(value)
        if plain != {} or key in _EMPTY_COUNTS:
            values[key] = plain
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
    parts: Values = {name: read(step[name]) for name, read in _STEP_PARTS if name in step}
    if "attempt_ends" in step:
        parts["attempt_ends"] = tuple([AttemptEnd(**end) for end in step["attempt_ends"]])
    return Step(**{**step, **parts}, tool_calls=tuple([call_facts(call) for call in calls]))


def call_facts(call: Values) -> ToolCall:
    """A tool call's values as a value."""
    status = call.get("status")
    return ToolCall(**call) if status is None else ToolCall(**{**call, "status": ToolStatus(status)})


_STEP_PARTS: Final = (
    ("usage", lambda part: Usage(**part)),
    ("output", lambda part: Output(**part)),
    ("refusal", lambda part: Refusal(**part)),
    ("error", lambda part: StepError(**part)),
)
_TURN_PARTS: Final = (
    ("limits", lambda part: Limits(**part)),
    ("usage", lambda part: Usage(**part)),
    ("task_result", lambda part: TaskResult(**part)),
)


def _turn_facts(turn: Values, steps: tuple[Step, ...]) -> TurnFacts:
    fields = {**turn, "steps": steps}
    fields.update({name: read(turn[name]) for name, read in _TURN_PARTS if name in turn})
    handed_back = fields.pop("yield", None)
    if handed_back is not None:
        fields["yield_"] = YieldRecord(**handed_back)
    fields["finish_checks"] = tuple([_check(check) for check in turn.get("finish_checks", ())])
    fields["stop_requests"] = tuple([_stop(stop) for stop in turn.get("stop_requests", ())])
    fields["claims"] = tuple([Claim(**{**claim, "by": Layer(claim["by"])}) for claim in turn.get("claims", ())])
    fields["children_expected"] = tuple(turn.get("children_expected", ()))
    return TurnFacts(**fields)


def _check(check: Values) -> FinishCheck:
    verdict = check.get("verdict")
    return FinishCheck(**{**check, "verdict": CheckVerdict(verdict) if verdict is not None else None})


def _stop(stop: Values) -> StopRecord:
    mode, by = stop.get("mode"), stop.get("by")
    read = {"mode": StopMode(mode) if mode else None, "by": Requester(by) if by else None}
    return StopRecord(**{**stop, **read})


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
