"""The rows of a report: how turns ended, by UTC day, agent, version, model and attendance."""

from collections.abc import Mapping
from typing import Final

import polars as pl

from turnout.pipeline.query import Filters, Warehouse, run

COLUMNS: Final[Mapping[str, str]] = {
    "day_utc": "UTC day on which the turn started (its first receipt, where no start is recorded).",
    "agent": "Agent; empty: not recorded.",
    "agent_version": "Version of the agent; empty: not recorded.",
    "model": "Model of the last step; empty: not recorded.",
    "attended": "Whether a person was there who could press Continue; empty: not recorded.",
    "outcome": "How the turn ended, as the classifier concluded; unknown: nobody recorded it.",
    "turns": "Turns with this outcome in the group. A turn is counted once, by its last segment.",
    "of_turns": "All turns of the group: of this day, agent, version, model and attendance.",
    "rate": "turns / of_turns.",
    "low": "Lower bound of the 95 % Wilson interval of the rate.",
    "high": "Upper bound of the 95 % Wilson interval of the rate.",
}
"""Every column of a report and what it means."""

_BY: Final = ("day", "agent", "agent_version", "model", "attended")


def outcomes(warehouse: Warehouse, filters: Filters) -> pl.DataFrame:
    """The rows, sorted by their groups; columns as in `COLUMNS`."""
    rows = run(warehouse, "outcomes", filters, _BY)
    return rows.rename({"day": "day_utc", "numerator": "turns", "denominator": "of_turns"}).select(*COLUMNS)
