"""What a metric is: what it counts, in words, and the `.sql` file that counts it."""

from dataclasses import dataclass
from enum import StrEnum

from turnout.pipeline.query.dimensions import DIMENSIONS
from turnout.pipeline.query.engine import resource


class Good(StrEnum):
    """Which way is better."""

    UP = "up"
    DOWN = "down"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric; ``parts`` are columns that it is always split by: with them the shares of a group sum to one.

    ``reads`` are the columns of its view that its SQL reads, where it counts by ``n`` and so can be answered from a cube.
    """

    name: str
    title: str
    definition: str
    unit: str
    good_direction: Good
    view: str = "counted_turns"
    parts: tuple[str, ...] = ()
    reads: tuple[str, ...] | None = None

    @property
    def dimensions(self) -> tuple[str, ...]:
        """What it can be grouped by."""
        return DIMENSIONS[self.view]

    @property
    def file(self) -> str:
        """The `.sql` file, below the room's ``sql``."""
        return f"metrics/{self.name}.sql"

    @property
    def statement(self) -> str:
        """The SQL, with ``$by`` as its one parameter."""
        return resource(self.file)
