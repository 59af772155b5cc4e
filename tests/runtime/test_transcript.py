"""Turns that outlive their process: what is newer, what a reload shows, and what two writers make of one turn."""

import asyncio
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnout.outcomes.classify import classify
from turnout.outcomes.decide import StopReason, StopRequest
from turnout.outcomes.facts import Claim, Layer, Limits, Step, StopMode, ToolCall, ToolStatus, TurnFacts
from turnout.outcomes.state import Metadata, view
from turnout.outcomes.verdict import Evidence, MetadataFinish, Notice, Outcome, Resumable
from turnout.runtime.messages import AssistantMessage, CallRequest, Message, Origin, ToolMessage, UserMessage
from turnout.runtime.scripted import CallsTools, Refuses, Rejects, RunsOut, Says, Scripted, ScriptedCall
from turnout.runtime.transcript import (
    Entry,
    MemoryStore,
    TranscriptStore,
    ended,
    keep,
    last_segment,
    recover,
    supersedes,
)
from turnout.runtime.transcript_sqlite import SqliteStore
from turnout.runtime.turn import Turn

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

MESSAGES: tuple[Message, ...] = (
    UserMessage("Do it."),
    UserMessage("And that.", Origin.STEERING),
    AssistantMessage("Well.", (CallRequest("c1", "read", '{"path": "a"}'),)),
    ToolMessage("c1", "no such file", is_error=True),
)
READ = ToolCall(id="c1", name="read", status=ToolStatus.RUNNING, mutating=False)
FACTS = TurnFacts(
    turn_id="t1",
    conversation_id="talk",
    attended=True,
    started_at=1,
    limits=Limits(steps=3, cost_usd=0.5),
    steps=(Step(index=1, finish_reason="tool-calls", tool_calls=(READ,)),),
)
DONE = replace(
    FACTS,
    ended_at=9,
    steps=(Step(index=1, finish_reason="stop"),),
    claims=(Claim(by=Layer.RUNTIME, reason="end_turn", at=9),),
)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TranscriptStore]:
    if request.param == "memory":
        yield MemoryStore()
        return
    with SqliteStore(tmp_path / "turns.db") as sqlite:
        yield sqlite


def test_an_entry_comes_back_whole(store: TranscriptStore) -> None:
    """Facts, messages of every kind and metadata, as they were."""
    entry = Entry(
        facts=FACTS,
        messages=MESSAGES,
        metadata=Metadata(
            finish_time=5, interrupted=True, finish_reason=MetadataFinish.LENGTH, resumable=Resumable.UNKNOWN
        ),
        revision=4,
        running=False,
        observed=True,
        disposition="failed",
    )
    assert store.upsert(entry)
    assert store.segment("t1") == entry
    assert store.segments("t1") == store.conversation("talk") == (entry,)
    assert (store.segment("t2"), store.segments("t2"), store.conversation("x")) == (None, (), ())


NEWER = [
    # kept (observed, revision), new (observed, revision), whether the new one is kept
    ((False, 3), (False, 4), True),
    ((False, 3), (False, 3), False),
    ((False, 3), (False, 2), False),
    ((False, 3), (True, 1), True),
    ((True, 3), (False, 9), False),
    ((True, 3), (True, 4), True),
    ((True, 3), (True, 3), False),
]


@pytest.mark.parametrize(("kept", "new", "wins"), NEWER)
def test_only_a_newer_state_is_kept(
    store: TranscriptStore, kept: tuple[bool, int], new: tuple[bool, int], wins: bool
) -> None:
    """By revision within what was seen of the end; a state that saw no end never replaces one that did."""
    old = Entry(facts=FACTS, observed=kept[0], revision=kept[1])
    entry = Entry(facts=DONE, observed=new[0], revision=new[1])
    store.upsert(old)
    assert store.upsert(entry) is wins
    assert store.segment("t1") == (entry if wins else old)
    assert supersedes(entry, old) is wins


def test_running_segments_are_found(store: TranscriptStore) -> None:
    """What has not ended, in the order in which it started."""
    late, early = (Entry(facts=replace(FACTS, turn_id=name, started_at=at)) for name, at in (("b", 7), ("a", 3)))
    for entry in (late, early, replace(ended(DONE, (), observed=True), revision=1)):
        store.upsert(entry)
    assert store.running() == (early, late)


def test_an_end_is_written_as_one(store: TranscriptStore) -> None:
    """A newer state brings its own finish time, interruption and reason; nothing of the older one stays."""
    cut = Metadata(finish_reason=MetadataFinish.LENGTH, interrupted=True)
    store.upsert(Entry(facts=FACTS, metadata=cut, running=False, observed=True, revision=1))
    store.upsert(Entry(facts=DONE, metadata=Metadata(finish_time=9), running=False, observed=True, revision=2))
    entry = store.segment("t1")
    assert entry is not None
    assert entry.metadata == Metadata(finish_time=9)


