"""From the journal to the lake under a given clock: the same telemetry ends in the same lake, whatever came when and wherever it died."""

import itertools
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from made_spans import SECOND, T0, nested, request_of, turn
from serving import rows
from turnout.pipeline.assemble import Pace
from turnout.pipeline.lake import Lake
from turnout.pipeline.lake.lateness import Lateness
from turnout.pipeline.query import Warehouse
from turnout.pipeline.receive.bodies import Body, Encoding, Signal
from turnout.pipeline.receive.cadence import Cadence
from turnout.pipeline.receive.convert import Converter
from turnout.pipeline.receive.counters import Counters
from turnout.pipeline.receive.journal import Journal
from turnout.pipeline.receive.judging import JudgingLake
from turnout.pipeline.receive.state import read_state
from turnout.pipeline.telemetry import Span

PACE = Pace(linger=2 * 60 * 60 * SECOND)
SPANS = [*nested(1), *turn(2, 2)]
POINTS = ("convert.before_write", "convert.after_write", "convert.before_state", "convert.after_state")
TABLES = ("turn_segments", "steps", "tool_calls")


class Died(BaseException):
    """The process ends here."""


@dataclass
class Site:
    """A journal and a lake, and the converter between them that can die at any point and be followed by another."""

    folder: Path
    now: int = T0
    dies_at: str = ""
    lateness: Lateness = field(default_factory=Lateness)
    state_bytes: int = 3000
    journal: Journal = field(init=False)
    converter: Converter = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        lake = Lake.open(str(self.folder / "lake"), clock=lambda: self.now, lateness=self.lateness)
        lake.prepare()
        place = self.folder / "journal"
        held = max(lake.position("j") or 0, read_state(place).position)
        self.journal = Journal(place, after=held, segment_bytes=2000)
        self.converter = Converter(
            journal=self.journal,
            journal_id="j",
            lake=JudgingLake(lake),
            counters=Counters(clock=lambda: self.now),
            clock=lambda: self.now,
            pace=PACE,
            cadence=Cadence(light=0, loaded=0, deaths=10**6 * SECOND, state_bytes=self.state_bytes),
            reached=self.reached,
        )
        self.converter.resume()

    def reached(self, point: str) -> None:
        if point == self.dies_at:
            raise Died

    def send(self, spans: Sequence[Span]) -> None:
        self.journal.append([Body(Signal.TRACES, Encoding.JSON, self.now, request_of(spans))])

    def wait(self, nanoseconds: int) -> None:
        """Let time go by, in a few looks."""
        for part in (SECOND // 10, nanoseconds // 2, nanoseconds // 2):
            self.now += part
            self.converter.step()

    def crash(self, point: str) -> None:
        """Die at a point, or where it stands; the next one takes up what is on disk."""
        self.dies_at = point
        with suppress(Died):
            self.converter.step()
            self.now += SECOND
            self.converter.step()
        self.dies_at = ""
        self.journal.close()
        self.start()

    def content(self) -> list[list[dict[str, object]]]:
        """Every row of the lake, once all that is open was closed."""
        for _ in range(3):
            self.wait(PACE.quiet + PACE.patience)
        assert list(Lake.open(str(self.folder / "lake")).verify()) == []
        return [rows(self.folder / "lake", table) for table in TABLES]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[list[dict[str, object]]]:
    site = Site(tmp_path_factory.mktemp("plain"))
    site.send(SPANS)
    return site.content()


def test_a_turn_under_the_name_of_a_missing_span_leaves_the_lake_with_the_commit_of_the_whole(tmp_path: Path) -> None:
    """Interrupted after the quiet time; when its parents come, one turn stands for it, and no state between shows both or neither."""
    site = Site(tmp_path)
    *below, wrapper, head = turn_below_a_wrapper()
    site.send(below)
    site.wait(PACE.quiet)
    (phantom,) = rows(tmp_path / "lake")
    assert (phantom["turn_id"], phantom["outcome"]) == (f"{1:032x}:{2:016x}", "interrupted")
    site.send([wrapper])
    site.wait(10 * SECOND)
    assert rows(tmp_path / "lake") == [phantom]
    version = Warehouse(str(tmp_path / "lake")).snapshot.version
    site.send([head])
    site.wait(10 * SECOND)
    (whole,) = rows(tmp_path / "lake")
    assert (whole["turn_id"], whole["outcome"], whole["steps"]) == (f"{1:032x}:{1:016x}", "completed", 3)
    assert Warehouse(str(tmp_path / "lake")).snapshot.version == version + 1


@pytest.mark.parametrize("end", ["waits", "finishes", "dies", "dies convert.before_write", "dies convert.after_write"])
def test_late_evidence_for_a_large_file_is_merged_once_a_minute_and_never_lost(tmp_path: Path, end: str) -> None:
    """A trickle of it rewrites the file twice in the first minute at the most; it is in the journal until it is in the lake."""
    site = Site(tmp_path, lateness=Lateness(large=0), state_bytes=1 << 30)
    head, *late = reversed(turn(1, 8))
    site.send([head])
    site.wait(10 * SECOND)
    before = merges(tmp_path)
    for one in late:
        site.send([one])
        site.wait(3 * SECOND)
    assert merges(tmp_path) - before <= 2
    (part,) = rows(tmp_path / "lake")
    assert part["steps"] != 8
    if end == "finishes":
        site.converter.finish()
    if end.startswith("dies"):
        site.crash(end.removeprefix("dies").strip())
    if end != "finishes":
        for _ in range(8):
            site.wait(10 * SECOND)
    (whole,) = rows(tmp_path / "lake")
    assert (whole["steps"], whole["tool_calls"], whole["outcome"]) == (8, 7, "completed")


def merges(folder: Path) -> int:
    """How many files of turns were ever written."""
    return len(list((folder / "lake" / "turns").rglob("*.parquet")))


def turn_below_a_wrapper() -> list[Span]:
    """The turn of `nested` without its sub-agent."""
    return [one for one in nested(1) if int(one.span_id, 16) not in {70, 71, 72}]


@pytest.mark.parametrize("point", ["", *POINTS])
def test_a_turn_that_was_stored_before_a_crash_is_withdrawn_after_it(tmp_path: Path, point: str) -> None:
    """Also where the state on disk is older than the row, so that nobody but the lake knows of it."""
    site = Site(tmp_path)
    *below, wrapper, head = turn_below_a_wrapper()
    site.send(below)
    site.wait(PACE.quiet)
    site.send([wrapper, head])
    site.crash(point)
    site.wait(10 * SECOND)
    (whole,) = rows(tmp_path / "lake")
    assert (whole["turn_id"], whole["steps"]) == (f"{1:032x}:{1:016x}", 3)


# No shrinking: each example is a few seconds, and a failing one tells its story as it is.
@settings(max_examples=10, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(data=st.data())
def test_order_splitting_quiet_times_and_crashes_end_in_the_same_lake(
    data: st.DataObject, expected: list[list[dict[str, object]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any order with spans doubled, in any requests, with quiet times between and the process dead at any point: the same rows."""
    order = data.draw(st.permutations(SPANS + data.draw(st.lists(st.sampled_from(SPANS), max_size=3))))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(order) - 1), max_size=4)))
    late = data.draw(st.sampled_from([Lateness(), Lateness(large=0)]))
    site = Site(tmp_path_factory.mktemp("site"), lateness=late)
    for start, end in itertools.pairwise([0, *cuts, len(order)]):
        site.send(order[start:end])
        crash = data.draw(st.sampled_from(["no", "", *POINTS]))
        if crash != "no":
            site.crash(crash)
        site.wait(data.draw(st.sampled_from([0, 2 * SECOND, PACE.quiet])))
    assert site.content() == expected


@pytest.mark.parametrize("jump", [-3600, 3600, 86_400, -86_400])
def test_a_clock_that_jumps_in_the_middle_of_a_turn_ends_in_the_same_lake(
    jump: int, expected: list[list[dict[str, object]]], tmp_path: Path
) -> None:
    """Set back or forward, at work and between two runs: what was closed too early is made whole, what waits too long comes."""
    site = Site(tmp_path)
    third = len(SPANS) // 3
    site.send(SPANS[:third])
    site.wait(2 * SECOND)
    site.now += jump * SECOND
    site.send(SPANS[third : 2 * third])
    site.wait(2 * SECOND)
    site.crash("")
    site.now += jump * SECOND
    site.send(SPANS[2 * third :])
    site.wait(2 * SECOND)
    site.wait(2 * abs(jump) * SECOND)
    assert site.content() == expected
