"""One turn as tables."""

from turnout.dashboards import telling
from turnout.dashboards.markup import Marked
from turnout.outcomes.classify import classify
from turnout.outcomes.facts import (
    CheckVerdict,
    Claim,
    FinishCheck,
    Layer,
    Limits,
    Refusal,
    Requester,
    Step,
    StepError,
    StopMode,
    StopRecord,
    ToolCall,
    ToolStatus,
    TurnFacts,
    Usage,
)
from turnout.outcomes.verdict import Outcome
from turnout.pipeline.charts import COLOURS

SECOND = 1_000_000_000
NOON = 1_767_614_400 * SECOND


def test_a_step_says_how_it_finished_and_what_its_tools_did() -> None:
    """Failures, refusals and open tools are marked; a missing reason is told as missing."""
    turn = TurnFacts(
        turn_id="t",
        steps=(
            Step(
                index=1,
                model="m",
                raw_finish_reason="tool_use",
                started_at=NOON,
                ended_at=NOON + SECOND // 2,
                max_output_tokens=4096,
                usage=Usage(input_tokens=1200, output_tokens=300),
                tool_calls=(
                    ToolCall(name="read", status=ToolStatus.OK),
                    ToolCall(name="run", status=ToolStatus.ERROR, error_type="exit_status"),
                ),
            ),
            Step(index=2, model="m", tool_calls=(ToolCall(name="ask", status=ToolStatus.AWAITING_APPROVAL),)),
            Step(index=3, refusal=Refusal(category="cyber")),
            Step(index=4, error=StepError(type="rate_limit", status=429)),
        ),
    )
    thin = "\N{THIN SPACE}"
    red, grey = COLOURS[Outcome.ERROR], COLOURS[Outcome.UNKNOWN]
    assert telling.step_rows(turn)[0] == {
        "step": "1",
        "model": "m",
        "finish": "tool_use",
        "tokens": f"1{thin}200",
        "output": f"300 of 4{thin}096",
        "tools": Marked("read, run error (exit_status)", red),
        "took": "0.5 s",
    }
    assert [row["finish"] for row in telling.step_rows(turn)[1:]] == [
        Marked("not recorded", grey),
        Marked("refused: cyber", COLOURS[Outcome.REFUSED]),
        Marked("failed: rate_limit 429", red),
    ]
    assert telling.step_rows(turn)[1]["tools"] == Marked("ask awaiting approval", COLOURS[Outcome.INTERRUPTED])


def test_everyones_word_stands_in_the_order_of_time() -> None:
    """Claims, stop requests and finish checks together; what has no instant comes last."""
    turn = TurnFacts(
        turn_id="t",
        claims=(Claim(by=Layer.HOST, reason="aborted", at=NOON + SECOND), Claim(by=Layer.PROCESS, exit_code=137)),
        stop_requests=(StopRecord(mode=StopMode.AFTER_STEP, reason="user_stop", by=Requester.USER, at=NOON),),
        finish_checks=(FinishCheck(step=2, verdict=CheckVerdict.VETO, by="inbox", why="unread"),),
    )
    assert telling.claim_rows(turn) == [
        {"by": "user", "said": "asked to stop (after step): user_stop", "at": "2026-01-05 12:00:00"},
        {"by": "host", "said": "aborted", "at": "2026-01-05 12:00:01"},
        {"by": "process", "said": "not recorded, exit code 137", "at": "not recorded"},
        {"by": "inbox", "said": "veto at step 2: unread", "at": "not recorded"},
    ]


def test_what_was_spent_stands_against_its_limit() -> None:
    """A limit that was not recorded is left out; usage that is missing is said to be."""
    turn = TurnFacts(
        turn_id="t",
        started_at=NOON,
        ended_at=NOON + 90 * SECOND,
        limits=Limits(steps=30, cost_usd=1.5),
        steps=(Step(index=1, finish_reason="stop"),),
    )
    assert telling.spent(turn, classify(turn), 0.25) == [
        ("Steps", "1 of 30"),
        ("Tool calls", "0"),
        ("Tokens", "not recorded (not all recorded)"),
        ("Seconds", "90"),
        ("Cost", "$0.2500 of $1.50"),
        ("Tool errors", "0"),
        ("Tools left open", "0"),
    ]


def test_a_turn_that_never_ended_says_when_it_was_last_seen() -> None:
    """No end is invented."""
    turn = TurnFacts(turn_id="t", started_at=NOON, last_seen_at=NOON + SECOND, attended=False)
    about = dict(telling.about(turn))
    assert about["Ended (UTC)"] == "never; last seen 2026-01-05 12:00:01"
    assert (about["Took"], about["Attended"], about["Agent"]) == ("not recorded", "no", "not recorded")
