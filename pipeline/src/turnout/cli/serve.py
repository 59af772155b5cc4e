"""``turnout serve``: the OTLP receiver over a lake, until Ctrl-C or SIGTERM."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from turnout.pipeline.errors import TurnoutError

if TYPE_CHECKING:
    from turnout.pipeline.receive.service import Options, Service

_UNITS = {"s": 1, "m": 60, "h": 3600}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smh])")
_NANOS = 1_000_000_000
_MIB = 1024 * 1024


class Duration(click.ParamType[int]):
    """A length of time such as 90s, 15m or 1h, as nanoseconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read one."""
        if isinstance(value, int):
            return value
        found = _DURATION.fullmatch(str(value).strip())
        if found is None:
            self.fail(f"got {value!r}, expected a number with s, m or h, such as 15m", param, ctx)
        return int(float(found[1]) * _UNITS[found[2]] * _NANOS)


_PORT = click.IntRange(0, 65535)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OPTIONS: tuple[Callable[[Callable[..., None]], Callable[..., None]], ...] = (
    click.option(
        "--lake", envvar="TURNOUT_LAKE", default="./turnout-lake", show_default=True, help="Folder or URL of the lake."
    ),
    click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
    click.option(
        "--port",
        type=_PORT,
        default=4318,
        show_default=True,
        help="OTLP/HTTP, /healthz and /metrics; 0 takes a free one.",
    ),
    click.option("--grpc-port", type=_PORT, default=4317, show_default=True, help="OTLP/gRPC; 0 takes a free one."),
    click.option("--no-grpc", is_flag=True, help="Leave OTLP/gRPC out."),
    click.option("--tokens", type=_FILE, help='TOML file of bearer tokens: [name], token = "…", services = ["…"].'),
    click.option("--tls-cert", type=_FILE, help="Certificate chain (PEM); with --tls-key."),
    click.option("--tls-key", type=_FILE, help="Private key (PEM)."),
    click.option("--insecure", is_flag=True, help="Listen on an address that others reach without a token."),
    click.option(
        "--memory",
        type=click.IntRange(256),
        default=512,
        show_default=True,
        help="Bound in MiB; past it senders hear 503.",
    ),
    click.option(
        "--journal",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder of the journal; default: journal in the lake.",
    ),
    click.option(
        "--quiet",
        type=Duration(),
        default="15m",
        show_default=True,
        help="After so long without a word a turn without an end is interrupted.",
    ),
)


def options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a receiver to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@click.command()
@options
def command(lake: str, **given: Any) -> None:
    """Receive OTLP and keep every turn with its outcome, until Ctrl-C."""
    from turnout.pipeline.receive.service import Service

    service = Service(lake, service_options(**given))
    service.run(lambda: click.echo(f"turnout: {welcome(service)}", err=True))


def welcome(service: "Service") -> str:
    """Say where a started receiver listens, and who can reach it."""
    from turnout.pipeline.receive.access import is_loopback

    host = service.options.host
    who = "this machine alone" if is_loopback(host) else "every machine that reaches this one"
    doors = service.endpoint + (f" and, for gRPC, {service.grpc_endpoint}" if service.grpc_endpoint else "")
    tokens = f"; {len(service.options.access.tokens)} tokens" if service.options.access.tokens else ""
    return f"receiving OTLP on {doors}, from {who}{tokens}; into {service.root}; stop with Ctrl-C"


def service_options(  # one line an option of the command line
    *,
    host: str,
    port: int,
    grpc_port: int,
    no_grpc: bool,
    tokens: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    insecure: bool,
    memory: int,
    journal: Path | None,
    quiet: int,
) -> "Options":
    """Turn the options of the command line into those of the service."""
    from turnout.pipeline.assemble import Pace
    from turnout.pipeline.receive.access import Access, read_tokens
    from turnout.pipeline.receive.listener import Tls
    from turnout.pipeline.receive.service import Options

    if (tls_cert is None) != (tls_key is None):
        raise TurnoutError(
            "TLS needs both files: got one of --tls-cert and --tls-key, expected both; give the other too"
        )
    return Options(
        host=host,
        port=port,
        grpc_port=None if no_grpc else grpc_port,
        journal=journal,
        access=read_tokens(tokens) if tokens else Access(),
        tls=Tls(tls_cert, tls_key) if tls_cert and tls_key else None,
        insecure=insecure,
        memory_bytes=memory * _MIB,
        apart=True,
        pace=Pace(quiet=quiet),
    )