class TestRecoverySegments:
    def segment(self, turn_id: str, at: int) -> TurnFacts:
        return replace(FACTS, turn_id=turn_id, root_turn_id="t1", started_at=at)

    def test_the_last_segment_is_the_turn(self, store: TranscriptStore) -> None:
        """An older interruption does not stand behind a newer finish."""
        store.upsert(ended(replace(self.segment("t1", 1), open=True), (), observed=False))
        finished = ended(replace(DONE, turn_id="t1.2", root_turn_id="t1", started_at=5), (), observed=True)
        store.upsert(finished)
        assert last_segment(store, "t1") == finished
        assert view(finished.seen).notice is Notice.NONE

    def test_an_older_finish_does_not_stand_behind_a_newer_interruption(self, store: TranscriptStore) -> None:
        """Also when the older segment writes last."""
        store.upsert(ended(replace(self.segment("t1.2", 5), open=True), (), observed=False))
        store.upsert(replace(ended(replace(DONE, root_turn_id="t1"), (), observed=True), revision=8))
        entry = last_segment(store, "t1")
        assert entry is not None
        assert (entry.turn_id, entry.metadata.finish_time) == ("t1.2", None)
        assert view(entry.seen).notice is Notice.INTERRUPTED

    def test_a_running_segment_hides_the_interruption_before_it(self, store: TranscriptStore) -> None:
        """While the recovery runs, there is nothing to continue."""
        store.upsert(ended(replace(self.segment("t1", 1), open=True), (), observed=False))
        store.upsert(Entry(facts=self.segment("t1.2", 5)))
        entry = last_segment(store, "t1")
        assert entry is not None
        assert view(entry.seen).notice is Notice.NONE


class TestRecovery:
    def test_open_turns_read_interrupted_and_inferred(self, store: TranscriptStore) -> None:
        """With their unsettled tools; ended turns stay as they are."""
        finished = replace(ended(replace(DONE, turn_id="t0"), MESSAGES, observed=True), revision=1)
        store.upsert(finished)
        store.upsert(Entry(facts=FACTS, messages=MESSAGES, revision=6))
        [closed] = recover(store, at=100)
        verdict = classify(closed.facts)
        assert (verdict.outcome, verdict.evidence) == (Outcome.INTERRUPTED, Evidence.INFERRED)
        assert verdict.unsettled_tools == 1
        assert (closed.running, closed.messages, view(closed.seen).notice) == (False, MESSAGES, Notice.INTERRUPTED)
        assert store.segment("t1") == closed
        assert (store.segment("t0"), store.running()) == (finished, ())

    def test_a_turn_that_died_between_its_steps_is_interrupted_too(self, store: TranscriptStore) -> None:
        """Nothing is unsettled and nothing says that it ended."""
        settled = replace(READ, status=ToolStatus.OK)
        store.upsert(Entry(facts=replace(FACTS, steps=(replace(FACTS.steps[0], tool_calls=(settled,)),))))
        [closed] = recover(store, at=100)
        verdict = classify(closed.facts)
        assert (verdict.outcome, verdict.evidence, verdict.unsettled_tools) == (
            Outcome.INTERRUPTED,
            Evidence.INFERRED,
            0,
        )

    def test_recovering_twice_changes_nothing(self, store: TranscriptStore) -> None:
        """The second restart finds nothing open."""
        store.upsert(Entry(facts=FACTS))
        recover(store, at=100)
        before = store.segment("t1")
        assert recover(store, at=200) == ()
        assert store.segment("t1") == before

    def test_a_turn_that_was_alive_all_along_replaces_what_was_inferred(self, store: TranscriptStore) -> None:
        """Its observed end stands, whatever was inferred meanwhile and however the counts of writes compare."""
        store.upsert(Entry(facts=FACTS, revision=2))
        recover(store, at=100)
        keep(store, replace(ended(DONE, (), observed=True), revision=3))
        entry = store.segment("t1")
        assert entry is not None
        assert (classify(entry.facts).outcome, entry.running, entry.observed) == (Outcome.COMPLETED, False, True)

    def test_only_the_dead_are_closed_where_others_are_at_work(self, store: TranscriptStore) -> None:
        """Whoever knows which segments died names them."""
        dead, alive = (Entry(facts=replace(FACTS, turn_id=name)) for name in ("dead", "alive"))
        store.upsert(dead)
        store.upsert(alive)
        recover(store, at=100, dead=(dead,))
        assert [entry.turn_id for entry in store.running()] == ["alive"]


