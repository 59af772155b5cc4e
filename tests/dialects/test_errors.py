"""Failures: classes, texts, statuses and limits."""

import pytest

from made_telemetry import Attributes, Tape
from turnout.outcomes.facts import Limits
from turnout.pipeline.dialects.errors import failure_of, limits_in, reason_of, spoken_end, status_in
from turnout.pipeline.telemetry import SpanStatus

STATUSES = {
    "Error code: 429 - {'error': 1}": 429,
    "529 overloaded": 529,
    "Error in agent run: {'error': '529 overloaded'}": 529,
    "status_code: 503, model_name: m": 503,
    "HTTP 502": 502,
    "took 450 tokens": None,
    "run 4290": None,
    None: None,
}


@pytest.mark.parametrize(("text", "status"), STATUSES.items(), ids=map(str, STATUSES))
def test_a_status_is_read_only_where_it_is_clearly_one(text: str | None, status: int | None) -> None:
    """A number in a text is not a status."""
    assert status_in(text) == status


def test_the_last_exception_counts_and_its_module_does_not() -> None:
    """Rust and Python write modules in different ways."""
    tape = Tape("x")
    events: list[tuple[str, Attributes]] = [
        ("exception", {"exception.type": "ValueError"}),
        (
            "exception",
            {"exception.type": "pydantic_ai.exceptions.UsageLimitExceeded", "exception.message": "request_limit of 2"},
        ),
    ]
    failure = failure_of(tape.span("x", 0, 1, events=events))
    assert failure is not None
    assert (failure.name, reason_of(failure), limits_in(failure.message)) == (
        "UsageLimitExceeded",
        "step_limit",
        Limits(steps=2),
    )


def test_a_status_of_error_alone_is_a_failure_and_ok_is_none() -> None:
    """Some emitters set nothing else."""
    tape = Tape("x")
    failed = failure_of(tape.span("x", 0, 1, status=SpanStatus.ERROR))
    assert (failed is not None and reason_of(failed), failure_of(tape.span("x", 0, 1, status=SpanStatus.OK))) == (
        "error",
        None,
    )


def test_long_texts_and_tracebacks_are_cut() -> None:
    """A status text may hold a whole traceback, with what the program printed."""
    tape = Tape("x")
    failure = failure_of(
        tape.span("x", 0, 1, status=SpanStatus.ERROR, message="Boom()Traceback (most recent call last):" + "x" * 9999)
    )
    assert failure is not None
    assert (failure.message, failure.name) == ("Boom()", "Boom")


def test_an_answer_of_which_an_exception_was_made_is_an_answer() -> None:
    """The text names how the response ended."""
    tape = Tape("x")
    message = "Chat Completions response terminated with finish_reason='length' but produced no assistant text"
    spoken = spoken_end(failure_of(tape.span("x", 0, 1, status=SpanStatus.ERROR, message=message)))
    assert spoken is not None
    assert (spoken.finish_reason, spoken.raw_finish_reason) == ("length", None)


STEERED = {"class": ("langgraph.errors.ParentCommand", "Command(goto='b')"), "text": ("Exception", "ParentCommand(x)")}


@pytest.mark.parametrize("raised", STEERED.values(), ids=STEERED)
def test_what_steers_a_graph_is_no_failure(raised: tuple[str, str]) -> None:
    """A hand-over inside a graph is an exception, and its spans end in ERROR."""
    assert failure_of(Tape("x").span("x", 0, 1, raised=raised)) is None


ENDS = {
    "step limit in text": (("WorkflowRuntimeError", "Max iterations of 3 reached!"), "max_iterations", Limits(steps=3)),
    "turns of the program": (
        ("ResultError", "Reached maximum number of turns (2)"),
        "error_max_turns",
        Limits(steps=2),
    ),
    "its subtype": (("Exception", "Result error: error_max_budget_usd"), "error_max_budget_usd", None),
    "workflow's time": (("WorkflowTimeoutError", "timed out"), "time_budget", None),
    "a person's stop": (("workflows.errors.WorkflowCancelledByUser", ""), "user_stop", None),
    "class as text": (("<class 'openai.ContentFilterFinishReasonError'>", ""), "content_filter", None),
}


@pytest.mark.parametrize(("raised", "reason", "limits"), ENDS.values(), ids=ENDS)
def test_ends_by_class_and_by_text(raised: tuple[str, str], reason: str, limits: Limits | None) -> None:
    """One class may stand for several ends, so its text is read where the class is not known."""
    failure = failure_of(Tape("x").span("x", 0, 1, raised=raised))
    assert failure is not None
    assert (reason_of(failure), limits_in(failure.message)) == (reason, limits)
