"""The reducer: what it gives, when, and that neither order, doubling, splitting nor a crash changes it."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_spans import RESOURCE, SCOPE, T0, nested, span, turn
from turnout.outcomes.facts import Instant
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.assemble import SECOND, Assembler, Given, How, Pace
from turnout.pipeline.codec import encode_turn
from turnout.pipeline.combine import combine
from turnout.pipeline.receive.state import read_state, write_state
from turnout.pipeline.rows import ClassifiedTurn, classified, digest_of
from turnout.pipeline.telemetry import LogRecord, Record, Resource, Scope

PACE = Pace()


def steps_of(one: Given) -> list[tuple[int | None, str | None]]:
    return [(step.index, step.message_id) for step in one.turn.facts.steps]


def test_a_turn_is_given_once_its_end_was_seen_and_all_is_still() -> None:
    """Not at once, since more may be on its way; after the settle time, once."""
    assembler = Assembler(PACE)
    assembler.accept(turn(1), T0)
    assert assembler.advance(T0 + PACE.settle - 1) == []
    (one,) = assembler.advance(T0 + PACE.settle)
    assert (one.how, one.turn.verdict.outcome, one.turn.received_at, one.supersedes) == (
        How.ENDED,
        Outcome.COMPLETED,
        T0,
        None,
    )
    assert steps_of(one) == [(1, "response-1-1"), (2, "response-1-2"), (3, "response-1-3")]
    assert assembler.advance(T0 + PACE.linger) == []


def test_a_turn_without_its_end_waits() -> None:
    """Steps alone give nothing until the quiet time, then an open turn, which is interrupted."""
    assembler = Assembler(PACE)
    assembler.accept(turn(1)[:-1], T0)
    assert assembler.advance(T0 + PACE.quiet - 1) == []
    (one,) = assembler.advance(T0 + PACE.quiet)
    assert (one.how, one.turn.verdict.outcome, one.turn.facts.open) == (How.QUIET, Outcome.INTERRUPTED, True)


def test_a_late_end_replaces_an_inferred_one() -> None:
    """The same turn id, now with its end; the interrupted one is superseded."""
    assembler = Assembler(PACE)
    records = turn(1)
    assembler.accept(records[:-1], T0)
    (dead,) = assembler.advance(T0 + PACE.quiet)
    assembler.accept(records[-1:], T0 + PACE.quiet + SECOND)
    (whole,) = assembler.advance(T0 + PACE.quiet + 10 * SECOND)
    assert whole.turn.facts.turn_id == dead.turn.facts.turn_id
    assert (whole.how, whole.turn.verdict.outcome, whole.supersedes) == (How.ENDED, Outcome.COMPLETED, dead.digest)


def test_a_late_step_moves_those_behind_it() -> None:
    """A step that comes after the turn was given takes its place by time; the turn is given again, whole."""
    assembler = Assembler(PACE)
    records = turn(1)
    assembler.accept([record for record in records if record.span_id != f"{20:016x}"], T0)
    (first,) = assembler.advance(T0 + SECOND)
    assembler.accept(records, T0 + 2 * SECOND)
    (second,) = assembler.advance(T0 + 4 * SECOND)
    assert steps_of(first) == [(1, "response-1-1"), (2, "response-1-3")]
    assert steps_of(second) == [(1, "response-1-1"), (2, "response-1-2"), (3, "response-1-3")]
    assert second.supersedes == first.digest


def test_the_turns_of_a_dead_process_wait_a_minute() -> None:
    """Once a process is known to be gone its turns are closed after the dead time; those of others are not."""
    assembler = Assembler(PACE)
    other = Resource({"service.name": "shop", "host.name": "here", "process.pid": 78})
    assembler.accept(turn(1)[:-1], T0)
    assembler.accept([replace(record, resource=other) for record in turn(2)[:-1]], T0)
    assembler.advance(T0 + 5 * SECOND)
    assert assembler.processes() == {("here", 77), ("here", 78)}
    assembler.died(("here", 77), T0 + 10 * SECOND)
    assert assembler.advance(T0 + 10 * SECOND + PACE.dead - 1) == []
    (one,) = assembler.advance(T0 + 10 * SECOND + PACE.dead)
    assert (one.how, one.turn.facts.trace_id) == (How.DIED, f"{1:032x}")


def test_records_that_go_on_coming_are_looked_at_in_between() -> None:
    """A sub-agent's turn that is over is given while its group still grows."""
    assembler = Assembler(PACE)
    assembler.accept(turn(1), T0)
    found: list[Given] = []
    for tick in range(1, 40):
        at = T0 + tick * SECOND // 10
        found += assembler.advance(at)
        assembler.accept(
            [span(1, 1000 + tick, 1, 1, gen_ai__operation__name="execute_tool", gen_ai__tool__name="t")], at
        )
    assert [one.how for one in found] == [How.ENDED]


