"""Charts from frames, for pages and reports alike. Pure: a frame in, an Altair chart out.

Every colour has a contrast of at least 3 to 1 on white and on a dark background, and the colours of outcomes stay apart for every
common colour blindness. Text stands on axes and legends alone, because only those take the colour of the theme that a page is read in.
A chart fills the width that it is given; instants are shown in UTC.
"""

from turnout.pipeline.charts.amounts import amounts
from turnout.pipeline.charts.curves import budget_curve, curves
from turnout.pipeline.charts.over_time import ends_over_time, parts_over_time, rate_over_time, turns_over_time
from turnout.pipeline.charts.parts import COLOURS, PALE, ROW, SERIES, STRONG, Part, Window
from turnout.pipeline.charts.shares import differences, shares, stacked

__all__ = [
    "COLOURS",
    "PALE",
    "ROW",
    "SERIES",
    "STRONG",
    "Part",
    "Window",
    "amounts",
    "budget_curve",
    "curves",
    "differences",
    "ends_over_time",
    "parts_over_time",
    "rate_over_time",
    "shares",
    "stacked",
    "turns_over_time",
]
