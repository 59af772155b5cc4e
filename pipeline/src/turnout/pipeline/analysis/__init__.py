"""Statistics on counts and frames: survival under a budget, intervals, comparisons, prices. Pure; no files, no clock, no SQL."""
