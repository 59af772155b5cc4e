"""Importing into a lake: finding files, counting, duplicates, damage, batches and the ledger."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from turnout.cli.import_ import command
from turnout.pipeline import importing
from turnout.pipeline.importing import ImportSummary, Progress, import_logs, shown
from turnout.pipeline.lake import Lake
from turnout.pipeline.log_files import ImportingError
from turnout.pipeline.query import Warehouse

Lines = Callable[..., Path]
Value = dict[str, Any]

NOW = 1_767_607_200_000_000_000


def clock() -> int:
    return NOW


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "lake")


def turn(turn_id: str, *steps: Value, **more: object) -> Value:
    return {"turn_id": turn_id, "steps": list(steps), "claims": [{"by": "runtime", "reason": "success"}], **more}


def step(index: int, *calls: str) -> Value:
    return {
        "index": index,
        "finish_reason": "stop",
        "output": {"text_chars": 3, "parts": 1},
        "tool_calls": [{"id": call, "name": "look", "status": "ok"} for call in calls],
    }


def run(root: str, kind: str, *paths: object, **more: Any) -> ImportSummary:
    return import_logs(Lake.open(root, clock), kind, [str(path) for path in paths], clock=clock, **more)


def counts(summary: ImportSummary) -> Value:
    return {
        key: value
        for key in ("files", "records", "turns", "steps", "tool_calls", "duplicates", "damaged", "skipped")
        if (value := getattr(summary, key))
    }


def stored(root: str) -> list[tuple[str, int]]:
    frame = Warehouse(root).sql("select turn_id, steps from turns order by turn_id")
    return list(frame.iter_rows())


def test_an_import_counts_what_is_new(lines: Lines, root: str) -> None:
    """Turns with their steps and calls go into the lake once; the clock is an argument, so no time has passed."""
    path = lines("turns.jsonl", turn("a", step(1, "c1", "c2"), step(2)), turn("b", step(1)))
    summary = run(root, "turns", path)
    assert summary == ImportSummary(
        files=1, records=2, turns=2, steps=3, tool_calls=2, duplicates=0, damaged=0, skipped=0, seconds=0.0
    )
    assert stored(root) == [("a", 2), ("b", 1)]


def test_a_second_import_adds_nothing(lines: Lines, root: str) -> None:
    """The same file again, or a copy of it, is duplicates, and leaves no line in the ledger either."""
    path = lines("turns.jsonl", turn("a", step(1)), turn("b", step(1)))
    run(root, "turns", path)
    copy = lines("copy/turns.jsonl", turn("a", step(1)))
    assert [counts(run(root, "turns", again)) for again in (path, copy)] == [
        {"files": 1, "records": 2, "duplicates": 2},
        {"files": 1, "records": 1, "duplicates": 1},
    ]
    assert stored(root) == [("a", 1), ("b", 1)]
    assert Warehouse(root).sql("select count(*) n from ledger where kind = 'imported'").item() == 1


def test_new_evidence_of_a_known_turn_is_no_duplicate(lines: Lines, root: str) -> None:
    """A log that grew adds its steps to the turn that the lake has."""
    run(root, "turns", lines("1.jsonl", turn("a", step(1))))
    summary = run(root, "turns", lines("2.jsonl", turn("a", step(1), step(2))))
    assert (counts(summary), stored(root)) == (
        {"files": 1, "records": 1, "turns": 1, "steps": 2},
        [("a", 2)],
    )


def test_a_turn_that_stands_twice_in_one_import_counts_once(lines: Lines, root: str) -> None:
    """What two files of one import say of a turn is put together."""
    one, two = lines("1.jsonl", turn("a", step(1))), lines("2.jsonl", turn("a", step(1), step(2)))
    assert counts(run(root, "turns", one, two)) == {
        "files": 2,
        "records": 2,
        "turns": 1,
        "steps": 2,
        "duplicates": 1,
    }


def test_batches_make_no_difference(lines: Lines, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small writes leave the same lake as one."""
    monkeypatch.setattr(importing, "_BATCH_TURNS", 2)
    path = lines("turns.jsonl", *(turn(f"t{number}", step(1)) for number in range(5)), turn("t0", step(1)))
    assert counts(run(root, "turns", path)) == {"files": 1, "records": 6, "turns": 5, "steps": 5, "duplicates": 1}
    assert [turn_id for turn_id, _ in stored(root)] == ["t0", "t1", "t2", "t3", "t4"]


