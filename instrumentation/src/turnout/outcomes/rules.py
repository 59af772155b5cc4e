"""The rules that decide how a turn ended, each by itself; `classify.RULES` gives their order."""

from turnout.outcomes.budget import forced_by, spent
from turnout.outcomes.case import Case
from turnout.outcomes.claims import DIED
from turnout.outcomes.facts import Layer
from turnout.outcomes.finding import Finding, claimed, guarded, marked, spent_limit
from turnout.outcomes.providers import CLASS_ENDS, FinishClass
from turnout.outcomes.stops import (
    cause_of_claim,
    cause_of_stop,
    cut_something,
    in_order,
    is_spent,
    meaning,
    refusal_instant,
    told_why,
)
from turnout.outcomes.verdict import Cause, Outcome


def stop_request(case: Case) -> Finding | None:
    """A request to stop cut the turn."""
    for stop in in_order(case.turn.stop_requests):
        said = meaning(stop)
        says_more = said is not None and is_spent(case.reading, said)
        if not says_more and cut_something(case, stop):
            return Finding(Outcome.STOPPED, cause_of_stop(case, stop), stop=stop)
    return None


def stop_claim(case: Case) -> Finding | None:
    """The first valid terminal says stopped, no refusal had ended the turn, and no stop gives a spent limit or a guard as its reason."""
    said = case.claimed(Outcome.STOPPED)
    if said is None or case.terminal is None or (case.reading.refused and not _before_refusal(case)):
        return None
    if said.cause is None and told_why(case) is not None:
        return None
    return Finding(Outcome.STOPPED, cause_of_claim(said, case.terminal.claim.by))


def person_denied(case: Case) -> Finding | None:
    """A person's denial of a tool call was the last thing to happen."""
    end = None if case.terminal is None else case.terminal.said.outcome
    other_end = case.turn.yield_ is not None or case.open or end in {Outcome.YIELDED, Outcome.BUDGET}
    if other_end or not case.reading.denied or not case.reading.calls_tools:
        return None
    return Finding(Outcome.STOPPED, Cause.TOOL_DENIED)


def provider_cancelled(case: Case) -> Finding | None:
    """The provider says that the last request was cancelled by its client."""
    if case.reading.finish.kind is not FinishClass.USER_STOP:
        return None
    return Finding(Outcome.STOPPED, CLASS_ENDS[FinishClass.USER_STOP].cause)


def stop_marker(case: Case) -> Finding | None:
    """A message says that somebody stopped the turn, and no refusal had ended it."""
    return None if case.reading.refused else marked(case, Outcome.STOPPED)


def provider_refused(case: Case) -> Finding | None:
    """The provider refused the last request, and no other one was made."""
    reading = case.reading
    if not reading.refused:
        return None
    if reading.finish.kind is FinishClass.REFUSAL or reading.failure is None:
        return Finding(Outcome.REFUSED, reading.finish.cause)
    return Finding(Outcome.REFUSED, reading.failure.cause)


def refusal_claim(case: Case) -> Finding | None:
    """The first valid terminal says refused: a provider, a filter or a guardrail."""
    return claimed(case, Outcome.REFUSED)


def guardrail_stop(case: Case) -> Finding | None:
    """A guardrail asked the loop to stop."""
    return guarded(case, Outcome.REFUSED)


def refusal_marker(case: Case) -> Finding | None:
    """A message says that the provider or a guardrail refused."""
    return marked(case, Outcome.REFUSED)


def context_overflown(case: Case) -> Finding | None:
    """The last request did not fit the model's context, whatever a unifier calls that."""
    reading = case.reading
    if not reading.overflown:
        return None
    rejected = reading.failure is not None and reading.failure.outcome is Outcome.CONTEXT_OVERFLOW
    return Finding(Outcome.CONTEXT_OVERFLOW, Cause.CONTEXT_REJECTED if rejected else None)


def overflow_claim(case: Case) -> Finding | None:
    """The first valid terminal says that the context is used up."""
    return claimed(case, Outcome.CONTEXT_OVERFLOW)


def overflow_marker(case: Case) -> Finding | None:
    """A message says that the context is used up."""
    return marked(case, Outcome.CONTEXT_OVERFLOW)


def tool_yielded(case: Case) -> Finding | None:
    """A tool ended the turn and handed it back."""
    handed = case.turn.yield_ is not None or case.reading.finish.kind is FinishClass.YIELD
    return Finding(Outcome.YIELDED) if handed else None


def yield_claim(case: Case) -> Finding | None:
    """The first valid terminal says that the turn was handed back."""
    return claimed(case, Outcome.YIELDED)


