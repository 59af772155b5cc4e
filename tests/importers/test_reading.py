"""What all importers share: lines or documents, damaged records, typed fields, and telling a file's kind."""

import gzip
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from turnout.outcomes.instants import parse_instant
from turnout.pipeline.importers import KINDS, detect, fields
from turnout.pipeline.importers.base import Damaged, Record, read_records
from turnout.pipeline.importers.chat import parsed, provider_of, quota_error

Lines = Callable[..., Path]

BODIES: Mapping[str, tuple[str, list[object]]] = {
    "lines": ('{"a": 1}\n\n{"a": 2}\n', [(1, {"a": 1}), (3, {"a": 2})]),
    "one line": ('{"a": 1}', [(1, {"a": 1})]),
    "one line that ends": ('{"a": 1}\n', [(1, {"a": 1})]),
    "document": ('{\n "a": 1\n}', [(1, {"a": 1})]),
    "list": ('[{"a": 1},\n {"a": 2}]', [(1, {"a": 1}), (2, {"a": 2})]),
    "list of something else": ("[1]", ["got a JSON int, expected a JSON object"]),
    "damaged line": ('{"a": 1}\n{"a"\n{"a": 3}\n', [(1, {"a": 1}), "got text that is no JSON, expected a JSON object", (3, {"a": 3})]),
    "damaged first line": ('{"a"\n{"a": 2}\n', ["got text that is no JSON, expected a JSON object", (2, {"a": 2})]),
    "torn last line": ('{"a": 1}\n{"a": 2', [(1, {"a": 1}), "got text that is no JSON, expected a JSON object"]),
    "truncated document": ('{\n "a": [', ["got 9 bytes that are no JSON, expected a whole JSON document"]),
    "no JSON": ("# Report\nwords\n", ["got 15 bytes that are no JSON, expected a whole JSON document"]),
    "empty": ("", []),
    "blank": ("\n\n", []),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES, ids=list(BODIES))
def test_files_are_lines_or_documents(tmp_path: Path, name: str) -> None:
    """Whole records come with their place, the others are damaged, and none of them stops the rest."""
    body, expected = BODIES[name]
    path = tmp_path / "x"
    path.write_text(body)
    found = [(r.number, r.value) if isinstance(r, Record) else r.what for r in read_records(path)]
    assert found == expected


def test_a_line_of_bytes_that_are_no_text_is_damaged(tmp_path: Path) -> None:
    """Broken encoding is damage of one line."""
    path = tmp_path / "x"
    path.write_bytes(b'{"a": 1}\n{"a": "\xff\xfe"}\n{"a": 3}\n')
    assert [isinstance(record, Damaged) for record in read_records(path)] == [False, True, False]


INSTANTS: Mapping[str, tuple[object, str | None]] = {
    "rfc 3339": ("2026-01-05T10:00:00.25Z", "2026-01-05T10:00:00.25Z"),
    "offset": ("2026-01-05T12:00:00+02:00", "2026-01-05T10:00:00Z"),
    "no offset": ("2026-01-05T10:00:00.000001", "2026-01-05T10:00:00.000001Z"),
    "seconds": (1_767_607_200, "2026-01-05T10:00:00Z"),
    "seconds with a fraction": (1_767_607_200.5, "2026-01-05T10:00:00.5Z"),
    "milliseconds": (1_767_607_200_250, "2026-01-05T10:00:00.25Z"),
    "zero": (0, None),
    "microseconds": (1_767_607_200_250_000, None),
    "a number past every calendar": (1e300, None),
    "text past the calendar": ("9999-12-31T23:59:59-10:00", None),
    "words": ("yesterday", None),
    "nothing": (None, None),
}


@pytest.mark.parametrize("name", INSTANTS, ids=list(INSTANTS))
def test_moments_are_read_in_every_spelling(name: str) -> None:
    """What is no moment is not recorded."""
    value, expected = INSTANTS[name]
    assert fields.instant({"at": value}, "at") == (None if expected is None else parse_instant(expected))


def test_other_types_are_not_recorded() -> None:
    """A field of another type, an empty text and a broken number count as absent."""
    value: dict[str, Any] = {
        "a": True,
        "b": "",
        "c": float("nan"),
        "d": 3.0,
        "e": [1, {}],
        "f": float("inf"),
        "g": 1e30,
        "h": 2**60,
    }
    found = (
        fields.integer(value, "a"),
        fields.number(value, "a"),
        fields.text(value, "b"),
        fields.integer(value, "c"),
        fields.integer(value, "d"),
        fields.objects(value, "e"),
        fields.number(value, "f"),
        fields.text(value, "a", "deeper"),
        fields.mapping(value, "zz"),
        fields.integer(value, "g"),
        fields.integer(value, "h"),
    )
    assert found == (None, None, None, None, 3, ({},), None, None, {}, None, None)


