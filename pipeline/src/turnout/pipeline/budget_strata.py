"""The limits that turns have on record, and whether turns under different ones can be compared, asked of a lake."""

from typing import Final

from turnout.pipeline.analysis.budget import ENDS, End, Limit
from turnout.pipeline.analysis.censoring import PaceTest, pace_tests
from turnout.pipeline.budgets import strata
from turnout.pipeline.query.filters import Filters
from turnout.pipeline.query.warehouse import Warehouse

MANY: Final = 6
"""So many limits in use are told."""

_ANY: Final = "agent"


def limits_in_use(warehouse: Warehouse, limit: Limit, filters: Filters | None = None) -> list[float]:
    """The limits of one kind that turns have on record, those with the most turns first."""
    turns: dict[float, int] = {}
    for by_limit in strata(warehouse, _ANY, filters, limit).values():
        for value, counts in by_limit.items():
            turns[value] = turns.get(value, 0) + int(counts.ends.sum() + counts.cut.sum())
    return sorted(turns, key=lambda value: (-turns[value], value))[:MANY]


def pace(warehouse: Warehouse, by: str, limit: Limit, filters: Filters | None = None) -> tuple[PaceTest, ...]:
    """The test of the censoring assumption, each value of a dimension by itself."""
    return pace_tests(strata(warehouse, by, filters, limit), ENDS.index(End.FINISHED))
