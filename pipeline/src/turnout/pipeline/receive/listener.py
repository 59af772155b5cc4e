"""Runs an ASGI application on granian inside a thread of its own, on a socket that we have opened."""

import asyncio
import contextlib
import resource
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server

from turnout.pipeline.errors import TurnoutError

_BACKLOG = 2048
_CONNECTIONS = 8192
_HEADER_MILLISECONDS = 10_000


class ListenError(TurnoutError):
    """An address that cannot be listened on."""


@dataclass(frozen=True, slots=True)
class Tls:
    """Certificate chain and private key, as PEM files."""

    certificate: Path
    key: Path


class Listener:
    """An HTTP server; it accepts once `start` has returned, and has answered what it took once `stop` has.

    The socket is ours so that port 0 can be asked for its number, and so that a port which another process listens on is an
    error: granian's own sockets share ports.
    """

    def __init__(self, app: Callable[..., object], host: str, port: int, tls: Tls | None = None) -> None:
        self._app = app
        self._tls = tls
        self._socket = _bound(host, port)
        self.host, self.port = host, int(self._socket.getsockname()[1])
        self._loop = asyncio.new_event_loop()
        self._server: _Server | None = None
        self._failure: BaseException | None = None
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="turnout-http", daemon=True)

    def start(self) -> None:
        """Begin to accept."""
        self._thread.start()
        self._started.wait()
        if self._failure is not None:
            raise ListenError(
                f"cannot serve on {self.host}:{self.port}: got {self._failure}; check address and TLS files"
            )

    def stop(self) -> None:
        """End, after the requests in hand have been answered."""
        if self._server is not None:
            self._loop.call_soon_threadsafe(self._server.stop)
            self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as failure:  # noqa: BLE001 - start() raises it where the caller is
            self._failure = failure
        finally:
            self._started.set()
            self._loop.close()

    async def _serve(self) -> None:
        self._server = _Server(self._app, self._socket.detach(), self._tls, self._started.set)
        await self._server.serve()


class _Server(Server):
    """Granian on a given socket."""

    def __init__(self, app: Callable[..., object], handle: int, tls: Tls | None, started: Callable[[], None]) -> None:
        super().__init__(
            app,
            interface=Interfaces.ASGINL,
            http=HTTPModes.http1,
            http1_settings=HTTP1Settings(header_read_timeout=_HEADER_MILLISECONDS),
            websockets=False,
            backlog=_BACKLOG,
            backpressure=_CONNECTIONS,
            log_enabled=False,
            ssl_cert=tls.certificate if tls else None,
            ssl_key=tls.key if tls else None,
        )
        self._handle = handle
        self._accepting = started

    def _init_shared_socket(self) -> None:
        # Granian declares neither these fields nor the arguments of the holder: descriptor, no Unix socket, backlog.
        holder = SocketHolder(self._handle, False, _BACKLOG)  # type: ignore[call-arg]  # noqa: FBT003
        self._shd = holder  # type: ignore[assignment]
        self._sfd = self._handle  # type: ignore[assignment]

    def startup(self, spawn_target: object, target_loader: object) -> None:
        """Start the worker, then say so."""
        super().startup(spawn_target, target_loader)  # type: ignore[no-untyped-call]
        self._accepting()


def _bound(host: str, port: int) -> socket.socket:
    _allow_many_connections()
    listening = bind(host, port)
    listening.listen(_BACKLOG)
    listening.setblocking(False)  # noqa: FBT003 - the library names no keyword
    return listening


def bind(host: str, port: int, wire: str = "") -> socket.socket:
    """A socket of one's own at an address; nobody is heard on it yet.

    Raises:
        ListenError: when another has it or this machine has no such address; ``wire`` says what it was for.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError as error:
        raise ListenError(
            f"cannot listen on {host}:{port}{wire}: got {error.strerror or error}, expected a free address of this machine; name another"
        ) from error
    return listening


def _allow_many_connections() -> None:
    """Lift the soft limit of open files to what the system allows: each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _CONNECTIONS if hard == resource.RLIM_INFINITY else min(_CONNECTIONS, hard)
    if soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
