"""Logs of agents -> turn facts, one module a format, pure but for reading.

A format is a module here plus one line in ``registry.py``. A module knows its format and nothing of the lake, and names no file,
no count and no case: every rule holds for any log of its kind.
"""

from turnout.pipeline.importers.base import Damaged, Imported, Importer, Reading, Skipped
from turnout.pipeline.importers.registry import KINDS, detect

__all__ = ["KINDS", "Damaged", "Imported", "Importer", "Reading", "Skipped", "detect"]
