"""A lake that cannot be used says so in one sentence."""

import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable

from turnout.pipeline.lake import Lake, LakeError
from turnout.pipeline.lake.cubing import Cubing
from turnout.pipeline.lake.errors import reason_of
from turnout.pipeline.query import QueryError, Warehouse
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


NO_LAKES = {
    "empty": ("", r"lake: got an empty name, expected a folder"),
    "blank": ("  ", r"lake: got an empty name, expected a folder"),
    "file": ("{folder}/file", r"lake .*/file: got a file \(.*/file\), expected a folder"),
    "below a file": ("{folder}/file/below/it", r"lake .*/it: got a file \(.*/file\), expected a folder"),
    "file URL": ("file://{folder}/file", r"lake file://.*: got a file"),
    "no bucket": ("s3://", r"lake s3://: got a URL that names no place"),
    "one slash": ("s3:/bucket/lake", r"lake s3:/bucket/lake: got a URL that names no place"),
    "no folder": ("file://", r"lake file://: got a URL that names no place"),
    "no scheme": ("://here", r"lake ://here: got a URL that names no place"),
    "unknown scheme": (
        "gopher://here/lake",
        r"lake gopher://here/lake: cannot be reached, got 'Unknown scheme: gopher'",
    ),
}


@pytest.mark.parametrize(("name", "words"), NO_LAKES.values(), ids=NO_LAKES)
def test_a_name_that_can_be_no_lake_is_one_sentence(tmp_path: Path, name: str, words: str) -> None:
    """It reads as no empty lake and is not written beside: refused as soon as it is named, with what to do."""
    (tmp_path / "file").write_text("not a lake")
    with pytest.raises(LakeError, match=words + r"[^\n]*; .*--lake or TURNOUT_LAKE$"):
        Lake.open(name.format(folder=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["{folder}/new", "{folder}/new/lake", "file://{folder}/new", "{folder}/s3:"])
def test_a_folder_that_is_not_there_yet_is_an_empty_lake(tmp_path: Path, name: str) -> None:
    """It is made by the first write."""
    lake = Lake.open(name.format(folder=tmp_path))
    assert lake.snapshot().version == -1
    assert lake.write([stored(Sketch(turn_id="t"))]).new == 1


def test_a_lake_of_which_the_folder_became_a_file_is_one_sentence(tmp_path: Path) -> None:
    """The write that finds it says so."""
    lake = Lake.open(str(tmp_path / "lake"))
    (tmp_path / "lake").write_text("not a lake")
    with pytest.raises(LakeError, match=r"lake .*: cannot be written, got .*; name another with --lake"):
        lake.write([stored(Sketch(turn_id="t"))])


def test_what_a_library_says_over_several_lines_is_one_line() -> None:
    """Its chain of causes, without colours; only a list of everything it knows is left out."""
    said = "Kernel error -> Operation not supported\n  \x1b[31m↳\x1b[0m while loading\n   \x1b[31m↳\x1b[0m no access.\n"
    assert reason_of(OSError(said)) == "Operation not supported: while loading: no access"
    assert reason_of(OSError("Unknown scheme: ftp. Known schemes: az,hf")) == "Unknown scheme: ftp"
    assert reason_of(OSError("x" * 1000)) == "x" * 299 + "…"
    assert (
        reason_of(OSError("Json error: cut off\n   0: <unknown>\n   1: start_thread\n             at ./nptl/x.c:4"))
        == "Json error: cut off"
    )
    assert reason_of(OSError()) == "OSError"


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


DAMAGE: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "cut off": lambda file: os.truncate(file, 300),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_question_that_needs_a_damaged_file_says_so(root: str, damage: Callable[[Path], object]) -> None:
    """Not that the statement was wrong; and verifying names the file."""
    Lake.open(root).write([stored(Sketch(turn_id="t"))])
    (file,) = Path(root, "steps").glob("date=*/*.parquet")
    damage(file)
    with pytest.raises(QueryError, match="a file of the lake is gone or damaged: ask again"):
        Warehouse(root).sql("select * from steps")
    told = {problem.what for problem in Lake.open(root).verify()}
    assert told == {"a file of steps cannot be read", "a row of steps is missing"}


def by_hand(file: Path, **columns: pl.Expr) -> None:
    pl.read_parquet(file, hive_partitioning=False).with_columns(**columns).write_parquet(file)


EDITS: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "an outcome": (
        "turns/date=*/*.parquet",
        lambda file: by_hand(file, outcome=pl.lit("yielded")),
        "a turn says something else than its facts",
    ),
    "facts": (
        "turns/date=*/*.parquet",
        lambda file: by_hand(file, facts=pl.lit("{")),
        "the facts of a turn cannot be read",
    ),
    "a step": (
        "steps/date=*/*.parquet",
        lambda file: by_hand(file, input_tokens=pl.lit(1)),
        "a row of steps is not in the facts of its turn",
    ),
    "a cube": (
        "_cubes/*/date=*/*.parquet",
        lambda file: pl.read_parquet(file).clear().write_parquet(file),
        "a cube counts something else than its rows",
    ),
    "a cube cut off": ("_cubes/*/date=*/*.parquet", lambda file: os.truncate(file, 9), "a cube cannot be read"),
    "an index file gone": ("_index/*/*.ids", Path.unlink, "an index file is missing or not whole"),
    "an index file of others": (
        "_index/*/*.ids",
        lambda file: file.write_bytes(b"turnout2" + (1).to_bytes(8, "little") + bytes(8)),
        "an index file leaves out turns of its group",
    ),
}


@pytest.mark.parametrize(("files", "edit", "what"), EDITS.values(), ids=EDITS)
def test_what_was_changed_by_hand_is_found(root: str, files: str, edit: Callable[[Path], object], what: str) -> None:
    """Each row is made again from its facts, each cube counted again, each index file looked at; whole, nothing is found."""
    lake = Lake.open(root, cubing=Cubing(rows=1, share=1.0))
    lake.write([stored(Sketch(turn_id="t"))])
    assert list(lake.verify()) == []
    edit(min(Path(root).glob(files)))
    assert what in {problem.what for problem in Lake.open(root).verify()}
