"""What is worth knowing beside the outcome, one small test a flag, in the order of the closed list."""

from turnout.outcomes.budget import below_step_limit
from turnout.outcomes.case import Case
from turnout.outcomes.claims import DAMAGED_RECORD, label
from turnout.outcomes.facts import CheckVerdict, Step
from turnout.outcomes.finishes import read_finish
from turnout.outcomes.providers import FinishClass
from turnout.outcomes.reading import UNSETTLED, Reading, at_cap, has_partial_arguments, request_of
from turnout.outcomes.resumable import side_effect_unknown
from turnout.outcomes.stops import in_order, meaning, output_followed, request_followed
from turnout.outcomes.verdict import BudgetKind, Flag, Outcome


def flags_of(case: Case) -> tuple[Flag, ...]:
    """Every flag of one turn."""
    turn, whole = case.turn, case.whole
    found: list[Flag] = []
    limits = turn.limits
    if limits is not None and limits.steps is not None:
        _limit_flags(case, limits.steps, found)
    if whole.last is not None:
        _last_step_flags(whole, whole.last, found, is_open=bool(turn.open))
    _tool_flags(case, found)
    _terminal_flags(case, found)
    if turn.stop_requests:
        _stop_flags(case, found)
    earlier = [request_of(step) for step in whole.steps[:-1]]
    if any(request.refused for request in earlier) or any(map(_attempt_refused, whole.steps)):
        found.append(Flag.RETRIED_AFTER_REFUSAL)
    if turn.finish_checks:
        _check_flags(case, found)
    if any(request.cut for request in earlier) and _came_through(whole):
        found.append(Flag.STEP_CUT_THEN_RECOVERED)
    if whole.used.missing:
        found.append(Flag.USAGE_MISSING)
    if whole.used.only_aggregate:
        found.append(Flag.USAGE_ONLY_AGGREGATE)
    if any(claim.reason == DAMAGED_RECORD for claim in turn.claims):
        found.append(Flag.DAMAGED_RECORD)
    return tuple(found)


def _limit_flags(case: Case, limit: int, found: list[Flag]) -> None:
    charged = case.whole.charged
    if charged is not None and charged > limit:
        found.append(Flag.STEPS_EXCEED_LIMIT)
    if below_step_limit(case.whole) and _reports_step_limit(case):
        found.append(Flag.LIMIT_REPORTED_BELOW_LIMIT)


def _reports_step_limit(case: Case) -> bool:
    said = [heard.said for heard in case.heard]
    said += [word for stop in case.turn.stop_requests if (word := meaning(stop)) is not None]
    return any(word.outcome is Outcome.BUDGET and word.budget_kind is BudgetKind.STEPS for word in said)


def _last_step_flags(whole: Reading, last: Step, found: list[Flag], *, is_open: bool) -> None:
    if not whole.aborted and not is_open:
        if not last.finish_reason and not last.raw_finish_reason:
            found.append(Flag.FINISH_REASON_MISSING)
        output = last.output
        if output is not None and output.text_chars == 0 and output.parts == 0 and not last.tool_calls:
            found.append(Flag.ZERO_OUTPUT)
    if last.max_output_tokens is not None and at_cap(last):
        found.append(Flag.OUTPUT_TOKENS_AT_CAP)
    if last.tool_calls and has_partial_arguments(last) and (whole.cut or at_cap(last)):
        found.append(Flag.TOOL_ARGUMENTS_CUT)


def _tool_flags(case: Case, found: list[Flag]) -> None:
    calls = [call for step in case.whole.steps for call in step.tool_calls]
    if any(call.status in UNSETTLED for call in calls):
        found.append(Flag.UNSETTLED_TOOL)
    if side_effect_unknown(case.turn):
        found.append(Flag.SIDE_EFFECT_UNKNOWN)


def _terminal_flags(case: Case, found: list[Flag]) -> None:
    terminal = case.terminal
    if terminal is None or len(case.heard) == 1:
        return
    later = case.heard[case.heard.index(terminal) + 1 :]
    if any(
        heard.said.outcome is not terminal.said.outcome
        and (heard.valid or heard.claim.by is terminal.claim.by)
        and label(heard.claim) is not None
        for heard in later
    ):
        found.append(Flag.TERMINAL_AFTER_TERMINAL)


def _stop_flags(case: Case, found: list[Flag]) -> None:
    stops = in_order(case.turn.stop_requests)
    if any(request_followed(stop, case.whole.steps) for stop in stops):
        found.append(Flag.REQUEST_AFTER_STOP)
    if any(output_followed(stop, case.whole.steps) for stop in stops):
        found.append(Flag.OUTPUT_AFTER_STOP)


def _attempt_refused(step: Step) -> bool:
    """Whether an attempt of the step was refused and another one followed."""
    if not step.attempt_ends:
        return False
    refused = [
        end.reason is not None
        and read_finish(step.provider, step.api, None, end.reason, tools=False).kind is FinishClass.REFUSAL
        for end in step.attempt_ends
    ]
    made = max(step.attempts or 0, len(refused))
    return any(refused[:-1]) or (refused[-1] and made > len(refused))


def _check_flags(case: Case, found: list[Flag]) -> None:
    if case.whole.vetoed and any(heard.said.outcome is Outcome.COMPLETED for heard in case.heard):
        found.append(Flag.VETO_THEN_COMPLETED)
    if any(check.verdict is CheckVerdict.SKIPPED for check in case.turn.finish_checks):
        found.append(Flag.FINISH_CHECK_SKIPPED)


def _came_through(whole: Reading) -> bool:
    """Whether the last step made up for an earlier cut: it was not cut itself, and it did not fail."""
    return not (whole.cut or whole.failed or whole.aborted or whole.truncated)
