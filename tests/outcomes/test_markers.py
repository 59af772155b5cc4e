"""What the next model call reads after a turn that did not end by itself."""

import pytest

from turnout.outcomes.facts import Step, ToolCall, ToolStatus, TurnFacts
from turnout.outcomes.markers import Work, marker, work_of
from turnout.outcomes.verdict import Notice

WRITE = ToolCall(id="w1", name="write_file", status=ToolStatus.OK)
FAILED = ToolCall(id="f1", name="run_tests", status=ToolStatus.ERROR)
CUT = ToolCall(id="c1", name="edit_file", status=ToolStatus.STREAMING)
LOST = ToolCall(id="l1", name="send_mail", status=ToolStatus.RUNNING)
ASKED = ToolCall(id="a1", name="refund", status=ToolStatus.AWAITING_APPROVAL)


def test_the_work_of_a_turn_is_what_is_settled_and_what_is_lost() -> None:
    """A failed call may be made again and a waiting one is not lost, so neither is listed."""
    facts = TurnFacts(
        turn_id="t", steps=(Step(index=1, tool_calls=(WRITE, FAILED)), Step(index=2, tool_calls=(CUT, LOST, ASKED)))
    )
    assert work_of(facts) == Work(settled=(WRITE,), lost=(CUT, LOST))


@pytest.mark.parametrize("notice", [Notice.LENGTH, Notice.BUDGET, Notice.INTERRUPTED])
def test_going_on_does_not_redo_settled_work(notice: Notice) -> None:
    """After every end that can be continued, settled calls are named as done and the answer is not started again."""
    said = marker(notice, Work(settled=(WRITE,)))
    assert said is not None
    assert "do not start again" in said
    assert said.endswith("do not make them again: write_file (w1).")


def test_a_call_that_may_have_run_is_to_be_checked_first() -> None:
    """Whether a started call took effect is said to be unknown; one that was only being written never ran."""
    said = marker(Notice.INTERRUPTED, Work(lost=(CUT, LOST)))
    assert said is not None
    assert "never run: edit_file (c1)." in said
    assert "may or may not have taken effect; check before making them again: send_mail (l1)." in said


def test_the_ends_read_apart() -> None:
    """Each of the four ends has words of its own."""
    ends = [Notice.LENGTH, Notice.BUDGET, Notice.INTERRUPTED, Notice.REFUSED]
    assert len({marker(notice, Work()) for notice in ends}) == len(ends)


def test_a_refusal_is_not_gone_on_with() -> None:
    """Nothing in its marker asks to continue, whatever the turn had done before."""
    said = marker(Notice.REFUSED, Work(settled=(WRITE,), lost=(LOST,)))
    assert said == marker(Notice.REFUSED, Work())
    assert said is not None
    assert "Do not go on with it" in said


@pytest.mark.parametrize("notice", [Notice.NONE, Notice.STOPPED, Notice.ERROR])
def test_an_end_that_needs_no_word_has_none(notice: Notice) -> None:
    """A normal end, a person's own stop and an error leave the conversation as it is."""
    assert marker(notice, Work(settled=(WRITE,))) is None
