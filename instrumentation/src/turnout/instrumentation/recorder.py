"""The recorder: opens turns, and hands what they tell to a sink."""

import hashlib
import hmac
import os
import random
import time
import weakref
from collections.abc import Callable
from typing import Final, ParamSpec, Protocol

from opentelemetry import trace
from opentelemetry.trace import SpanContext, TraceFlags

from turnout.instrumentation import attributes as names
from turnout.instrumentation.batch import call_if_alive
from turnout.instrumentation.known import Values, values_of
from turnout.instrumentation.losses import LOSSES, Losses
from turnout.instrumentation.sink import Nothing, Place, Sink
from turnout.instrumentation.spans import span_name
from turnout.instrumentation.state import TurnState
from turnout.instrumentation.texts import text
from turnout.instrumentation.turn import TurnHandle, current_turn
from turnout.outcomes.facts import Limits, Requester, StopMode

P = ParamSpec("P")

_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)
_NOT_SAMPLED: Final = TraceFlags(TraceFlags.DEFAULT)


class Ids(Protocol):
    """Where ids come from."""

    def turn_id(self) -> str:
        """A new turn's id."""
        ...

    def trace_id(self) -> int:
        """A new trace's id, not zero."""
        ...

    def span_id(self) -> int:
        """A new span's id, not zero."""
        ...


class RandomIds:
    """Ids that nobody can guess or repeat."""

    def __init__(self) -> None:
        self._random = random.Random()  # noqa: S311 - ids are no secrets, and a system call each would cost more than the span
        seed = weakref.WeakMethod(self._seed)
        os.register_at_fork(after_in_child=lambda: call_if_alive(seed))

    def turn_id(self) -> str:
        """128 random bits, as hexadecimal text."""
        return f"{self._random.getrandbits(128):032x}"

    def trace_id(self) -> int:
        """128 random bits."""
        return self._random.getrandbits(128) or 1

    def span_id(self) -> int:
        """64 random bits."""
        return self._random.getrandbits(64) or 1

    def _seed(self) -> None:
        self._random.seed()


