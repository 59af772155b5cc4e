"""All integrations by one call."""

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

from framework_runs import ALL, Framework, installed
from turnout.instrumentation import FileSink, Losses, Recorder, StructlogSink, instrument, uninstrument
from turnout.instrumentation.integrations.everything import FRAMEWORKS
from turnout.instrumentation.testing import MemorySink


def test_what_is_installed_is_listened_to(make_recorder: Any) -> None:
    """A framework that is not installed is passed over."""
    found = instrument(make_recorder(MemorySink()))
    uninstrument()
    assert set(found) <= set(FRAMEWORKS)
    assert ("pydantic-ai" in found) is (importlib.util.find_spec("pydantic_ai") is not None)


def test_a_name_that_is_unknown_is_said(make_recorder: Any) -> None:
    """A slip in the configuration is the caller's to know, at the start."""
    with pytest.raises(ValueError, match="no integration for crewai; there are pydantic-ai"):
        instrument(make_recorder(MemorySink()), only=["crewai"])


def test_langgraph_is_listened_to_by_its_own_name(make_recorder: Any) -> None:
    """Its runs are langchain's callbacks."""
    pytest.importorskip("langgraph")
    found = instrument(make_recorder(MemorySink()), only=["langgraph", "langchain"])
    uninstrument()
    assert found == ("langchain",)


@pytest.mark.parametrize("framework", ALL, ids=lambda framework: framework.source)
def test_content_is_emitted_nowhere(
    framework: Framework, emitted: Any, make_recorder: Any, losses: Losses, tmp_path: Path, logged: StructlogSink
) -> None:
    """A canary in prompt, instructions, tool arguments, tool result and answer appears in nothing that is emitted."""
    if framework not in installed():
        pytest.skip(f"{framework.source} is not installed")
    canary = "xyzzy-canary-4711"
    path = tmp_path / "turns.jsonl"
    recorder = make_recorder(emitted.sink, FileSink(path, delay_s=0), logged, hash_key=b"key")
    instrument(recorder)
    try:
        asyncio.run(_once(framework, canary, recorder))
    finally:
        uninstrument()
    assert len(emitted.spans) == 4
    everything = encode_logs(emitted.events).SerializeToString() + encode_spans(emitted.spans).SerializeToString()
    assert canary.encode() not in everything + path.read_bytes()
    seen = (emitted.metrics(), losses.totals(), [span.events for span in emitted.spans], logged)
    assert canary not in repr(seen)


async def _once(framework: Framework, words: str, recorder: Recorder) -> None:
    await framework.run("agent_1", words, recorder)