def test_what_lingers_is_let_go() -> None:
    """After the linger time a late record stands alone, and the lake adds it to what is stored."""
    assembler = Assembler(PACE)
    assembler.accept(turn(1), T0)
    assembler.advance(T0 + SECOND)
    assembler.advance(T0 + PACE.linger)
    assert assembler.records == 0
    assembler.accept(turn(1)[-1:], T0 + PACE.linger)
    (one,) = assembler.advance(T0 + PACE.linger + SECOND)
    assert (one.supersedes, one.turn.facts.steps) == (None, ())


def test_closed_turns_can_be_let_go_at_once() -> None:
    """Under pressure only what may still be running is kept."""
    assembler = Assembler(PACE)
    assembler.accept([*turn(1), *turn(2)[:-1]], T0)
    assembler.advance(T0 + SECOND)
    assembler.let_go()
    assert (assembler.records, assembler.open_groups()) == (len(turn(2)) - 1, 1)


def test_past_the_bound_closed_turns_go_first_and_then_the_oldest_open() -> None:
    """Memory is bounded: records of closed turns are let go, then open turns are given as they stand."""
    assembler = Assembler(replace(PACE, groups=2))
    assembler.accept(turn(1)[:-1], T0)
    assembler.accept(turn(2), T0 + 1)
    assembler.advance(T0 + SECOND)
    assembler.accept(turn(3)[:-1], T0 + SECOND)
    assert assembler.advance(T0 + SECOND) == []
    assembler.accept(turn(4)[:-1], T0 + 2 * SECOND)
    (one,) = assembler.advance(T0 + 2 * SECOND)
    assert (one.how, one.turn.facts.trace_id, one.turn.facts.open) == (How.PRESSED, f"{1:032x}", True)


def test_records_in_no_dialect_are_counted_once_by_scope() -> None:
    """However often their group is looked at."""
    assembler = Assembler(PACE)
    plain = replace(
        turn(1)[0], attributes={"http.route": "/"}, scope=Scope("web", ""), parent_id="", span_id=f"{5:016x}"
    )
    assembler.accept([plain], T0)
    assembler.advance(T0 + SECOND)
    assembler.accept([plain, replace(plain, span_id=f"{6:016x}")], T0 + 2 * SECOND)
    assembler.advance(T0 + 10 * SECOND)
    assert assembler.unrecognised == {"web": 2}


def test_a_record_without_any_id_stands_alone() -> None:
    """It ties nothing together and breaks nothing."""
    assembler = Assembler(PACE)
    lost = LogRecord("", "", "note", T0, "text", {}, SCOPE, RESOURCE)
    assembler.accept([lost, replace(turn(1)[0], trace_id="", parent_id="")], T0)
    assembler.accept(turn(2), T0)
    found = assembler.advance(T0 + SECOND)
    assert f"{2:032x}" in {one.turn.facts.trace_id for one in found}


def test_a_turn_named_by_a_missing_span_is_withdrawn_when_the_span_is_another_s() -> None:
    """Closed by quiet time under the name of the span that was missing; when that comes, the agent above it is the turn."""
    assembler = Assembler(PACE)
    *below, wrapper, head = [one for one in nested(1) if one.span_id[-2:] not in {"46", "47", "48"}]
    assembler.accept(below, T0)
    (phantom,) = assembler.advance(T0 + PACE.quiet)
    assert phantom.turn.facts.turn_id == f"{1:032x}:{2:016x}"
    assembler.accept([wrapper], T0 + PACE.quiet + SECOND)
    assert (assembler.advance(T0 + PACE.quiet + 10 * SECOND), assembler.withdrawn) == ([], {})
    assembler.accept([head], T0 + PACE.quiet + 11 * SECOND)
    (whole,) = assembler.advance(T0 + PACE.quiet + 20 * SECOND)
    assert (whole.turn.facts.turn_id, steps_of(whole)) == (f"{1:032x}:{1:016x}", steps_of(phantom))
    assert assembler.withdrawn == {phantom.turn.facts.turn_id: phantom.digest}


