"""Finish reasons and error classes as the texts that emitters make of enums, lists and classes."""

import pytest

from turnout.pipeline.dialects.spelling import error_class, provider, reason

REASONS = {
    "FinishReason.MAX_TOKENS": "MAX_TOKENS",
    "<FinishReason.STOP: 'STOP'>": "STOP",
    "genai.types.FinishReason.SAFETY": "SAFETY",
    "['stop']": "stop",
    "('length',)": "length",
    '"content_filter"': "content_filter",
    "FINISH_REASON_MAX_TOKENS": "MAX_TOKENS",
    "EndTurn": "End_Turn",
    "toolUse": "tool_Use",
    " stop ": "stop",
    "None": None,
    "null": None,
    "end_turn": "end_turn",
    "FINISH_REASON_UNSPECIFIED": "FINISH_REASON_UNSPECIFIED",
    "Agent.whatever": "Agent.whatever",
    "x" * 300: "x" * 300,
}


@pytest.mark.parametrize(("word", "plain"), REASONS.items(), ids=[word[:40] for word in REASONS])
def test_a_spelling_is_undone_only_where_a_listed_word_comes_out(word: str, plain: str | None) -> None:
    """What no provider lists however it is spelled stays as it was told."""
    assert reason(word) == plain


CLASSES = {
    "<class 'openai.RateLimitError'>": "openai.RateLimitError",
    "openai.RateLimitError": "openai.RateLimitError",
    "500": "500",
    None: None,
}


@pytest.mark.parametrize(("name", "plain"), CLASSES.items(), ids=map(str, CLASSES))
def test_the_text_of_a_class_is_its_name(name: str | None, plain: str | None) -> None:
    """Some emitters export the class object's text."""
    assert error_class(name) == plain


PROVIDERS = {
    "amazon_bedrock": "aws.bedrock",
    "VertexAI": "gcp.vertex_ai",
    "openai": "openai",
    "mine": "mine",
    None: None,
}


@pytest.mark.parametrize(("name", "plain"), PROVIDERS.items(), ids=map(str, PROVIDERS))
def test_a_library_has_a_name_of_its_own_for_a_provider(name: str | None, plain: str | None) -> None:
    """Only those that are known to stand for one of the conventions are replaced."""
    assert provider(name) == plain
