"""The command ``turnout classify``."""

import json
from pathlib import Path

from click.testing import CliRunner

from turnout.cli.classify import command
from turnout.cli.group import turnout

GOOD = '{"turn_id": "a", "steps": [{"index": 1, "finish_reason": "stop"}]}\n'


def write(folder: Path, text: str) -> str:
    path = folder / "turns.jsonl"
    path.write_text(text)
    return str(path)


def test_verdicts_on_standard_output(tmp_path: Path) -> None:
    """One verdict a line, nothing on standard error, exit status 0."""
    result = CliRunner().invoke(command, [write(tmp_path, GOOD * 2)])
    assert [json.loads(line)["outcome"] for line in result.stdout.splitlines()] == ["completed", "completed"]
    assert (result.stderr, result.exit_code) == ("", 0)


def test_a_damaged_line(tmp_path: Path) -> None:
    """It is told with file and line, counted, and stops nothing else; the exit status is 1."""
    path = write(tmp_path, GOOD + '{"turn_id": "b", "open": 3}\n' + GOOD)
    result = CliRunner().invoke(command, [path])
    assert len(result.stdout.splitlines()) == 2
    assert result.stderr.splitlines() == [f"{path}:2: open: got 3, expected bool", "1 not valid, 2 classified"]
    assert result.exit_code == 1


def test_unknown_keys_are_told_once(tmp_path: Path) -> None:
    """They are no error."""
    result = CliRunner().invoke(command, [write(tmp_path, '{"turn_id": "a", "mood": 1}\n' * 2)])
    assert result.stderr == "unknown keys were kept out: mood (2)\n"
    assert result.exit_code == 0


def test_standard_input() -> None:
    """A file named - is standard input."""
    result = CliRunner().invoke(command, ["-"], input=GOOD)
    assert json.loads(result.stdout)["turn_id"] == "a"


def test_a_kind_on_standard_input() -> None:
    """Logs of a kind can come on standard input too, and their rows say so."""
    result = CliRunner().invoke(command, ["--kind", "turns", "-"], input=GOOD * 2)
    assert [json.loads(line)["file"] for line in result.stdout.splitlines()] == ["-", "-"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """One line says which, and the exit status is 1."""
    result = CliRunner().invoke(turnout, ["classify", str(tmp_path / "none.jsonl")])
    assert result.stderr == (
        f"turnout: {tmp_path}/none.jsonl: got No such file or directory, expected a file that can be read\n"
    )
    assert result.exit_code == 1


def test_an_unknown_kind(tmp_path: Path) -> None:
    """The kinds that there are are named."""
    result = CliRunner().invoke(turnout, ["classify", "--kind", "scrolls", write(tmp_path, GOOD)])
    assert result.stderr.startswith("turnout: --kind: got 'scrolls', expected auto or one of ")
    assert result.exit_code == 1


def test_a_file_of_no_kind_does_not_stop_the_others(tmp_path: Path) -> None:
    """It is said and counted, and the exit status tells."""
    strange = tmp_path / "strange.json"
    strange.write_text("[1, 2]")
    result = CliRunner().invoke(turnout, ["classify", "--kind", "auto", str(strange), write(tmp_path, GOOD)])
    assert result.stderr.splitlines() == [
        f"{strange}: got a file of no known kind, expected a log that `turnout import` reads; name its kind with --kind",
        "1 not valid, 1 classified",
    ]
    assert len(result.stdout.splitlines()) == 1
    assert result.exit_code == 1