def test_damage_is_counted_and_said_where(lines: Lines, root: str) -> None:
    """A damaged line does not stop the rest; the reasons go into the ledger for the doctor."""
    path = lines("turns.jsonl", turn("a", step(1)), "{cut", turn("b", step(1)))
    summary = run(root, "turns", path)
    assert counts(summary) == {"files": 1, "records": 3, "turns": 2, "steps": 2, "damaged": 1}
    (reason,) = summary.reasons
    assert (reason.kind, reason.count, reason.example) == ("damaged", 1, f"{path}:2")
    assert summary.invalid == (f"{path}:2: {reason.what}",)
    assert list(shown(summary.reasons)) == []
    left_out = Warehouse(root).sql("select key, value from ledger where kind = 'import'").rows()
    assert [(key, json.loads(value)) for key, value in left_out] == [
        (f"{path}:2: {reason.what}", {"damaged": 1, "log": "turns"})
    ]
    (brought,) = Warehouse(root).sql("select value from ledger where kind = 'imported'").to_series()
    assert json.loads(brought) == {
        "files": 1,
        "records": 3,
        "turns": 2,
        "duplicates": 0,
        "damaged": 1,
        "skipped": 0,
    }


def test_a_folder_is_searched_for_files_of_the_kind(lines: Lines, root: str, tmp_path: Path) -> None:
    """Other files of a folder are skipped, broken logs damaged, hidden ones not looked at."""
    lines("logs/deep/turns.jsonl", turn("a", step(1)))
    lines("logs/other.json", {"a": 1})
    lines("logs/README.md", "# words")
    lines("logs/broken.json", '{"turn_id"')
    lines("logs/.hidden/turns.jsonl", turn("h", step(1)))
    summary = run(root, "turns", tmp_path / "logs")
    assert counts(summary) == {
        "files": 4,
        "records": 2,
        "turns": 1,
        "steps": 1,
        "damaged": 1,
        "skipped": 2,
    }


def test_auto_tells_the_kind_of_every_file(lines: Lines, root: str, tmp_path: Path) -> None:
    """A folder may hold logs of several kinds."""
    lines("logs/turns.jsonl", turn("a", step(1)))
    lines("logs/tau.json", [{"task_id": 0, "traj": [{"role": "assistant", "content": "x"}]}])
    lines("logs/other.json", {"a": 1})
    summary = run(root, "auto", tmp_path / "logs")
    assert counts(summary) == {"files": 3, "records": 2, "turns": 2, "steps": 2, "skipped": 1}
    assert Warehouse(root).sql("select distinct source from turns order by 1").to_series().to_list() == ["tau", "turns"]


def test_a_glob_names_files(lines: Lines, root: str, tmp_path: Path) -> None:
    """A pattern reaches into folders, and a file that two patterns name is read once."""
    lines("a/1.jsonl", turn("a", step(1)))
    lines("b/2.jsonl", turn("b", step(1)))
    assert counts(run(root, "turns", tmp_path / "*/*.jsonl", tmp_path / "a/1.jsonl")) == {
        "files": 2,
        "records": 2,
        "turns": 2,
        "steps": 2,
    }


def test_standard_input_is_a_file(root: str) -> None:
    """A dash reads standard input, which messages call by its dash."""
    body = json.dumps(turn("a", step(1))) + "\n{cut\n"
    summary = run(root, "auto", "-", stdin=io.BytesIO(body.encode()))
    assert counts(summary) == {"files": 1, "records": 2, "turns": 1, "steps": 1, "damaged": 1}
    assert [reason.example for reason in summary.reasons] == ["-:2"]


@pytest.mark.parametrize("path", ["nowhere.jsonl", "nowhere/*.jsonl"])
def test_a_path_without_a_file_is_an_error(root: str, tmp_path: Path, path: str) -> None:
    """A name that names nothing is said at once."""
    with pytest.raises(ImportingError, match="got nothing there, expected a file, a folder, a glob or -"):
        run(root, "turns", tmp_path / path)


