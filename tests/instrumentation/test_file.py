"""The file sink: one JSON line a turn."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from turnout.instrumentation import FileSink, Losses


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_turn_is_one_line(tmp_path: Path, make_recorder: Any) -> None:
    """The line is written when the turn ends, and is whole at once."""
    path = tmp_path / "logs" / "turns.jsonl"
    recorder = make_recorder(FileSink(path))
    with recorder.turn(agent="Zoë") as turn, turn.step(model="m") as step:
        step.finish(finish_reason="stop")
        assert not path.exists()
    with recorder.turn():
        pass
    assert recorder.flush()
    assert lines(path) == [
        {
            "schema": "turnout.turn/1",
            "turn_id": "turn-1",
            "agent": "Zoë",
            "source": "turnout",
            "started_at": "2026-01-05T10:00:00Z",
            "ended_at": "2026-01-05T10:00:03Z",
            "steps": [
                {
                    "index": 1,
                    "model": "m",
                    "started_at": "2026-01-05T10:00:01Z",
                    "ended_at": "2026-01-05T10:00:02Z",
                    "finish_reason": "stop",
                }
            ],
        },
        {
            "schema": "turnout.turn/1",
            "turn_id": "turn-2",
            "source": "turnout",
            "started_at": "2026-01-05T10:00:04Z",
            "ended_at": "2026-01-05T10:00:05Z",
        },
    ]


def test_what_comes_late_is_a_line_more_of_the_same_turn(tmp_path: Path, make_recorder: Any) -> None:
    """Readers merge lines of one turn."""
    path = tmp_path / "turns.jsonl"
    with make_recorder(FileSink(path, delay_s=0)).turn() as turn:
        pass
    turn.claim("host", "end_turn")
    first, second = lines(path)
    assert first["turn_id"] == second["turn_id"]
    assert "claims" not in first
    assert second["claims"][0]["reason"] == "end_turn"


def test_several_sinks_append_to_one_file(tmp_path: Path, make_recorder: Any) -> None:
    """Processes that share a file, and a process that starts again, lose no line."""
    path = tmp_path / "turns.jsonl"
    sinks = [FileSink(path, delay_s=0), FileSink(path, delay_s=0)]
    for sink in [*sinks, *sinks]:
        with make_recorder(sink).turn():
            pass
    assert len(lines(path)) == 4
    assert [sink.close(1) for sink in sinks] == [True, True]
    with make_recorder(sinks[0]).turn():
        pass
    assert len(lines(path)) == 5


@pytest.mark.skipif(os.name == "nt", reason="names of files are not bytes there")
def test_a_name_that_is_no_text_is_written_as_far_as_it_is(tmp_path: Path, make_recorder: Any) -> None:
    """A lone surrogate from a model's tool call does not cost the turn."""
    path = tmp_path / "turns.jsonl"
    with make_recorder(FileSink(path, delay_s=0)).turn() as turn, turn.step() as step:
        step.tool_call("cut\ud83d").ok()
    assert lines(path)[0]["steps"][0]["tool_calls"][0]["name"] == "cut?"


@pytest.mark.parametrize("delay_s", [0, 0.01])
def test_a_file_that_cannot_be_written_is_counted(
    delay_s: float, tmp_path: Path, make_recorder: Any, losses: Losses
) -> None:
    """The agent goes on, and its operator is told."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    recorder = make_recorder(FileSink(blocked / "turns.jsonl", delay_s=delay_s, losses=losses))
    with recorder.turn():
        pass
    assert recorder.flush()
    (kind,) = losses.totals()
    assert ("FileSink" if delay_s == 0 else "lines: export failed") in kind


def test_without_a_delay_the_line_is_there_when_the_turn_is_over(tmp_path: Path, make_recorder: Any) -> None:
    """A process that is frozen or killed right after a turn has written it."""
    path = tmp_path / "turns.jsonl"
    with make_recorder(FileSink(path, delay_s=0)).turn():
        pass
    assert len(lines(path)) == 1


def test_a_process_that_ends_writes_what_is_queued(tmp_path: Path) -> None:
    """Nobody has to close anything."""
    path = tmp_path / "turns.jsonl"
    code = (
        "import sys\n"
        "from turnout.instrumentation import FileSink, Recorder\n"
        "recorder = Recorder(FileSink(sys.argv[1], delay_s=3600))\n"
        "with recorder.turn():\n"
        "    pass\n"
        "sys.exit(3)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 3
    assert len(lines(path)) == 1
