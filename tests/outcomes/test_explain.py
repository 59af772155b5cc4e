"""Verdicts in words."""

from dataclasses import replace

import pytest
from hypothesis import given

from turn_strategies import SECOND, turns
from turnout.outcomes.classify import RULES, classify
from turnout.outcomes.explain import Explanation, explain
from turnout.outcomes.facts import (
    Claim,
    Layer,
    Limits,
    Requester,
    Step,
    StopMode,
    StopRecord,
    ToolCall,
    ToolStatus,
    TurnFacts,
)
from turnout.outcomes.finding import Rule


def test_a_spent_budget() -> None:
    """The rule, the limit, the last step and the claim that disagrees are told."""
    turn = TurnFacts(
        turn_id="t",
        attended=True,
        limits=Limits(steps=1),
        steps=(
            Step(
                index=1,
                raw_finish_reason="tool_use",
                tool_calls=(ToolCall(id="k", name="edit_file", status=ToolStatus.OK),),
            ),
        ),
        claims=(Claim(by=Layer.RUNTIME, reason="end_turn", at=1_767_607_200 * SECOND),),
    )
    assert explain(turn, classify(turn)) == Explanation(
        headline="The turn spent its steps with work left.",
        rule_words="A limit was reached with work left: tool calls to answer, a standing veto, a pause. "
        "Known how: it follows from what was recorded.",
        evidence=(
            "The last step (1) finished with tool_use and called edit_file (ok).",
            "1 step was charged against a budget of 1.",
            "Claimed runtime:end_turn at 2026-01-05T10:00:00Z, which disagrees.",
            "A call reports no token usage.",
        ),
        person_saw="The person saw that the turn had used up its budget.",
        continue_words="A Continue could be offered.",
    )


def test_a_stop() -> None:
    """A stop is told with who asked for it and how."""
    stop = StopRecord(mode=StopMode.IMMEDIATE, by=Requester.USER, reason="user_stop")
    turn = TurnFacts(turn_id="t", steps=(Step(index=1, aborted=True),), stop_requests=(stop,))
    told = explain(turn, classify(turn))
    assert told.headline == "The turn was stopped: the user stopped it."
    assert told.evidence[:2] == (
        "The last step (1) was cancelled in flight.",
        "A stop was asked for by user (immediate).",
    )
    assert told.continue_words == "No Continue is offered: it is done."


def test_nobody_there() -> None:
    """A turn that could go on says that nobody was there to press Continue."""
    turn = TurnFacts(turn_id="t", attended=False, open=True)
    assert explain(turn, classify(turn)).continue_words == "It could go on, but nobody was there to press Continue."


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_has_words(rule: Rule) -> None:
    """A rule's docstring is the sentence that a person reads."""
    words = rule.find.__doc__
    assert words
    assert words.endswith(".")


@given(turns)
def test_every_turn_can_be_told(turn: TurnFacts) -> None:
    """Whatever is recorded, there is a headline, a rule and evidence, and no hole in the words."""
    told = explain(turn, classify(turn))
    lines = (told.headline, told.rule_words, told.person_saw, told.continue_words, *told.evidence)
    assert all(line.endswith(".") and "None" not in line for line in lines)


@pytest.mark.parametrize(
    ("steps", "calls", "told"),
    [
        (
            3,
            2,
            (
                "3 steps were charged against a budget of 25.",
                "2 tool calls were made against a budget of 9.",
            ),
        ),
        (
            1,
            1,
            (
                "1 step was charged against a budget of 25.",
                "1 tool call was made against a budget of 9.",
            ),
        ),
        (
            None,
            0,
            (
                "How many steps were charged against a budget of 25 is not known.",
                "0 tool calls were made against a budget of 9.",
            ),
        ),
    ],
    ids=["some", "one", "not known"],
)
def test_a_budget_is_not_told_as_what_was_done(steps: int | None, calls: int, told: tuple[str, ...]) -> None:
    """What was charged stands first, and the limit is called a budget."""
    turn = TurnFacts(turn_id="t", limits=Limits(steps=25, tool_calls=9))
    verdict = replace(classify(turn), steps_charged=steps, tool_calls=calls)
    assert tuple(line for line in explain(turn, verdict).evidence if "budget of" in line) == told
