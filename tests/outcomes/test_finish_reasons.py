"""Every row of the table of finish values classifies as it says, under every name its provider goes by."""

import csv
from dataclasses import replace
from importlib.resources import files

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.facts import Refusal, Step, StepError, ToolCall, ToolStatus, TurnFacts
from turnout.outcomes.finishes import finish_of
from turnout.outcomes.providers import CLASS_ENDS, FinishClass, finish_class, vocabularies
from turnout.outcomes.verdict import BudgetKind, Cause, Outcome, Resumable

Row = dict[str, str]


def table(name: str) -> list[Row]:
    text = files("turnout.outcomes").joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


ROWS = table("finish_reasons.tsv")
LOSSES = [row for row in ROWS if row["provider"] == "litellm(mapping)"]
LISTED = [row for row in ROWS if row["provider"] != "litellm(mapping)"]
ALIASES = [(row["name in telemetry"], row["provider in finish_reasons.tsv"]) for row in table("provider_aliases.tsv")]
BESIDE_TOOLS = ToolCall(id="k", status=ToolStatus.OK)


def name_of(row: Row) -> str:
    return f"{row['provider']} {row['api']} {row['raw_value']}"


def step_of(row: Row, provider: str | None, api: str | None) -> Step | None:
    """A step that finished as the row describes; ``None`` for the row that stands for every value that is not listed."""
    base, _, beside = row["raw_value"].partition(" + ")
    step = Step(index=1, provider=provider, api=api, stream_complete=True)
    if base.startswith("<"):
        return None
    if base.startswith('""'):
        return step
    if row["raw_value"] == "null":
        return Step(index=1, provider=provider, api=api, raw_finish_reason="refusal", refusal=Refusal())
    word = base.split(" (")[0].rpartition("=")[2]
    tools = (BESIDE_TOOLS,) if "tool" in beside or "function" in beside else ()
    refusal = Refusal() if "refusal" in beside else None
    return Step(
        index=1,
        provider=provider,
        api=api,
        raw_finish_reason=word,
        refusal=refusal,
        tool_calls=tools,
        stream_complete=True,
    )


def expected_outcome(row: Row) -> Outcome:
    match FinishClass(row["class"]):
        case FinishClass.TOOL_CALLS:
            return Outcome.UNKNOWN
        case FinishClass.PAUSE:
            return Outcome.INTERRUPTED
        case kind:
            outcome = CLASS_ENDS[kind].outcome
            assert outcome is not None
            return outcome


def expected_resumable(row: Row, outcome: Outcome) -> Resumable:
    """As the row says for a cut; every other outcome has one answer, an error another one where it may pass."""
    match outcome:
        case Outcome.LENGTH:
            return Resumable(row["resumable"])
        case Outcome.BUDGET | Outcome.INTERRUPTED:
            return Resumable.YES
        case Outcome.ERROR:
            return Resumable.YES if row["resumable"] == "yes" else Resumable.UNKNOWN
        case Outcome.UNKNOWN:
            return Resumable.UNKNOWN
        case _:
            return Resumable.NO


@pytest.mark.parametrize("row", LISTED, ids=name_of)
def test_row(row: Row) -> None:
    """A step that finished with the value, in its provider's vocabulary, gets the class, outcome and resumability of its row."""
    step = step_of(row, row["provider"], row["api"])
    if step is None:
        assert finish_class(row["provider"], row["api"], "a value that nobody lists") is None
        return
    verdict = classify(TurnFacts(turn_id="t", steps=(step,)))
    outcome = expected_outcome(row)
    assert finish_of(step).kind == row["class"]
    assert verdict.outcome is outcome
    assert verdict.resumable is expected_resumable(row, outcome)


@pytest.mark.parametrize("row", LISTED, ids=name_of)
def test_row_spelled_otherwise(row: Row) -> None:
    """Neither case nor dash counts, and the value may come as the runtime's word where no raw one is recorded."""
    step = step_of(row, row["provider"], row["api"])
    if step is None or step.raw_finish_reason is None:
        return
    word = step.raw_finish_reason.swapcase().replace("_", "-")
    reported = replace(step, raw_finish_reason=None, finish_reason=word)
    spelled = replace(step, raw_finish_reason=word)
    assert (finish_of(reported).kind, finish_of(spelled).kind) == (row["class"], row["class"])


@pytest.mark.parametrize(("name", "provider"), ALIASES, ids=[name for name, _ in ALIASES])
def test_alias(name: str, provider: str) -> None:
    """A name in telemetry speaks the vocabulary of the provider that it stands for."""
    spoken = {row["raw_value"]: row for row in reversed(LISTED) if row["provider"] == provider}
    assert provider in vocabularies(name)
    for raw, row in spoken.items():
        step = step_of(row, name, row["api"])
        if step is not None and raw != "null":
            assert finish_of(step).kind == row["class"]


