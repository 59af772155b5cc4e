"""What calls cost where the source does not say: genai-prices' table, at the time of the call.

A model that the table does not know is unpriced, which is never zero. Token counts are the normalised ones: input includes the cache,
output includes reasoning, as genai-prices expects them.
"""

from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from importlib.metadata import version

from genai_prices import Usage as PricedUsage
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelInfo, ModelPrice, TieredPrices

from turnout.outcomes.facts import Instant, Usage
from turnout.outcomes.quick import quick

PRICE_LIST = f"genai-prices {version('genai-prices')}"
"""The price list in use, kept beside every price that came from it."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_QUARTER = 15 * 60 * 1_000_000_000
"""Some lists change their price within a day, at whole quarters of an hour."""

# Names of ours for providers that the price list calls otherwise.
_PROVIDERS = {"bedrock": "aws", "azure-inference": "azure", "xai": "x-ai"}


class CostSource(StrEnum):
    """Where a cost comes from."""

    REPORTED = "reported"
    PRICED = "priced"


@quick
@dataclass(frozen=True, slots=True)
class Cost:
    """Dollars and where they come from; ``None`` for both is unpriced."""

    usd: float | None
    source: CostSource | None


UNPRICED = Cost(None, None)


def price_call(usage: Usage | None, model: str | None, provider: str | None, started: Instant | None) -> Cost:
    """Price one call at the time it started; a call without a time is priced at the end of the list."""
    if usage is None or model is None or usage.input_tokens is None or usage.output_tokens is None:
        return UNPRICED
    prices = _prices(model, provider, None if started is None else started // _QUARTER)
    if prices is None:
        return UNPRICED
    read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    if read + written > usage.input_tokens:
        # The counts contradict each other: the cache is a part of the input.
        return UNPRICED
    rates = _band(prices, bisect_left(prices.starts, usage.input_tokens) if prices.starts else 0)
    fresh = usage.input_tokens - read - written
    usd = fresh * rates.fresh + read * rates.read + written * rates.written + usage.output_tokens * rates.output
    return Cost(usd, CostSource.PRICED)


@dataclass(frozen=True, slots=True)
class Rates:
    """Dollars a token."""

    fresh: float
    read: float
    written: float
    output: float


@lru_cache(maxsize=4096)
def _band(prices: "Prices", band: int) -> Rates:
    """Ask the price list itself for the rates between two thresholds of the input, where a price is linear in its counts."""
    start = prices.starts[band - 1] if band else 0
    tokens = start + 1
    fresh = prices.ask(input_tokens=tokens)
    return Rates(
        fresh / tokens,
        prices.ask(input_tokens=tokens, cache_read_tokens=tokens) / tokens,
        prices.ask(input_tokens=tokens, cache_write_tokens=tokens) / tokens,
        (prices.ask(input_tokens=tokens, output_tokens=1_000_000) - fresh) / 1_000_000,
    )


@dataclass(frozen=True, eq=False)
class Prices:
    """One model's prices at one time; ``starts`` are the input counts past which another tier holds, ascending."""

    listed: ModelPrice
    starts: tuple[int, ...]

    def ask(self, **counts: int) -> float:
        """The price of some counts, by the list's own arithmetic."""
        return float(self.listed.calc_price(PricedUsage(**counts))["total_price"])


@lru_cache(maxsize=8192)
def _prices(model: str, provider: str | None, quarter: int | None) -> Prices | None:
    """A model's prices at a time, misses remembered too."""
    found = _model(model, provider)
    return None if found is None else _prices_at(found, quarter)


@lru_cache(maxsize=4096)
def _prices_at(model: "Found", quarter: int | None) -> Prices:
    when = datetime.max.replace(tzinfo=UTC) if quarter is None else _EPOCH + timedelta(minutes=15 * quarter)
    listed = model.info.get_prices(when)
    tiers = [tier.start for price in vars(listed).values() if isinstance(price, TieredPrices) for tier in price.tiers]
    return Prices(listed, tuple(sorted(set(tiers))))


@dataclass(frozen=True, eq=False)
class Found:
    """A model of the list; compared by identity, so that it can be a key."""

    info: ModelInfo


@lru_cache(maxsize=4096)
def _model(model: str, provider: str | None) -> Found | None:
    """Find a model, misses remembered too: a miss walks the whole list."""
    name = None if provider is None else _PROVIDERS.get(provider, provider)
    try:
        return Found(get_snapshot().find_provider_model(model, None, name, None)[1])
    except LookupError:
        return None
