"""Placeholder of the room; its first module says what may change here."""
