"""The pages of a lake without a turn: how to bring the first ones."""

import streamlit as st

from turnout.dashboards import data
from turnout.dashboards.components import LIVE_SECONDS


@st.fragment(run_every=LIVE_SECONDS)
def wait_for_turns() -> None:
    """An empty lake: three ways to fill it, until the first turn is there."""
    if data.version() >= 0:
        st.rerun()
    named = "" if data.lake() == data.DEFAULT_LAKE else f" --lake {data.lake()}"
    st.markdown("### No turns here yet")
    st.markdown(
        f"The lake `{data.lake()}` is empty. Each of these brings the first turns; this page shows them by itself."
    )
    _way(
        "1. An agent that speaks OpenTelemetry",
        "Start the receiver and point the agent at it. GenAI conventions, OpenInference and OpenLLMetry are understood.",
        f"turnout serve{named}\nOTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 python your_agent.py",
    )
    _way(
        "2. Logs and transcripts that are already there",
        "Of Claude Code, Codex, SWE-agent and others; a second import adds nothing.",
        f"turnout import auto ~/.claude/projects{named}",
    )
    _way(
        "3. A loop of your own",
        "Record each turn where it runs; the receiver takes it.",
        "from turnout.instrumentation import Limits, Recorder, otlp_sink\n\n"
        "recorder = Recorder(otlp_sink())\n"
        'with recorder.turn(agent="my-agent", limits=Limits(steps=30)) as turn:\n'
        '    with turn.step(model="gpt-5-mini", provider="openai") as step:\n'
        '        step.finish(raw_finish_reason="stop")',
        "python",
    )
    st.markdown("Or only look around: `turnout demo` runs agents, a receiver and these pages over a lake of its own.")


def _way(title: str, words: str, code: str, language: str | None = None) -> None:
    with st.container(gap="small"):
        st.markdown(f"##### {title}")
        st.markdown(words)
        st.code(code, language=language)
