"""How a provider's own response says that it ended, for each API."""

import json

import pytest

from turnout.pipeline.dialects.answers import Answer, answer_of

ANSWERS: dict[str, tuple[object, Answer]] = {
    "chat completions": ({"id": "c1", "choices": [{"finish_reason": "length"}]}, Answer("c1", "length")),
    "refused in them": (
        {"choices": [{"finish_reason": "stop", "message": {"refusal": "no"}}]},
        Answer(reason="stop", refused=True),
    ),
    "choices alone": ([{"finish_reason": "stop"}], Answer(reason="stop")),
    "messages": ({"id": "m1", "stop_reason": "end_turn", "content": []}, Answer("m1", "end_turn")),
    "converse": ({"stopReason": "max_tokens"}, Answer(reason="max_tokens")),
    "gemini": ({"candidates": [{"finishReason": "FinishReason.MAX_TOKENS"}]}, Answer(reason="MAX_TOKENS")),
    "blocked prompt": ({"prompt_feedback": {"block_reason": "SAFETY"}}, Answer(refused=True)),
    "responses": ({"object": "response", "id": "r1", "status": "completed"}, Answer("r1", "completed")),
    "failed response": (
        {"object": "response", "status": "failed", "error": {"code": "server_error"}},
        Answer(raw_reason="server_error"),
    ),
    "a framework's client": ({"finish_reason": "function_calls", "content": []}, Answer(reason="function_call")),
    "raw beside it": ({"message": {}, "raw": {"id": "c2", "choices": [{"finish_reason": "stop"}]}}, Answer("c2", "stop")),
    "raw as text": ({"content": "x", "raw": "Completion(choices=[Choice(finish_reason='stop')])"}, Answer(reason="stop")),
    "nothing": ({"content": "x"}, Answer()),
    "no object": ("hello", Answer()),
}  # fmt: skip


@pytest.mark.parametrize(("response", "told"), ANSWERS.values(), ids=ANSWERS)
def test_each_api_has_a_place_of_its_own(response: object, told: Answer) -> None:
    """What is not there is not recorded."""
    assert answer_of(json.dumps(response)) == told
