"""Content is never captured: a canary that stands in everything a loop handles appears in nothing that is emitted."""

import json
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

from turnout.instrumentation import FileSink, Losses, Refusal, StructlogSink, TurnHandle
from turnout.outcomes.facts import StepError

CANARY = "xyzzy-canary-4711"


class CanaryError(Exception):
    """An exception that quotes the prompt, as providers' errors do."""

    def __init__(self) -> None:
        super().__init__(f"rate limit reached while answering: {CANARY}")
        self.code = CANARY
        self.body = {"message": CANARY}


def talkative_turn(recorder: Any) -> None:
    """A turn that hands content over wherever an argument takes some."""
    with pytest.raises(CanaryError), recorder.turn(agent="support", user_id=CANARY) as turn:  # noqa: PT012 - one turn
        with turn.step(model="m") as step:
            step.finish(
                finish_reason="tool-calls",
                output=CANARY,
                refusal=Refusal(category="cyber", explanation=CANARY),
            )
            with pytest.raises(CanaryError), step.tool_call("search", arguments=json.dumps({"q": CANARY})):
                raise CanaryError
        failed = turn.step(model="m")
        failed.failed(StepError(type="Overloaded", message=CANARY))
        turn.finish_check("veto", by="hook", why=CANARY)
        turn.claim("host", "failed", message=CANARY)
        turn.stop("sideways " + CANARY)
        texts_in_place_of_words(turn)
        with turn.step(model="m"):
            raise CanaryError


def texts_in_place_of_words(turn: TurnHandle) -> None:
    """A host that hands a text over where a machine's word belongs."""
    prompt = f"please tell me about {CANARY}"
    turn.stop("immediate", prompt)
    turn.yielded(prompt)
    turn.claim("host", prompt, status=prompt, error_type=prompt)
    step = turn.step(model="m")
    step.attempt(reason=prompt)
    step.finish(finish_reason=prompt, raw_finish_reason=prompt, refusal=prompt)
    step.tool_call("search").failed(prompt)
    turn.step(model="m").failed(StepError(type=prompt))
    with pytest.raises(Exception, match="x"), turn.step().tool_call("search"):
        raise type(prompt, (Exception,), {})("x")


@pytest.mark.parametrize("key", [None, b"key"])
def test_content_is_emitted_nowhere(
    key: bytes | None,
    tmp_path: Path,
    emitted: Any,
    make_recorder: Any,
    logged: StructlogSink,
    event_log: Any,
    losses: Losses,
    warnings: list[str],
) -> None:
    """Spans, events, metrics, the file, structlog and our own complaints: none of them holds the canary."""
    path = tmp_path / "turns.jsonl"
    talkative_turn(make_recorder(emitted.sink, FileSink(path, delay_s=0), logged, hash_key=key))
    everything = {
        "spans": encode_spans(emitted.spans).SerializeToString(),
        "span events": repr([span.events for span in emitted.spans]).encode(),
        "span status": repr([span.status.description for span in emitted.spans]).encode(),
        "events": encode_logs(emitted.events).SerializeToString(),
        "metrics": repr(emitted.metrics()).encode(),
        "file": path.read_bytes(),
        "structlog": repr(event_log.lines).encode(),
        "losses": repr((losses.totals(), warnings)).encode(),
    }
    assert [name for name, emission in everything.items() if CANARY.encode() in emission] == []
    assert all(everything.values())
    assert b"rate limit" in everything["file"]
