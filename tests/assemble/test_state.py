"""The state file gives back what was written, or says why it cannot."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnout.pipeline.grouping import Group, Told
from turnout.pipeline.receive.state import STATE_FILE, State, StateError, read_state, write_state
from turnout.pipeline.telemetry import LogRecord, Record, Resource, Scope, Span, SpanEvent, SpanStatus

texts = st.text(max_size=5)
instants = st.none() | st.integers(1, 2**63)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | texts
    | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
attributes = st.dictionaries(texts, values, max_size=4)
scopes = st.builds(Scope, texts, texts)
resources = st.builds(Resource, attributes)
events = st.builds(SpanEvent, texts, instants, attributes)
spans = st.builds(
    Span, texts, texts, texts, texts, st.integers(0, 5), instants, instants, st.sampled_from(SpanStatus), texts, attributes,
    st.lists(events, max_size=2).map(tuple), scopes, resources, st.booleans(),
)  # fmt: skip
logs = st.builds(
    LogRecord, texts, texts, texts, instants, values, attributes, scopes, resources, st.integers(0, 24), instants
)


def group(number: int, records: list[Record]) -> Group:
    emitted = {"turn": Told(digest="digest")}
    made = Group(number, 1, 2, keys={f"key-{number}"}, emitted=emitted, unrecognised={"scope": 3}, due=9)
    for record in records:
        made.add(record)
    return made


def content(state: State) -> list[object]:
    names = (
        "number",
        "first_at",
        "last_at",
        "keys",
        "unrecognised",
        "fresh_at",
        "looked_at",
        "pending",
        "due",
    )
    return [
        state.position,
        *(
            {name: getattr(one, name) for name in names}
            | {"records": list(one.records), "emitted": {name: told.digest for name, told in one.emitted.items()}}
            for one in state.groups
        ),
    ]


@settings(max_examples=200, deadline=None)
@given(records=st.lists(spans | logs, max_size=6))
def test_what_is_written_is_read(records: list[Record], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Groups and records of any content come back equal."""
    folder = tmp_path_factory.mktemp("state")
    groups = (group(1, records[:3]), group(2, records[3:]))
    write_state(folder, 7, groups)
    assert content(read_state(folder)) == content(State(7, groups))


def test_no_file_is_no_state(tmp_path: Path) -> None:
    """A first start has nothing to go on with."""
    assert read_state(tmp_path) == State()


def test_a_number_beyond_64_bits_does_not_stop_the_receiver(tmp_path: Path) -> None:
    """JSON can carry any integer; one that no count can mean is kept as a float."""
    record = LogRecord("t", "s", "n", 1, None, {"huge": 10**30, "big": 2**63 + 5}, Scope(), Resource())
    write_state(tmp_path, 1, [group(1, [record])])
    (restored,) = read_state(tmp_path).groups[0].records
    assert restored.attributes["huge"] == 1e30


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut off": lambda content: content[:-1],
    "no file of ours": lambda content: b"x" + content[1:],
    "hardly begun": lambda content: content[:3],
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_file_is_refused(tmp_path: Path, name: str) -> None:
    """Open turns are not dropped in silence: the start says which file and what to do."""
    write_state(tmp_path, 1, [group(1, [])])
    path = tmp_path / STATE_FILE
    path.write_bytes(DAMAGE[name](path.read_bytes()))
    with pytest.raises(StateError, match="got a damaged file"):
        read_state(tmp_path)
