"""The next turn of a conversation: after an end, after a hand-off, and in place of a segment that died. PURE on entries."""

from collections.abc import Iterable, Sequence

from turnout.outcomes.facts import Limits
from turnout.outcomes.markers import marker, work_of
from turnout.outcomes.state import notice, part_of, waits
from turnout.runtime.agent import TurnTask
from turnout.runtime.messages import AssistantMessage, Message, Origin, ToolMessage, UserMessage
from turnout.runtime.transcript import Entry


def history(entries: Iterable[Entry]) -> tuple[Message, ...]:
    """The conversation that these segments hold, in their order."""
    return tuple(message for entry in entries for message in entry.messages)


def marked(entry: Entry) -> tuple[UserMessage, ...]:
    """What the next model call has to know of how this turn ended."""
    said = marker(notice(entry.seen), work_of(entry.facts))
    return () if said is None else (UserMessage(said, Origin.MARKER),)


def next_turn(
    conversation: Iterable[Message],
    last: Entry,
    text: str,
    *,
    turn_id: str,
    limits: Limits | None = None,
    answers: Sequence[ToolMessage] = (),
) -> TurnTask:
    """The turn that a new message starts after ``last``; a Continue is one, and never a replay.

    ``answers`` are the results of calls with which the last turn handed back: what the client chose, or that an approval was given.
    """
    return TurnTask(
        turn_id=turn_id,
        messages=(*answered(conversation, answers), *marked(last), UserMessage(text)),
        limits=limits or last.facts.limits or Limits(),
        attended=last.facts.attended,
        conversation_id=last.facts.conversation_id,
        continues=last.turn_id if _is_continued(last) else None,
    )


def recovery(conversation: Iterable[Message], last: Entry, *, turn_id: str) -> TurnTask:
    """The segment that takes up a turn whose last segment died; to a person it is the same turn."""
    return TurnTask(
        turn_id=turn_id,
        messages=(*conversation, *marked(last)),
        limits=last.facts.limits or Limits(),
        attended=last.facts.attended,
        conversation_id=last.facts.conversation_id,
        continues=last.facts.continues_turn_id,
        root_turn_id=last.root_turn_id,
        parent_turn_id=last.facts.parent_turn_id,
    )


def waiting_calls(entry: Entry) -> tuple[str, ...]:
    """The ids of the calls with which a turn handed back."""
    calls = (call for step in entry.facts.steps for call in step.tool_calls)
    return tuple(call.id for call in calls if call.id is not None and waits(part_of(call)))


def answered(messages: Iterable[Message], answers: Sequence[ToolMessage]) -> tuple[Message, ...]:
    """The conversation with late results, each after the message that made the call."""
    late = {answer.call_id: answer for answer in answers}
    whole: list[Message] = []
    for message in messages:
        whole.append(message)
        if isinstance(message, AssistantMessage):
            whole += [late[call.id] for call in message.calls if call.id in late]
    return tuple(whole)


def _is_continued(entry: Entry) -> bool:
    """Whether the turn left something to go on with, so that the next one continues it."""
    return bool(marked(entry)) or bool(waiting_calls(entry)) or entry.facts.yield_ is not None
