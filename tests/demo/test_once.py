"""The demonstration from end to end, as a person starts it."""

import subprocess
import sys
from pathlib import Path

from turnout.outcomes.verdict import Outcome
from turnout.pipeline.query import Warehouse


def turnout(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line of this environment."""
    return subprocess.run(
        [str(Path(sys.executable).with_name("turnout")), *words], capture_output=True, text=True, check=False
    )


def test_once_fills_a_lake_through_the_receiver_and_prints_how_turns_ended(tmp_path: Path) -> None:
    """History and live turns are in the lake, every live turn came by OTLP, and the table counts them all."""
    lake = tmp_path / "lake"
    run = turnout("demo", "--once", "--lake", str(lake), "--scale", "0.05", "--otlp-port", "0")
    assert run.returncode == 0, run.stderr
    warehouse = Warehouse(str(lake))
    live = warehouse.sql(r"select count(*) as n from turns where not regexp_matches(turn_id, '-\d{5}(-c)?$')").item()
    total = warehouse.sql("select count(*) as n from turns").item()
    assert live >= 60
    assert total > live
    assert f"{total}" in run.stdout
    assert set(warehouse.sql("select distinct outcome from turns")["outcome"]) <= set(Outcome)


def test_a_lake_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    """The demonstration never writes into a folder that is in use."""
    (tmp_path / "kept").write_text("mine")
    run = turnout("demo", "--once", "--lake", str(tmp_path))
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == (
        f"turnout: demo: the lake must be new, got {tmp_path} with files in it, expected an empty or absent folder; name another\n"
    )
    assert (tmp_path / "kept").read_text() == "mine"