def test_an_unknown_kind_is_an_error(lines: Lines, root: str) -> None:
    """The message lists what there is."""
    with pytest.raises(ImportingError, match=r"kind: got 'tarns', expected auto or one of turns, otlp, "):
        run(root, "tarns", lines("x.jsonl", turn("a")))


def test_progress_is_told_after_every_file(lines: Lines, root: str) -> None:
    """The last word is that all files are done and all turns are in."""
    seen: list[Progress] = []
    one, two = lines("1.jsonl", turn("a", step(1))), lines("2.jsonl", turn("b", step(1)))
    run(root, "turns", one, two, watch=seen.append)
    assert [progress.files_done for progress in seen] == sorted(progress.files_done for progress in seen)
    assert seen[-1] == Progress(files=2, files_done=2, records=2, turns=2)


def test_no_content_reaches_the_lake(lines: Lines, root: str) -> None:
    """Prompts, answers, arguments and error texts stay behind, with and without a key."""
    secret = "the-secret-words"
    message = {
        "id": "m1",
        "model": "claude-x",
        "content": [{"type": "text", "text": secret}, {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"x": secret}}],
        "usage": {},
    }  # fmt: skip
    head = {"sessionId": "s", "isSidechain": False, "timestamp": "2026-01-05T10:00:00Z"}
    result = {"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": secret}
    error = {
        **message,
        "id": "m2",
        "model": "<synthetic>",
        "content": [{"type": "text", "text": f"API Error: {secret}"}],
    }
    path = lines(
        "s.jsonl",
        {**head, "type": "user", "uuid": "p", "parentUuid": None, "message": {"content": secret}},
        {**head, "type": "assistant", "uuid": "a", "parentUuid": "p", "message": message},
        {**head, "type": "user", "uuid": "t", "parentUuid": "a", "message": {"content": [result]}},
        {**head, "type": "assistant", "uuid": "e", "parentUuid": "t", "isApiErrorMessage": True, "message": error},
    )
    run(root, "claude-code", path, digest_key=b"key")
    everything = b"".join(file.read_bytes() for file in Path(root).rglob("*") if file.is_file())
    rows = Warehouse(root).sql("select facts, arguments_digest from turns join tool_calls using (turn_id)").rows()
    assert secret not in str(rows)
    assert rows[0][1] is not None
    assert secret.encode() not in everything


@pytest.fixture
def cli(root: str) -> Callable[..., Any]:
    def call(*arguments: object) -> Any:
        return CliRunner().invoke(command, ["--lake", root, *map(str, arguments)], catch_exceptions=False)

    return call


def test_the_command_ends_with_one_object(lines: Lines, cli: Callable[..., Any]) -> None:
    """With ``--format json`` standard output is the summary alone; what was damaged is said on standard error."""
    path = lines("turns.jsonl", turn("a", step(1)), "{cut", "7")
    result = cli("--format", "json", "turns", path)
    values = json.loads(result.stdout)
    assert list(values) == [
        "files",
        "records",
        "turns",
        "steps",
        "tool_calls",
        "duplicates",
        "damaged",
        "skipped",
        "seconds",
    ]
    assert (values["turns"], values["damaged"], result.exit_code) == (1, 2, 1)
    assert [line.split(" ")[0] for line in result.stderr.splitlines()] == [f"{path}:2:", f"{path}:3:"]


def test_a_damaged_record_of_a_log_is_said_by_its_reason(tmp_path: Path, cli: Callable[..., Any]) -> None:
    """Once for all that have it; a log that others wrote is no error of the command."""
    path = tmp_path / "logs.jsonl"
    path.write_text('{"resourceSpans": []}\n{"cut\n{"cut\n')
    result = cli("--format", "json", "otlp", path)
    assert (json.loads(result.stdout)["damaged"], result.exit_code) == (2, 0)
    assert result.stderr.startswith(f"damaged: {path}:2: ")
    assert result.stderr.endswith(", 2 times\n")


def test_the_command_ends_with_a_short_table(lines: Lines, cli: Callable[..., Any]) -> None:
    """For a person the counts stand under their names."""
    heading, numbers = (
        row.split()
        for row in cli("turns", lines("turns.jsonl", turn("a", step(1)))).stdout.splitlines()
        if row.strip() and "─" not in row
    )
    assert heading[:3] == ["files", "records", "turns"]
    assert numbers[:4] == ["1", "1", "1", "1"]
