"""What a person sees and is offered, on inputs that satisfy two branches at once."""

from dataclasses import replace
from itertools import product

import pytest

from turnout.outcomes.facts import ToolCall, ToolStatus
from turnout.outcomes.state import (
    NOTHING,
    NOTICES,
    Metadata,
    PartState,
    Seen,
    ToolPart,
    View,
    abandoned,
    notice,
    part_of,
    settled,
    view,
    waits,
)
from turnout.outcomes.verdict import MetadataFinish, Notice, Resumable

STREAMING_WRITE = ToolPart(state=PartState.INPUT_STREAMING, mutating=True)
RUNNING_READ = ToolPart(state=PartState.INPUT_AVAILABLE, mutating=False)
RUNNING_WRITE = ToolPart(state=PartState.INPUT_AVAILABLE, mutating=True)
DONE_READ = ToolPart(state=PartState.OUTPUT_AVAILABLE, mutating=False)
DONE_WRITE = ToolPart(state=PartState.OUTPUT_AVAILABLE, mutating=True)
ASKED = ToolPart(state=PartState.APPROVAL_REQUESTED, mutating=True)

CONTENT_FILTER, BUDGET, LENGTH = MetadataFinish.CONTENT_FILTER, MetadataFinish.BUDGET, MetadataFinish.LENGTH


def over(*tools: ToolPart, attended: bool | None = True, **metadata: object) -> Seen:
    return Seen(running=False, metadata=Metadata(**metadata), tools=tools, attended=attended)  # type: ignore[arg-type]


TOOL_TABLE = [
    # state, client, has result: settled, waits, abandoned, abandoned once given up
    (PartState.INPUT_STREAMING, False, False, False, False, True, True),
    (PartState.INPUT_AVAILABLE, False, False, False, False, True, True),
    (PartState.INPUT_AVAILABLE, True, False, False, True, False, False),
    (PartState.APPROVAL_REQUESTED, False, False, False, True, False, False),
    (PartState.APPROVAL_RESPONDED, False, False, False, False, False, True),
    (PartState.OUTPUT_AVAILABLE, False, False, True, False, False, False),
    (PartState.OUTPUT_ERROR, False, False, True, False, False, False),
    (PartState.OUTPUT_DENIED, False, False, True, False, False, False),
    (PartState.INPUT_AVAILABLE, False, True, True, False, False, False),
    (PartState.INPUT_AVAILABLE, True, True, True, False, False, False),
    (None, False, False, False, False, True, True),
    (None, False, True, True, False, False, False),
]


@pytest.mark.parametrize("row", TOOL_TABLE, ids=[f"{r[0]}-client={r[1]}-result={r[2]}" for r in TOOL_TABLE])
def test_tool_parts(row: tuple[PartState | None, bool, bool, bool, bool, bool, bool]) -> None:
    """Settled, waiting and abandoned, for every state."""
    state, client, has_result, is_settled, is_waiting, is_abandoned, given_up = row
    part = ToolPart(state=state, client=client, has_result=has_result)
    assert (settled(part), waits(part), abandoned(part), abandoned(part, given_up=True)) == (
        is_settled,
        is_waiting,
        is_abandoned,
        given_up,
    )


def test_every_recorded_status_has_a_part() -> None:
    """A call is settled as a part exactly where its status is."""
    for status in ToolStatus:
        part = part_of(ToolCall(status=status))
        assert settled(part) == (status in (ToolStatus.OK, ToolStatus.ERROR, ToolStatus.DENIED))
        assert waits(part) == (status in (ToolStatus.AWAITING_APPROVAL, ToolStatus.AWAITING_CLIENT))


TWO_BRANCHES: dict[str, tuple[Seen, Notice]] = {
    "stopped and refused": (over(stopped=True, finish_reason=CONTENT_FILTER), Notice.STOPPED),
    "stopped with an abandoned tool": (over(RUNNING_READ, stopped=True), Notice.STOPPED),
    "stopped and failed": (over(stopped=True, failed=True), Notice.STOPPED),
    "stopped and at the budget": (over(stopped=True, finish_reason=BUDGET), Notice.STOPPED),
    "stopped and cut": (over(stopped=True, finish_reason=LENGTH), Notice.STOPPED),
    "refused with an abandoned tool": (over(STREAMING_WRITE, finish_reason=CONTENT_FILTER), Notice.REFUSED),
    "refused and interrupted": (over(finish_reason=CONTENT_FILTER, interrupted=True), Notice.REFUSED),
    "refused and failed": (over(finish_reason=CONTENT_FILTER, failed=True), Notice.REFUSED),
    "failed and interrupted": (over(failed=True, interrupted=True), Notice.ERROR),
    "failed and at the budget": (over(failed=True, finish_reason=BUDGET), Notice.ERROR),
    "failed and cut": (over(failed=True, finish_reason=LENGTH), Notice.ERROR),
    "at the budget and interrupted": (over(finish_reason=BUDGET, interrupted=True), Notice.BUDGET),
    "cut and interrupted": (over(finish_reason=LENGTH, interrupted=True), Notice.LENGTH),
    "cut with a call still being written": (over(STREAMING_WRITE, finish_reason=LENGTH), Notice.LENGTH),
}


