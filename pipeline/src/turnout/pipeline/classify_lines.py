"""Verdicts over lines of turn facts, without a lake: each line by itself."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from turnout.outcomes.classify import classify
from turnout.pipeline.codec import FactsError, decode_turn, encode_verdict

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that could not be read, as a line for a person; a ``mild`` one leaves nothing out that was asked for."""

    text: str
    mild: bool = False


@dataclass(slots=True)
class Tally:
    """What a run has seen so far."""

    verdicts: int = 0
    damaged: int = 0
    skipped: int = 0
    unknown_keys: Counter[str] = field(default_factory=Counter[str])


def classify_lines(lines: Iterable[bytes], name: str, tally: Tally) -> Iterator[bytes | Complaint]:
    """One verdict (JSON) a line of turn facts, in the same order; a line that is no turn facts becomes a complaint."""
    for number, line in enumerate(lines, 1):
        text = (line.removeprefix(_BOM) if number == 1 else line).strip()
        if not text:
            continue
        try:
            decoded = decode_turn(text)
        except FactsError as error:
            tally.damaged += 1
            yield Complaint(f"{name}:{number}: {error}")
            continue
        for below in decoded.negative:
            tally.damaged += 1
            yield Complaint(f"{name}:{number}: {below}; kept out")
        tally.verdicts += 1
        tally.unknown_keys.update(decoded.unknown_keys)
        yield encode_verdict(classify(decoded.turn))


def unknown_keys_text(unknown_keys: Counter[str]) -> str:
    """One line on keys that were kept out, most frequent first."""
    named = ", ".join(f"{key} ({count})" for key, count in unknown_keys.most_common())
    return f"unknown keys were kept out: {named}"
