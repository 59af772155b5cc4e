"""The agents of the demonstration, as data: who they are, what they run on, and how their turns tend to end."""

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from turnout.outcomes.facts import Limits


class Ending(StrEnum):
    """What happens to a turn that does not run into its budget first."""

    FINISH = "finish"
    LENGTH = "length"
    CUT_CALL = "cut_call"
    REFUSAL = "refusal"
    SILENT_REFUSAL = "silent_refusal"
    FILTER = "filter"
    OVERFLOW = "overflow"
    UNAVAILABLE = "unavailable"
    RATE_LIMIT = "rate_limit"
    DROPPED = "dropped"
    EMPTY = "empty"
    STOP = "stop"
    HANDOFF = "handoff"
    VETO = "veto"
    DIE = "die"
    NO_REASON = "no_reason"


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model that agents run on; ``api`` tells two vocabularies of one provider apart."""

    name: str
    provider: str
    api: str | None = None


SONNET = ModelInfo("claude-sonnet-4-5", "anthropic", "messages")
HAIKU = ModelInfo("claude-haiku-4-5", "anthropic", "messages")
GPT = ModelInfo("gpt-5", "openai", "chat.completions")
MINI = ModelInfo("gpt-5-mini", "openai", "chat.completions")
GEMINI = ModelInfo("gemini-2.5-pro", "google")


@dataclass(frozen=True, slots=True)
class Change:
    """What is different from ``ago`` before now on: a release, a limit, or something going wrong."""

    ago: timedelta
    version: str | None = None
    limits: Limits | None = None
    max_output_tokens: int | None = None
    weights: dict[Ending, float] = field(default_factory=dict[Ending, float])
    harder: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One agent: its turns need ``typical_steps`` on average, and end by ``weights`` (the rest finishes)."""

    name: str
    service: str
    version: str
    attended: bool
    models: dict[ModelInfo, float]
    tools: tuple[str, ...]
    mutating: frozenset[str]
    limits: Limits
    typical_steps: float
    turns_a_day: int
    max_output_tokens: int
    answer_tokens: int
    weights: dict[Ending, float]
    tool_error_rate: float = 0.03
    continues: float = 0.6
    changes: tuple[Change, ...] = ()


CAST: tuple[Agent, ...] = (
    Agent(
        name="code-fixer",
        service="devtools",
        version="1.8.2",
        attended=True,
        models={SONNET: 0.7, GPT: 0.3},
        tools=("read_file", "grep", "edit_file", "run_tests"),
        mutating=frozenset({"edit_file"}),
        limits=Limits(steps=20),
        typical_steps=12.5,
        turns_a_day=70,
        max_output_tokens=8192,
        answer_tokens=700,
        weights={
            Ending.STOP: 0.05,
            Ending.LENGTH: 0.01,
            Ending.CUT_CALL: 0.015,
            Ending.DIE: 0.01,
            Ending.UNAVAILABLE: 0.01,
            Ending.OVERFLOW: 0.015,
            Ending.HANDOFF: 0.04,
            Ending.VETO: 0.02,
        },
        changes=(Change(timedelta(days=6), version="1.9.0", limits=Limits(steps=30)),),
    ),
    Agent(
        name="support-desk",
        service="helpdesk",
        version="4.1.0",
        attended=True,
        models={MINI: 0.8, HAIKU: 0.2},
        tools=("search_orders", "kb_search", "refund", "send_mail"),
        mutating=frozenset({"refund", "send_mail"}),
        limits=Limits(steps=12),
        typical_steps=3.2,
        turns_a_day=160,
        max_output_tokens=1024,
        answer_tokens=220,
        weights={
            Ending.STOP: 0.02,
            Ending.REFUSAL: 0.015,
            Ending.SILENT_REFUSAL: 0.006,
            Ending.FILTER: 0.006,
            Ending.RATE_LIMIT: 0.006,
            Ending.HANDOFF: 0.08,
            Ending.NO_REASON: 0.004,
        },
    ),
    Agent(
        name="research-assistant",
        service="research",
        version="2.3.1",
        attended=True,
        models={GEMINI: 0.75, SONNET: 0.25},
        tools=("web_search", "fetch_page", "cite"),
        mutating=frozenset(),
        limits=Limits(steps=25, total_tokens=400_000),
        typical_steps=7.0,
        turns_a_day=60,
        max_output_tokens=4096,
        answer_tokens=1500,
        weights={
            Ending.LENGTH: 0.03,
            Ending.STOP: 0.06,
            Ending.FILTER: 0.01,
            Ending.OVERFLOW: 0.01,
            Ending.DROPPED: 0.01,
            Ending.UNAVAILABLE: 0.01,
        },
        changes=(
            Change(timedelta(days=3), version="2.4.0"),
            Change(timedelta(minutes=40), max_output_tokens=1024, weights={Ending.LENGTH: 0.6}),
        ),
    ),
    Agent(
        name="nightly-triage",
        service="operations",
        version="0.9.4",
        attended=False,
        models={HAIKU: 1.0},
        tools=("list_alerts", "query_logs", "open_ticket"),
        mutating=frozenset({"open_ticket"}),
        limits=Limits(steps=15),
        typical_steps=9.0,
        turns_a_day=80,
        max_output_tokens=4096,
        answer_tokens=400,
        weights={Ending.DIE: 0.02, Ending.UNAVAILABLE: 0.015, Ending.EMPTY: 0.008, Ending.VETO: 0.015},
        changes=(Change(timedelta(days=9), limits=Limits(steps=24)),),
    ),
    Agent(
        name="data-export",
        service="operations",
        version="3.0.0",
        attended=False,
        models={GPT: 0.5, MINI: 0.5},
        tools=("run_query", "write_table"),
        mutating=frozenset({"write_table"}),
        limits=Limits(steps=40, seconds=600.0),
        typical_steps=5.0,
        turns_a_day=40,
        max_output_tokens=2048,
        answer_tokens=300,
        weights={Ending.CUT_CALL: 0.03, Ending.RATE_LIMIT: 0.02, Ending.DIE: 0.006, Ending.NO_REASON: 0.01},
        tool_error_rate=0.08,
    ),
)
