"""Verdicts over logs of any kind that an importer reads, without a lake: each file by itself."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from turnout.outcomes.classify import classify
from turnout.outcomes.facts import TurnFacts
from turnout.outcomes.record import verdict_record
from turnout.pipeline.classify_lines import Complaint, Tally
from turnout.pipeline.importers.base import Damaged, Importer, Skipped


def classify_log(importer: Importer, path: Path, name: str, tally: Tally) -> Iterator[bytes | Complaint]:
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


def _distinct(names: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name))
