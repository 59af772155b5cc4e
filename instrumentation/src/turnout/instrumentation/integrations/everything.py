"""Switch on every integration whose framework is installed."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Final

from turnout.instrumentation.integrations.default import default_recorder
from turnout.instrumentation.integrations.support import Quiet
from turnout.instrumentation.recorder import Recorder

FRAMEWORKS: Final = {
    "pydantic-ai": ("pydantic_ai", "pydantic_ai"),
    "openai-agents": ("agents.run", "openai_agents"),
    "langchain": ("langchain_core", "langchain"),
    "google-adk": ("google.adk", "google_adk"),
    "strands": ("strands", "strands"),
    "claude-agent-sdk": ("claude_agent_sdk", "claude_agent_sdk"),
}
"""By name: the module that shows that it is installed, and the module of ours."""

ALIASES: Final = {"langgraph": "langchain"}
"""Names of frameworks that another's integration listens to."""


def instrument(
    recorder: Recorder | None = None, *, only: Iterable[str] | None = None, attended: bool | None = None
) -> tuple[str, ...]:
    """Record every run of every installed framework from now on; returns the frameworks that are listened to.

    Args:
        recorder: the recorder; the process's own, as the environment describes it, where none is given.
        only: the names of the frameworks, where not all of them are wanted.
        attended: whether a person is there who could press Continue.

    Raises:
        ValueError: when ``only`` names a framework that there is no integration for.
    """
    wanted = tuple(dict.fromkeys(ALIASES.get(name, name) for name in (FRAMEWORKS if only is None else only)))
    unknown = [name for name in wanted if name not in FRAMEWORKS]
    if unknown:
        raise ValueError(f"no integration for {', '.join(unknown)}; there are {', '.join(FRAMEWORKS)}")
    chosen = recorder or default_recorder()
    return tuple(_switched_on(wanted, chosen, attended))


def uninstrument() -> None:
    """Take `instrument` back."""
    for probe, module in FRAMEWORKS.values():
        if _installed(probe):
            import_module(f"turnout.instrumentation.integrations.{module}").uninstrument()


def _switched_on(wanted: Iterable[str], recorder: Recorder, attended: bool | None) -> Iterator[str]:
    quiet = Quiet(recorder.losses, "instrument")
    for name in wanted:
        probe, module = FRAMEWORKS[name]
        if _installed(probe) and quiet(_switch_on, module, recorder, attended):
            yield name


def _switch_on(module: str, recorder: Recorder, attended: bool | None) -> bool:
    import_module(f"turnout.instrumentation.integrations.{module}").instrument(recorder, attended=attended)
    return True


def _installed(probe: str) -> bool:
    try:
        return find_spec(probe) is not None
    except ImportError:
        return False
