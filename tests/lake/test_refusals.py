"""A lake that cannot be used says so in one sentence."""

from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable

from turnout.pipeline.lake import Lake, LakeError
from turnout.pipeline.testing import Sketch, stored


def test_a_lake_made_by_a_newer_version_is_refused(root: str) -> None:
    """It is neither read nor written, and the sentence says what to do."""
    Lake.open(root).write([stored(Sketch(turn_id="t"))])
    DeltaTable(f"{root}/turns").alter.set_table_properties({"turnout.schemaVersion": "999"}, raise_if_not_exists=False)
    words = r"got schema version 999, expected at most .*; upgrade turnout"
    with pytest.raises(LakeError, match=words):
        Lake.open(root).snapshot()
    with pytest.raises(LakeError, match=words):
        Lake.open(root).write([stored(Sketch(turn_id="u"))])


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_path_that_cannot_be_a_lake_is_one_sentence(tmp_path: Path, name: str) -> None:
    """A file stands where the folder should be."""
    (tmp_path / "file").write_text("not a lake")
    with pytest.raises(LakeError, match=r"lake .*: cannot be written, got .*; name another with --lake"):
        Lake.open(str(tmp_path / name)).write([stored(Sketch(turn_id="t"))])


def test_a_folder_that_holds_something_else_is_an_empty_lake(tmp_path: Path) -> None:
    """Other files in the folder are nobody's business."""
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "other.parquet")
    assert Lake.open(str(tmp_path)).snapshot().version == -1


def test_a_damaged_log_is_one_sentence(root: str) -> None:
    """A log that Delta cannot read names the lake, the table and what to do."""
    Lake.open(root).write([stored(Sketch(turn_id="t"))])
    log = Path(root, "turns", "_delta_log")
    for commit in log.glob("*.json"):
        commit.write_text("{not json")
    with pytest.raises(LakeError, match="table turns cannot be read"):
        Lake.open(root).snapshot()
