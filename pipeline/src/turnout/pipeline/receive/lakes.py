"""What a converter asks of a lake, and a lake that another process holds.

Judging turns and making rows and files of them takes half of the time of all that is done to them: in a process of its own it goes on while
more is assembled. What the converter wants to know of it comes with the answer.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

import msgspec

from turnout.outcomes.facts import Instant, TurnFacts
from turnout.pipeline.errors import TurnoutError
from turnout.pipeline.positions import Position, Written
from turnout.pipeline.receive.below import ALLOCATORS
from turnout.pipeline.receive.link import Closed, Link

_MODULE: Final = "turnout.pipeline.receive.lake_process"
_CHUNK: Final = 500
_ENDING_SECONDS: Final = 10.0


class Shipped(msgspec.Struct, frozen=True, array_like=True):
    """A turn on its way to be judged and stored: packed facts in canonical form."""

    packed: bytes
    received_at: Instant


class Taken(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a write did, and what was found out of each of its turns."""

    written: Written
    digests: dict[str, str] = {}
    """By turn id, the digest of the facts that were given."""
    unknown: dict[str, str] = {}
    """By turn id, the finish reason that no table lists and that gave it its outcome."""
    failed: int = 0
    """How many could not be judged; they are passed over."""


class WritableLake(Protocol):
    """A lake as a converter needs it; every method raises a TurnoutError when the lake cannot be read or written."""

    def prepare(self) -> None:
        """Make the tables if they are missing."""
        ...

    def position(self, journal: str) -> int | None:
        """Up to where a journal is in the lake."""
        ...

    def facts(self, turn_ids: Iterable[str]) -> Mapping[str, TurnFacts]:
        """The stored facts of turns, by id."""
        ...

    def write(
        self,
        turns: Sequence[Shipped],
        *,
        position: Position | None = None,
        supersedes: Mapping[str, str] | None = None,
        withdrawn: Mapping[str, str] | None = None,
        patient: bool = False,
    ) -> Taken:
        """Judge turns and store them by turn id; with ``patient`` the answer may leave some to be given again later."""
        ...


class LakeProcessError(TurnoutError):
    """The lake could not do what it was asked, or the process that holds it is gone."""


class Ask(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing to do: make the tables, say a position, give facts, or store turns; ``more`` turns may follow before they are stored."""

    prepare: bool = False
    position_of: str = ""
    facts_of: tuple[str, ...] | None = None
    turns: tuple[Shipped, ...] = ()
    more: bool = False
    position: Position | None = None
    supersedes: dict[str, str] = {}
    withdrawn: dict[str, str] = {}
    patient: bool = False


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of it; ``error`` says why nothing did."""

    error: str = ""
    position: int | None = None
    facts: dict[str, TurnFacts] = {}
    taken: Taken | None = None


class RemoteLake:
    """A lake that a process of its own holds, started when it is first asked for something and again when it is gone.

    ``held`` are descriptors that the process keeps open as long as it lives.
    """

    def __init__(self, root: str, held: Sequence[int]) -> None:
        self._root = root
        self._held = held
        self._process: tuple[subprocess.Popen[bytes], Link] | None = None

    def prepare(self) -> None:
        """Make the tables if they are missing."""
        self._do(Ask(prepare=True))

    def position(self, journal: str) -> int | None:
        """Up to where a journal is in the lake."""
        return self._do(Ask(position_of=journal)).position

    def facts(self, turn_ids: Iterable[str]) -> Mapping[str, TurnFacts]:
        """The stored facts of turns, by id."""
        return self._do(Ask(facts_of=tuple(turn_ids))).facts

    def write(
        self,
        turns: Sequence[Shipped],
        *,
        position: Position | None = None,
        supersedes: Mapping[str, str] | None = None,
        withdrawn: Mapping[str, str] | None = None,
        patient: bool = False,
    ) -> Taken:
        """Judge turns and store them by turn id; with ``patient`` the answer may leave some to be given again later."""
        for start in range(0, len(turns), _CHUNK):
            self._do(Ask(turns=tuple(turns[start : start + _CHUNK]), more=True))
        ask = Ask(
            position=position, supersedes=dict(supersedes or {}), withdrawn=dict(withdrawn or {}), patient=patient
        )
        return self._do(ask).taken or Taken(Written(0, 0, 0))

    def close(self) -> None:
        """Let the process finish what it is at, and end."""
        if self._process is not None:
            process, link = self._process
            self._process = None
            link.close()
            try:
                process.wait(_ENDING_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _do(self, ask: Ask) -> Reply:
        try:
            link = self._link()
            link.send(ask)
            reply = link.receive(Reply)
        except Closed:
            self.close()
            raise LakeProcessError(
                f"lake {self._root}: the process that holds it is gone, got no answer, expected one; it is started again"
            ) from None
        if reply.error:
            raise LakeProcessError(reply.error)
        return reply

    def _link(self) -> Link:
        if self._process is None:
            ours, theirs = socket.socketpair()
            with theirs:
                process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                    [sys.executable, "-m", _MODULE, str(theirs.fileno()), self._root],
                    stdin=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(), *self._held),
                    env=ALLOCATORS | os.environ,
                )
            self._process = process, Link(ours)
        return self._process[1]