SCRIPTS: dict[str, list[Scripted]] = {
    "completed": [CallsTools(calls=(ScriptedCall("read"),)), Says(text="Done.")],
    "cut": [RunsOut(text="Half")],
    "refused in a call": [Refuses(calls=(ScriptedCall("read", cut=True),))],
    "at the budget": [CallsTools(calls=(ScriptedCall("read"),))] * 3,
    "failed": [Rejects(status=401)],
    "stopped in a tool": [CallsTools(calls=(ScriptedCall("read"),), seconds=1)],
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_reload_gives_the_same_state(name: str, stage: "Stage", tmp_path: Path) -> None:
    """Another process that opens the file sees what this one sees, and the conversation as it was."""

    async def stop(turn: Turn) -> None:
        await asyncio.sleep(1.5)
        turn.stop(StopRequest(StopMode.IMMEDIATE, StopReason.USER_STOP))

    path = tmp_path / "turns.db"
    with SqliteStore(path) as writing:
        result = stage.play(
            SCRIPTS[name],
            store=writing,
            limits=Limits(steps=3),
            during=stop if name == "stopped in a tool" else None,
            task={"attended": True},
        )
        before = writing.segment("t1")
    with SqliteStore(path) as reading:
        after = reading.segment("t1")
    assert before == after
    assert after is not None
    assert after.facts == result.log.facts
    assert after.messages == result.messages
    assert view(after.seen).notice is classify(after.facts).notice
    assert view(after.seen).can_continue is classify(after.facts).can_continue


class TestTwoWriters:
    """Two writers of one segment who do not know of each other."""

    def test_the_newer_state_is_not_overwritten_by_a_stale_one(self, store: TranscriptStore) -> None:
        """A writer that fell behind adds what it knows to what is there."""
        mine = replace(FACTS, steps=(Step(index=1, message_id="m1"),))
        other = replace(FACTS, steps=(Step(index=1, message_id="m1"), Step(index=2, message_id="m2")))
        keep(store, Entry(facts=other, messages=MESSAGES, revision=5))
        kept = keep(store, Entry(facts=mine, messages=MESSAGES[:1], revision=2))
        assert [step.index for step in kept.facts.steps] == [1, 2]
        assert kept.messages == MESSAGES
        assert store.segment("t1") == kept

    @settings(max_examples=60, deadline=None)
    @given(
        writes=st.lists(
            st.tuples(st.sampled_from(["a", "b"]), st.integers(1, 4), st.booleans(), st.integers(1, 6)), max_size=8
        )
    )
    def test_nothing_known_is_ever_lost(self, writes: list[tuple[str, int, bool, int]]) -> None:
        """Whatever the order of their writes, every step that one of them saw stands, and so does an observed end."""
        store = MemoryStore()
        known: dict[str, set[int]] = {"a": set(), "b": set()}
        for writer, index, ends, revision in writes:
            known[writer].add(index)
            steps = tuple(Step(index=i, message_id=f"m{i}") for i in sorted(known[writer]))
            facts = replace(FACTS, steps=steps)
            if ends:
                facts = replace(facts, ended_at=9, open=False)
            state = ended(facts, (), observed=True) if ends else Entry(facts=facts)
            keep(store, replace(state, revision=revision))
            kept = store.segment("t1")
            assert kept is not None
            assert known[writer] <= {step.index for step in kept.facts.steps}
        if writes:
            kept = store.segment("t1")
            assert kept is not None
            assert {step.index for step in kept.facts.steps} >= known[writes[-1][0]]
            assert kept.observed is any(ends for _, _, ends, _ in writes)
            assert kept.running is not kept.observed

    def test_two_processes_write_one_file(self, tmp_path: Path) -> None:
        """Both write at once, thirty states each; the last state holds what both saw."""
        path = tmp_path / "turns.db"
        SqliteStore(path).close()
        writer = textwrap.dedent(
            """
            import sys
            from turnout.outcomes.facts import Step, TurnFacts
            from turnout.runtime.transcript import Entry, keep
            from turnout.runtime.transcript_sqlite import SqliteStore
            path, first = sys.argv[1], int(sys.argv[2])
            with SqliteStore(path) as store:
                for count in range(1, 31):
                    steps = tuple(Step(index=first + i, message_id=f"m{first + i}") for i in range(count))
                    keep(store, Entry(facts=TurnFacts(turn_id="t1", started_at=1, steps=steps), revision=count))
            """
        )
        writers = [subprocess.Popen([sys.executable, "-c", writer, str(path), first]) for first in ("1", "1001")]
        assert [process.wait() for process in writers] == [0, 0]
        with SqliteStore(path) as store:
            entry = store.segment("t1")
        assert entry is not None
        indices = [step.index for step in entry.facts.steps]
        assert sorted(i for i in indices if i is not None) == [*range(1, 31), *range(1001, 1031)]


def test_a_store_that_fails_keeps_nothing_of_a_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state is kept with all of its messages or not at all."""
    with SqliteStore(tmp_path / "turns.db") as store:
        store.upsert(Entry(facts=FACTS, messages=MESSAGES[:1], revision=1))
        broken: Callable[..., object] = lambda *_: (_ for _ in ()).throw(OSError("full"))  # noqa: E731
        monkeypatch.setattr(store, "_write_messages", broken)
        with pytest.raises(OSError, match="full"):
            store.upsert(Entry(facts=DONE, messages=MESSAGES, revision=2))
        entry = store.segment("t1")
    assert entry == Entry(facts=FACTS, messages=MESSAGES[:1], revision=1)
