"""The commands that read a lake: formats, filters, words and exit statuses."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from turnout.cli import output
from turnout.cli.group import turnout
from turnout.pipeline.testing import EXAMPLE, lake_of


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    return lake_of(str(tmp_path_factory.mktemp("cli") / "lake"), EXAMPLE).root


def call(*words: str) -> Result:
    return CliRunner().invoke(turnout, words)


def rows(result: Result) -> list[dict[str, object]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_turns_in_a_pipe_are_json_lines_with_every_column(root: str) -> None:
    """Filters and the limit apply; instants are ISO 8601 in UTC."""
    (turn,) = rows(call("turns", "--lake", root, "--outcome", "budget", "--unattended", "--limit", "5"))
    assert {name: turn[name] for name in ("turn_id", "outcome", "started_at", "models", "steps", "limit_steps")} == {
        "turn_id": "t05",
        "outcome": "budget",
        "started_at": "2026-01-05T12:00:00Z",
        "models": ["claude-b"],
        "steps": 10,
        "limit_steps": 10,
    }
    assert "facts" not in turn


@pytest.mark.parametrize("format_", ["json", "csv", "table", "parquet"])
def test_the_same_rows_come_in_every_format(root: str, tmp_path: Path, format_: str) -> None:
    """Only the spelling differs."""
    result = call("turns", "--lake", root, "--abnormal", "--format", format_)
    expected = {"t04", "t05", "t06", "t07", "t08", "t09", "t12"}
    match format_:
        case "json":
            assert {row["turn_id"] for row in json.loads(result.stdout)} == expected
        case "csv":
            assert {row["turn_id"] for row in csv.DictReader(io.StringIO(result.stdout))} == expected
        case "parquet":
            (tmp_path / "out.parquet").write_bytes(result.stdout_bytes)
            assert set(pl.read_parquet(tmp_path / "out.parquet")["turn_id"]) == expected
        case _:
            assert all(turn_id in result.stdout for turn_id in expected)


_VALUES = (
    "select sum(steps) as steps, 1.5::decimal(4, 2) as price, 'nan'::double as nan, 'ab'::blob as bytes, time '10:00' as at, "
    "{'a': [2::hugeint]} as nested, [[1]] as lists, ['a', 'b'] as tools, interval 2 hour as took, null as nothing "
    "from turns where turn_id in ('t04', 't05')"
)


def test_whatever_a_statement_answers_can_be_written(root: str) -> None:
    """Sums, decimals, bytes, times, nested values, and what is no number."""
    expected = {
        "steps": 20,
        "price": 1.5,
        "nan": None,
        "bytes": "6162",
        "at": "10:00:00",
        "nested": {"a": [2]},
        "lists": [[1]],
        "tools": ["a", "b"],
        "took": "02:00:00",
        "nothing": None,
    }
    assert rows(call("sql", _VALUES, "--lake", root)) == [expected]
    assert json.loads(call("sql", _VALUES, "--lake", root, "--format", "json").stdout) == [expected]
    (flat,) = csv.DictReader(io.StringIO(call("sql", _VALUES, "--lake", root, "--format", "csv").stdout))
    assert flat == {
        "steps": "20",
        "price": "1.50",
        "nan": "NaN",
        "bytes": "6162",
        "at": "10:00:00.000000000",
        "nested": '{"a": [2]}',
        "lists": "[[1]]",
        "tools": "a|b",
        "took": "02:00:00",
        "nothing": "",
    }
    for format_ in ("table", "parquet"):
        assert call("sql", _VALUES, "--lake", root, "--format", format_).exit_code == 0


def test_one_turn_is_told_in_words(root: str) -> None:
    """How it ended, which rule said so, what the person saw, and everything that was recorded."""
    told = call("turns", "--lake", root, "--turn", "t04").stdout
    for words in (
        "outcome     budget (steps), reported",
        "rule        ",
        "person saw  ",
        "continue    ",
        "limits      10 steps",
        "spent       10 steps, 10 tool calls, 1,000 tokens in, 500 out, $0.1000",
        "1  claude-a: finish reason tool_use, 100 in, 50 out of 1000",
        "1  bash: ok",
        "runtime: step_limit, at 2026-01-05T12:00:10Z",
    ):
        assert words in told


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_one_turn_as_rows_is_its_row(root: str, tmp_path: Path, format_: str) -> None:
    """Of that segment, whichever is the last of its root."""
    result = call("turns", "--lake", root, "--turn", "t14", "--format", format_)
    (tmp_path / "out").write_bytes(result.stdout_bytes)
    read = pl.read_csv if format_ == "csv" else pl.read_parquet
    assert read(tmp_path / "out").select("turn_id", "outcome").rows() == [("t14", "interrupted")]


def test_the_doctor_speaks_in_every_format(root: str, tmp_path: Path) -> None:
    """Words on a terminal, one object in JSON, the findings as rows elsewhere."""
    (record,) = rows(call("doctor", "--lake", root))
    whats = [finding["what"] for finding in json.loads(json.dumps(record["findings"]))]
    assert "no receiver has written its status beside this lake" in whats
    assert "last turn received" in call("doctor", "--lake", root, "--format", "table").stdout
    flat = csv.DictReader(io.StringIO(call("doctor", "--lake", root, "--format", "csv").stdout))
    assert [row["what"] for row in flat] == whats
    (tmp_path / "out").write_bytes(call("doctor", "--lake", root, "--format", "parquet").stdout_bytes)
    assert pl.read_parquet(tmp_path / "out")["what"].to_list() == whats


def test_a_terminal_shows_the_columns_that_fit_and_says_which_do_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No word is broken: an id can be copied."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    frame = pl.DataFrame(
        {"id": ["x" * 40], "words": ["some words that may be folded"], "n": [1], "a" * 30: [2], "b": [3]}
    )
    output.write(frame, "table")
    out, err = capsys.readouterr()
    assert "x" * 40 in out
    assert "a" * 30 not in out
    assert err == f"turnout: no room here for {'a' * 30}, b; a wider terminal or another --format has all\n"


def test_one_turn_as_json_holds_facts_verdict_and_words(root: str) -> None:
    """In the two contracts, with every segment of its root."""
    record = json.loads(call("turns", "--lake", root, "--turn", "t14b", "--format", "json").stdout)
    assert record["turn"]["schema"] == "turnout.turn/1"
    assert record["verdict"]["outcome"] == "completed"
    assert record["explanation"]["headline"]
    assert [segment["turn_id"] for segment in record["segments"]] == ["t14", "t14b"]


def test_metrics_are_listed_with_their_definitions(root: str) -> None:
    """Every one with what it can be grouped by, then the tables, which cannot be."""
    from turnout.pipeline.findings import FINDINGS
    from turnout.pipeline.query import METRICS

    listed = rows(call("metrics", "--lake", root))
    assert [row["name"] for row in listed] == [entry.name for entry in (*METRICS, *FINDINGS)]
    assert all(row["definition"] for row in listed)
    assert [row["name"] for row in listed if not row["by"]] == [table.name for table in FINDINGS]


def test_a_table_is_not_grouped(root: str) -> None:
    """It has columns of its own: asking for groups is a usage error."""
    result = call("metrics", "loops", "--by", "model", "--lake", root)
    assert (result.exit_code, "neither --by nor --sql" in result.stderr) == (2, True)


def test_a_metric_is_computed_by_dimensions_and_filters(root: str) -> None:
    """With numerator, denominator and interval; not recorded is a group."""
    found = rows(
        call("metrics", "abnormal", "--by", "agent", "--lake", root, "--since", "2026-01-05", "--until", "2026-01-06")
    )
    assert [(row["agent"], row["numerator"], row["denominator"]) for row in found] == [
        ("coder", 5, 8),
        ("helper", 1, 2),
        (None, 0, 1),
    ]
    assert "not recorded" in call("metrics", "abnormal", "--by", "agent", "--lake", root, "--format", "table").stdout


def test_the_sql_of_a_metric_runs_as_it_is(root: str) -> None:
    """Printed, and handed back with its one parameter."""
    statement = call("metrics", "abnormal", "--sql").stdout
    (row,) = rows(call("sql", statement, "--param", 'by=["attended"]', "--lake", root))[:1]
    assert row["attended"] is False


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["sql", "select * from read_csv('/etc/passwd')"], 1, "turnout: sql: Permission Error"),
        (["sql", "drop view turns"], 1, "turnout: sql: got drop, expected a select"),
        (["sql", "select $n", "--param", "n"], 2, "got 'n', expected NAME=VALUE"),
        (["turns", "--turn", "nobody"], 1, "turnout: turn: got 'nobody'"),
        (["turns", "--limit", "-1"], 2, "-1 is not in the range"),
        (["turns", "--outcome", "Budget"], 2, "'Budget' is not one of 'completed'"),
        (["turns", "--since", "soon"], 2, "got 'soon', expected 7d, 24h, now or ISO 8601"),
        (["metrics", "nope"], 1, "turnout: metric: got 'nope'"),
        (["metrics", "abnormal", "--by", "colour"], 1, "cannot be grouped by 'colour'"),
        (["report", "--out", "x.doc"], 1, "turnout: report: got 'x.doc'"),
    ],
)
def test_an_error_is_one_line_and_a_status(root: str, words: Sequence[str], status: int, message: str) -> None:
    """1 for a known error, 2 for usage."""
    result = call(*words, "--lake", root)
    assert result.exit_code == status
    assert message in result.stderr
    assert result.stdout == ""


def test_an_empty_lake_answers_every_command(tmp_path: Path) -> None:
    """With nothing, and no error."""
    lake = str(tmp_path / "lake")
    assert rows(call("turns", "--lake", lake)) == []
    assert rows(call("metrics", "outcomes", "--lake", lake)) == []
    assert rows(call("sql", "select count(*) as n from turns", "--lake", lake)) == [{"n": 0}]
    assert call("doctor", "--lake", lake).exit_code == 0
    assert call("report", "--lake", lake, "--out", str(tmp_path / "report")).exit_code == 0
    assert not Path(lake).exists()


def test_a_lake_is_looked_after_by_command(tmp_path: Path) -> None:
    """Status, compact, verify, forget, retain, reclassify: each says what it did."""
    lake = lake_of(str(tmp_path / "lake"), EXAMPLE).root
    tables = {row["table"]: row["rows"] for row in rows(call("lake", "status", "--lake", lake))}
    assert tables == {"turns": 16, "steps": 48, "tool_calls": 34, "ledger": 0}
    assert call("lake", "compact", "--lake", lake).stdout.startswith("merged 0 groups of files; deleted 0 files")
    assert call("lake", "verify", "--lake", lake).stdout == "everything adds up\n"
    assert call("lake", "reclassify", "--lake", lake).stdout == "decided 0 turns again\n"
    forgotten = call("lake", "forget", "--conversation", "c", "--now", "--lake", lake).stdout
    assert forgotten == "took out 2 turns; no file holds them any more\n"
    assert call("lake", "retain", "--days", "1", "--lake", lake).stdout.startswith("took out 14 turns of before ")
    assert call("lake", "forget", "--lake", lake).exit_code == 2


def test_a_lake_that_does_not_add_up_is_an_error(tmp_path: Path) -> None:
    """Exit status 1, and a line for each thing that is wrong."""
    lake = lake_of(str(tmp_path / "lake"), EXAMPLE).root
    for path in Path(lake, "steps").rglob("date=2026-01-06/*.parquet"):
        path.unlink()
    result = call("lake", "verify", "--lake", lake)
    assert result.exit_code == 1
    assert "1 x a file of steps cannot be read" in result.stdout
