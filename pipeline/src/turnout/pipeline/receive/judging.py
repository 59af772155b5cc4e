"""Turns are judged beside the lake that they go into: in the process that holds it, or in that of the receiver where it is embedded."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from turnout.outcomes.facts import TurnFacts
from turnout.outcomes.verdict import Cause
from turnout.pipeline.codec import unpack_turn
from turnout.pipeline.lake import Lake
from turnout.pipeline.positions import Position, Written
from turnout.pipeline.receive.lakes import Shipped, Taken
from turnout.pipeline.rows import ClassifiedTurn, digest_of, facts_json, judged

_log: structlog.stdlib.BoundLogger = structlog.get_logger("turnout.receive")


@dataclass(slots=True)
class Judged:
    """Turns with their verdicts, as they come to be written together."""

    turns: list[ClassifiedTurn] = field(default_factory=list[ClassifiedTurn])
    digests: dict[str, str] = field(default_factory=dict[str, str])
    unknown: dict[str, str] = field(default_factory=dict[str, str])
    failed: int = 0

    def add(self, shipped: Iterable[Shipped]) -> None:
        """Judge some more; one that cannot be judged must not keep all others from the lake."""
        for one in shipped:
            try:
                turn = judged(unpack_turn(one.packed), one.received_at)
            except Exception as error:  # noqa: BLE001 - whatever it was; its words may be of what the turn holds
                _log.error("turn_not_judged", why=type(error).__name__)
                self.failed += 1
            else:
                self._note(turn)

    def taken(self, written: Written) -> Taken:
        """What to answer once they are written."""
        return Taken(written, self.digests, self.unknown, self.failed)

    def _note(self, turn: ClassifiedTurn) -> None:
        turn_id = turn.facts.turn_id
        self.turns.append(turn)
        self.digests[turn_id] = digest_of(facts_json(turn))
        if turn.verdict.cause is Cause.UNKNOWN_FINISH_REASON:
            steps = turn.facts.steps
            self.unknown[turn_id] = (steps[-1].raw_finish_reason or steps[-1].finish_reason or "") if steps else ""


@dataclass(frozen=True, slots=True)
class JudgingLake:
    """A lake of this process, as a converter needs it."""

    lake: Lake

    def prepare(self) -> None:
        """Make the tables if they are missing."""
        self.lake.prepare()

    def position(self, journal: str) -> int | None:
        """Up to where a journal is in the lake."""
        return self.lake.position(journal)

    def facts(self, turn_ids: Iterable[str]) -> Mapping[str, TurnFacts]:
        """The stored facts of turns, by id."""
        return self.lake.facts(turn_ids)

    def write(
        self,
        turns: Sequence[Shipped],
        *,
        position: Position | None = None,
        supersedes: Mapping[str, str] | None = None,
        withdrawn: Mapping[str, str] | None = None,
        patient: bool = False,
    ) -> Taken:
        """Judge turns and store them by turn id."""
        found = Judged()
        found.add(turns)
        written = self.lake.write(
            found.turns, position=position, supersedes=supersedes, withdrawn=withdrawn, patient=patient
        )
        return found.taken(written)
