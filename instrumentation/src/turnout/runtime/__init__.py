"""A turn loop that decides once.

The decision itself is `turnout.outcomes.decide`; this room finds the facts for it and acts on it. No module here may name a reason
with which a turn ends, and only `request` may call a model. It knows a recorder as a protocol and no recorder.
"""
