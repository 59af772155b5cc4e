"""The whole way: real requests in, rows in the lake, the same as an import of the same telemetry gives."""

import os
import random
import shutil
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otlp_corpus import requests
from receiving import export
from serving import ServeFixture, facts, post, post_line, rows, wait_for
from turnout.outcomes.facts import TurnFacts
from turnout.pipeline.assemble import SECOND, Pace
from turnout.pipeline.dialects import turns_from
from turnout.pipeline.importers import KINDS
from turnout.pipeline.lake import Lake
from turnout.pipeline.otlp import decode_request
from turnout.pipeline.receive.counters import Count, read_status
from turnout.pipeline.receive.journal import JournalError
from turnout.pipeline.receive.listener import ListenError
from turnout.pipeline.receive.service import Options, Service
from turnout.pipeline.rows import classified

HANDED = Path(os.environ.get("TURNOUT_TEST_DATA", "/nowhere")) / "otlp"
FILES = sorted(HANDED.glob("*.jsonl"))


def imported(lake: Path, path: Path) -> None:
    turns = [item for item in KINDS["otlp"].read(path) if isinstance(item, TurnFacts)]
    Lake.open(str(lake)).write([classified(turn, 1) for turn in turns])


@pytest.mark.skipif(not FILES, reason="TURNOUT_TEST_DATA is not set")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_http_and_import_give_equal_rows(path: Path, serve: ServeFixture, tmp_path: Path) -> None:
    """Every handed file, sent line by line in another order, gives the rows that its import gives."""
    service = serve()
    lines = [line for line in path.read_bytes().splitlines() if line.strip()]
    random.Random(path.stem).shuffle(lines)
    for line in lines:
        post_line(service, line)
    assert service.drain(quiet=True)
    service.stop()
    imported(tmp_path / "imported", path)
    for table in ("turn_segments", "steps", "tool_calls"):
        assert rows(tmp_path / "lake", table) == rows(tmp_path / "imported", table)


def expected(spans: int = 3) -> dict[str, object]:
    found: dict[str, object] = {}
    for request in requests(spans):
        records = decode_request(request.body, "application/x-protobuf", "traces").records
        for turn in turns_from(records).turns:
            whole = classified(turn, 0)
            found[whole.facts.turn_id] = whole.facts
    return found


def test_what_is_acknowledged_is_in_the_lake(serve: ServeFixture, tmp_path: Path) -> None:
    """Each turn of each request, once, with the facts that its records tell."""
    service = serve()
    for request in requests(3):
        post(service, request.body)
    assert service.drain()
    assert facts(tmp_path / "lake") == expected(3)
    counted = [
        service.counters.count(count)
        for count in (Count.REQUESTS_JOURNALED, Count.REQUESTS_CONVERTED, Count.TURNS_WRITTEN)
    ]
    assert counted == [3, 3, len(expected(3))]


def test_sending_again_adds_nothing(serve: ServeFixture, tmp_path: Path) -> None:
    """A sender that repeats what was acknowledged changes no row, also after a restart."""
    service = serve()
    for _ in range(2):
        for request in requests(2):
            post(service, request.body)
    assert service.drain()
    before = rows(tmp_path / "lake")
    service.stop()
    again = serve()
    for request in requests(2):
        post(again, request.body)
    assert again.drain()
    assert rows(tmp_path / "lake") == before
    assert len(before) == len(expected(2))


def test_a_turn_in_pieces_over_a_restart_is_one_turn(serve: ServeFixture, tmp_path: Path) -> None:
    """Children before the restart, the rest behind it: the facts are those of all."""
    (request,) = requests(1)
    spans = list(whole(request.body))
    first = serve(pace=Pace())
    post(first, part(request.body, spans[::2]))
    first.drain()
    first.stop()
    second = serve()
    post(second, part(request.body, spans[1::2]))
    assert second.drain()
    assert facts(tmp_path / "lake") == expected(1)


def whole(body: bytes) -> range:
    return range(len(export_of(body).resource_spans[0].scope_spans[0].spans))


def export_of(body: bytes) -> ExportTraceServiceRequest:
    return ExportTraceServiceRequest.FromString(body)


def part(body: bytes, wanted: list[int]) -> bytes:
    request = export_of(body)
    spans = request.resource_spans[0].scope_spans[0].spans
    kept = [spans[number] for number in wanted]
    copies = [type(span).FromString(span.SerializeToString()) for span in kept]
    del spans[:]
    spans.extend(copies)
    return bytes(request.SerializeToString())


