"""JSON of the two contracts: bytes to turn facts, turn facts and verdicts to bytes; and what goes between two processes, which is no contract.

``null`` and an empty string mean "not recorded" wherever they stand; an empty object still stands for the thing (an empty
``refusal`` is a refusal). Unknown keys are kept out and named, never an error; a negative number where only a count can stand
is kept out and named too, for it says nothing, and the rest of the turn still does.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import UnionType
from typing import Any, Final, NamedTuple, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec

from turnout.outcomes.facts import TURN_SCHEMA, Step, TurnFacts
from turnout.outcomes.instants import parse_instant
from turnout.outcomes.record import INSTANTS, turn_record, verdict_record
from turnout.outcomes.verdict import Verdict
from turnout.pipeline.errors import TurnoutError

_SPELLED: Final = {"yield": "yield_"}
_SHOWN: Final = 60
_MOST: Final = 2**53
_MAY_BE_NEGATIVE: Final = frozenset({"exit_code", "seq", "status", "reward", "index"})
# Complaints are kept in the ledger, and a text of several words may be content; a word or a moment is no more than a slip.
_WORD = re.compile(r"\S+|[\d\s.,:TZ+-]+")
_COMPLAINT = re.compile(r"Expected (?P<expected>.+?)(?:, got (?P<got>.+?))?(?: - at `\$\.?(?P<path>.*)`)?")


class FactsError(TurnoutError):
    """A value that is no turn facts: where it stands, what was there, and what belongs there."""

    def __init__(self, path: str, got: str, expected: str) -> None:
        super().__init__(f"{path}: got {got}, expected {expected}")
        self.path = path
        self.got = got
        self.expected = expected


@dataclass(frozen=True, slots=True)
class DecodedTurn:
    """The facts of one turn, and what was kept out of them.

    Attributes:
        unknown_keys: the keys of its object that no contract knows, as ``steps.colour``, each once.
        negative: the counts below zero, each a complaint.
    """

    turn: TurnFacts
    unknown_keys: tuple[str, ...]
    negative: tuple[FactsError, ...] = ()


@dataclass(frozen=True, slots=True)
class _Key:
    """How the value of one key is read: as an instant, as a record of keys of its own, as a list of such, or as it is."""

    name: str
    is_instant: bool = False
    is_count: bool = False
    is_whole: bool = False
    is_status: bool = False
    record: type | None = None
    words: tuple[str, ...] = ()


_Keys: TypeAlias = Mapping[str, _Key]


class _KeptOut(NamedTuple):
    """What a reading leaves out of the facts, as it is met."""

    unknown: dict[str, None]
    negative: list[FactsError]


def _keys_of(record: type) -> _Keys:
    found: dict[str, _Key] = {}
    for name, hint in get_type_hints(record).items():
        spelled = next((key for key, field in _SPELLED.items() if field == name), name)
        parts = get_args(hint)
        found[spelled] = _Key(
            name,
            is_instant=name in INSTANTS,
            is_count=_is_count(name, hint),
            is_whole=int in parts and float not in parts,
            is_status=name == "status" and str in parts,
            record=_record_in(hint),
            words=_words_in(hint),
        )
    return found


def _is_count(name: str, hint: Any) -> bool:
    return name not in INSTANTS | _MAY_BE_NEGATIVE and not {int, float}.isdisjoint(get_args(hint))


def _record_in(hint: Any) -> type | None:
    """The dataclass inside ``X | None`` or ``tuple[X, ...]``, if there is one."""
    if get_origin(hint) in {Union, UnionType, tuple}:
        return next((found for part in get_args(hint) if (found := _record_in(part)) is not None), None)
    return hint if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__") else None


def _words_in(hint: Any) -> tuple[str, ...]:
    """The words of the enum inside ``X | None``, if there is one."""
    enums = [part for part in get_args(hint) if isinstance(part, type) and issubclass(part, StrEnum)]
    return tuple(str(member) for enum in enums for member in enum)


_KEYS: dict[type, _Keys] = {}


def _register(record: type) -> None:
    if record not in _KEYS:
        _KEYS[record] = _keys_of(record)
        for key in _KEYS[record].values():
            if key.record is not None:
                _register(key.record)


_register(TurnFacts)


def decode_turn(data: bytes | Mapping[str, object]) -> DecodedTurn:
    """Read one ``turnout.turn/1`` object from its JSON or from the mapping that it decodes to.

    Raises:
        FactsError: when it is no such object.
    """
    value = _parsed(data) if isinstance(data, bytes) else data
    if not isinstance(value, Mapping):
        raise FactsError("line", _shown(value), "an object of turn facts")
    schema = value.get("schema")
    if schema not in (None, "", TURN_SCHEMA):  # a tuple: a list is no key of a set
        raise FactsError("schema", _shown(schema), repr(TURN_SCHEMA))
    out = _KeptOut({}, [])
    plain = _read({key: part for key, part in value.items() if key != "schema"}, TurnFacts, "", out)
    if "turn_id" not in plain:
        raise FactsError("turn_id", "nothing", "a string that names the turn")
    try:
        return DecodedTurn(msgspec.convert(plain, TurnFacts), tuple(out.unknown), tuple(out.negative))
    except msgspec.ValidationError as error:
        raise _complaint(str(error), value) from None


def encode_turn(turn: TurnFacts) -> bytes:
    """One ``turnout.turn/1`` object as JSON; equal facts give equal bytes."""
    return msgspec.json.encode(turn_record(turn))


def pack_turn(turn: TurnFacts) -> bytes:
    """The facts for another process or for later, made in a tenth of the time of their JSON; the same facts give the same bytes.

    Raises:
        OverflowError: when a number is larger than 64 bits can hold.
    """
    return _PACKER.encode(turn)


def unpack_turn(packed: bytes) -> TurnFacts:
    """The facts that were packed."""
    return _UNPACKER.decode(packed)


_PACKER: Final = msgspec.msgpack.Encoder()
_UNPACKER: Final = msgspec.msgpack.Decoder(TurnFacts)


def encode_verdict(verdict: Verdict) -> bytes:
    """One ``turnout.verdict/1`` object as JSON."""
    return msgspec.json.encode(verdict_record(verdict))


def _parsed(data: bytes) -> object:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        reason = str(error) or type(error).__name__
        raise FactsError("line", f"text that is no JSON ({reason})", "one JSON object a line") from None


def _read(value: Mapping[str, Any], record: type, path: str, out: _KeptOut) -> dict[str, object]:
    """The keys that the record has, renamed, instants as numbers, without anything that is not recorded."""
    keys = _KEYS[record]
    found: dict[str, object] = {}
    for spelled, part in value.items():
        key = keys.get(spelled)
        if key is None:
            out.unknown[_unplaced(f"{path}{spelled}")] = None
        elif key.is_count and isinstance(part, int | float) and part < 0:
            out.negative.append(FactsError(f"{path}{spelled}", _shown(part), "a number from 0"))
        elif part is not None and part != "":
            found[key.name] = _value(part, key, f"{path}{spelled}", out)
    if record is Step and isinstance(index := found.get("index"), int) and index < 1:
        raise FactsError(f"{path}index", str(index), "an integer from 1")
    return found


def _value(part: object, key: _Key, path: str, out: _KeptOut) -> object:
    if key.is_instant:
        return _instant(part, path)
    if key.record is not None:
        if isinstance(part, Mapping):
            return _read(part, key.record, f"{path}.", out)
        if isinstance(part, list | tuple):
            return [_entry(entry, key.record, f"{path}[{n}]", out) for n, entry in enumerate(part)]
    if key.words and part not in key.words:
        raise FactsError(path, _shown(part), f"one of {', '.join(key.words)}")
    if key.is_whole and isinstance(part, float) and part.is_integer():
        part = int(part)  # JSON has one kind of number, and some languages write every one with a point
    if key.is_status and type(part) is int:
        return str(part)
    if type(part) is int and not -_MOST <= part <= _MOST:
        raise FactsError(path, _shown(part), "an integer of at most 53 bits")
    return part


def _entry(entry: object, record: type, path: str, out: _KeptOut) -> object:
    return _read(entry, record, f"{path}.", out) if isinstance(entry, Mapping) else entry


def _instant(part: object, path: str) -> int:
    if not isinstance(part, str):
        raise FactsError(path, _shown(part), "an RFC 3339 date-time as text")
    try:
        return parse_instant(part)
    except (ValueError, OverflowError):
        raise FactsError(path, _shown(part), "an RFC 3339 date-time with an offset, as 2026-01-05T10:00:00Z") from None


def _unplaced(path: str) -> str:
    """A path without the numbers of its list entries, so that one key counts as one."""
    return re.sub(r"\[\d+\]", "", path)


def _complaint(text: str, value: Mapping[str, Any]) -> FactsError:
    """The decoder's complaint with the value itself in place of its type."""
    match = _COMPLAINT.fullmatch(text)
    if match is None:
        return FactsError("line", text, "turn facts")
    path = (match["path"] or "line").replace("yield_", "yield")
    expected = match["expected"].replace("`", "").replace(" | null", "")
    got = _shown_at(value, path) or (match["got"] or "something else").replace("`", "")
    return FactsError(path, got, expected)


def _shown_at(value: object, path: str) -> str | None:
    for step in re.findall(r"[^.\[\]]+", path):
        if isinstance(value, list | tuple) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        elif isinstance(value, Mapping) and step in value:
            value = value[step]
        else:
            return None
    return _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str) and not _WORD.fullmatch(value):
        return f"a text of {len(value)} characters"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