def test_what_is_below_zero_counts_nothing() -> None:
    """Counts and sums that some writers fill with -1 are not recorded; other numbers keep their sign."""
    value = {"a": -1, "b": 0, "c": -0.5, "d": 0.5}
    assert [fields.count(value, key) for key in "ab"] == [None, 0]
    assert [fields.amount(value, key) for key in "cd"] == [None, 0.5]
    assert (fields.integer(value, "a"), fields.number(value, "c")) == (-1, -0.5)


def test_broken_numbers_do_not_pass_as_numbers() -> None:
    """NaN is no number to add up."""
    assert fields.number({"a": float("nan")}, "a") is None


PROVIDERS = {
    "anthropic/claude-x": "anthropic",
    "openrouter/google/gemini-x": "google",
    "claude-x": "anthropic",
    "gpt-x": "openai",
    "unheard-of": None,
    None: None,
}


@pytest.mark.parametrize("name", PROVIDERS, ids=[str(name) for name in PROVIDERS])
def test_a_model_tells_its_provider(name: str | None) -> None:
    """A prefix names the provider, else the family; routers are no providers."""
    assert provider_of(name) == PROVIDERS[name]


@pytest.mark.parametrize(
    "words",
    [
        "You've hit your usage limit.",
        "Claude AI usage limit reached|1755806400",
        "You're out of extra usage · resets 3:30pm",
        "You've hit your session limit",
    ],
)
def test_a_used_up_plan_is_known_by_its_words(words: str) -> None:
    """Programs say in words alone that a plan is used up."""
    assert quota_error(words) == "rate_limit"


def test_other_words_are_no_quota() -> None:
    """A limit of something else is no used-up plan."""
    assert quota_error("exceeded the 32000 output token maximum") is None


def test_json_inside_json_is_read() -> None:
    """Once or twice over, and other text stays text."""
    assert [parsed('{"a": 1}'), parsed('"{\\"a\\": 1}"'), parsed("[cut"), parsed("words")] == [
        {"a": 1},
        {"a": 1},
        "[cut",
        "words",
    ]


def test_json_inside_json_that_is_nested_too_deep_stays_text() -> None:
    """Nothing in a text stops the reading of the log around it."""
    deep = "[" * 200_000
    assert parsed(deep) == deep


SAMPLES: Mapping[str, tuple[str, object]] = {
    "turns": ("x.jsonl", {"schema": "turnout.turn/1", "turn_id": "a"}),
    "otlp": ("x.jsonl", {"resourceLogs": []}),
    "mini-swe-agent": ("x.json", {"trajectory_format": "mini-swe-agent-1.1", "messages": [], "info": {}}),
    "swe-agent": ("x.traj", {"trajectory": [], "info": {}}),
    "claude-code": ("x.jsonl", {"type": "user", "uuid": "u", "sessionId": "s", "isSidechain": False}),
    "claude-stream": ("x.jsonl", {"type": "system", "subtype": "init", "session_id": "s", "uuid": "u"}),
    "codex-exec": ("x.jsonl", {"type": "thread.started", "thread_id": "t"}),
    "codex": ("x.jsonl", {"type": "session_meta", "payload": {"id": "s"}, "timestamp": "t"}),
    "tau": ("x.json", [{"task_id": 0, "traj": []}]),
    "tau2": ("x.json", {"info": {}, "simulations": []}),
    "langfuse": ("x.json", {"trace": {"id": "t"}, "observations": []}),
    "openhands": ("x.jsonl", {"instance_id": "i", "history": [], "metrics": {}}),
    "ai-sdk": ("x.json", [{"attributes": {"ai.operationId": "ai.generateText"}}]),
    "medagentbench": ("x.json", {"task_id": "t", "status": "completed", "turns": [], "rounds": 0}),
}


@pytest.mark.parametrize("kind", SAMPLES, ids=list(SAMPLES))
def test_a_file_tells_its_kind(lines: Lines, kind: str) -> None:
    """Exactly one importer knows a file, so that the order of asking does not matter."""
    name, value = SAMPLES[kind]
    path = lines(name, value)
    assert detect(path) == kind
    sample = [record.value for record in read_records(path) if isinstance(record, Record)]
    assert [other for other, importer in KINDS.items() if importer.recognises(sample, name)] == [kind]


def test_every_kind_has_a_sample() -> None:
    """A new importer comes with a sample of its files."""
    assert set(SAMPLES) == set(KINDS)


def test_a_file_of_no_kind_is_nobodys(lines: Lines) -> None:
    """Other JSON and other text are of no kind."""
    assert detect(lines("x.json", {"a": 1})) is None
    assert detect(lines("x.md", "# words")) is None
    assert detect(lines("x.jsonl", {"id": 1, "source": "user", "action": "click"})) is None


