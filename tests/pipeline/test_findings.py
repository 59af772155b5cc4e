"""Tables beside the metrics, on turns that a hand can count."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from turnout.cli.metrics import command
from turnout.outcomes.facts import Step, ToolStatus, TurnFacts
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.findings import FINDINGS, continuations, refusals_answered
from turnout.pipeline.lake import Lake
from turnout.pipeline.lake.cubing import Cubing
from turnout.pipeline.query import Filters, Warehouse, run
from turnout.pipeline.rows import classified
from turnout.pipeline.testing import HOUR, NOON, SECOND, Sketch, sketched, stored

CHAINS = (
    Sketch(turn_id="cut-1", outcome=Outcome.BUDGET, steps=4),
    Sketch(turn_id="cut-2", outcome=Outcome.BUDGET, steps=4),
    Sketch(turn_id="cut-3", outcome=Outcome.BUDGET, steps=4, agent="helper"),
    Sketch(turn_id="died", outcome=Outcome.INTERRUPTED),
    Sketch(turn_id="died-b", root="died", outcome=Outcome.LENGTH, at=NOON + HOUR, steps=2),
    Sketch(turn_id="done"),
    Sketch(turn_id="more-1", continues="cut-1", at=NOON + 64 * SECOND),
    Sketch(turn_id="again-1", continues="cut-1", at=NOON + 900 * SECOND, outcome=Outcome.ERROR),
    Sketch(turn_id="more-2", continues="cut-2", at=NOON + 104 * SECOND, outcome=Outcome.BUDGET, steps=4),
    Sketch(turn_id="more-3", continues="died", at=NOON + HOUR + 12 * SECOND, outcome=Outcome.REFUSED),
    Sketch(turn_id="more-4", continues="done", at=NOON + HOUR),
)


@pytest.fixture(params=[Cubing(rows=1, share=1), Cubing(rows=10**9)], ids=["cubes", "rows"], name="chains")
def _chains(tmp_path: Path, request: pytest.FixtureRequest) -> Warehouse:
    lake = Lake.open(str(tmp_path / "lake"), clock=lambda: NOON, cubing=request.param)
    lake.write([stored(sketch) for sketch in CHAINS])
    return Warehouse(lake.root)


def test_how_often_how_long_after_and_how_it_ended(chains: Warehouse) -> None:
    """A turn counts by its first continuation; a recovered one is named by its root; what had completed is continued by nothing."""
    columns = ("outcome", "turns", "continued", "p50_s", "p90_s", "then_finished", "then_cut", "then_refused")
    assert continuations(chains).select(columns).rows() == [
        ("budget", 4, 2, 60.0, 100.0, 1, 1, 0),
        ("error", 1, 0, None, None, 0, 0, 0),
        ("length", 1, 1, 10.0, 10.0, 0, 0, 1),
        ("refused", 1, 0, None, None, 0, 0, 0),
    ]


def test_filters_choose_what_was_continued_not_what_continues(chains: Warehouse) -> None:
    """A turn of one agent may be continued by another's."""
    (row,) = continuations(chains, Filters(agent=("helper",))).select("outcome", "turns", "continued").rows()
    assert row == ("budget", 1, 0)
    assert run(chains, "after_continue", Filters(outcome=("budget",))).select("outcome", "numerator").rows() == [
        ("budget", 1),
        ("completed", 1),
        ("error", 1),
    ]
    assert run(chains, "continued", Filters(outcome=("budget",))).select("numerator", "denominator").rows() == [(2, 4)]


def refusing(turn_id: str, *models: str) -> TurnFacts:
    """A turn whose first call is refused, and in which other calls follow."""
    facts = sketched(Sketch(turn_id=turn_id, steps=len(models), tool=None))
    first, *rest = facts.steps
    refused = replace(first, raw_finish_reason="refusal")
    steps = (replace(step, model=model) for step, model in zip((refused, *rest), models, strict=True))
    return replace(facts, steps=tuple(steps))


