"""What does not add up in a lake, gathered by kind."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

_EXAMPLES: Final = 3

REWRITE: Final = "restore the lake from a copy, or import its sources into a new one"
RECLASSIFY: Final = "decide them again with `turnout lake reclassify`"


@dataclass(frozen=True, slots=True)
class Problem:
    """One kind of thing that does not add up: how often, with examples, and what to do."""

    what: str
    count: int
    examples: tuple[str, ...]
    do: str


class Found:
    """Problems as they are met, by kind."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._examples: defaultdict[tuple[str, str], list[str]] = defaultdict(list)

    def note(self, what: str, do: str, examples: Iterable[str]) -> None:
        """Add one problem for each example; the first few are kept."""
        for example in examples:
            self._counts[what, do] += 1
            if len(self._examples[what, do]) < _EXAMPLES:
                self._examples[what, do].append(example)

    def problems(self) -> Iterator[Problem]:
        """All kinds, in the order in which they were met first."""
        for (what, do), count in self._counts.items():
            yield Problem(what, count, tuple(self._examples[what, do]), do)
