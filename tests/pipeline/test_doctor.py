"""The doctor: what it finds in a lake and beside it."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.doctor import Finding, Weight, examine
from turnout.pipeline.lake import Entry
from turnout.pipeline.query import Warehouse
from turnout.pipeline.receive.counters import Count, Counters
from turnout.pipeline.testing import EXAMPLE, HOUR, NOON, SECOND, Sketch, lake_of

NOW = datetime.fromtimestamp(NOON // SECOND, UTC) + timedelta(hours=30)


def found(root: str, journal: Path | None = None) -> list[Finding]:
    return list(examine(Warehouse(root), journal, NOW).findings)


def test_an_empty_lake_is_told_how_to_get_turns(tmp_path: Path) -> None:
    """Both ways: telemetry and logs."""
    (empty, receiver) = found(str(tmp_path / "lake"))
    assert empty.what == "the lake holds no turn"
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in empty.do
    assert "turnout import" in empty.do
    assert receiver.what == "no receiver has written its status beside this lake"


def test_each_source_is_shown_with_what_it_records(tmp_path: Path) -> None:
    """When it was last heard, and how many of its turns record what."""
    examination = examine(Warehouse(lake_of(str(tmp_path / "lake"), EXAMPLE).root), None, NOW)
    rows: Mapping[str, Mapping[str, object]] = {row["source"]: row for row in examination.coverage.to_dicts()}
    assert {name: rows["own"][name] for name in ("turns", "with_steps", "with_finish_reason", "outcome_unknown")} == {
        "turns": 14,
        "with_steps": 14,
        "with_finish_reason": 12,
        "outcome_unknown": 0,
    }
    assert rows["logs"]["with_finish_reason"] == 0
    whats = [finding.what for finding in examination.findings]
    assert "own: last turn received 4 h ago" in whats
    assert "logs: 0 of 1 turns record the finish reason of their last step" in whats


def test_silence_is_a_thing_to_watch(tmp_path: Path) -> None:
    """A source that was heard of just now is fine."""
    root = lake_of(
        str(tmp_path / "lake"),
        [Sketch(turn_id="a", source="old"), Sketch(turn_id="b", source="new", at=NOON + 30 * HOUR - 60 * SECOND)],
    ).root
    weights = {finding.what: finding.weight for finding in found(root)}
    assert weights["old: last turn received 29 h ago"] is Weight.WATCH
    assert weights["new: last turn received 57 s ago"] is Weight.FINE


def test_an_unlisted_finish_reason_is_named(tmp_path: Path) -> None:
    """With its provider and how often it came."""
    from dataclasses import replace

    from turnout.pipeline.lake import Lake
    from turnout.pipeline.rows import classified
    from turnout.pipeline.testing import sketched

    facts = sketched(Sketch(turn_id="t", outcome=Outcome.UNKNOWN))
    last = replace(facts.steps[-1], raw_finish_reason="purple")
    lake = Lake.open(str(tmp_path / "lake"))
    lake.write([classified(replace(facts, steps=(*facts.steps[:-1], last)), NOON)])
    whats = [finding.what for finding in found(lake.root)]
    assert "finish reason 'purple' of anthropic is in no vocabulary (1 model calls)" in whats


def test_what_was_left_out_is_counted_with_its_reason(tmp_path: Path) -> None:
    """By the receiver from its status file, by imports from the ledger."""
    lake = lake_of(str(tmp_path / "lake"), [Sketch(turn_id="t")])
    lake.record([Entry("import", "runs.jsonl", {"damaged": 2, "skipped": 0})])
    journal = tmp_path / "journal"
    journal.mkdir()
    counters = Counters(clock=lambda: NOON)
    counters.add(Count.UNRECOGNISED, 3, "some.scope")
    counters.add(Count.RECORDS_DROPPED, 1, "memory")
    counters.add(Count.RECORDS_NOT_NEEDED, 7)
    counters.add(Count.SPANS_RECEIVED, 50)
    counters.heard({"shop": 50})
    counters.save(journal)
    examination = examine(Warehouse(lake.root), journal, NOW)
    assert [(one.by, one.what, one.reason, one.count) for one in examination.left_out] == [
        ("receiver", "records_dropped", "memory", 1),
        ("receiver", "records_not_needed", "", 7),
        ("receiver", "unrecognised_records", "some.scope", 3),
        ("import", "damaged", "runs.jsonl", 2),
    ]
    assert examination.heard == (("shop", datetime.fromtimestamp(NOON // SECOND, UTC), 50),)
    broken = [finding.what for finding in examination.findings if finding.weight is Weight.BROKEN]
    assert broken == ["receiver left out 1: records dropped (memory)"]
    fine = [finding.what for finding in examination.findings if finding.weight is Weight.FINE]
    assert "receiver left out 7: records not needed" in fine


def test_the_command_says_the_same_in_words_and_as_json(tmp_path: Path) -> None:
    """For a person by default, for a machine when asked."""
    from click.testing import CliRunner

    from turnout.cli.doctor import command

    root = lake_of(str(tmp_path / "lake"), EXAMPLE).root
    words = CliRunner().invoke(command, ["--lake", root]).output
    assert "logs: 0 of 1 turns record the finish reason of their last step" in words
    record = json.loads(CliRunner().invoke(command, ["--lake", root, "--format", "json"]).output)
    assert {row["source"] for row in record["sources"]} == {"own", "logs"}
