"""Turns between two processes."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from turn_strategies import turns
from turnout.pipeline.receive.lakes import Shipped
from turnout.pipeline.rows import ClassifiedTurn, classified, facts_json


@settings(max_examples=100, deadline=None)
@given(st.builds(classified, turns, st.integers(0, 2**61)))
def test_a_turn_arrives_as_it_was_sent(turn: ClassifiedTurn) -> None:
    """Facts and verdict, whatever is recorded of it."""
    sent = Shipped(turn.facts, turn.verdict, turn.received_at, facts_json(turn))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(sent), type=Shipped) == sent
