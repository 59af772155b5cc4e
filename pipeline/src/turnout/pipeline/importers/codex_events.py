"""The two logs of Codex, brought to one shape: session logs of the terminal program, and rollouts.

A session log line holds ``{ts, dir, kind, payload: {id, msg}}``; a rollout line ``{timestamp, type, payload}``, where events and
the items of the model's answers are told apart by ``type``. The first versions of ``codex exec --json`` wrote the bare ``{id, msg}``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from turnout.outcomes.facts import Instant
from turnout.pipeline.importers import fields

SHUTDOWN = "shutdown"
INTERRUPT = "interrupt"
SESSION = "session"
CONTEXT = "turn_context"

_RENAMED = {"turn_started": "task_started", "turn_complete": "task_complete", "session_configured": SESSION}
_ROLLOUT_TYPES = frozenset({"session_meta", "turn_context", "event_msg", "response_item", "compacted"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened: its type, its fields, when, and for which submission."""

    type: str
    body: Mapping[str, object]
    at: Instant | None
    submission: str | None = None


def event_of(line: Mapping[str, object]) -> Event | None:
    """Read one line of either log; ``None`` for lines about the screen."""
    if "dir" in line and "kind" in line:
        return _session_event(line)
    if _is_bare(line):
        return _codex_event(line, None)
    kind, payload, at = fields.text(line, "type"), fields.mapping(line, "payload"), fields.instant(line, "timestamp")
    match kind:
        case "session_meta":
            return Event(type=SESSION, body=payload, at=at)
        case "turn_context":
            return Event(type=CONTEXT, body=payload, at=at)
        case "event_msg" | "response_item":
            name = fields.text(payload, "type") or ""
            return Event(type=_RENAMED.get(name, name), body=payload, at=at)
        case _:
            return None


def is_log(sample: Sequence[Mapping[str, object]]) -> bool:
    """Know either log by its first lines."""
    return any(
        ("dir" in line and "kind" in line and "ts" in line)
        or _is_bare(line)
        or (fields.text(line, "type") in _ROLLOUT_TYPES and isinstance(line.get("payload"), Mapping))
        for line in sample
    )


def _session_event(line: Mapping[str, object]) -> Event | None:
    at, payload = fields.instant(line, "ts"), fields.mapping(line, "payload")
    match line.get("kind"):
        case "codex_event":
            return _codex_event(payload, at)
        case "session_start":
            return Event(type=SESSION, body=line, at=at)
        case "session_end":
            return Event(type=SHUTDOWN, body=line, at=at)
        case "op" if fields.text(payload, "type") in {INTERRUPT, SHUTDOWN}:
            return Event(type=str(payload["type"]), body=payload, at=at)
        case _:
            return None


def _is_bare(line: Mapping[str, object]) -> bool:
    return "id" in line and fields.text(line, "msg", "type") is not None


def _codex_event(payload: Mapping[str, object], at: Instant | None) -> Event:
    body = fields.mapping(payload, "msg")
    name = fields.text(body, "type") or ""
    return Event(type=_RENAMED.get(name, name), body=body, at=at, submission=fields.label(payload, "id"))
