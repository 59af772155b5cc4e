"""Turns between two processes, and what is found out of them beside the lake."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from turn_strategies import turns
from turnout.outcomes.facts import Step, TurnFacts
from turnout.pipeline.codec import encode_turn, pack_turn
from turnout.pipeline.grouping import Told
from turnout.pipeline.positions import Written
from turnout.pipeline.receive.judging import Judged
from turnout.pipeline.receive.lakes import Shipped, Taken
from turnout.pipeline.rows import canonical, classified, digest_of, facts_json

WRITTEN = Written(1, 0, 0)


@settings(max_examples=100, deadline=None)
@given(turns, st.integers(0, 2**61))
def test_a_turn_is_judged_where_it_arrives_as_where_it_came_from(facts: TurnFacts, received_at: int) -> None:
    """Facts, verdict and JSON, whatever is recorded of it; the answer has the digest that its sender would have made."""
    sent = Shipped(pack_turn(canonical(facts)), received_at)
    arrived = Judged()
    arrived.add([msgspec.msgpack.decode(msgspec.msgpack.encode(sent), type=Shipped)])
    expected = classified(facts, received_at)
    assert arrived.turns == [expected]
    assert facts_json(arrived.turns[0]) == encode_turn(expected.facts)
    assert arrived.digests == {facts.turn_id: Told(sent.packed).digest}


def test_an_unlisted_finish_reason_is_said_with_the_answer() -> None:
    """By the turn that it decided."""
    known = TurnFacts(turn_id="known", steps=(Step(index=1, provider="openai", finish_reason="stop"),), open=False)
    unknown = TurnFacts(
        turn_id="unknown", steps=(Step(index=1, provider="openai", finish_reason="vanished"),), open=False
    )
    arrived = Judged()
    arrived.add(Shipped(pack_turn(facts), 1) for facts in (known, unknown))
    digests = {facts.turn_id: digest_of(encode_turn(facts)) for facts in (known, unknown)}
    assert arrived.taken(WRITTEN) == Taken(WRITTEN, digests, {"unknown": "vanished"})


def test_a_turn_that_cannot_be_judged_keeps_no_other_back() -> None:
    """It is counted and passed over."""
    good = TurnFacts(turn_id="good")
    arrived = Judged()
    arrived.add([Shipped(b"", 1), Shipped(pack_turn(good), 1)])
    assert arrived.taken(WRITTEN) == Taken(WRITTEN, {"good": digest_of(encode_turn(good))}, {}, failed=1)


def test_what_was_given_is_compared_whether_its_facts_or_its_digest_are_known() -> None:
    """Before the lake answered, after it did, and as it was kept over a restart."""
    facts, other = TurnFacts(turn_id="turn"), TurnFacts(turn_id="turn", agent="support")
    packed, digest = pack_turn(facts), digest_of(encode_turn(facts))
    answered = Told(packed)
    answered.learn(digest)
    for told in (Told(packed), answered, Told(digest=digest)):
        same = [told.is_same(Told(pack_turn(one))) for one in (facts, other)]
        assert (same, told.digest) == ([True, False], digest)
