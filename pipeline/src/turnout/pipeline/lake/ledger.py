"""Lines of the ledger: what the product itself did or saw."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import polars as pl

from turnout.outcomes.facts import Instant
from turnout.pipeline.schema import LEDGER

_NANOS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger: what the product itself did or saw."""

    kind: str
    key: str
    value: Mapping[str, object] = field(default_factory=dict[str, object])
    position: int | None = None


def ledger_rows(entries: Sequence[Entry], now: Instant) -> pl.DataFrame:
    """The rows of some lines, recorded now."""
    recorded = datetime.fromtimestamp(now / _NANOS, UTC)
    rows = [(one.kind, one.key, json.dumps(one.value, sort_keys=True), recorded, one.position) for one in entries]
    return pl.DataFrame(rows, schema=dict(LEDGER), orient="row")