RECORDS: list[Record] = [*(record for trace in (1, 2, 3) for record in turn(trace, steps=trace + 1)), *nested(4)]


Told = Sequence[Given | Mapping[str, str]]
"""What an assembler gave, in order, and between it what it withdrew."""


def final(found: Told) -> dict[str, ClassifiedTurn]:
    """What a lake holds after all of them, but for the time of receipt."""
    held: dict[str, ClassifiedTurn] = {}
    for one in found:
        if isinstance(one, Given):
            before = held.get(one.turn.facts.turn_id)
            if before is None or digest(before) == one.supersedes:
                held[one.turn.facts.turn_id] = one.turn
            else:
                held[one.turn.facts.turn_id] = classified(combine(before.facts, one.turn.facts), 0)
        else:
            held = {turn_id: turn for turn_id, turn in held.items() if digest(turn) != one.get(turn_id)}
    return {turn_id: replace(turn, received_at=0) for turn_id, turn in held.items()}


def digest(turn: ClassifiedTurn) -> str:
    return digest_of(encode_turn(turn.facts))


def told(assembler: Assembler, now: Instant) -> Told:
    """What it gives and withdraws now."""
    found: list[Given | Mapping[str, str]] = [*assembler.advance(now), dict(assembler.withdrawn)]
    assembler.withdrawn.clear()
    return found


KEPT = Pace(linger=24 * 60 * 60 * SECOND)
"""Records are kept for as long as anything comes: what was let go cannot be told anew."""


def run(parts: Sequence[Sequence[Record]], pauses: Sequence[Instant], crashes: set[int], folder: Path) -> Told:
    """Send the parts with pauses between them, and take up again from disk at some of them."""
    assembler = Assembler(KEPT)
    found: list[Given | Mapping[str, str]] = []
    now = T0
    for number, (part, pause) in enumerate(zip(parts, pauses, strict=True)):
        if number in crashes:
            write_state(folder, number, assembler.groups())
            assembler = Assembler(KEPT)
            assembler.restore(read_state(folder).groups)
        assembler.accept(part, now)
        now += pause
        found += told(assembler, now)
    return [*found, *told(assembler, now + KEPT.quiet + KEPT.patience)]


EXPECTED = final(run([RECORDS], [0], set(), Path()))


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_order_doubling_splitting_and_crashes_change_nothing(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any permutation with any records doubled, in any requests, over any time that records are kept, taken up again at any point: the same turns."""
    doubled = RECORDS + data.draw(st.lists(st.sampled_from(RECORDS), max_size=10))
    order = data.draw(st.permutations(doubled))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(order) - 1), max_size=6)))
    parts = [order[start:end] for start, end in itertools.pairwise([0, *cuts, len(order)])]
    pauses = data.draw(st.lists(st.integers(0, 1200), min_size=len(parts), max_size=len(parts)))
    crashes = data.draw(st.sets(st.integers(0, len(parts) - 1)))
    found = run(parts, [pause * SECOND for pause in pauses], crashes, tmp_path_factory.mktemp("state"))
    assert final(found) == EXPECTED


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_each_given_turn_names_the_one_before(data: st.DataObject) -> None:
    """What supersedes what is a chain from the first to the last, whatever came when."""
    order = data.draw(st.permutations(turn(1, 4)))
    cut = data.draw(st.integers(1, len(order) - 1))
    parts = run([order[:cut], order[cut:]], [2000 * SECOND, 0], set(), Path())
    found = [one for one in parts if isinstance(one, Given)]
    chain = [one.supersedes for one in found]
    assert chain == [None, *(one.digest for one in found[:-1])]
