"""Reports: one frame of outcomes in files of several formats, each with a manifest that says what it is and how it was made.

What may change here is the form. Which turns count, and how, is the query room's.
"""

from turnout.pipeline.reports.outcomes import COLUMNS, outcomes
from turnout.pipeline.reports.write import FORMATS, ReportError, write_report

__all__ = ["COLUMNS", "FORMATS", "ReportError", "outcomes", "write_report"]