@pytest.mark.parametrize(("seen", "expected"), TWO_BRANCHES.values(), ids=TWO_BRANCHES)
def test_the_first_of_two_notices_is_shown(seen: Seen, expected: Notice) -> None:
    """Where two notices hold, the one with the older right is shown."""
    assert notice(seen) is expected


EXCLUSIVE = {Notice.BUDGET, Notice.LENGTH}
"""One finish reason cannot be two: these never hold at once, so their order among each other says nothing."""

SWAPS = [place for place in range(len(NOTICES) - 1) if {NOTICES[place][0], NOTICES[place + 1][0]} != EXCLUSIVE]


@pytest.mark.parametrize("place", SWAPS, ids=[f"{NOTICES[p][0]}-{NOTICES[p + 1][0]}" for p in SWAPS])
def test_swapping_two_notices_breaks_a_case(place: int) -> None:
    """The cases above hold the order: each swap of neighbours shows a person the wrong notice in one of them."""
    swapped = (*NOTICES[:place], NOTICES[place + 1], NOTICES[place], *NOTICES[place + 2 :])
    assert any(notice(seen, swapped) is not expected for seen, expected in TWO_BRANCHES.values())


@pytest.mark.parametrize("kind", [kind for kind, _ in NOTICES])
def test_leaving_a_notice_out_breaks_a_case(kind: Notice) -> None:
    """Each notice is needed by a case."""
    without = tuple(entry for entry in NOTICES if entry[0] is not kind)
    cases = [*TWO_BRANCHES.values(), (over(RUNNING_READ), Notice.INTERRUPTED)]
    assert any(notice(seen, without) is not expected for seen, expected in cases)


ALL_METADATA = [
    Metadata(
        stopped=stopped, finish_reason=reason, interrupted=interrupted, failed=failed, finish_time=time, resumable=can
    )
    for stopped, reason, interrupted, failed, time, can in product(
        (None, True), (None, *MetadataFinish), (None, True), (None, True), (None, 1), (None, *Resumable)
    )
]
ALL_TOOLS = [(), (STREAMING_WRITE,), (RUNNING_READ,), (RUNNING_WRITE,), (DONE_READ,), (DONE_WRITE,), (ASKED,)]
ALL_SEEN = [
    Seen(running=running, metadata=metadata, tools=tools, attended=attended)
    for running, metadata, tools, attended in product((False, True), ALL_METADATA, ALL_TOOLS, (None, True, False))
]


def test_only_notices_that_exclude_each_other_are_not_swapped() -> None:
    """Every other pair of neighbours has a case; these two hold together on no input at all, so that their order can show nobody anything."""
    shows = dict(NOTICES)
    assert not [seen for seen in ALL_SEEN if all(shows[kind](seen) for kind in EXCLUSIVE)]
    assert len(SWAPS) == len(NOTICES) - 2
    for place in SWAPS:
        both = [seen for seen in ALL_SEEN if NOTICES[place][1](seen) and NOTICES[place + 1][1](seen)]
        assert both, f"{NOTICES[place][0]} and {NOTICES[place + 1][0]} hold together"


