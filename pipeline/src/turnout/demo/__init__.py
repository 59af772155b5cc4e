"""Agents that run, to look around with: a cast, what each turn will do, its history and its present.

What happens is drawn from a seeded generator; how it is recorded is the product's own way, through the runtime, the recorder and the
receiver. Change the cast here, never the verdicts.
"""
