"""Verdicts over whole files."""

import json
from collections.abc import Sequence
from pathlib import Path

from turnout.outcomes.facts import Step, ToolCall, TurnFacts
from turnout.pipeline.classify_lines import Complaint, Tally, classify_lines, unknown_keys_text
from turnout.pipeline.classify_logs import classify_log
from turnout.pipeline.importers.base import Damaged, Imported, Reading, Skipped


def test_one_verdict_a_line_in_order() -> None:
    """A damaged line becomes a complaint with its place; blank lines and a byte order mark are nothing."""
    lines = [
        b'\xef\xbb\xbf{"turn_id": "a"}\n',
        b"\n",
        b"{\n",
        b'{"turn_id": "b", "colour": 1, "steps": [{"hue": 2}]}\r\n',
    ]
    tally = Tally()
    found = list(classify_lines(lines, "turns.jsonl", tally))
    assert [json.loads(item)["turn_id"] if isinstance(item, bytes) else item for item in found] == [
        "a",
        Complaint(
            "turns.jsonl:3: line: got text that is no JSON (Input data was truncated), expected one JSON object a line"
        ),
        "b",
    ]
    assert (tally.verdicts, tally.damaged) == (2, 1)
    assert unknown_keys_text(tally.unknown_keys) == "unknown keys were kept out: colour (1), steps.hue (1)"


def test_a_negative_count_costs_no_verdict() -> None:
    """The line is complained of, counted, and still gets its verdict."""
    tally = Tally()
    found = list(classify_lines([b'{"turn_id": "a", "usage": {"input_tokens": -3, "output_tokens": 4}}'], "f", tally))
    assert found[0] == Complaint("f:1: usage.input_tokens: got -3, expected a number from 0; kept out")
    assert isinstance(found[1], bytes)
    assert json.loads(found[1])["usage"]["output_tokens"] == len("four")
    assert (tally.verdicts, tally.damaged) == (1, 1)


class OneOfEach:
    """An importer of a made-up kind."""

    kind = "made-up"
    joins_files = False

    def recognises(self, sample: Sequence[object], name: str) -> bool:
        return bool(sample) and bool(name)

    def read(self, path: Path, *, digest_key: bytes | None = None) -> Reading:
        return self.read_all([path], digest_key=digest_key)

    def read_all(self, paths: Sequence[Path], *, digest_key: bytes | None = None) -> Reading:
        del digest_key
        calls = (ToolCall(id="1", name="look"), ToolCall(id="2", name="look"))
        steps = (Step(index=1, model="m", tool_calls=calls), Step(index=2, model="m", finish_reason="stop"))
        items: list[Imported] = [
            TurnFacts(turn_id="t", source="made-up", conversation_id="c", parent_turn_id="p", steps=steps),
            Damaged(path=str(paths[0]), what="got nothing, expected something", line=4),
            Skipped(path=str(paths[0]), why="it is a draft"),
        ]
        return Reading(lambda _tally: items)


def test_a_kind() -> None:
    """Each turn that an importer reads gets its verdict beside where it came from and what it used."""
    tally = Tally()
    verdict, *complaints = classify_log(OneOfEach(), Path("log.json"), "log.json", tally)
    assert isinstance(verdict, bytes)
    record = json.loads(verdict)
    beside = ("file", "source", "models", "tools", "conversation_id", "parent_turn_id", "outcome")
    assert [record[key] for key in beside] == ["log.json", "made-up", ["m"], ["look"], "c", "p", "completed"]
    assert complaints == [
        Complaint("log.json:4: got nothing, expected something"),
        Complaint("log.json: skipped: it is a draft", mild=True),
    ]
    assert (tally.verdicts, tally.damaged, tally.skipped) == (1, 1, 1)