@pytest.mark.parametrize("row", LISTED, ids=name_of)
def test_without_provider(row: Row) -> None:
    """Without a provider a cut is resumable only where all rows of its value say so; with an unlisted one it never is."""
    if row["class"] != "length":
        return
    word = row["raw_value"]
    same = {other["resumable"] for other in LISTED if other["raw_value"].lower() == word.lower()}
    agreed = Resumable(same.pop()) if len(same) == 1 else Resumable.UNKNOWN
    silent = TurnFacts(turn_id="t", steps=(Step(index=1, raw_finish_reason=word),))
    stranger = TurnFacts(turn_id="t", steps=(Step(index=1, raw_finish_reason=word, provider="no-such-lab"),))
    assert (classify(silent).outcome, classify(silent).resumable) == (Outcome.LENGTH, agreed)
    assert (classify(stranger).outcome, classify(stranger).resumable) == (Outcome.LENGTH, Resumable.UNKNOWN)


@pytest.mark.parametrize("row", LOSSES, ids=name_of)
def test_documented_losses_never_classify(row: Row) -> None:
    """What a mapping makes of a value is no value of anybody."""
    assert finish_class("litellm(mapping)", row["api"], row["raw_value"]) is None
    assert finish_class(None, None, row["raw_value"]) is None


@pytest.mark.parametrize("row", [row for row in LISTED if row["class"] not in {"completed", "tool_calls"}], ids=name_of)
def test_a_listed_failure_behind_a_unified_stop(row: Row) -> None:
    """A unifier's stop never hides what the provider's list calls something else."""
    step = step_of(row, row["provider"], row["api"])
    if step is None or step.raw_finish_reason is None:
        return
    hidden = replace(step, finish_reason="stop")
    assert finish_of(hidden).kind == row["class"]


@pytest.mark.parametrize(
    "row",
    [row for row in LISTED if "error.code" in row["api"] or "HTTP" in row["api"] or "exceptions" in row["api"]],
    ids=name_of,
)
def test_listed_error_code(row: Row) -> None:
    """An error code or wording of a failed request means the same as the value in its row."""
    code = row["raw_value"].rpartition("=")[2]
    in_words = "message" in row["api"]
    error = StepError(
        type=None if in_words else code,
        message=f"request rejected: {code}: 1 > 0" if in_words else None,
        status=400 if "HTTP" in row["api"] else None,
    )
    verdict = classify(TurnFacts(turn_id="t", steps=(Step(index=1, provider=row["provider"], error=error),)))
    assert verdict.outcome is expected_outcome(row)


def test_budget_kinds() -> None:
    """Finish values that are a spent limit name which."""
    kinds = {
        word: classify(TurnFacts(turn_id="t", steps=(Step(index=1, raw_finish_reason=word),))).budget_kind
        for word in (
            "max_turns",
            "error_max_turns",
            "limit_turns",
            "error_max_budget_usd",
            "limit_total_tokens",
            "limit_output_tokens",
            "TOO_MANY_TOOL_CALLS",
        )
    }
    assert kinds == {
        "max_turns": BudgetKind.STEPS,
        "error_max_turns": BudgetKind.STEPS,
        "limit_turns": BudgetKind.STEPS,
        "error_max_budget_usd": BudgetKind.COST,
        "limit_total_tokens": BudgetKind.TOKENS,
        "limit_output_tokens": BudgetKind.TOKENS,
        "TOO_MANY_TOOL_CALLS": BudgetKind.TOOL_CALLS,
    }


def test_one_value_in_two_vocabularies_of_one_provider() -> None:
    """The api tells them apart; without it the finish values come first."""
    other = ("generateContent.finish_reason", "generateContent.prompt_feedback.block_reason", None)
    assert [finish_class("google", api, "OTHER") for api in other] == ["unknown", "refusal", "unknown"]


def test_filters_and_models() -> None:
    """A filter's word is a content filter, a model's own a refusal, a guardrail's a guardrail."""
    words = ("SAFETY", "content_filter", "refusal", "bio_policy", "guardrail_intervened")
    causes = [finish_of(Step(raw_finish_reason=word)).cause for word in words]
    assert causes == [
        Cause.CONTENT_FILTER,
        Cause.CONTENT_FILTER,
        Cause.PROVIDER_REFUSAL,
        Cause.PROVIDER_REFUSAL,
        Cause.GUARDRAIL,
    ]


def test_a_unifier_that_knows_more_than_a_clean_stop() -> None:
    """A louder word of the unifier outweighs a raw stop; a raw word outweighs everything else."""
    pairs = [("content-filter", "stop"), ("tool-calls", "STOP"), ("stop", "max_tokens"), ("length", "pause_turn")]
    kinds = [finish_of(Step(finish_reason=unified, raw_finish_reason=raw)).kind for unified, raw in pairs]
    assert kinds == [FinishClass.REFUSAL, FinishClass.TOOL_CALLS, FinishClass.LENGTH, FinishClass.PAUSE]


@pytest.mark.parametrize(
    ("name", "provider"),
    [("mistral.chat", "mistral"), ("openai.responses", "openai"), ("google.vertex.chat", "google")],
)
def test_names_with_a_suffix(name: str, provider: str) -> None:
    """A unifier's name of a provider and its endpoint stands for the provider."""
    assert vocabularies(name) == (provider,)
