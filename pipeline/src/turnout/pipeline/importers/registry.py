"""Which formats there are, and which of them a file is."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from turnout.pipeline.importers import (
    claude_code,
    claude_stream,
    codex,
    codex_drafts,
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
from turnout.pipeline.importers.base import (
    LONG_SAMPLE_RECORDS,
    SAMPLE_RECORDS,
    Importer,
    Parse,
    Recognise,
    RecordImporter,
    sample_of,
)
from turnout.pipeline.importers.otlp import OtlpImporter
from turnout.pipeline.importers.turns import TurnsImporter


def _kind_of_record(value: Mapping[str, object]) -> str | None:
    return next((kind for kind, importer in KINDS.items() if importer.recognises([value], "")), None)


def _stream(kind: str, parse: Parse, recognise: Recognise) -> RecordImporter:
    """A format of lines that a program writes as it goes, which may share a file with those of another program."""
    return RecordImporter(kind=kind, parse=parse, recognise=recognise, kind_of_record=_kind_of_record)


_IMPORTERS: tuple[Importer, ...] = (
    TurnsImporter(),
    OtlpImporter(),
    RecordImporter(kind=mini_swe_agent.KIND, parse=mini_swe_agent.parse, recognise=mini_swe_agent.recognise),
    RecordImporter(kind=swe_agent.KIND, parse=swe_agent.parse, recognise=swe_agent.recognise),
    _stream(claude_code.KIND, claude_code.parse, claude_code.recognise),
    _stream(claude_stream.KIND, claude_stream.parse, claude_stream.recognise),
    _stream(codex_exec.KIND, codex_exec.parse, codex_exec.recognise),
    _stream(codex_drafts.KIND, codex.parse, codex.recognise),
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
