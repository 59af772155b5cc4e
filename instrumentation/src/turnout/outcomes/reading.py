"""What the facts of a turn show at one moment, before any claim: how its last request went and what was left to do."""

from typing import NamedTuple

from turnout.outcomes.errors import Failure, failure_of, was_cancelled
from turnout.outcomes.facts import CheckVerdict, Instant, Step, ToolCall, ToolStatus, TurnFacts
from turnout.outcomes.finishes import NOT_RECORDED, Finish, finish_of
from turnout.outcomes.providers import FinishClass
from turnout.outcomes.usage import TurnUsage, inclusive, usage_of
from turnout.outcomes.verdict import Outcome

UNSETTLED = frozenset({ToolStatus.STREAMING, ToolStatus.RUNNING, ToolStatus.APPROVED, ToolStatus.UNKNOWN})
"""Calls that nobody settled; one that waits for a person or the client is not among them."""

WAITING = frozenset({ToolStatus.AWAITING_APPROVAL, ToolStatus.AWAITING_CLIENT})
"""Calls that wait for a person's approval or the client's own answer."""

_PEOPLE = frozenset({"user", "human", "person", "people", "operator", "reviewer", "approver"})
_FAILED_CLASSES = frozenset({FinishClass.ERROR, FinishClass.TIMEOUT, FinishClass.MALFORMED})
_CAME_THROUGH = frozenset(
    {
        FinishClass.COMPLETED,
        FinishClass.TOOL_CALLS,
        FinishClass.LENGTH,
        FinishClass.REFUSAL,
        FinishClass.CONTEXT_OVERFLOW,
        FinishClass.PAUSE,
    }
)


class Reading:
    """The evidence of one settled turn up to one moment; ``steps`` are the requests that had been started by then."""

    __slots__ = (
        "aborted",
        "charged",
        "cut",
        "failure",
        "final",
        "finish",
        "last",
        "ordinary",
        "steps",
        "truncated",
        "turn",
        "unsettled",
        "used",
        "vetoed",
        "waiting",
    )

    def __init__(self, turn: TurnFacts, steps: tuple[Step, ...], used: TurnUsage) -> None:
        self.turn = turn
        self.steps = steps
        self.used = used
        self.charged = steps_charged(steps)
        self.finish: Finish = NOT_RECORDED
        self.failure: Failure | None = None
        self.aborted = self.truncated = self.cut = False
        self.unsettled = self.waiting = self.ordinary = self.final = False
        self.last: Step | None = steps[-1] if steps else None
        if self.last is not None:
            self._read(self.last)
        self.vetoed = bool(turn.finish_checks) and _stands_vetoed(turn, self.last)

    def _read(self, last: Step) -> None:
        self.finish = finish_of(last)
        self.aborted = last.aborted is True or was_cancelled(last)
        self.truncated = last.stream_complete is False and not self.aborted
        if last.error is not None and not self._came_through(last):
            self.failure = failure_of(last)
        for call in last.tool_calls:
            status = call.status
            if status in UNSETTLED:
                self.unsettled = True
            elif status in WAITING:
                self.waiting = True
            if not call.final:
                self.ordinary = True
            elif status in {ToolStatus.OK, None} and call.arguments_valid is not False:
                self.final = True
        self.cut = _is_cut(last, self.finish.kind)

    def _came_through(self, last: Step) -> bool:
        """Whether an error of this step was one of an earlier try that a later one overcame."""
        retried = (last.attempts or 0) > 1 or bool(last.attempt_ends)
        return retried and self.finish.kind in _CAME_THROUGH

    @property
    def refused(self) -> bool:
        """Whether the provider refused the last request."""
        return self.finish.kind is FinishClass.REFUSAL or (
            self.failure is not None and self.failure.outcome is Outcome.REFUSED
        )

    @property
    def overflown(self) -> bool:
        """Whether the last request did not fit the model's context."""
        return self.finish.kind is FinishClass.CONTEXT_OVERFLOW or (
            self.failure is not None and self.failure.outcome is Outcome.CONTEXT_OVERFLOW
        )

    @property
    def failed(self) -> bool:
        """Whether the last request failed."""
        return self.failure is not None or self.finish.kind in _FAILED_CLASSES

    @property
    def paused(self) -> bool:
        """Whether the last request ended in a pause, which is no end."""
        return self.finish.kind is FinishClass.PAUSE

    @property
    def empty(self) -> bool:
        """Whether the last request ended with nothing for anybody: no character, no part, no tool call."""
        last = self.last
        if last is None or last.output is None or last.tool_calls or self.aborted:
            return False
        blank = last.output.text_chars == 0 and last.output.parts == 0
        return blank and self.finish.kind in {FinishClass.COMPLETED, None}

    @property
    def ended_itself(self) -> bool:
        """Whether the last request came to its own end, or its answer is the call of an output tool."""
        if self.finish.kind is FinishClass.COMPLETED:
            return not (self.failed or self.truncated or self.aborted or self.empty)
        return self.answered

    @property
    def answered(self) -> bool:
        """Whether an output tool was called, whose call is the answer."""
        return self.final and self.finish.kind in {FinishClass.TOOL_CALLS, None} and not self.failed

    @property
    def calls_tools(self) -> bool:
        """Whether the last request left the results of its tool calls to be read by another one."""
        if self.final:
            return False
        kind = self.finish.kind
        return kind is FinishClass.TOOL_CALLS or (kind in {None, FinishClass.UNKNOWN} and self.ordinary)

    @property
    def forced(self) -> bool:
        """Whether the last request was made without tools because the budget was spent."""
        return self.last is not None and self.last.forced_final is True

    @property
    def work_left(self) -> bool:
        """Whether the loop would have gone on by itself."""
        return self.calls_tools or self.vetoed or self.paused

    @property
    def allowed(self) -> bool:
        """Whether the finish hooks allowed the last step as the finish."""
        last = self.last
        checks = [check for check in self.turn.finish_checks if last is not None and check.step in {last.index, None}]
        verdicts = {check.verdict for check in checks}
        return CheckVerdict.ALLOW in verdicts and CheckVerdict.VETO not in verdicts

    @property
    def denied(self) -> bool:
        """Whether a person denied a call of the last step."""
        return self.last is not None and any(denied_by_person(call) for call in self.last.tool_calls)

    @property
    def contradicts_success(self) -> bool:
        """Whether the facts speak against a completed turn."""
        if self.vetoed:
            return True
        if self.last is None:
            return False
        unclean = self.failed or self.aborted or self.truncated or self.unsettled or self.waiting or self.empty
        clean_finish = self.finish.kind in {FinishClass.COMPLETED, None} or self.answered
        return unclean or not clean_finish or self.calls_tools or self.cut

    def until(self, at: Instant | None) -> "Reading":
        """The same turn as it stood at an instant; the whole of it where that leaves no request."""
        if at is None:
            return self
        steps = tuple(step for step in self.steps if step.started_at is None or step.started_at <= at)
        return self if len(steps) in {0, len(self.steps)} else Reading(self.turn, steps, self.used)


