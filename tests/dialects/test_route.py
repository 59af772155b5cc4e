"""Which records matter, what ties them together, and what nobody knows."""

from made_telemetry import Tape
from turnout.pipeline.dialects import is_relevant, link_keys, turns_from, unrecognised_scope


def test_what_no_dialect_knows_is_counted_by_its_scope() -> None:
    """Spans and logs alike; a record without a scope has a name too."""
    tape = Tape("shop.http")
    tape.span("GET /", 0, 1)
    tape.span("GET /", 2, 3, scope="")
    log = tape.log("started", 1)
    found = turns_from(tape.records)
    assert (found.turns, dict(found.unrecognised)) == ((), {"(no scope)": 1, "shop.http": 2})
    assert (is_relevant(log), unrecognised_scope(log)) == (False, "shop.http")


def test_spans_of_the_application_are_kept_because_they_tie_others_together() -> None:
    """A request that hangs from one belongs to its turn."""
    tape = Tape("shop.http")
    span = tape.span("GET /", 0, 1)
    assert (is_relevant(span), unrecognised_scope(span), link_keys(span)) == (True, None, (tape.trace,))


def test_what_a_known_dialect_sends_besides_is_not_unknown() -> None:
    """Codex sends hundreds of spans that say nothing of a turn."""
    tape = Tape("codex_exec")
    span = tape.span("fs.read", 0, 1)
    assert (is_relevant(span), unrecognised_scope(span)) == (False, None)
