"""Recording for the loops people already have, one module a framework; each loads its framework when it is used.

All of them share one shape: what the caller starts opens the turn, closes it and sees the exception; hooks inside it give steps and tool calls; the
finish reason is taken where the provider's own spelling still is; and whatever comes after the end is taken too. A fault of a hook is counted
and never reaches the framework. Here changes how a framework is listened to; what a turn's end means is for `turnout.outcomes`.
"""
