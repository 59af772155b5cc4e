"""What the finish values of one step say, the provider's spelling weighed against the unifier's word."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from turnout.outcomes.facts import Step
from turnout.outcomes.providers import (
    CLASS_ENDS,
    FinishClass,
    Meaning,
    agreed_class,
    agreed_resumable,
    fold,
    meaning_of_absence,
    meanings_anywhere,
    meanings_of,
    meanings_unified,
    vocabularies,
)
from turnout.outcomes.verdict import BudgetKind, Cause, Resumable


class Finish(NamedTuple):
    """The class of a step's finish; ``kind`` is ``None`` where no finish is recorded."""

    kind: FinishClass | None
    resumable: Resumable = Resumable.UNKNOWN
    cause: Cause | None = None
    budget_kind: BudgetKind | None = None


NOT_RECORDED = Finish(None)
_UNLISTED = Finish(FinishClass.UNKNOWN, cause=Cause.UNKNOWN_FINISH_REASON)

_REFUSED_BY_MODEL = frozenset(
    {
        "refusal",
        "cyber",
        "bio",
        "frontier_llm",
        "reasoning_extraction",
        "general_harms",
        "invalid_prompt",
        "bio_policy",
        "misalignment_policy_violation",
        "stop + message.refusal!=null",
        "completed + content[].type=refusal",
    }
)
_REFUSED_BY_GUARDRAIL = frozenset({"guardrail_intervened"})
_ERROR_CAUSES = {
    "rate_limit_exceeded": Cause.RATE_LIMIT,
    "throttlingexception": Cause.RATE_LIMIT,
    "server_error": Cause.PROVIDER_UNAVAILABLE,
    "internalserverexception": Cause.PROVIDER_UNAVAILABLE,
    "serviceunavailableexception": Cause.PROVIDER_UNAVAILABLE,
    "modelnotreadyexception": Cause.PROVIDER_UNAVAILABLE,
    "insufficient_system_resource": Cause.PROVIDER_UNAVAILABLE,
    "network_error": Cause.PROVIDER_UNAVAILABLE,
    "vector_store_timeout": Cause.TIMEOUT,
    "accessdeniedexception": Cause.AUTH,
}
_BUDGETS = {
    "error_max_budget_usd": BudgetKind.COST,
    "limit_total_tokens": BudgetKind.TOKENS,
    "limit_output_tokens": BudgetKind.TOKENS,
    "too_many_tool_calls": BudgetKind.TOOL_CALLS,
}
# These words stand on steps that called tools as well as on those that did not; "end_turn" and its like stand on the latter
# alone (their calls ran at the provider).
_ENDS_EITHER_WAY = frozenset({"stop", "completed"})
_LOUDER_THAN_A_CLEAN_STOP = frozenset(
    {FinishClass.REFUSAL, FinishClass.LENGTH, FinishClass.CONTEXT_OVERFLOW, FinishClass.ERROR, FinishClass.MALFORMED}
)
_CLEAN = frozenset({FinishClass.COMPLETED, FinishClass.TOOL_CALLS})


def finish_of(step: Step) -> Finish:
    """Read the finish of a step; a recorded refusal counts whatever the finish value says."""
    tools = False
    for call in step.tool_calls:
        if not call.final:
            tools = True
            break
    finish = read_finish(step.provider, step.api, step.finish_reason, step.raw_finish_reason, tools)
    if step.refusal is not None and finish.kind is not FinishClass.REFUSAL:
        return Finish(FinishClass.REFUSAL, Resumable.NO, Cause.PROVIDER_REFUSAL)
    if finish.kind is None and step.stream_complete:
        absence = meaning_of_absence(step.provider)
        return finish if absence is None else _finish((absence,), absence.value, absence.finish_class)
    return finish


@lru_cache(maxsize=8192)
def read_finish(provider: str | None, api: str | None, unified: str | None, raw: str | None, tools: bool) -> Finish:
    """Weigh the two spellings of one finish; ``tools`` says whether the step called a tool that is not the answer."""
    if not raw:
        return _unified(provider, api, unified, tools=tools) if unified else NOT_RECORDED
    spelled = _spelled(provider, api, raw, tools=tools)
    if not unified or spelled.kind is not FinishClass.COMPLETED:
        return spelled
    word = _unified(provider, api, unified, tools=tools)
    louder = word.kind in _LOUDER_THAN_A_CLEAN_STOP or word.kind is FinishClass.TOOL_CALLS
    return word if louder else spelled


def _spelled(provider: str | None, api: str | None, raw: str, *, tools: bool) -> Finish:
    """A value as the provider spelled it: listed, or a failure that another provider lists, or unknown."""
    rows = meanings_of(provider, api, raw)
    kind = agreed_class(rows, with_tools=tools)
    if kind is not None:
        return _finish(rows, raw, kind, tools=tools, provider=provider)
    elsewhere = meanings_anywhere(raw)
    kind = agreed_class(elsewhere, with_tools=tools)
    return _UNLISTED if kind is None or kind in _CLEAN else _finish((), raw, kind)


def _unified(provider: str | None, api: str | None, word: str, *, tools: bool) -> Finish:
    """A word as the runtime reported it: the provider's own, else the unifier's, else any provider's."""
    for rows in (meanings_of(provider, api, word), meanings_unified(word), meanings_anywhere(word)):
        kind = agreed_class(rows, with_tools=tools)
        if kind is not None:
            return _finish(rows, word, kind, tools=tools, provider=provider)
    return _UNLISTED


def _finish(
    rows: Sequence[Meaning],
    value: str,
    kind: FinishClass,
    *,
    tools: bool = False,
    provider: str | None = None,
) -> Finish:
    key = fold(value)
    if kind is FinishClass.COMPLETED and tools and key in _ENDS_EITHER_WAY:
        return Finish(FinishClass.TOOL_CALLS)
    # A provider that no table lists may mean something else by the same word.
    stranger = bool(provider) and not vocabularies(provider or "")
    resumable = Resumable.UNKNOWN if stranger else agreed_resumable(rows, kind)
    budget_kind = _BUDGETS.get(key, BudgetKind.STEPS) if kind is FinishClass.STEP_BUDGET else None
    return Finish(kind, resumable, _cause(key, kind), budget_kind)


def _cause(key: str, kind: FinishClass) -> Cause | None:
    if kind is FinishClass.REFUSAL:
        if key in _REFUSED_BY_GUARDRAIL:
            return Cause.GUARDRAIL
        return Cause.PROVIDER_REFUSAL if key in _REFUSED_BY_MODEL else Cause.CONTENT_FILTER
    if kind is FinishClass.ERROR:
        return _ERROR_CAUSES.get(key, Cause.OTHER)
    return CLASS_ENDS[kind].cause
