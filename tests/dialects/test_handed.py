"""The handed telemetry of real frameworks against its answer key."""

import csv
import os
from pathlib import Path

import pytest

from turnout.outcomes.classify import classify
from turnout.outcomes.facts import TurnFacts
from turnout.outcomes.verdict import Verdict
from turnout.pipeline.dialects import turns_from
from turnout.pipeline.otlp import read_lines

DATA = os.environ.get("TURNOUT_TEST_DATA")
FOLDER = Path(DATA or "", "otlp")
KEY = FOLDER / "expected.tsv"
ROWS = (
    list(csv.DictReader(KEY.read_text(encoding="utf-8").splitlines(), delimiter="\t")) if DATA and KEY.exists() else []
)


def found_in(path: Path) -> list[tuple[TurnFacts, Verdict]]:
    records = [record for line in read_lines(path) for record in line.decoded.records]
    return [(turn, classify(turn)) for turn in turns_from(records).turns]


def measured(facts: TurnFacts, verdict: Verdict) -> dict[str, str]:
    usage = verdict.usage
    return {
        "outcome": verdict.outcome,
        "budget_kind": verdict.budget_kind or "",
        "resumable": verdict.resumable,
        "steps": str(verdict.steps),
        "tool_calls": str(verdict.tool_calls),
        "tool_errors": str(verdict.tool_errors),
        "input_tokens": str(usage.input_tokens) if usage else "",
        "output_tokens": str(usage.output_tokens) if usage else "",
        "conversation_id": facts.conversation_id or "",
    }


@pytest.mark.skipif(not ROWS, reason="TURNOUT_TEST_DATA is not set")
@pytest.mark.parametrize("row", ROWS, ids=[row["file"] for row in ROWS])
def test_the_answer_key_holds(row: dict[str, str]) -> None:
    """Turns, outcome, counts, tokens, models, tools, conversation and flags."""
    found = found_in(FOLDER / row["file"])
    top = [pair for pair in found if pair[0].parent_turn_id is None]
    assert (len(top), len(found) - len(top)) == (int(row["turns"]), int(row["sub_turns"]))
    facts, verdict = top[0]
    got = measured(facts, verdict)
    wrong = {name: value for name, value in got.items() if row[name] and value not in row[name].split("|")}
    assert wrong == {}
    models = {step.model for step in facts.steps if step.model}
    tools = {call.name for step in facts.steps for call in step.tool_calls}
    assert (models <= set(row["models"].split("|")), tools) == (True, set(row["tools"].split("|")) - {""})
    assert set(row["must_flags"].split("|")) - {""} <= {flag.value for flag in verdict.flags}