KEPT: Mapping[str, Callable[[bytes], bytes]] = {
    "a byte order mark": lambda body: b"\xef\xbb\xbf" + body,
    "windows line ends": lambda body: body.replace(b"\n", b"\r\n"),
    "gzip": gzip.compress,
    "utf-16": lambda body: body.decode().encode("utf-16"),
}


@pytest.mark.parametrize("name", KEPT, ids=list(KEPT))
def test_a_log_is_read_however_it_was_kept(tmp_path: Path, name: str) -> None:
    """The same records come from it, and the same kind is told."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(KEPT[name](b'{"schema": "turnout.turn/1", "turn_id": "a"}\n{"b": "\xc3\xa9"}\n'))
    found = [record.value for record in read_records(path) if isinstance(record, Record)]
    assert found == [{"schema": "turnout.turn/1", "turn_id": "a"}, {"b": "é"}]
    assert detect(path) == "turns"


def test_gzip_that_breaks_off_gives_what_was_there(tmp_path: Path) -> None:
    """Lines that were whole are read, and the rest is damage; a document cannot be read at all."""
    noise = os.urandom(20_000).hex().encode()
    lines, document = tmp_path / "x.jsonl.gz", tmp_path / "x.json.gz"
    for path, body in ((lines, b'{"a": 1}\n{"a": 2}\n{"c": "%s"}\n' % noise), (document, b'{\n"c": "%s"}' % noise)):
        whole = gzip.compress(body)
        path.write_bytes(whole[: len(whole) // 2])
    *records, damaged = read_records(lines)
    assert [record.value for record in records if isinstance(record, Record)] == [{"a": 1}, {"a": 2}]
    assert damaged == Damaged(path=str(lines), line=3, what="got gzip data that is not whole, expected it to go on")
    with pytest.raises(OSError, match="not whole"):
        list(read_records(document))


TEXTS: Mapping[str, tuple[bytes, object]] = {
    "half of an emoji": (rb'{"a": "x\ud83d", "\ud83d": 1}', {"a": "x\ufffd", "\ufffd": 1}),
    "a whole emoji": (rb'{"a": "\ud83d\ude00"}', {"a": "\U0001f600"}),
    "half of an emoji beside a number that is none": (rb'{"a": "\ud83d", "b": Infinity}', {"a": "\ufffd", "b": float("inf")}),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS, ids=list(TEXTS))
def test_texts_can_always_be_written_again(tmp_path: Path, name: str) -> None:
    """JavaScript cuts texts inside an emoji; nothing that is read stops anybody who writes it."""
    body, expected = TEXTS[name]
    path = tmp_path / "x"
    path.write_bytes(body)
    assert [record.value for record in read_records(path) if isinstance(record, Record)] == [expected]


def test_a_log_may_open_with_many_remarks(lines: Lines) -> None:
    """Lines that tell of nothing put no file out of its kind."""
    remarks = [{"type": "summary", "leafUuid": str(number)} for number in range(100)]
    assert detect(lines("x.jsonl", *remarks, SAMPLES["claude-code"][1])) == "claude-code"


def test_a_file_of_bytes_is_nobodys(tmp_path: Path) -> None:
    """No text holds a zero byte, so nobody reads on."""
    path = tmp_path / "x.bin"
    path.write_bytes(b"{\0" * 100)
    assert detect(path) is None


ODD: tuple[object, ...] = (None, 7, -1, True, "", "x", [], {}, [None], [{"type": ["x"]}], {"type": {"a": 1}})
KEYS = (
    "type",
    "subtype",
    "name",
    "role",
    "action",
    "source",
    "session_id",
    "uuid",
    "payload",
    "message",
    "item",
    "event",
    "info",
)


@pytest.mark.parametrize("kind", SAMPLES, ids=list(SAMPLES))
def test_fields_of_any_type_stop_nobody(lines: Lines, kind: str) -> None:
    """What a field should not be is not recorded, wherever it stands; no importer fails over it, also not those that are only asked."""
    name, value = SAMPLES[kind]
    sample = value[0] if isinstance(value, list) else value
    assert isinstance(sample, dict)
    blocks = [{"type": odd, "name": odd, "id": odd, "input": odd} for odd in ODD]
    records = [{**sample, key: odd} for key in (*KEYS, *sample) for odd in ODD]
    records += [{**sample, "type": "assistant", "session_id": "s", "message": {"id": "m", "content": blocks}}]
    path = lines(name, sample, *records)
    assert detect(path) == kind
    list(KINDS[kind].read(path))
    assert not [other for other, importer in KINDS.items() if importer.recognises([{"type": ["x"]}], name)]
