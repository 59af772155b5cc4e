"""Prices of calls against the price list's own arithmetic."""

from datetime import UTC, datetime

import pytest
from genai_prices import Usage as PricedUsage
from genai_prices import calc_price
from hypothesis import given
from hypothesis import strategies as st

from turnout.outcomes.facts import Usage
from turnout.pipeline.analysis.price import UNPRICED, CostSource, price_call

MOMENT = datetime(2026, 3, 4, 12, tzinfo=UTC)
STARTED = int(MOMENT.timestamp()) * 1_000_000_000
MODELS = [
    ("claude-sonnet-4-5", "anthropic", "anthropic"),
    ("gpt-4o", "openai", "openai"),
    ("gemini-2.5-pro", "google", "google"),
    ("anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock", "aws"),
    ("deepseek-chat", "deepseek", "deepseek"),
]
TOKENS = st.integers(0, 400_000)


@given(st.sampled_from(MODELS), TOKENS, TOKENS, TOKENS, TOKENS)
def test_a_price_is_that_of_the_list(
    model: tuple[str, str, str], fresh: int, read: int, written: int, output: int
) -> None:
    """For any counts, on either side of a tier, the price is what the list computes."""
    name, provider, listed_as = model
    usage = Usage(
        input_tokens=fresh + read + written, output_tokens=output, cache_read_tokens=read, cache_write_tokens=written
    )
    counted = PricedUsage(
        input_tokens=fresh + read + written, output_tokens=output, cache_read_tokens=read, cache_write_tokens=written
    )
    expected = calc_price(counted, name, provider_id=listed_as, genai_request_timestamp=MOMENT).total_price
    got = price_call(usage, name, provider, STARTED)
    assert got.source is CostSource.PRICED
    assert got.usd == pytest.approx(float(expected), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("usage", "model", "provider"),
    [
        pytest.param(Usage(input_tokens=5, output_tokens=5), "a-model-nobody-lists", "openai", id="unknown model"),
        pytest.param(Usage(input_tokens=5, output_tokens=5), "gpt-4o", "a-host-nobody-lists", id="unknown provider"),
        pytest.param(Usage(input_tokens=5), "gpt-4o", "openai", id="output not recorded"),
        pytest.param(None, "gpt-4o", "openai", id="no usage"),
        pytest.param(Usage(input_tokens=5, output_tokens=5), None, "openai", id="no model"),
        pytest.param(
            Usage(input_tokens=5, output_tokens=5, cache_read_tokens=6), "gpt-4o", "openai", id="contradicting counts"
        ),
    ],
)
def test_what_cannot_be_priced_is_unpriced(usage: Usage | None, model: str | None, provider: str | None) -> None:
    """Unpriced is no number at all, never zero."""
    assert price_call(usage, model, provider, STARTED) == UNPRICED


def test_a_model_is_found_without_a_provider() -> None:
    """Where the source names no provider the model's own name decides."""
    usage = Usage(input_tokens=1000, output_tokens=100)
    assert price_call(usage, "gpt-4o", None, STARTED) == price_call(usage, "gpt-4o", "openai", STARTED)