def test_what_answers_a_refusal(tmp_path: Path) -> None:
    """A later call of the turn, else a later turn of the conversation that finished; by the model that had refused or by another."""
    lake = Lake.open(str(tmp_path / "lake"), clock=lambda: NOON)
    lake.write([classified(one, NOON) for one in (refusing("same", "a", "a"), refusing("other", "a", "b", "a"))])
    refused, later = Outcome.REFUSED, NOON + HOUR
    lake.write(
        [
            stored(Sketch(turn_id="r1", outcome=refused, model="a", conversation="c", steps=1)),
            stored(Sketch(turn_id="r1-failed", outcome=Outcome.ERROR, model="a", conversation="c", at=later)),
            stored(Sketch(turn_id="r1-done", model="b", conversation="c", at=later + HOUR)),
            stored(Sketch(turn_id="r2", outcome=refused, model="a", conversation="d", steps=1)),
            stored(Sketch(turn_id="r2-done", model="a", conversation="d", at=later)),
            stored(Sketch(turn_id="r3", outcome=refused, model="a", conversation="e", steps=1, at=later)),
            stored(Sketch(turn_id="r3-before", model="a", conversation="e")),
            stored(Sketch(turn_id="r4", outcome=refused, model="a", steps=1)),
        ]
    )
    found = refusals_answered(Warehouse(lake.root))
    assert found.select("answered", "numerator", "denominator").rows() == [
        ("not answered", 2, 6),
        ("later turn, another model", 1, 6),
        ("later turn, same model", 1, 6),
        ("same turn, another model", 1, 6),
        ("same turn, same model", 1, 6),
    ]
    recovered = run(Warehouse(lake.root), "call_refused_recovered")
    assert recovered.select("numerator", "denominator").row(0) == (2, 6)


def test_a_tool_call_that_was_cut_while_written_is_counted_by_its_tool(tmp_path: Path) -> None:
    """Arguments that are not whole, or a call that was still streaming."""

    def written(turn_id: str, tool: str, *, status: ToolStatus | None = None, valid: bool | None = None) -> TurnFacts:
        facts = sketched(Sketch(turn_id=turn_id, tool=tool, steps=2))

        def changed(step: Step) -> Step:
            calls = (replace(call, status=status, arguments_valid=valid) for call in step.tool_calls)
            return replace(step, tool_calls=tuple(calls))

        return replace(facts, steps=tuple(map(changed, facts.steps)))

    lake = Lake.open(str(tmp_path / "lake"), clock=lambda: NOON)
    turns = [
        written("a", "write", status=ToolStatus.STREAMING),
        written("b", "write", valid=False),
        written("c", "write", status=ToolStatus.OK, valid=True),
        written("d", "read", status=ToolStatus.OK),
    ]
    lake.write([classified(turn, NOON) for turn in turns])
    by_tool = run(Warehouse(lake.root), "arguments_cut", by=("tool",))
    assert by_tool.select("tool", "numerator", "denominator").rows() == [("read", 0, 1), ("write", 2, 3)]


@pytest.mark.parametrize("name", [finding.name for finding in FINDINGS])
def test_every_table_is_a_command(chains: Warehouse, tmp_path: Path, name: str) -> None:
    """It is listed, has its columns over an empty lake too, and cannot be grouped."""
    runner = CliRunner()
    listed = runner.invoke(command, ["--format", "jsonl"])
    assert f'"name":"{name}"' in listed.output.replace(": ", ":")
    for lake in (chains.root, str(tmp_path / "none")):
        done = runner.invoke(command, [name, "--lake", lake, "--format", "csv"])
        assert (done.exit_code, bool(done.output.splitlines()[0])) == (0, True), done.output
    grouped = runner.invoke(command, [name, "--by", "model", "--lake", chains.root])
    assert grouped.exit_code == 2
    assert "is a table" in grouped.output
