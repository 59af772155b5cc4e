"""Turns with the verdicts that they must get, as data: ``tests/outcomes/cases/*.jsonl``, and the handed ones where they are there.

An expectation names what is checked: keys of the verdict record, and ``has`` and ``lacks`` for flags.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from turnout.outcomes.facts import TurnFacts
from turnout.outcomes.record import verdict_record
from turnout.outcomes.verdict import Verdict
from turnout.pipeline.codec import decode_turn

CASES = Path(__file__).parents[1] / "outcomes" / "cases"
HANDED = "TURNOUT_TEST_DATA"


@dataclass(frozen=True)
class OutcomeCase:
    """One turn and what its verdict must say."""

    name: str
    turn: TurnFacts
    expect: Mapping[str, Any]


def own_cases() -> list[OutcomeCase]:
    """The cases of the project."""
    return [case for path in sorted(CASES.glob("*.jsonl")) for case in _read(path)]


def _read(path: Path) -> Iterator[OutcomeCase]:
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        turn = decode_turn({"turn_id": "t", **entry["turn"]}).turn
        yield OutcomeCase(f"{path.stem}: {entry['name']}", turn, entry["expect"])


def handed_cases() -> list[OutcomeCase]:
    """The cases of the folder that ``TURNOUT_TEST_DATA`` names, none where it is not set."""
    folder = os.environ.get(HANDED)
    if folder is None:
        return []
    found: list[OutcomeCase] = []
    for path in sorted(Path(folder, "cases").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            pairs = zip(entry["turns"], entry["expect"], strict=True)
            found += [OutcomeCase(f"{entry['id']} {n}", decode_turn(t).turn, e) for n, (t, e) in enumerate(pairs, 1)]
    return found


def differences(verdict: Verdict, expect: Mapping[str, Any]) -> dict[str, tuple[object, object]]:
    """What the verdict says and what it should say, for every key where they differ."""
    record = json.loads(json.dumps(verdict_record(verdict)))
    flags = set(record["flags"])
    found: dict[str, tuple[object, object]] = {}
    for key, want in expect.items():
        got = _got(key, want, record, flags)
        if got != _wanted(key, want, got):
            found[key] = (got, want)
    return found


def _got(key: str, want: Any, record: Mapping[str, Any], flags: set[str]) -> Any:
    match key:
        case "has" | "must_flags":
            return sorted(flags & set(want))
        case "lacks" | "must_not_flags":
            return sorted(flags & set(want))
        case "usage" if isinstance(want, dict):
            return {name: (record["usage"] or {}).get(name) for name in want}
        case _:
            return record.get(key)


def _wanted(key: str, want: Any, got: Any) -> Any:
    match key:
        case "has" | "must_flags":
            return sorted(want)
        case "lacks" | "must_not_flags":
            return []
        case "flags" | "conflicts":
            return want
        case _ if isinstance(want, list):
            return got if got in want else want
        case _:
            return want
