"""OpenHands trajectories: the events of one conversation as a list, brought to the shape of an output's run.

A message of the user opens a turn. The metrics that events carry are those of the whole conversation so far, so each turn gets the
requests that its own events name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from turnout.pipeline.importers import fields

_SOURCES = frozenset({"agent", "user", "environment"})
_RUNNING, _FAILED, _STOPPED = "running", "error", "stopped"
STOPPED = "AgentState.STOPPED"
"""What stands as the error of a run that somebody stopped."""

Entry = Mapping[str, object]


def is_event(value: object) -> bool:
    """Say whether a value is one event of a conversation."""
    done = fields.text(value, "action") or fields.text(value, "observation")
    return done is not None and fields.text(value, "source") in _SOURCES and fields.integer(value, "id") is not None


def tells(value: object) -> bool:
    """Say whether a value is an event that nobody else writes: with what it was asked, or what came of it."""
    more = ("args", "extras", "tool_call_metadata")
    return (
        is_event(value)
        and fields.text(value, "timestamp") is not None
        and any(fields.mapping(value, key) for key in more)
    )


def events_in(document: object) -> tuple[Entry, ...]:
    """Find the events of a document that holds them under a key, as the program's interface gives them."""
    lists = (fields.objects(document, key) for key in ("events", "trajectory"))
    return next((found for found in lists if any(map(tells, found))), ())


def runs_of(events: Sequence[Entry]) -> Iterator[Mapping[str, object]]:
    """Cut a conversation into its turns, each in the shape of an output's run."""
    metrics = next((found for event in reversed(events) if (found := fields.mapping(event, "llm_metrics"))), {})
    for turn in _turns(events):
        answers = {fields.text(event, "tool_call_metadata", "model_response", "id") for event in turn} - {None}
        usages = [u for u in fields.objects(metrics, "token_usages") if fields.text(u, "response_id") in answers]
        yield {"history": list(turn), "metrics": {"token_usages": usages}, "error": _error(turn), "opened_by": turn[0]}


def _turns(events: Iterable[Entry]) -> Iterator[list[Entry]]:
    turn: list[Entry] = []
    for event in events:
        asked = event.get("source") == "user" and event.get("action") == "message"
        if asked and any(_is_of_turn(known) for known in turn):
            yield turn
            turn = []
        turn.append(event)
    if any(_is_of_turn(known) for known in turn):
        yield turn


def _is_of_turn(event: Entry) -> bool:
    return event.get("action") == "message" or (
        event.get("source") == "agent" and fields.text(event, "action") not in {None, "system"}
    )


def _error(turn: Sequence[Entry]) -> str | None:
    """Say why the agent's last state is no clean one; a conversation that is closed stops the agent where it rests."""
    changes = [event for event in turn if event.get("observation") == "agent_state_changed"]
    while len(changes) > 1 and _state(changes[-1]) == _STOPPED and _state(changes[-2]) != _RUNNING:
        changes.pop()
    last = changes[-1] if changes else {}
    if _state(last) == _STOPPED:
        return STOPPED
    words = fields.text(last, "extras", "reason") or fields.text(last, "content")
    return (words or "AgentState.ERROR") if _state(last) == _FAILED else None


def _state(change: Entry) -> str:
    return (fields.text(change, "extras", "agent_state") or "").lower()
