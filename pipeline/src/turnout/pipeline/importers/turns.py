"""Turn facts as JSON Lines (``turnout.turn/1``): what a runtime in any language can write itself."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from turnout.outcomes.facts import TURN_SCHEMA
from turnout.pipeline.codec import FactsError, decode_turn
from turnout.pipeline.importers.base import Damaged, Imported, Reading, Skipped, Tally
from turnout.pipeline.log_opening import opened

KIND = "turns"
_BOM = b"\xef\xbb\xbf"


class TurnsImporter:
    """One turn, or one segment of a turn, a line."""

    kind = KIND
    joins_files = False

    def recognises(self, sample: Sequence[Mapping[str, object]], name: str) -> bool:
        """Know turn facts by their schema, or by an id beside keys that only they have."""
        del name
        return any(
            value.get("schema") == TURN_SCHEMA
            or ("turn_id" in value and not value.keys().isdisjoint({"steps", "claims", "limits"}))
            for value in sample
        )

    def read(self, path: Path, *, digest_key: bytes | None = None) -> Reading:
        """Read one file; the digests in it are the writer's own."""
        return self.read_all([path], digest_key=digest_key)

    def read_all(self, paths: Sequence[Path], *, digest_key: bytes | None = None) -> Reading:
        """Read the files one after the other."""
        del digest_key

        def make(tally: Tally) -> Iterator[Imported]:
            for path in paths:
                yield from _read(path, tally)

        return Reading(make)


def _read(path: Path, tally: Tally) -> Iterator[Imported]:
    unknown: Counter[str] = Counter()
    with opened(path) as lines:
        for number, line in enumerate(lines, 1):
            text = (line.removeprefix(_BOM) if number == 1 else line).strip()
            if not text:
                continue
            tally.records += 1
            try:
                decoded = decode_turn(text)
            except FactsError as error:
                yield Damaged(path=str(path), line=number, what=str(error))
                continue
            unknown.update(decoded.unknown_keys)
            for below in decoded.negative:
                yield Damaged(path=str(path), line=number, what=f"{below}; kept out")
            turn = decoded.turn
            yield turn if turn.source is not None else replace(turn, source=KIND)
    if unknown:
        named = ", ".join(f"{key} ({count})" for key, count in unknown.most_common())
        yield Skipped(path=str(path), why=f"unknown keys were kept out: {named}")
