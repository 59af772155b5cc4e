"""The index of ids names every group that holds an id."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.pipeline.lake.index import FOLDER, IdIndex, path_of
from turnout.pipeline.lake.store import FolderStore
from turnout.pipeline.lake.upsert import Place

ids = st.lists(st.text(max_size=3), max_size=12)


@given(groups=st.lists(ids, max_size=8), wanted=ids)
def test_every_group_of_an_id_is_named_and_no_other(
    tmp_path_factory: pytest.TempPathFactory, groups: list[list[str]], wanted: list[str]
) -> None:
    """By the index that wrote them and by one that reads them."""
    store = FolderStore(str(tmp_path_factory.mktemp("index")))
    writer = IdIndex(store)
    live: dict[Place, list[str]] = {("2026-01-05", f"g{number}"): names for number, names in enumerate(groups)}
    for place, names in live.items():
        writer.write(place, names)
    expected = {place for place, names in live.items() if set(names) & set(wanted)}
    for index in (writer, IdIndex(store)):
        assert index.places(wanted, live) == expected


@pytest.mark.parametrize("left", [0, 5, 16, 24, 31])
def test_a_group_whose_index_is_missing_or_torn_is_always_named(tmp_path: Path, left: int) -> None:
    """Nothing is left out for want of an index."""
    store = FolderStore(str(tmp_path))
    torn, missing = ("2026-01-05", "torn"), ("2026-01-05", "missing")
    IdIndex(store).write(torn, ["a", "b"])
    file = tmp_path / FOLDER / path_of(torn)
    file.write_bytes(file.read_bytes()[:left])
    assert IdIndex(store).places(["z"], {torn, missing}) == {torn, missing}