def tool_waits(case: Case) -> Finding | None:
    """A call of the last step waits for approval or for the client, and nothing else says why the turn rests."""
    if not case.reading.waiting or (case.open and case.reading.unsettled):
        return None
    return Finding(Outcome.YIELDED, inferred=True)


def request_failed(case: Case) -> Finding | None:
    """The last request failed."""
    reading = case.reading
    if reading.failure is not None:
        return Finding(Outcome.ERROR, reading.failure.cause, passing=reading.failure.passing)
    if reading.finish.kind in {FinishClass.ERROR, FinishClass.TIMEOUT, FinishClass.MALFORMED}:
        return Finding(Outcome.ERROR, reading.finish.cause, passing=reading.finish.resumable == "yes")
    return None


def stream_truncated(case: Case) -> Finding | None:
    """The last stream ended early, and the runtime lived on to say anything."""
    if not case.reading.truncated or case.open or not case.lived_on:
        return None
    return Finding(Outcome.ERROR, Cause.STREAM_TRUNCATED, passing=True)


def empty_response(case: Case) -> Finding | None:
    """The last request ended with nothing for anybody."""
    reading = case.reading
    finished = reading.finish.kind is not None or case.lived_on
    if not reading.empty or case.open or not finished:
        return None
    return Finding(Outcome.ERROR, Cause.EMPTY_RESPONSE)


def output_cut(case: Case) -> Finding | None:
    """The output of the last step was cut, or its tool arguments were at the cap."""
    return Finding(Outcome.LENGTH) if case.reading.cut else None


def length_claim(case: Case) -> Finding | None:
    """The first valid terminal says that the output was cut."""
    return claimed(case, Outcome.LENGTH)


def budget_claim(case: Case) -> Finding | None:
    """The first valid terminal says that a limit was spent."""
    said = case.claimed(Outcome.BUDGET)
    if said is None or said.budget_kind is None or _died_over_a_call(case):
        return None
    return spent_limit(case, [said.budget_kind, *spent(case.reading)])


def budget_stop(case: Case) -> Finding | None:
    """A request to stop gives a spent limit as its reason."""
    said = told_why(case)
    if said is None or said.budget_kind is None or _died_over_a_call(case):
        return None
    return spent_limit(case, [said.budget_kind, *spent(case.reading)])


def budget_finish(case: Case) -> Finding | None:
    """The finish value of the last step is a spent limit of the loop."""
    kind = case.reading.finish.budget_kind
    return None if kind is None else spent_limit(case, [kind, *spent(case.reading)])


def budget_spent(case: Case) -> Finding | None:
    """A limit was reached with work left: tool calls to answer, a standing veto, a pause."""
    reading = case.reading
    if not reading.work_left or _hangs(case):
        return None
    kinds = spent(reading)
    return spent_limit(case, kinds) if kinds else None


def answer_forced(case: Case) -> Finding | None:
    """The runtime had disabled the tools because the budget was spent, and the model answered without them."""
    kinds = forced_by(case.reading)
    return spent_limit(case, kinds) if kinds and case.reading.ended_itself else None


def budget_marker(case: Case) -> Finding | None:
    """A message says that a limit was spent, and nothing contradicts it."""
    said = case.marked(Outcome.BUDGET)
    return marked(case, Outcome.BUDGET) if said is not None and is_spent(case.reading, said) else None


def still_open(case: Case) -> Finding | None:
    """The source shows that the turn never closed."""
    if not case.open:
        return None
    return Finding(Outcome.INTERRUPTED, _cause_of_death(case), inferred=True)


def process_died(case: Case) -> Finding | None:
    """A signal ended the process before anything ended the turn."""
    if case.terminal is not None or not any(heard.said is DIED for heard in case.heard):
        return None
    return Finding(Outcome.INTERRUPTED, Cause.PROCESS_DIED, inferred=True)


def provider_interrupted(case: Case) -> Finding | None:
    """The provider says that the last request was broken off."""
    interrupted = case.reading.finish.kind is FinishClass.INTERRUPTED
    return Finding(Outcome.INTERRUPTED) if interrupted else None


def aborted_without_word(case: Case) -> Finding | None:
    """The last request was cancelled, and no valid claim and no stop says why."""
    cut = case.reading.aborted and case.terminal is None
    return Finding(Outcome.INTERRUPTED, inferred=True) if cut else None


def pause_without_end(case: Case) -> Finding | None:
    """The last thing seen is a pause, which is no end."""
    return Finding(Outcome.INTERRUPTED, inferred=True) if case.reading.paused else None


