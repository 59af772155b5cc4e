"""Our own telemetry: whole turns in the body of an event, and what is left where none came."""

from collections.abc import Mapping

from made_telemetry import Attributes, Tape, tell
from turnout.instrumentation import attributes as names
from turnout.outcomes.facts import Claim, Layer, Limits, Step, TurnFacts, Usage
from turnout.outcomes.record import turn_record
from turnout.pipeline.dialects import is_relevant, link_keys, turns_from
from turnout.pipeline.telemetry import Span, Value

FACTS = TurnFacts(
    turn_id="t1",
    conversation_id="c1",
    agent="bot",
    source="turnout",
    trace_id="0" * 30 + "a1",
    started_at=1_800_000_001_000_000_000,
    ended_at=1_800_000_009_000_000_000,
    limits=Limits(steps=3),
    steps=(
        Step(
            index=1,
            model="m",
            finish_reason="stop",
            started_at=1_800_000_001_000_000_000,
            ended_at=1_800_000_003_000_000_000,
            usage=Usage(input_tokens=5, output_tokens=1),
        ),
    ),
    claims=(Claim(by=Layer.RUNTIME, reason="end_turn"),),
)


def wire(value: object) -> Value:
    """A JSON value as OTLP carries it."""
    if isinstance(value, Mapping):
        return {str(key): wire(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(wire(item) for item in value)
    assert isinstance(value, str | bool | int | float) or value is None
    return value


def tape() -> Tape:
    return Tape(names.SCOPE)


def end(made: Tape, facts: TurnFacts = FACTS, event: str = names.EVENT_END, within: Span | None = None) -> None:
    made.log(event, 9, {names.TURN_ID: facts.turn_id}, body=wire(turn_record(facts)), within=within)


def start(made: Tape, within: Span | None = None) -> None:
    named: Attributes = {
        names.TURN_ID: "t1",
        names.AGENT_NAME: "bot",
        names.CONVERSATION_ID: "c1",
        names.TURN_ATTENDED: True,
        names.TURN_LIMIT_STEPS: 3,
    }
    made.log(names.EVENT_START, 0, named, within=within)


def spans(made: Tape, *, closed: bool) -> Span:
    base: Attributes = {names.TURN_ID: "t1", names.AGENT_NAME: "bot"}
    head = made.span("invoke_agent bot", 0, 10, {**base, names.OPERATION_NAME: names.INVOKE_AGENT})
    chat: Attributes = {
        **base,
        names.OPERATION_NAME: names.CHAT,
        names.STEP_INDEX: 1,
        names.REQUEST_MODEL: "m",
        names.RESPONSE_FINISH_REASONS: ("tool-calls",),
        names.USAGE_INPUT_TOKENS: 5,
    }
    made.span("chat m", 1, 3, chat, parent=head)
    tool: Attributes = {
        **base,
        names.OPERATION_NAME: names.EXECUTE_TOOL,
        names.STEP_INDEX: 1,
        names.TOOL_NAME: "search",
        names.TOOL_STATUS: "error",
    }
    made.span("execute_tool search", 3.5, 4, tool, parent=head)
    if not closed:
        made.records.remove(head)
    return head


def test_the_body_is_the_turn_and_nothing_is_added() -> None:
    """Neither resource nor spans nor the times of the records change it."""
    made = tape()
    start(made)
    spans(made, closed=True)
    end(made)
    assert turns_from(made.records).turns == (FACTS,)


def test_a_late_body_merges() -> None:
    """What became known after the end is the same turn."""
    made = tape()
    end(made)
    end(made, TurnFacts(turn_id="t1", claims=(Claim(by=Layer.HOST, reason="user_stop"),)), names.EVENT_LATE)
    (turn,) = turns_from(made.records).turns
    assert {claim.reason for claim in turn.claims} == {"end_turn", "user_stop"}
    assert turn.agent == "bot"


def test_a_start_without_an_end_is_an_open_turn_with_the_steps_of_its_spans() -> None:
    """The only witness of a turn whose process died."""
    made = tape()
    start(made)
    spans(made, closed=False)
    (turn,) = turns_from(made.records).turns
    assert tell([turn]) == "bot | conversation c1 | open | limit steps 3\n  1 m tool-calls 5/None [search error]"
    assert (turn.turn_id, turn.attended, turn.ended_at) == ("t1", True, None)


def test_spans_alone_are_a_closed_turn_without_claims() -> None:
    """Where logs are not exported, what the emitter concluded is no fact."""
    made = tape()
    spans(made, closed=True)
    assert tell(turns_from(made.records).turns) == "bot\n  1 m tool-calls 5/None [search error]"


def test_a_damaged_body_is_counted_and_the_start_still_counts() -> None:
    """One bad record loses nothing else."""
    made = tape()
    start(made)
    made.log(names.EVENT_END, 9, {names.TURN_ID: "t1"}, body={"turn_id": "t1", "steps": "none"})
    made.log(names.EVENT_END, 9, {}, body="nonsense")
    found = turns_from(made.records)
    assert tell(found.turns) == "bot | conversation c1 | open | limit steps 3"
    assert dict(found.unrecognised) == {"turnout (damaged body)": 1, "turnout (no turn id)": 1}


def test_a_damaged_body_alone_is_counted_and_takes_no_other_turn_with_it() -> None:
    """Nothing is known of the turn that it names, not even when; the turn beside it in the trace is told."""
    made = tape()
    start(made)
    made.log(names.EVENT_END, 9, {names.TURN_ID: "t2"}, body="nonsense")
    found = turns_from(made.records)
    assert [turn.turn_id for turn in found.turns] == ["t1"]
    assert dict(found.unrecognised) == {"turnout (damaged body)": 1}


def test_a_framework_inside_our_turn_tells_the_same_turn() -> None:
    """Its request lies on ours; below our tool call it would be a sub-agent."""
    made = tape()
    head = spans(made, closed=True)
    end(made, within=head)
    agent: Attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bot"}
    inner = made.span("invoke_agent bot", 0.5, 9, agent, parent=head, scope="pydantic-ai")
    chat: Attributes = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ("stop",)}
    made.span("chat m", 1, 2.9, chat, parent=inner, scope="pydantic-ai")
    assert turns_from(made.records).turns == (FACTS,)


def test_a_framework_below_our_tool_call_is_a_sub_agent() -> None:
    """Its parent is our turn."""
    made = tape()
    spans(made, closed=True)
    call = next(
        record for record in made.records if isinstance(record, Span) and record.name.startswith("execute_tool")
    )
    agent: Attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
    inner = made.span("invoke_agent helper", 3.6, 3.9, agent, parent=call, scope="pydantic-ai")
    chat: Attributes = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ("stop",)}
    made.span("chat m", 3.7, 3.8, chat, parent=inner, scope="pydantic-ai")
    helper = next(turn for turn in turns_from(made.records).turns if turn.agent == "helper")
    assert helper.parent_turn_id == "t1"


def test_our_records_hang_together_without_a_trace() -> None:
    """The abnormal finish only repeats the end."""
    made = tape()
    end(made)
    abnormal = made.log(names.EVENT_ABNORMAL_FINISH, 9, {names.TURN_ID: "t1"})
    assert link_keys(made.records[0]) == ("turnout:t1",)
    assert [is_relevant(made.records[0]), is_relevant(abnormal)] == [True, False]
