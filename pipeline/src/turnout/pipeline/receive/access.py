"""Who may write: bearer tokens, each with a name and the services it may write; they are compared in constant time, never logged."""

import hmac
import ipaddress
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from turnout.pipeline.errors import TurnoutError
from turnout.pipeline.receive.refusals import Refused, Why


class AccessError(TurnoutError):
    """A token file that cannot be used, or an address that must not be opened without one."""


@dataclass(frozen=True, slots=True)
class Token:
    """One sender: ``services`` empty means any."""

    name: str
    secret: bytes = field(repr=False)
    services: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Access:
    """The tokens of a receiver; none means that anyone who can reach it may write."""

    tokens: tuple[Token, ...] = ()

    def admit(self, authorization: str) -> Token | None:
        """Find the sender of a request by its Authorization header, or refuse it."""
        if not self.tokens:
            return None
        scheme, _, given = authorization.strip().partition(" ")
        secret = given.strip().encode() if scheme.lower() == "bearer" else b""
        # Every token is compared, so that the time taken tells nothing.
        matches = [token for token in self.tokens if hmac.compare_digest(token.secret, secret)]
        if not matches:
            raise Refused(
                Why.UNAUTHENTICATED,
                f"not let in: got {'an unknown token' if secret else 'no bearer token'}, expected 'Authorization: Bearer TOKEN'; "
                "set it with OTEL_EXPORTER_OTLP_HEADERS",
            )
        return matches[0]


def allow(token: Token | None, services: Iterable[str]) -> None:
    """Refuse a request that carries telemetry of a service its token may not write."""
    if token is None or not token.services:
        return
    foreign = sorted(set(services) - token.services)
    if foreign:
        raise Refused(
            Why.FORBIDDEN,
            f"the token {token.name!r} may not write: got service {foreign[0]!r}, expected one of {sorted(token.services)}",
        )


def read_tokens(path: Path) -> Access:
    """Read a TOML file: one table a name, with ``token`` and, if it is bound to some, ``services``."""
    try:
        tables = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise AccessError(
            f'cannot read the tokens in {path}: got {error}, expected TOML with [name], token = "…"'
        ) from error
    if not tables:
        raise AccessError(f'no token in {path}: got an empty file, expected at least one [name] with token = "…"')
    return Access(tuple(_token(path, name, table) for name, table in tables.items()))


def _token(path: Path, name: str, table: object) -> Token:
    match table:
        case {"token": str(secret), **rest} if secret and set(rest) <= {"services"}:
            services = rest.get("services", [])
            if isinstance(services, list) and all(isinstance(service, str) for service in services):
                return Token(name, secret.encode(), frozenset(map(str, services)))
        case _:
            pass
    raise AccessError(
        f'cannot use [{name}] in {path}: expected token = "…" and, if it is bound to some, services = ["…"]; correct it'
    )


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_exposure(host: str, access: Access, *, insecure: bool) -> None:
    """Refuse to open an address that others can reach without a token, unless told to."""
    if not (is_loopback(host) or access.tokens or insecure):
        raise AccessError(
            f"will not listen on {host} without a token: anyone who reaches it could write; give --tokens FILE, or --insecure to do it"
        )
