"""Processes that a tool starts, and their end to the last child.

A process gets a session of its own and a mark in its environment. Ending it means every process of its group and, where the
system shows environments (Linux), every process that carries the mark, which also finds children that left the group.
"""

import asyncio
import contextlib
import os
import signal
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

GRACE_SECONDS = 2.0
"""How long a process may take to end by itself after SIGTERM."""

_POLL_SECONDS = 0.02
_MARK = "TURNOUT_WORK"
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How a process ended; a negative code is the signal."""

    code: int
    stdout: bytes
    stderr: bytes


class _Output(asyncio.SubprocessProtocol):
    """Gathers a program's output; that it exited and that its pipes are closed are two events."""

    def __init__(self) -> None:
        self.written = {1: bytearray(), 2: bytearray()}
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.written[fd] += data

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.closed.set()


class ProcessWork:
    """A process of a tool call, as work that can be ended."""

    def __init__(
        self, transport: asyncio.SubprocessTransport, output: _Output, mark: str, grace_seconds: float
    ) -> None:
        self._transport = transport
        self._output = output
        self._pid = transport.get_pid()
        self._mark = f"{_MARK}={mark}".encode()
        self._grace_seconds = grace_seconds

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        grace_seconds: float = GRACE_SECONDS,
    ) -> Self:
        """Start a program in a session of its own; ``env`` None means the environment of this process."""
        mark = uuid.uuid4().hex
        transport, output = await asyncio.get_running_loop().subprocess_exec(
            _Output,
            *argv,
            cwd=cwd,
            env={**(os.environ if env is None else env), _MARK: mark},
            stdin=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        return cls(transport, output, mark, grace_seconds)

    async def finished(self) -> ProcessEnd:
        """Wait for the program's own end and its whole output; what it left running ends with it."""
        await self._output.exited.wait()
        await self.end()
        await self._output.closed.wait()
        code = self._transport.get_returncode()
        assert code is not None
        return ProcessEnd(code, bytes(self._output.written[1]), bytes(self._output.written[2]))

    async def end(self) -> None:
        """SIGTERM, and after the grace SIGKILL, to all that is left; returns when nothing is.

        A cancellation of the wait kills without a grace, so that a closing event loop leaves nothing behind either.
        """
        try:
            self._signal(signal.SIGTERM)
            await self._gone_within(self._grace_seconds)
        finally:
            while self._alive():
                self._signal(signal.SIGKILL)
                await asyncio.sleep(_POLL_SECONDS)
            await self._output.closed.wait()

    async def _gone_within(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._alive():  # noqa: ASYNC110 - the system tells nobody when the last of a group is gone
                    await asyncio.sleep(_POLL_SECONDS)

    def _signal(self, number: signal.Signals) -> None:
        """Send to the group, and to marked processes outside of it."""
        if _PROC.is_dir():
            for pid in self._members():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        elif self._alive():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._pid, number)

    def _alive(self) -> bool:
        if _PROC.is_dir():
            return bool(self._members())
        try:
            os.killpg(self._pid, 0)
        except ProcessLookupError:
            return False
        return True

    def _members(self) -> list[int]:
        return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit() and self._is_member(entry)]

    def _is_member(self, entry: Path) -> bool:
        with contextlib.suppress(OSError):  # gone meanwhile, or of another user
            state, _parent, group, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
            if state in "ZX":
                return False
            return int(group) == self._pid or self._mark in (entry / "environ").read_bytes().split(b"\0")
        return False