class Recorder:
    """Records turns of an agent; safe to share between threads and tasks.

    Args:
        sink: where records go; several are joined by `turnout.instrumentation.FanOut`.
        service: the service that the agent runs in.
        environment: where it is deployed.
        source: what records the turn: ``turnout`` itself, or the framework whose hooks feed it.
        hash_key: the key of the hashes of user ids and tool arguments; without one neither is recorded.
        clock: nanoseconds since the Unix epoch.
        ids: where ids come from.
        losses: where losses and faults are counted.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        service: str | None = None,
        environment: str | None = None,
        source: str = names.SCOPE,
        hash_key: bytes | None = None,
        clock: Callable[[], int] = time.time_ns,
        ids: Ids | None = None,
        losses: Losses = LOSSES,
    ) -> None:
        self.sink = sink
        self.losses = losses
        self.now = clock if clock is time.time_ns else self._safe(clock)
        self._service = service
        self._environment = environment
        self._source = source
        self._hash_key = hash_key
        self._ids = ids or RandomIds()
        self._open: weakref.WeakValueDictionary[str, TurnState] = weakref.WeakValueDictionary()

    def turn(
        self,
        *,
        agent: str | None = None,
        agent_version: str | None = None,
        agent_id: str | None = None,
        conversation_id: str | None = None,
        user_id: str | None = None,
        attended: bool | None = None,
        limits: Limits | None = None,
        continues: TurnHandle | str | None = None,
        turn_id: str | None = None,
        root_turn_id: str | None = None,
        parent_turn_id: str | None = None,
        source: str | None = None,
    ) -> TurnHandle:
        """Open a turn, emit its start, and return the handle that ends it.

        Args:
            agent: the agent's name.
            agent_version: the version of its prompt, tools and model.
            agent_id: its id in the provider's system; a span attribute alone.
            conversation_id: as the application names it; never made up.
            user_id: kept as a keyed hash alone.
            attended: a person is there who could press Continue.
            limits: the one budget that the loop keeps to.
            continues: the turn that a person continued.
            turn_id: given where the application has an id that is stable over retries and replays.
            root_turn_id: the first segment's id, where this is a recovery segment of a turn.
            parent_turn_id: the turn whose tool call starts this one; the current turn where none is given.
            source: what records this turn, where it is not the recorder's own source.
        """
        try:
            return self._opened(
                {
                    "turn_id": text(turn_id),
                    "root_turn_id": text(root_turn_id),
                    "parent_turn_id": text(parent_turn_id),
                    "continues_turn_id": continues.turn_id if isinstance(continues, TurnHandle) else text(continues),
                    "conversation_id": text(conversation_id),
                    "user_id": self.digest(user_id) if user_id is not None else None,
                    "agent": text(agent),
                    "agent_version": text(agent_version),
                    "source": source or self._source,
                    "attended": attended,
                    "limits": values_of(limits) if isinstance(limits, Limits) else None,
                },
                text(agent_id),
            )
        except Exception as fault:  # noqa: BLE001 - the ids and the clock may be the host's
            self.losses.fault("Recorder.turn", fault)
            return unrecorded(self.losses)

    def _opened(self, given: Values, agent_id: str | None) -> TurnHandle:
        parent = self._parent(given["parent_turn_id"])
        place = self._place(span_name(names.INVOKE_AGENT, given["agent"]))
        given["turn_id"] = given["turn_id"] or self._ids.turn_id()
        given |= {
            "parent_turn_id": parent.turn_id if parent is not None else given["parent_turn_id"],
            "trace_id": f"{place.context.trace_id:032x}" if place is not None else None,
            "service": self._service,
            "environment": self._environment,
            "started_at": self.now(),
        }
        values = {key: value for key, value in given.items() if value is not None}
        state = TurnState(self, values, place, agent_id)
        if parent is not None:
            parent.child(values["turn_id"])
        self._open[values["turn_id"]] = state
        state.started()
        return TurnHandle(state)

    def stop(
        self,
        mode: StopMode | str = StopMode.IMMEDIATE,
        reason: str = "user_stop",
        *,
        by: Requester | str = Requester.USER,
        conversation_id: str | None = None,
        turn_id: str | None = None,
    ) -> int:
        """Record a request to stop for the open turns of a conversation, or for one turn, from outside of it.

        For applications whose agent runs in a framework: call it where the person's stop arrives, before the run is cancelled, because a
        cancelled run cannot tell who cancelled it. Returns how many turns it was recorded for.
        """
        found = [
            state
            for state in list(self._open.values())
            if text(turn_id) == state.values["turn_id"]
            or (conversation_id is not None and text(conversation_id) == state.values.get("conversation_id"))
        ]
        for state in found:
            TurnHandle(state).stop(mode, reason, by=by)
        return len(found)

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Wait until what is queued is exported; false when that took longer."""
        return self.sink.flush(timeout_s)

    def close(self, timeout_s: float = 5.0) -> bool:
        """Export what is queued and end the sink's threads."""
        return self.sink.close(timeout_s)

    # What the handles ask.

    def emit(self, hand_on: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Hand a record to the sink by one of its methods; a sink's fault is not the host's."""
        try:
            hand_on(*args, **kwargs)
        except Exception as fault:  # noqa: BLE001 - telemetry never raises into the host
            self.losses.fault(type(self.sink).__name__, fault)

    def forget(self, turn_id: str) -> None:
        """The turn has ended: it cannot be stopped any more."""
        self._open.pop(turn_id, None)

    def digest(self, words: str | bytes) -> str | None:
        """The keyed hash of a text, if there is a key."""
        if self._hash_key is None:
            return None
        raw = words if isinstance(words, bytes) else str(words).encode("utf-8", "surrogatepass")
        return hmac.new(self._hash_key, raw, hashlib.sha256).hexdigest()[:32]

    def place_under(self, parent: Place) -> Place:
        """A new span's place under another's."""
        context = parent.context
        child = SpanContext(context.trace_id, self._ids.span_id(), is_remote=False, trace_flags=context.trace_flags)
        return Place(child, context)

    def _safe(self, clock: Callable[[], int]) -> Callable[[], int]:
        def now() -> int:
            try:
                return clock()
            except Exception as fault:  # noqa: BLE001 - the clock is the host's
                self.losses.fault("clock", fault)
                return time.time_ns()

        return now

    def _parent(self, parent_turn_id: str | None) -> TurnHandle | None:
        parent = current_turn()
        if parent is None or parent.ended or parent_turn_id not in (None, parent.turn_id):
            return None
        return parent

    def _place(self, name: str) -> Place | None:
        if not self.sink.traces:
            return None
        around = trace.get_current_span().get_span_context()
        parent = around if around.is_valid else None
        trace_id = parent.trace_id if parent is not None else self._ids.trace_id()
        context = SpanContext(trace_id, self._ids.span_id(), is_remote=False, trace_flags=_SAMPLED)
        if not self._samples(context, parent, name):
            context = SpanContext(trace_id, context.span_id, is_remote=False, trace_flags=_NOT_SAMPLED)
        return Place(context, parent)

    def _samples(self, context: SpanContext, parent: SpanContext | None, name: str) -> bool:
        try:
            return self.sink.samples(context, parent, name)
        except Exception as fault:  # noqa: BLE001 - a sink's fault is not the host's
            self.losses.fault("samples", fault)
            return True


def unrecorded(losses: Losses = LOSSES) -> TurnHandle:
    """A turn that goes nowhere, for a host whose turn could not be opened: whatever is told to it is let go."""
    return Recorder(Nothing(), losses=losses).turn()
