"""What the assembler keeps, as one file beside the journal: with it, older segments are no longer needed.

The file names the position up to which it stands for the journal. It is written whole under another name, synced and renamed; one that is
damaged is refused, since turns would be lost in silence.
"""

import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import msgspec

from turnout.pipeline.errors import TurnoutError
from turnout.pipeline.grouping import Group, Told
from turnout.pipeline.telemetry import LogRecord, Record, Resource, Scope, Span, SpanEvent, SpanStatus, Value

STATE_FILE = "state.msgpack"

_MAGIC = b"TURNSTA\x01"
_CHECKSUM_BYTES = 4
_GROUP_FIELDS = (
    "number",
    "first_at",
    "last_at",
    "unrecognised",
    "fresh_at",
    "looked_at",
    "pending",
    "died_at",
    "due",
)
_MAX_INT = 2**64


class StateError(TurnoutError):
    """The kept state cannot be read."""


@dataclass(frozen=True, slots=True)
class State:
    """Groups of records, and the journal position up to which they stand for it."""

    position: int = 0
    groups: tuple[Group, ...] = ()


@dataclass(slots=True)
class _Shared:
    """Scopes and resources, each written once."""

    scopes: list[Scope] = field(default_factory=list[Scope])
    resources: list[Resource] = field(default_factory=list[Resource])
    _numbers: dict[int, int] = field(default_factory=dict[int, int])

    def scope(self, scope: Scope) -> int:
        return self._number(scope, self.scopes)

    def resource(self, resource: Resource) -> int:
        return self._number(resource, self.resources)

    def _number(self, value: Any, known: list[Any]) -> int:
        # By object: the records of one block of an export share theirs.
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(known)
            known.append(value)
        return self._numbers[id(value)]


def write_state(folder: Path, position: int, groups: Iterable[Group]) -> None:
    """Store the groups; the file that was there before stays until this one is on disk."""
    payload = _encoded(position, groups)
    draft = folder / f"{STATE_FILE}.new"
    with draft.open("wb") as stream:
        stream.write(_MAGIC + zlib.crc32(payload).to_bytes(_CHECKSUM_BYTES) + payload)
        stream.flush()
        os.fsync(stream.fileno())
    draft.replace(folder / STATE_FILE)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_state(folder: Path) -> State:
    """Read what was stored; an empty state where nothing was."""
    path = folder / STATE_FILE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return State()
    payload = content[len(_MAGIC) + _CHECKSUM_BYTES :]
    checksum = int.from_bytes(content[len(_MAGIC) : len(_MAGIC) + _CHECKSUM_BYTES])
    if not content.startswith(_MAGIC) or zlib.crc32(payload) != checksum:
        raise StateError(
            f"cannot read {path}: got a damaged file, expected the open turns of the journal; move it away to go on without them"
        )
    return _decoded(msgspec.msgpack.decode(payload))


def _encoded(position: int, groups: Iterable[Group]) -> bytes:
    shared = _Shared()
    rows = [_group(group, shared) for group in groups]
    document: dict[str, object] = {
        "position": position,
        "groups": rows,
        "scopes": [[scope.name, scope.version] for scope in shared.scopes],
        "resources": [resource.attributes for resource in shared.resources],
    }
    try:
        return msgspec.msgpack.encode(document)
    except OverflowError:
        return msgspec.msgpack.encode(_bounded(msgspec.to_builtins(document)))


def _group(group: Group, shared: _Shared) -> dict[str, object]:
    row: dict[str, object] = {name: getattr(group, name) for name in _GROUP_FIELDS}
    return row | {
        "keys": sorted(group.keys),
        "emitted": {turn_id: told.digest for turn_id, told in group.emitted.items()},
        "records": [_record(record, shared) for record in group.records],
    }


def _record(record: Record, shared: _Shared) -> dict[str, object]:
    row: dict[str, object] = {name: getattr(record, name) for name in _NAMES[type(record)]}
    row["scope"], row["resource"] = shared.scope(record.scope), shared.resource(record.resource)
    return row


_NAMES: Mapping[type, tuple[str, ...]] = {
    kind: tuple(item.name for item in fields(kind) if item.name not in {"scope", "resource"})
    for kind in (Span, LogRecord)
}


def _bounded(value: Any) -> Any:
    """Integers that the format cannot hold, as floats: no count that means anything is so large."""
    match value:
        case dict():
            return {key: _bounded(item) for key, item in value.items()}
        case list() | tuple():
            return [_bounded(item) for item in value]
        case int() if abs(value) >= _MAX_INT // 2:
            return float(min(max(value, -(2**1000)), 2**1000))
        case _:
            return value


def _decoded(document: Mapping[str, Any]) -> State:
    scopes = [Scope(name, version) for name, version in document["scopes"]]
    resources = [Resource(_attributes(attributes)) for attributes in document["resources"]]
    groups: list[Group] = []
    for row in document["groups"]:
        emitted = {turn_id: Told(digest=digest) for turn_id, digest in row["emitted"].items()}
        group = Group(**{name: row[name] for name in _GROUP_FIELDS}, keys=set(row["keys"]), emitted=emitted)
        for record in row["records"]:
            group.add(_restored(record, scopes, resources))
        groups.append(group)
    return State(document["position"], tuple(groups))


def _restored(row: dict[str, Any], scopes: list[Scope], resources: list[Resource]) -> Record:
    """Rebuild one record; a field that this version does not know is left out, one that the file lacks has its default."""
    kind = Span if "parent_id" in row else LogRecord
    known: dict[str, Any] = {name: value for name, value in row.items() if name in _NAMES[kind]}
    known["scope"], known["resource"] = scopes[row["scope"]], resources[row["resource"]]
    known["attributes"] = _attributes(row["attributes"])
    if kind is LogRecord:
        known["body"] = _value(row["body"])
        return LogRecord(**known)
    known["status"] = SpanStatus(row["status"])
    known["events"] = tuple(
        SpanEvent(one["name"], one["time"], _attributes(one["attributes"])) for one in row["events"]
    )
    return Span(**known)


def _attributes(values: Mapping[str, Any]) -> dict[str, Value]:
    return {key: _value(value) for key, value in values.items()}


def _value(value: Any) -> Value:
    if isinstance(value, list):
        return tuple(_value(item) for item in value)
    if isinstance(value, dict):
        return _attributes(value)
    plain: str | bool | int | float | bytes | None = value
    return plain
