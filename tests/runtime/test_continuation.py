"""The next turn: after an end, after a hand-off, and in place of a segment that died."""

from typing import TYPE_CHECKING

import pytest

from turnout.outcomes.decide import BudgetReason, Finish, Terminate
from turnout.outcomes.facts import Limits
from turnout.outcomes.state import view
from turnout.outcomes.verdict import Notice
from turnout.runtime.agent import TurnTask
from turnout.runtime.continuation import history, next_turn, recovery, waiting_calls
from turnout.runtime.hooks import Answer, Candidate, FinishHook, Veto
from turnout.runtime.messages import CallRequest, Origin, ToolMessage, UserMessage
from turnout.runtime.scripted import CallsTools, Refuses, RunsOut, Says, Scripted, ScriptedCall
from turnout.runtime.tools import Approval, Tool, ToolContext
from turnout.runtime.transcript import Entry, MemoryStore, last_segment, recover

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

CALL = CallsTools(calls=(ScriptedCall("read", {"path": "a"}),))
SAY = Says(text="Done.")


def kept(store: MemoryStore, turn_id: str = "t1") -> Entry:
    entry = store.segment(turn_id)
    assert entry is not None
    return entry


def replay(stage: "Stage", script: list[Scripted], task: TurnTask, store: MemoryStore, **agent: object) -> Terminate:
    values = {name: getattr(task, name) for name in TurnTask.__slots__}
    result = stage.play(script, task=values, store=store, limits=task.limits, **agent)  # type: ignore[arg-type]
    assert isinstance(result.decision, Terminate)
    return result.decision


def test_a_continue_is_a_new_message_and_no_replay(stage: "Stage") -> None:
    """After a cut the model reads its own words, what happened to them, and then the person."""
    store = MemoryStore()
    result = stage.play([CALL, RunsOut(text="One, two, th")], store=store)
    task = next_turn(result.messages, kept(store), "Continue.", turn_id="t2")
    assert task.continues == "t1"
    assert task.messages[: len(result.messages)] == result.messages
    marker, said = task.messages[len(result.messages) :]
    assert isinstance(marker, UserMessage)
    assert marker.origin is Origin.MARKER
    assert "do not make them again: read (call-1-1)" in marker.text
    assert said == UserMessage("Continue.")
    assert replay(stage, [SAY], task, store) == Terminate(Finish.END_TURN)
    assert kept(store, "t2").facts.continues_turn_id == "t1"


def test_after_a_whole_answer_nothing_is_marked(stage: "Stage") -> None:
    """The next message follows the conversation as it is, and continues nothing."""
    store = MemoryStore()
    result = stage.play([SAY], store=store)
    task = next_turn(result.messages, kept(store), "And now?", turn_id="t2")
    assert task.messages == (*result.messages, UserMessage("And now?"))
    assert task.continues is None


def test_after_a_refusal_the_model_is_not_asked_to_go_on(stage: "Stage") -> None:
    """The marker says that the answer was withheld; half a call in it is answered as lost."""
    store = MemoryStore()
    script: list[Scripted] = [Refuses(calls=(ScriptedCall("read", {"path": "abcd"}, cut=True),))]
    result = stage.play(script, store=store, provider="anthropic")
    task = next_turn(result.messages, kept(store), "Something else, then.", turn_id="t2")
    marker = task.messages[-2]
    assert isinstance(marker, UserMessage)
    assert "Do not go on with it" in marker.text
    replay(stage, [SAY], task, store)
    sent = stage.model.requests[0].messages
    assert ToolMessage("call-1-1", "No result: the call did not come to an end.", is_error=True) in sent


async def _pay(_: ToolContext) -> str:
    return "paid"


async def _nobody(_: CallRequest) -> Approval:
    return None


PAY = Tool(name="pay", run=_pay, mutating=True, approve=_nobody)
PICK = Tool(name="pick", run=None)


@pytest.mark.parametrize(("tool", "name"), [(PAY, "pay"), (PICK, "pick")], ids=["approval", "client"])
def test_a_hand_off_is_continued_with_its_answer(stage: "Stage", tool: Tool, name: str) -> None:
    """The call that waited gets its result in its place, and the turn that goes on continues the one that handed back."""
    store = MemoryStore()
    result = stage.play([CallsTools(calls=(ScriptedCall(name, id="p1"),))], store=store, tools=(tool,))
    entry = kept(store)
    assert waiting_calls(entry) == ("p1",)
    assert view(entry.seen).notice is Notice.NONE
    answers = [ToolMessage("p1", "The person said yes.")]
    task = next_turn(result.messages, entry, "Go on.", turn_id="t2", answers=answers)
    assert task.continues == "t1"
    replay(stage, [SAY], task, store)
    assert stage.model.requests[0].messages[-2:] == (answers[0], UserMessage("Go on."))


def test_a_continued_turn_hears_the_veto_at_its_limit_too(stage: "Stage") -> None:
    """After a hand-off the last budgeted step consults the hooks like any other."""

    async def veto(_: Candidate) -> Answer:
        return Veto("No.")

    store = MemoryStore()
    result = stage.play([CallsTools(calls=(ScriptedCall("pick", id="p1"),))], store=store, tools=(PICK,))
    answers = [ToolMessage("p1", "The second one.")]
    task = next_turn(result.messages, kept(store), "Go on.", turn_id="t2", answers=answers, limits=Limits(steps=1))
    decision = replay(stage, [SAY], task, store, finish_hooks=(FinishHook("veto", veto),))
    assert decision == Terminate(BudgetReason.STEP_LIMIT)


def test_a_dead_turn_is_taken_up_as_the_same_turn(stage: "Stage") -> None:
    """The recovery segment carries the turn's root, reads what was lost, and its end is the turn's."""
    store = MemoryStore()
    stage.play([CALL, SAY], store=store, task={"conversation_id": "talk", "attended": True})
    dead = kept(store)
    store = MemoryStore()
    facts = dead.facts
    cut = Entry(
        facts=type(facts)(turn_id="t1", conversation_id="talk", started_at=facts.started_at, steps=facts.steps[:1]),
        messages=dead.messages[:3],
    )
    store.upsert(cut)
    [closed] = recover(store, at=facts.ended_at or 0)
    task = recovery(history(store.segments("t1")), closed, turn_id="t1.2")
    assert (task.root_turn_id, task.conversation_id, task.continues) == ("t1", "talk", None)
    marker = task.messages[-1]
    assert isinstance(marker, UserMessage)
    assert "interrupted before it ended" in marker.text
    replay(stage, [SAY], task, store)
    entry = last_segment(store, "t1")
    assert entry is not None
    assert (entry.turn_id, view(entry.seen).notice) == ("t1.2", Notice.NONE)
    assert history(store.segments("t1")) == (*cut.messages, *entry.messages)
