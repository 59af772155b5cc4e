"""Telemetry dialects: spans and log records of any agent -> turn facts. PURE.

Here changes: what an emitter writes and how it is read, one module a dialect. Not here: how a turn is judged (`turnout.outcomes`), how records come in or how long one waits for more of them.
"""

from turnout.pipeline.dialects.route import Normalised, is_relevant, link_keys, turns_from, unrecognised_scope

__all__ = ["Normalised", "is_relevant", "link_keys", "turns_from", "unrecognised_scope"]
