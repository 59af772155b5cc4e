"""Which formats there are, and which of them a file is."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from turnout.pipeline.importers import claude_code, mini_swe_agent
from turnout.pipeline.importers.base import Importer, RecordImporter, sample_of

_IMPORTERS: tuple[Importer, ...] = (
    RecordImporter(kind=mini_swe_agent.KIND, parse=mini_swe_agent.parse, recognise=mini_swe_agent.recognise),
    RecordImporter(kind=claude_code.KIND, parse=claude_code.parse, recognise=claude_code.recognise),
)

KINDS: Mapping[str, Importer] = MappingProxyType({importer.kind: importer for importer in _IMPORTERS})
"""Every format by the name that the command line uses, in the order in which ``detect`` asks them."""


def detect(path: Path) -> str | None:
    """Tell the kind of a file from its first records; ``None`` where no format knows them."""
    sample = sample_of(path)
    return next((kind for kind, importer in KINDS.items() if importer.recognises(sample, path.name)), None)
