"""Verdicts over whole files, without a lake: each line, or each turn that an importer reads, by itself."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from turnout.outcomes.classify import classify
from turnout.outcomes.facts import TurnFacts
from turnout.outcomes.record import verdict_record
from turnout.pipeline.codec import FactsError, decode_turn, encode_verdict
from turnout.pipeline.importers.base import Damaged, Importer, Skipped

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
        tally.verdicts += 1
        tally.unknown_keys.update(decoded.unknown_keys)
        yield encode_verdict(classify(decoded.turn))


def classify_kind(importer: Importer, path: Path, name: str, tally: Tally) -> Iterator[bytes | Complaint]:
    """One verdict (JSON) a turn that an importer reads from a file, with what the source says of the turn.

    ``name`` is what the file is called in rows and complaints.
    """
    for item in importer.read(path):
        match item:
            case Damaged():
                tally.damaged += 1
                place = name if item.line is None else f"{name}:{item.line}"
                yield Complaint(f"{place}: {item.what}")
            case Skipped():
                tally.skipped += 1
                yield Complaint(f"{name}: skipped: {item.why}", mild=True)
            case _:
                tally.verdicts += 1
                yield msgspec.json.encode(described(item, name))


def described(turn: TurnFacts, file: str) -> dict[str, object]:
    """The verdict of a turn beside where it came from and what it used."""
    return {
        **verdict_record(classify(turn)),
        "file": file,
        "source": turn.source,
        "models": _distinct(step.model for step in turn.steps),
        "tools": _distinct(call.name for step in turn.steps for call in step.tool_calls),
        "conversation_id": turn.conversation_id,
        "parent_turn_id": turn.parent_turn_id,
    }


def unknown_keys_text(unknown_keys: Counter[str]) -> str:
    """One line on keys that were kept out, most frequent first."""
    named = ", ".join(f"{key} ({count})" for key, count in unknown_keys.most_common())
    return f"unknown keys were kept out: {named}"


def _distinct(names: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name))
