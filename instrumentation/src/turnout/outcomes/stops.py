"""Requests to stop: which one cut the turn, and what went on in spite of it."""

from turnout.outcomes.budget import contradicts_budget
from turnout.outcomes.case import Case
from turnout.outcomes.claims import REASONS, Said, is_signal
from turnout.outcomes.facts import Instant, Layer, Requester, Step, StopMode, StopRecord
from turnout.outcomes.ordering import stop_order
from turnout.outcomes.providers import fold
from turnout.outcomes.reading import Reading
from turnout.outcomes.verdict import Cause, Outcome

_BY: dict[Requester, Cause] = {
    Requester.USER: Cause.STOPPED_BY_USER,
    Requester.RUNTIME: Cause.STOPPED_BY_RUNTIME,
    Requester.HOST: Cause.STOPPED_BY_HOST,
}
_CLAIMED_BY: dict[Layer, Cause] = {
    Layer.PROVIDER: Cause.STOPPED_BY_HOST,
    Layer.RUNTIME: Cause.STOPPED_BY_RUNTIME,
    Layer.HOST: Cause.STOPPED_BY_HOST,
    Layer.TRANSPORT: Cause.STOPPED_BY_HOST,
    Layer.PROCESS: Cause.STOPPED_BY_HOST,
}


def in_order(stops: tuple[StopRecord, ...]) -> list[StopRecord]:
    """The requests to stop, earliest first."""
    return sorted(stops, key=stop_order)


def meaning(stop: StopRecord) -> Said | None:
    """What the reason of a stop says beside "stop": a spent limit, a loop guard, a guardrail; else ``None``."""
    said = REASONS.get(fold(stop.reason)) if stop.reason else None
    if said is None:
        return None
    if said.timeout:
        return REASONS["time_budget"] if stop.by in {Requester.RUNTIME, Requester.HOST, None} else None
    guarded = said.outcome in {Outcome.BUDGET, Outcome.REFUSED} or said.cause is Cause.LOOP_DETECTED
    return said if guarded else None


def told_why(case: Case) -> Said | None:
    """What the first request to stop that came in time gives as its reason, where that is more than "stop"."""
    for stop in in_order(case.turn.stop_requests):
        said = meaning(stop)
        if said is not None and is_spent(case.reading, said) and not came_after_the_end(case, stop):
            return said
    return None


def is_spent(reading: Reading, said: Said) -> bool:
    """Whether nothing contradicts a limit that is said to be spent; true of every other reason."""
    return said.outcome is not Outcome.BUDGET or not contradicts_budget(reading, said.budget_kind)


def cut_something(case: Case, stop: StopRecord) -> bool:
    """Whether a request to stop ended the turn: one that came before the end and left work undone."""
    reading = case.reading
    if came_after_the_end(case, stop):
        return False
    if stop.mode is StopMode.IMMEDIATE:
        return True
    if case.turn.yield_ is not None:
        return False
    if request_followed(stop, reading.steps) or reading.aborted or reading.work_left or reading.unsettled:
        return True
    return any(is_signal(heard.claim.exit_code or 0) for heard in case.heard)


def came_after_the_end(case: Case, stop: StopRecord) -> bool:
    """Whether the turn had already ended when the stop was asked for."""
    reading = case.reading
    if reading.refused and _after_refusal(case, stop):
        return True
    terminal = case.terminal
    if terminal is not None and terminal.claim.at is not None:
        return _after(stop, terminal.claim.at, terminal.claim.seq)
    if terminal is not None and stop.at is None and stop.seq is not None and terminal.claim.seq is not None:
        return stop.seq > terminal.claim.seq
    end = case.turn.ended_at
    if end is None and reading.last is not None and reading.ended_itself and not reading.vetoed:
        end = reading.last.ended_at
    return end is not None and stop.at is not None and stop.at > end


def _after(stop: StopRecord, at: Instant, seq: int | None) -> bool:
    if stop.at is None:  # untimed rows stand last, but a stop that names its step was asked for during that step
        return stop.step is None
    return stop.at > at or (stop.at == at and stop.seq is not None and seq is not None and stop.seq > seq)


def _after_refusal(case: Case, stop: StopRecord) -> bool:
    """Whether a refusal had ended the turn before the stop; where neither has a place in time, the stop goes first."""
    refused_at = refusal_instant(case)
    if refused_at is not None:
        return stop.step is None if stop.at is None else stop.at >= refused_at
    return stop.mode is not StopMode.IMMEDIATE and not request_followed(stop, case.reading.steps)


def refusal_instant(case: Case) -> Instant | None:
    """When the refusal of the last request was there, as far as that is known."""
    last = case.reading.last
    if last is not None and last.ended_at is not None:
        return last.ended_at
    said = [h.claim.at for h in case.heard if h.claim.by is Layer.PROVIDER and h.said.outcome is Outcome.REFUSED]
    return next((at for at in said if at is not None), None)


def request_followed(stop: StopRecord, steps: tuple[Step, ...]) -> bool:
    """Whether a request was made in spite of a stop."""
    return any(_started_after(stop, step) or _retried_after(stop, step) for step in steps)


def _started_after(stop: StopRecord, step: Step) -> bool:
    if stop.at is not None and step.started_at is not None:
        return step.started_at > stop.at
    return stop.step is not None and step.index is not None and step.index > stop.step


def _retried_after(stop: StopRecord, step: Step) -> bool:
    """Whether an attempt that ended after the stop was followed by another one."""
    if stop.at is None or not step.attempt_ends:
        return False
    ended_after = sum(end.at is not None and end.at >= stop.at for end in step.attempt_ends)
    another = (step.attempts or len(step.attempt_ends)) - len(step.attempt_ends)
    return ended_after > 1 or (ended_after == 1 and another > 0)


def output_followed(stop: StopRecord, steps: tuple[Step, ...]) -> bool:
    """Whether a person saw more after an immediate stop, or from a request made in spite of any stop."""
    return any(
        _seen_after(stop, step) and (stop.mode is StopMode.IMMEDIATE or _started_after(stop, step)) for step in steps
    )


def _seen_after(stop: StopRecord, step: Step) -> bool:
    output = step.output
    if output is None or not (output.text_chars or output.parts):
        return False
    seen = step.ended_at if output.last_at is None else output.last_at
    if stop.at is None or seen is None:
        return _started_after(stop, step)
    return seen > stop.at


def cause_of_stop(case: Case, stop: StopRecord) -> Cause:
    """Who stopped the turn, by the request to stop, else by the claim."""
    if stop.by is not None:
        return _BY[stop.by]
    if stop.reason and "user" in fold(stop.reason):
        return Cause.STOPPED_BY_USER
    claimed = next((heard for heard in case.heard if heard.said.outcome is Outcome.STOPPED), None)
    return Cause.OTHER if claimed is None else cause_of_claim(claimed.said, claimed.claim.by)


def cause_of_claim(said: Said, by: Layer | None) -> Cause:
    """Who stopped the turn, by who says so."""
    return said.cause or (Cause.OTHER if by is None else _CLAIMED_BY[by])


def stop_is_in_flight(stop: StopRecord | None, reading: Reading) -> bool:
    """Whether a stop cut a running step, so that no finish time may be written."""
    if stop is not None and stop.mode is StopMode.AFTER_STEP:
        return reading.aborted or reading.truncated or reading.unsettled
    return True
