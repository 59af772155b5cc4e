"""What goes wrong around a receiver: bodies that are not what they say, disks that are full, lakes that cannot be written."""

import json
import os
import random
import urllib.error
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mutated_bodies import Sent, good_bodies, mutated, spoiled, taken
from otlp_corpus import requests
from serving import ServeFixture, facts, post, wait_for
from turnout.pipeline.receive.bodies import Encoding, Signal
from turnout.pipeline.receive.counters import Count

EXAMPLES = 300
BODIES = int(os.environ.get("TURNOUT_TEST_BODIES", "200000"))
PORTIONS = 8
GOOD = good_bodies()


@pytest.mark.parametrize("portion", range(PORTIONS))
def test_spoiled_bodies_are_refused_or_read(portion: int) -> None:
    """No crash and no wrong count, whatever bytes come (TURNOUT_TEST_BODIES says how many in all)."""
    found = Counter(taken(sent) for sent in spoiled(BODIES // PORTIONS, seed=portion))
    assert min(found[True], found[False]) > BODIES // PORTIONS // 10


@settings(max_examples=EXAMPLES, deadline=None)
@given(seed=st.integers(0, 2**64), sent=st.sampled_from(GOOD), signal=st.sampled_from(Signal))
def test_mutated_bodies_are_refused_or_read(seed: int, sent: Sent, signal: Signal) -> None:
    """The same, also where the body of one signal is sent as another; what fails is made small."""
    taken(Sent(signal, sent.encoding, mutated(sent.payload, random.Random(seed))))


@settings(max_examples=EXAMPLES, deadline=None)
@given(body=st.binary(max_size=300), signal=st.sampled_from(Signal), encoding=st.sampled_from(Encoding))
def test_random_bytes_are_refused_or_read(body: bytes, signal: Signal, encoding: Encoding) -> None:
    """Bytes that were never a message."""
    taken(Sent(signal, encoding, body))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_json_of_any_shape_is_refused_or_read(data: st.DataObject) -> None:
    """Right names over wrong values, at each depth."""
    span = {
        name: data.draw(json_values)
        for name in ("traceId", "spanId", "name", "kind", "startTimeUnixNano", "attributes", "events")
    }
    scoped = data.draw(st.sampled_from([{"spans": [span, data.draw(json_values)]}, data.draw(json_values)]))
    block = {"resource": data.draw(json_values), "scopeSpans": [scoped]}
    taken(Sent(Signal.TRACES, Encoding.JSON, json.dumps({"resourceSpans": [block]}).encode()))


def test_a_full_disk_is_waited_for(serve: ServeFixture, tmp_path: Path) -> None:
    """503 while the journal cannot be written, 200 once there is room, and only what was acknowledged is in the lake."""
    full = [False]

    def reached(point: str) -> None:
        if full[0] and point == "journal.before_sync":
            raise OSError(28, "No space left on device")

    service = serve(reached=reached)
    first, second, third = requests(3)
    post(service, first.body)
    full[0] = True
    with pytest.raises(urllib.error.HTTPError) as refused:
        post(service, second.body)
    assert (refused.value.code, refused.value.headers["retry-after"]) == (503, "5")
    full[0] = False
    post(service, third.body)
    assert service.drain()
    found = {turn_id.split(":")[0] for turn_id in facts(tmp_path / "lake")}
    assert found == {trace.hex() for request in (first, third) for trace in request.traces}


def test_a_lake_that_cannot_be_written_keeps_the_journal(serve: ServeFixture, tmp_path: Path) -> None:
    """A write that fails is tried again, with what came meanwhile; each turn is there once in the end."""
    failing = [True]

    def reached(point: str) -> None:
        if failing[0] and point == "convert.before_write":
            raise OSError(30, "Read-only file system")

    service = serve(reached=reached)
    first, second = requests(2)
    post(service, first.body)
    wait_for(lambda: service.counters.count(Count.COMMITS_FAILED) > 0)
    post(service, second.body)
    assert service.health()["ready"] is False
    failing[0] = False
    assert service.drain()
    wait_for(lambda: len(facts(tmp_path / "lake")) == len(first.traces) + len(second.traces))


def test_a_write_that_failed_after_it_took_hold_is_not_doubled(serve: ServeFixture, tmp_path: Path) -> None:
    """When the answer of a commit is lost the turns are written again, to no effect."""
    failing = [True]

    def reached(point: str) -> None:
        if point == "convert.after_write" and failing[0]:
            failing[0] = False
            raise OSError(5, "Input/output error")

    service = serve(reached=reached)
    for request in requests(2):
        post(service, request.body)
    assert service.drain()
    assert len(facts(tmp_path / "lake")) == sum(len(request.traces) for request in requests(2))
    assert service.counters.count(Count.COMMITS_FAILED) == 1
