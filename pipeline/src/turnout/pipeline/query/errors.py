"""What can be wrong with a question, as sentences."""

from turnout.pipeline.errors import TurnoutError


class QueryError(TurnoutError):
    """A question that cannot be answered as it was put."""
