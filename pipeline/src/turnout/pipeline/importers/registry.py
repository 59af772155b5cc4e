"""Which formats there are, and which of them a file is."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from turnout.pipeline.importers import (
    claude_code,
    claude_stream,
    codex,
    codex_exec,
    langfuse,
    medagentbench,
    mini_swe_agent,
    openhands,
    swe_agent,
    tau,
    tau2,
)
from turnout.pipeline.importers.ai_sdk import AiSdkImporter
from turnout.pipeline.importers.base import LONG_SAMPLE_RECORDS, SAMPLE_RECORDS, Importer, RecordImporter, sample_of
from turnout.pipeline.importers.otlp import OtlpImporter
from turnout.pipeline.importers.turns import TurnsImporter

_IMPORTERS: tuple[Importer, ...] = (
    TurnsImporter(),
    OtlpImporter(),
    RecordImporter(kind=mini_swe_agent.KIND, parse=mini_swe_agent.parse, recognise=mini_swe_agent.recognise),
    RecordImporter(kind=swe_agent.KIND, parse=swe_agent.parse, recognise=swe_agent.recognise),
    RecordImporter(kind=claude_code.KIND, parse=claude_code.parse, recognise=claude_code.recognise),
    RecordImporter(kind=claude_stream.KIND, parse=claude_stream.parse, recognise=claude_stream.recognise),
    RecordImporter(kind=codex_exec.KIND, parse=codex_exec.parse, recognise=codex_exec.recognise),
    RecordImporter(kind=codex.KIND, parse=codex.parse, recognise=codex.recognise),
    RecordImporter(kind=tau.KIND, parse=tau.parse, recognise=tau.recognise),
    RecordImporter(kind=tau2.KIND, parse=tau2.parse, recognise=tau2.recognise, unpack=tau2.unpack),
    RecordImporter(kind=langfuse.KIND, parse=langfuse.parse, recognise=langfuse.recognise),
    RecordImporter(kind=openhands.KIND, parse=openhands.parse, recognise=openhands.recognise),
    AiSdkImporter(),
    RecordImporter(kind=medagentbench.KIND, parse=medagentbench.parse, recognise=medagentbench.recognise),
)

KINDS: Mapping[str, Importer] = MappingProxyType({importer.kind: importer for importer in _IMPORTERS})
"""Every format by the name that the command line uses, in the order in which ``detect`` asks them."""


def detect(path: Path) -> str | None:
    """Tell the kind of a file from its first records; ``None`` where no format knows them."""
    return _kind_among(path, KINDS)


def is_of_kind(path: Path, kind: str) -> bool:
    """Say whether the first records of a file are of a kind."""
    return _kind_among(path, {kind: KINDS[kind]}) is not None


def _kind_among(path: Path, kinds: Mapping[str, Importer]) -> str | None:
    for size in (SAMPLE_RECORDS, LONG_SAMPLE_RECORDS):
        sample = sample_of(path, size)
        found = next((kind for kind, importer in kinds.items() if importer.recognises(sample, path.name)), None)
        if found is not None or len(sample) < size:
            return found
    return None