class TestWhatIsForbidden:
    """Over every combination of metadata, tools and attendance."""

    def test_nothing_is_shown_of_a_running_turn(self) -> None:
        """Old metadata and open tools say nothing while the turn runs."""
        assert {view(seen) for seen in ALL_SEEN if seen.running} == {NOTHING}

    def test_a_refusal_offers_neither_continue_nor_suggestions(self) -> None:
        """However many tools are unsettled and whatever else the metadata says."""
        refused = [view(s) for s in ALL_SEEN if s.metadata.finish_reason is CONTENT_FILTER]
        assert not any(shown.can_continue or shown.suggestions for shown in refused)

    def test_a_stop_offers_no_continue(self) -> None:
        """The person ended it; going on takes a new message."""
        assert not any(view(s).can_continue for s in ALL_SEEN if s.metadata.stopped)

    def test_nobody_continues_an_unattended_turn(self) -> None:
        """There is nobody to press the button."""
        assert not any(view(s).can_continue or view(s).can_regenerate for s in ALL_SEEN if s.attended is False)

    def test_a_partial_answer_has_no_suggestions(self) -> None:
        """Neither an end that is none nor an open call is ground for suggestions."""
        suggesting = [s for s in ALL_SEEN if view(s).suggestions]
        assert suggesting
        assert all(s.metadata.finish_time is not None and notice(s) is Notice.NONE for s in suggesting)
        assert not any(abandoned(part) or waits(part) for s in suggesting for part in s.tools)

    def test_what_may_have_changed_something_is_not_regenerated(self) -> None:
        """Answering once more would do it again."""
        changed = [s for s in ALL_SEEN if DONE_WRITE in s.tools or RUNNING_WRITE in s.tools]
        assert not any(view(s).can_regenerate for s in changed)

    def test_an_unseen_side_effect_is_not_continued_blindly(self) -> None:
        """A dead turn whose writing call may have run offers no Continue; one whose call never started does."""
        assert view(over(RUNNING_WRITE)).can_continue is False
        assert view(over(STREAMING_WRITE)).can_continue is True
        assert view(over(RUNNING_READ)).can_continue is True


OFFERS: dict[str, tuple[Seen, View]] = {
    "a whole answer": (
        over(DONE_READ, finish_time=1),
        View(notice=Notice.NONE, can_continue=False, can_regenerate=True, suggestions=True),
    ),
    "a whole answer that wrote a file": (
        over(DONE_WRITE, finish_time=1),
        View(notice=Notice.NONE, can_continue=False, can_regenerate=False, suggestions=True),
    ),
    "cut, from an old transcript": (
        over(finish_reason=LENGTH, interrupted=True),
        View(notice=Notice.LENGTH, can_continue=True, can_regenerate=True, suggestions=False),
    ),
    "cut, but by what is not known": (
        over(finish_reason=LENGTH, interrupted=True, resumable=Resumable.UNKNOWN),
        View(notice=Notice.LENGTH, can_continue=False, can_regenerate=True, suggestions=False),
    ),
    "at the budget": (
        over(DONE_WRITE, finish_reason=BUDGET, interrupted=True, resumable=Resumable.YES),
        View(notice=Notice.BUDGET, can_continue=True, can_regenerate=False, suggestions=False),
    ),
    "refused in the middle of a call": (
        over(STREAMING_WRITE, finish_reason=CONTENT_FILTER, finish_time=1),
        View(notice=Notice.REFUSED, can_continue=False, can_regenerate=False, suggestions=False),
    ),
    "waiting for an approval": (
        over(ASKED, finish_time=1),
        View(notice=Notice.NONE, can_continue=False, can_regenerate=False, suggestions=False),
    ),
    "failed for a while": (
        over(failed=True, resumable=Resumable.YES),
        View(notice=Notice.ERROR, can_continue=True, can_regenerate=True, suggestions=False),
    ),
    "failed, from an old transcript": (
        over(failed=True, interrupted=True),
        View(notice=Notice.ERROR, can_continue=False, can_regenerate=True, suggestions=False),
    ),
    "answered by a call whose end nobody recorded": (
        over(ToolPart(), finish_time=1, resumable=Resumable.NO),
        View(notice=Notice.NONE, can_continue=False, can_regenerate=False, suggestions=False),
    ),
    "dead in the middle of a call": (
        over(RUNNING_READ),
        View(notice=Notice.INTERRUPTED, can_continue=True, can_regenerate=True, suggestions=False),
    ),
    "ended, nobody knows how": (
        over(),
        View(notice=Notice.NONE, can_continue=False, can_regenerate=True, suggestions=False),
    ),
}


@pytest.mark.parametrize(("seen", "expected"), OFFERS.values(), ids=OFFERS)
def test_what_is_offered(seen: Seen, expected: View) -> None:
    """The whole view, with what is not offered."""
    assert view(seen) == expected


def test_running_hides_a_notice_that_would_stand() -> None:
    """The same message shows its notice once the turn is over."""
    seen = over(finish_reason=BUDGET, interrupted=True)
    assert view(replace(seen, running=True)) == NOTHING
    assert view(seen).notice is Notice.BUDGET
