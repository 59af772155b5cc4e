"""The lake: Delta tables of turns, steps, tool calls and the ledger, under one root. The only room that knows deltalake.

What may change here is how rows are kept: files, commits, upserts, compaction, retention. What the rows hold is `pipeline.schema`;
how a turn ended is never decided here.
"""

from turnout.pipeline.lake.errors import LakeError
from turnout.pipeline.lake.files import DataFile, Snapshot
from turnout.pipeline.lake.lake import Lake
from turnout.pipeline.lake.ledger import Entry
from turnout.pipeline.positions import Position, Written

__all__ = ["DataFile", "Entry", "Lake", "LakeError", "Position", "Snapshot", "Written"]