def stream_broke_off(case: Case) -> Finding | None:
    """The last stream ended early, and nobody lived on to say so."""
    broke = case.reading.truncated and case.terminal is None
    return Finding(Outcome.INTERRUPTED, inferred=True) if broke else None


def tool_abandoned(case: Case) -> Finding | None:
    """A call of the last step was never settled, and no valid claim says how the turn ended."""
    abandoned = case.reading.unsettled and case.terminal is None
    return Finding(Outcome.INTERRUPTED, inferred=True) if abandoned else None


def error_claim(case: Case) -> Finding | None:
    """The first valid terminal says that the turn failed, or a loop guard ended it."""
    said = case.claimed(Outcome.ERROR)
    if said is None:
        return None
    cause = said.cause or Cause.OTHER
    return Finding(Outcome.ERROR, _closer_cause(case) if cause is Cause.OTHER else cause, passing=said.passing)


def process_failed(case: Case) -> Finding | None:
    """A process ended with a failure status, or a layer names an error and nothing else."""
    failures = (heard.said for heard in case.heard if heard.said.wordless and heard.said.outcome is Outcome.ERROR)
    said = next(failures, None) if case.terminal is None else None
    if said is None:
        return None
    return Finding(Outcome.ERROR, said.cause or Cause.OTHER, passing=said.passing)


def loop_guard_stop(case: Case) -> Finding | None:
    """A loop guard asked the loop to stop."""
    return guarded(case, Outcome.ERROR)


def error_marker(case: Case) -> Finding | None:
    """A message says that a loop guard ended the turn."""
    return marked(case, Outcome.ERROR)


def success_claim(case: Case) -> Finding | None:
    """The first valid terminal says that the turn was completed, and nothing contradicts it."""
    return claimed(case, Outcome.COMPLETED)


def finished_by_itself(case: Case) -> Finding | None:
    """The last step came to its own end, and no layer says more."""
    reading = case.reading
    clean = reading.ended_itself and not reading.contradicts_success
    return Finding(Outcome.COMPLETED) if clean else None


def veto_stands(case: Case) -> Finding | None:
    """The last finish candidate stands vetoed, with budget left and no other end."""
    return Finding(Outcome.UNKNOWN, Cause.FINISH_VETO) if case.reading.vetoed else None


def value_unlisted(case: Case) -> Finding | None:
    """The finish value of the last step is in no list, or the list does not know what it means."""
    unknown = case.reading.finish.kind is FinishClass.UNKNOWN
    return Finding(Outcome.UNKNOWN, Cause.UNKNOWN_FINISH_REASON) if unknown else None


def nothing_says(case: Case) -> Finding:
    """Nothing that was recorded says how the turn ended."""
    del case
    return Finding(Outcome.UNKNOWN)


def _before_refusal(case: Case) -> bool:
    """Whether the first valid terminal is known to have come before the refusal of the last request."""
    claimed_at = None if case.terminal is None else case.terminal.claim.at
    refused_at = refusal_instant(case)
    return claimed_at is not None and refused_at is not None and claimed_at < refused_at


def _died_over_a_call(case: Case) -> bool:
    """Whether the turn never closed and a call of its last step was never settled: it died before its limit could end it."""
    return case.reading.unsettled and case.open


def _hangs(case: Case) -> bool:
    """Whether nothing says that a turn with an unsettled call ever came to its limit."""
    said_nothing = (
        all(heard.said.outcome is None for heard in case.heard)
        and case.turn.ended_at is None
        and not case.reading.paused
    )
    return _died_over_a_call(case) or (case.reading.unsettled and said_nothing)


def _cause_of_death(case: Case) -> Cause | None:
    if any(heard.said.cause is Cause.STALLED for heard in case.heard):
        return Cause.STALLED
    died = any(h.claim.by is Layer.PROCESS or h.said.cause is Cause.PROCESS_DIED for h in case.heard)
    return Cause.PROCESS_DIED if died else None


def _closer_cause(case: Case) -> Cause:
    """What an error claim without a cause is about, where the last step's calls tell."""
    if case.reading.truncated:
        return Cause.STREAM_TRUNCATED
    if any(heard.said is DIED for heard in case.heard):
        return Cause.PROCESS_DIED
    if case.reading.last is None or not case.reading.calls_tools:
        return Cause.OTHER
    calls = case.reading.last.tool_calls
    if any(call.arguments_valid is False for call in calls):
        return Cause.MALFORMED_TOOL_CALL
    return Cause.TOOL_ERROR if any(call.status == "error" for call in calls) else Cause.OTHER