def test_a_turn_that_never_ends_is_interrupted_after_the_quiet_time(serve: ServeFixture, tmp_path: Path) -> None:
    """Steps whose turn was never sent; a late end makes it whole."""
    (request,) = requests(1)
    spans = list(whole(request.body))
    heads = [
        n for n in spans if export_of(request.body).resource_spans[0].scope_spans[0].spans[n].name.startswith("invoke")
    ]
    service = serve()
    post(service, part(request.body, [n for n in spans if n not in heads]))
    assert service.drain()
    assert service.drain(quiet=True)
    found = rows(tmp_path / "lake")
    assert [row["open"] for row in found] == [True] * len(heads)
    assert "interrupted" in {row["outcome"] for row in found}
    assert service.counters.count(Count.TURNS_QUIET) == len(heads)
    post(service, part(request.body, heads))
    assert service.drain()
    assert facts(tmp_path / "lake") == expected(1)


def test_a_folder_lake_holds_its_journal(serve: ServeFixture, tmp_path: Path) -> None:
    """After a clean stop nothing is left in the journal but its name, its state and what it counted."""
    service = serve()
    post(service, requests(1)[0].body)
    service.drain()
    service.stop()
    left = {path.name for path in (tmp_path / "lake" / "journal").iterdir()}
    assert left == {"id", "lock", "state.msgpack", "status.json"}


def test_the_status_tells_who_was_heard_and_what_was_left_out(serve: ServeFixture, tmp_path: Path) -> None:
    """It is there for other processes while the receiver runs, and goes on counting after a restart."""
    for _ in range(2):
        service = serve()
        post(service, export(2, service="plain web").SerializeToString())
        service.drain()
        service.stop()
    status = read_status(tmp_path / "lake" / "journal")
    assert status is not None
    assert [(source.service, source.records) for source in status.sources] == [("plain web", 4)]
    assert status.counts["unrecognised_records", "(no scope)"] == 2


def test_a_lost_journal_uses_no_position_twice(serve: ServeFixture, tmp_path: Path) -> None:
    """When its segments and state are gone, new telemetry is not taken for old."""
    first = serve()
    post(first, requests(2)[0].body)
    first.drain()
    first.stop()
    for path in (tmp_path / "lake" / "journal").iterdir():
        if path.name != "id":
            path.unlink()
    second = serve()
    post(second, requests(2)[1].body)
    assert second.drain()
    assert facts(tmp_path / "lake") == expected(2)


def test_two_receivers_on_one_journal_are_refused(serve: ServeFixture, tmp_path: Path) -> None:
    """One sentence, and the first goes on."""
    first = serve()
    with pytest.raises(JournalError, match="in use"):
        Service(str(tmp_path / "lake"), Options(port=0, grpc_port=None)).start()
    post(first, requests(1)[0].body)
    assert first.drain()


def test_two_receivers_on_one_lake_both_write(serve: ServeFixture, tmp_path: Path) -> None:
    """Each with a journal of its own; a turn whose records came to both is one turn."""
    services = [serve(journal=tmp_path / name) for name in ("a", "b")]
    (request,) = requests(1)
    spans = list(whole(request.body))
    post(services[0], part(request.body, spans[::2]))
    post(services[1], part(request.body, spans[1::2]))
    for service in services:
        assert service.drain()
    wait_for(lambda: facts(tmp_path / "lake") == expected(1))


def test_a_port_in_use_is_one_sentence(serve: ServeFixture, tmp_path: Path) -> None:
    """Nothing stays open after a start that failed: the same journal can be used at once."""
    first = serve()
    second = Service(str(tmp_path / "other"), Options(port=first.http.port, grpc_port=None))
    with pytest.raises(ListenError, match="cannot listen on"):
        second.start()
    serve("other")


def test_a_lake_that_goes_away_is_waited_for(serve: ServeFixture, tmp_path: Path) -> None:
    """While the lake cannot be written telemetry is still taken, readiness says so, and nothing is lost."""
    service = serve()
    lake = tmp_path / "lake"
    shutil.move(lake / "turns", tmp_path / "turns")
    (lake / "turns").write_text("in the way")
    post(service, requests(1)[0].body)
    wait_for(lambda: service.health()["ready"] is False)
    (lake / "turns").unlink()
    shutil.move(tmp_path / "turns", lake / "turns")
    wait_for(lambda: service.health()["ready"] is True)
    assert service.drain()
    assert facts(lake) == expected(1)


def test_a_clock_that_jumps_closes_nothing(serve: ServeFixture) -> None:
    """The receiver's time is steady: it never goes back, and starts from the wall's."""
    service = serve(pace=Pace(quiet=900 * SECOND))
    times = [service.clock() for _ in range(1000)]
    assert times == sorted(times)
