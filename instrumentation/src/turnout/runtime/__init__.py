"""A turn loop that decides once.

The decision itself is `turnout.outcomes.decide`; this room finds the facts for it and acts on it. No module here may name a reason
with which a turn ends, and only `request` may call a model. It knows a recorder as a protocol and no recorder. Real models are in
`turnout.runtime.models`, each with the extra that it needs.
"""

from turnout.runtime.agent import Agent, TurnTask
from turnout.runtime.clock import Clock, SystemClock
from turnout.runtime.continuation import history, next_turn, recovery, waiting_calls
from turnout.runtime.hooks import Allow, Candidate, FinishHook, Veto
from turnout.runtime.messages import AssistantMessage, CallRequest, Message, Origin, ToolMessage, UserMessage
from turnout.runtime.model import Model, ModelError, ModelRequest
from turnout.runtime.race import race_abort
from turnout.runtime.recorder import Recorder
from turnout.runtime.request import RetryPolicy
from turnout.runtime.scripted import ScriptedModel
from turnout.runtime.steering import Controls
from turnout.runtime.stop import StopLatch
from turnout.runtime.tools import (
    Approved,
    Denied,
    PrerequisiteMissing,
    Tool,
    ToolContext,
    ToolOutput,
    ToolYield,
)
from turnout.runtime.transcript import Entry, MemoryStore, TranscriptStore, last_segment, recover
from turnout.runtime.transcript_sqlite import SqliteStore
from turnout.runtime.turn import Turn, TurnResult, run_turn, start_turn
from turnout.runtime.unattended import AlertSomebody, Chain, ContinueWithin, Disposition, FailIt, run_unattended

__all__ = [
    "Agent",
    "AlertSomebody",
    "Allow",
    "Approved",
    "AssistantMessage",
    "CallRequest",
    "Candidate",
    "Chain",
    "Clock",
    "ContinueWithin",
    "Controls",
    "Denied",
    "Disposition",
    "Entry",
    "FailIt",
    "FinishHook",
    "MemoryStore",
    "Message",
    "Model",
    "ModelError",
    "ModelRequest",
    "Origin",
    "PrerequisiteMissing",
    "Recorder",
    "RetryPolicy",
    "ScriptedModel",
    "SqliteStore",
    "StopLatch",
    "SystemClock",
    "Tool",
    "ToolContext",
    "ToolMessage",
    "ToolOutput",
    "ToolYield",
    "TranscriptStore",
    "Turn",
    "TurnResult",
    "TurnTask",
    "UserMessage",
    "Veto",
    "history",
    "last_segment",
    "next_turn",
    "race_abort",
    "recover",
    "recovery",
    "run_turn",
    "run_unattended",
    "start_turn",
    "waiting_calls",
]
