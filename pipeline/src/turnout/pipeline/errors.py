"""The one base of every error that a person is meant to read."""


class TurnoutError(Exception):
    """A known error; its text is one line that says what, got what, expected what, do what."""
