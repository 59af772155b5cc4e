"""The journal: what it gives back, and what it does with files that a crash or a disk has damaged."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnout.pipeline.receive.bodies import Body, Encoding, Signal
from turnout.pipeline.receive.commit import GroupCommit
from turnout.pipeline.receive.journal import Journal, JournalError, Recovered, Stored, journal_id
from turnout.pipeline.receive.reader import Reader
from turnout.pipeline.receive.segment import HEADER, encode

BODIES = [Body(Signal.TRACES, Encoding.PROTOBUF, number, bytes([number]) * number) for number in range(1, 6)]
STORED = [Stored(number, body) for number, body in enumerate(BODIES, 1)]


def everything(journal: Journal, after: int = 0) -> list[Stored]:
    reader = Reader(journal, after)
    found: list[Stored] = []
    while more := reader.next(1):
        found += more
    return found


def written(folder: Path, segment_bytes: int = 1 << 20) -> None:
    journal = Journal(folder, segment_bytes=segment_bytes)
    for body in BODIES:
        journal.append([body])
    journal.close()


def test_bodies_come_back_in_order_with_their_positions(tmp_path: Path) -> None:
    """What is appended is read back whole, over several segments."""
    journal = Journal(tmp_path, segment_bytes=40)
    assert [journal.append(BODIES[:2]), journal.append(BODIES[2:])] == [2, 5]
    assert everything(journal) == STORED


def test_a_reader_starts_behind_a_position(tmp_path: Path) -> None:
    """Positions up to the one given are not read again."""
    written(tmp_path, segment_bytes=40)
    assert everything(Journal(tmp_path), after=3) == STORED[3:]


def test_a_reader_sees_what_is_appended_later(tmp_path: Path) -> None:
    """The end of the journal is not the end of reading."""
    journal = Journal(tmp_path)
    reader = Reader(journal, 0)
    journal.append(BODIES[:1])
    assert reader.next(1000) == STORED[:1]
    assert reader.next(1000) == []
    journal.append(BODIES[1:3])
    assert reader.next(1000) == STORED[1:3]


def test_positions_go_on_after_a_restart(tmp_path: Path) -> None:
    """A new run appends behind the old one."""
    written(tmp_path)
    journal = Journal(tmp_path)
    assert journal.recovered == Recovered(5, 0, 0)
    assert journal.append(BODIES[:1]) == 6


def test_positions_start_beyond_what_the_lake_holds(tmp_path: Path) -> None:
    """A journal that was lost does not use a position twice, else the lake would take new bodies for old ones."""
    journal = Journal(tmp_path, after=41)
    assert journal.append(BODIES[:1]) == 42
    assert everything(journal, after=41) == [Stored(42, BODIES[0])]


@pytest.mark.parametrize("lost", range(1, 30))
def test_a_torn_tail_is_cut_and_counted(tmp_path: Path, lost: int) -> None:
    """However much of the last record is missing, the others stay and the next append is read back."""
    written(tmp_path)
    path = next(tmp_path.glob("*.segment"))
    os.truncate(path, path.stat().st_size - lost)
    journal = Journal(tmp_path)
    torn = len(b"".join(encode(5, BODIES[4]))) - lost
    assert journal.recovered == Recovered(4, torn, 0)
    journal.append(BODIES[:1])
    assert everything(journal) == [*STORED[:4], Stored(5, BODIES[0])]


def test_a_segment_without_a_whole_record_is_removed(tmp_path: Path) -> None:
    """A crash right after a segment was made leaves nothing behind."""
    (tmp_path / f"{1:020d}.segment").write_bytes(HEADER[:3])
    journal = Journal(tmp_path)
    assert journal.recovered == Recovered(0, 3, 0)
    assert list(tmp_path.glob("*.segment")) == []


def test_a_damaged_record_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    """One flipped bit loses one body, not those behind it."""
    written(tmp_path)
    path = next(tmp_path.glob("*.segment"))
    content = bytearray(path.read_bytes())
    content[len(HEADER) + len(b"".join(encode(1, BODIES[0]))) + 27] ^= 1
    path.write_bytes(content)
    journal = Journal(tmp_path)
    assert journal.recovered == Recovered(4, 0, 1)
    reader = Reader(journal, 0)
    assert reader.next(1000) == [STORED[0], *STORED[2:]]
    assert reader.damaged == 1


def test_released_segments_are_gone_and_the_rest_is_kept(tmp_path: Path) -> None:
    """Only segments that the lake holds whole are removed, and never the open one."""
    journal = Journal(tmp_path, segment_bytes=60)
    for body in BODIES:
        journal.append([body])
    freed = journal.release(3)
    assert freed > 0
    assert everything(journal) == STORED[2:]
    journal.release(5)
    assert journal.append(BODIES[:1]) == 6


def test_a_folder_has_one_owner(tmp_path: Path) -> None:
    """A second receiver on one journal is refused with a sentence."""
    journal = Journal(tmp_path)
    with pytest.raises(JournalError, match="in use: got another receiver"):
        Journal(tmp_path)
    journal.close()
    Journal(tmp_path).close()


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    """A file in the way of the folder is said, not raised through."""
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="cannot open the journal in"):
        Journal(tmp_path / "file" / "journal")


def test_a_failed_write_leaves_no_trace(tmp_path: Path) -> None:
    """After a disk that was full for one append, the same bodies are appended once and read once."""
    failing = [False]

    def reached(point: str) -> None:
        if failing[0] and point == "journal.before_sync":
            raise OSError(28, "No space left on device")

    journal = Journal(tmp_path, reached=reached)
    journal.append(BODIES[:1])
    failing[0] = True
    with pytest.raises(JournalError, match="No space left on device"):
        journal.append(BODIES[1:2])
    failing[0] = False
    assert journal.append(BODIES[1:3]) == 3
    assert everything(journal) == STORED[:3]
    journal.close()
    assert everything(Journal(tmp_path)) == STORED[:3]


def test_the_name_of_a_journal_stays(tmp_path: Path) -> None:
    """The lake knows a journal by a name that survives restarts and differs between journals."""
    first = journal_id(tmp_path / "a")
    assert journal_id(tmp_path / "a") == first
    assert journal_id(tmp_path / "b") != first


def test_group_commit_acknowledges_everything_that_it_wrote(tmp_path: Path) -> None:
    """Each submitted body is in the journal once its future is done."""
    journal = Journal(tmp_path)
    commit = GroupCommit(journal)
    futures = [commit.submit(body) for body in BODIES * 20]
    assert max(future.result() for future in futures) == 100
    commit.close()
    assert [stored.body for stored in everything(journal)] == BODIES * 20


def test_group_commit_tells_each_sender_of_a_failure(tmp_path: Path) -> None:
    """A group that could not be written fails as a whole, and the next one is written."""
    failing = [True]

    def reached(point: str) -> None:
        if failing[0] and point == "journal.before_write":
            raise OSError(5, "Input/output error")

    journal = Journal(tmp_path, reached=reached)
    commit = GroupCommit(journal)
    with pytest.raises(JournalError, match="Input/output error"):
        commit.submit(BODIES[0]).result()
    failing[0] = False
    assert commit.submit(BODIES[0]).result() == 1
    commit.close()


Damage = Callable[[bytes], bytes]


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_any_damage_gives_a_subset_of_what_was_written(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever happens to a file, nothing is read that was not written, in no other order, and appending goes on."""
    folder = tmp_path_factory.mktemp("journal")
    written(folder)
    path = next(folder.glob("*.segment"))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    journal = Journal(folder)
    found = everything(journal)
    assert [stored for stored in STORED if stored in found] == found
    last = journal.append(BODIES[:1])
    assert everything(journal, after=last - 1) == [Stored(last, BODIES[0])]
    journal.close()
