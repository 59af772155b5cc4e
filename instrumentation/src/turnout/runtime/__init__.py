"""A turn loop that decides once.

    agent = Agent(name="support", model=OpenAIChatModel(AsyncOpenAI(), "gpt-5"), tools=(Tool(name="search", run=search),))
    task = TurnTask(turn_id="turn-1", messages=(UserMessage("Where is my order?"),), limits=Limits(steps=12))
    result = await run_turn(agent, task, recorder=Recorder(otlp_sink()))

The decision itself is `turnout.outcomes.decide`; this room finds the facts for it and acts on it. No module here may name a reason
with which a turn ends, and only `request` may call a model. It knows a recorder as a protocol and no recorder. Real models are in
`turnout.runtime.models`, each with the extra that it needs.
"""

from turnout.outcomes.decide import StopReason, StopRequest, TurnYield, YieldReason
from turnout.outcomes.facts import Limits, StopMode, Usage
from turnout.runtime.agent import Agent, TurnTask
from turnout.runtime.clock import Clock, SystemClock
from turnout.runtime.continuation import history, next_turn, recovery, waiting_calls
from turnout.runtime.hooks import Allow, Candidate, FinishHook, Veto
from turnout.runtime.messages import AssistantMessage, CallRequest, Message, Origin, ToolMessage, UserMessage
from turnout.runtime.model import Model, ModelError, ModelRequest
from turnout.runtime.race import race_abort
from turnout.runtime.recorder import Recorder
from turnout.runtime.request import RetryPolicy
from turnout.runtime.scripted import (
    CallsTools,
    Drops,
    EndsWith,
    Filtered,
    Overflows,
    Pauses,
    Refuses,
    Rejects,
    RunsOut,
    Says,
    ScriptedCall,
    ScriptedModel,
)
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
    "CallsTools",
    "Candidate",
    "Chain",
    "Clock",
    "ContinueWithin",
    "Controls",
    "Denied",
    "Disposition",
    "Drops",
    "EndsWith",
    "Entry",
    "FailIt",
    "Filtered",
    "FinishHook",
    "Limits",
    "MemoryStore",
    "Message",
    "Model",
    "ModelError",
    "ModelRequest",
    "Origin",
    "Overflows",
    "Pauses",
    "PrerequisiteMissing",
    "Recorder",
    "Refuses",
    "Rejects",
    "RetryPolicy",
    "RunsOut",
    "Says",
    "ScriptedCall",
    "ScriptedModel",
    "SqliteStore",
    "StopLatch",
    "StopMode",
    "StopReason",
    "StopRequest",
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
    "TurnYield",
    "Usage",
    "UserMessage",
    "Veto",
    "YieldReason",
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
