"""Facts made from parts of a turn's records add up to the facts of all of them."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnout.outcomes.facts import Step, ToolCall, ToolStatus, TurnFacts
from turnout.outcomes.settle import merge, settle
from turnout.pipeline.combine import combine

TRACE = "0" * 31 + "1"
TURN = f"{TRACE}:0000000000000001"


def step(index: int, at: int, *calls: ToolCall) -> Step:
    return Step(index=index, started_at=at, ended_at=at + 5, message_id=f"m{at}", tool_calls=calls)


def call(at: int) -> ToolCall:
    return ToolCall(id=f"c{at}", name="search", status=ToolStatus.OK, started_at=at, ended_at=at + 1)


WHOLE = TurnFacts(
    turn_id=TURN,
    trace_id=TRACE,
    started_at=1,
    ended_at=90,
    steps=(step(1, 10, call(16)), step(2, 20, call(26)), step(3, 30)),
)


def part(*steps: Step) -> TurnFacts:
    return replace(WHOLE, steps=tuple(replace(one, index=number) for number, one in enumerate(steps, 1)))


def open_part(*steps: Step) -> TurnFacts:
    return replace(part(*steps), started_at=10, ended_at=None, open=True)


PARTS = {
    "the same again": (WHOLE, WHOLE),
    "one step again": (WHOLE, open_part(step(1, 20))),
    "a step in the middle came late": (part(step(1, 10, call(16)), step(1, 30)), open_part(step(1, 20, call(26)))),
    "the end came late": (open_part(*WHOLE.steps), part()),
    "a tool call alone": (
        part(step(1, 10, call(16)), step(2, 20), step(3, 30)),
        open_part(Step(index=1, tool_calls=(call(26),))),
    ),
    "a tool call alone that lends its times to a step": (
        part(step(1, 10, call(16)), step(2, 20), step(3, 30)),
        open_part(Step(index=1, started_at=26, ended_at=27, tool_calls=(call(26),))),
    ),
    "a tool call under the wrong step": (part(step(1, 10, call(16), call(26)), step(3, 30)), open_part(step(1, 20))),
    "no step at all": (part(*WHOLE.steps), part()),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_add_up_to_the_whole(name: str) -> None:
    """In both orders, and adding a part once more changes nothing."""
    one, other = PARTS[name]
    assert settle(combine(one, other)) == WHOLE
    assert settle(combine(other, one)) == WHOLE
    assert settle(combine(settle(combine(one, other)), other)) == WHOLE


def test_steps_that_carry_their_index_keep_it() -> None:
    """A turn that is not named by a span counts its steps itself; rows of one index are attempts, as merge says."""
    one = replace(WHOLE, turn_id="mine", steps=(step(1, 10),))
    other = replace(WHOLE, turn_id="mine", steps=(step(1, 20),))
    assert combine(one, other) == merge(one, other)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_any_division_adds_up_to_the_whole(data: st.DataObject) -> None:
    """Steps and tool calls of a turn in any two parts."""
    steps = [step(n, 10 * n, *(call(10 * n + 6 + k) for k in range(data.draw(st.integers(0, 2))))) for n in range(1, 6)]
    whole = part(*steps)
    left = [one for one in steps if data.draw(st.booleans())]
    right = [one for one in steps if one not in left or data.draw(st.booleans())]
    assert settle(combine(part(*left), open_part(*right) if right else part())) == whole