def steps_charged(steps: tuple[Step, ...]) -> int | None:
    """Distinct steps with a finish reason, attempts of one step counted once; ``None`` where no step has one."""
    charged: set[int] = set()
    unplaced = 0
    for step in steps:
        if step.finish_reason or step.raw_finish_reason:
            if step.index is None:
                unplaced += 1
            else:
                charged.add(step.index)
    return len(charged) + unplaced or None


def read(turn: TurnFacts) -> Reading:
    """Read a settled turn as a whole."""
    return Reading(turn, turn.steps, usage_of(turn))


def at_cap(step: Step) -> bool:
    """Whether a request's output reached its cap."""
    cap = step.max_output_tokens
    if cap is None or step.usage is None:
        return False
    used = inclusive(step)
    return used is not None and used.output_tokens is not None and used.output_tokens >= cap


class Request(NamedTuple):
    """How one request went, as far as a later one may have made up for it."""

    cut: bool
    refused: bool


def request_of(step: Step) -> Request:
    """Whether a request's output was cut, be it inside the arguments of a tool call, and whether the provider refused it."""
    kind = finish_of(step).kind
    failure = None if step.error is None else failure_of(step)
    refused = kind is FinishClass.REFUSAL or (failure is not None and failure.outcome is Outcome.REFUSED)
    return Request(_is_cut(step, kind), refused)


def has_partial_arguments(step: Step) -> bool:
    """Whether the arguments of a call are not whole."""
    return any(call.arguments_valid is False or call.status is ToolStatus.STREAMING for call in step.tool_calls)


def _is_cut(step: Step, kind: FinishClass | None) -> bool:
    if kind is FinishClass.LENGTH:
        return True
    return kind is FinishClass.TOOL_CALLS and at_cap(step) and has_partial_arguments(step)


def was_denied(call: ToolCall) -> bool:
    """Whether a call was denied; some sources write a denial as the error that the model is told."""
    return call.status is ToolStatus.DENIED or (call.status is ToolStatus.ERROR and bool(call.denied_by))


def denied_by_person(call: ToolCall) -> bool:
    """Whether a person, not a policy, denied a call."""
    if not call.denied_by or not was_denied(call):
        return False
    words = "".join(letter if letter.isalpha() else " " for letter in call.denied_by.lower()).split()
    return not _PEOPLE.isdisjoint(words)


def _stands_vetoed(turn: TurnFacts, last: Step | None) -> bool:
    """Whether the last finish candidate was vetoed; a skipped check lifts no veto, and on one step a veto outweighs an allow."""
    end = None if last is None else last.index
    by_step: dict[int, set[CheckVerdict | None]] = {}
    for check in turn.finish_checks:
        step = end if check.step is None else check.step
        by_step.setdefault(step or 0, set()).add(check.verdict)
    standing = False
    for step in sorted(by_step):
        if CheckVerdict.VETO in by_step[step]:
            standing = True
        elif CheckVerdict.ALLOW in by_step[step]:
            standing = False
    return standing
