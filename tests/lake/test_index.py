"""The index of ids finds every place that holds an id."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from turnout.pipeline.lake.index import IdIndex

ids = st.lists(st.text(max_size=3), max_size=12)


@given(places=st.lists(ids, max_size=12), wanted=ids)
def test_every_place_of_an_id_is_found_and_no_other(places: list[list[str]], wanted: list[str]) -> None:
    """Whatever was added in whatever portions."""
    index = IdIndex()
    for place, names in enumerate(places):
        index.add(place, pl.Series(names, dtype=pl.String))
    expected = {place for place, names in enumerate(places) if set(names) & set(wanted)}
    assert index.places(pl.Series(wanted, dtype=pl.String)) == expected
    assert len(index) == sum(len(set(names)) for names in places)
