"""Ids and names as the host has them, as text."""

from enum import Enum


def text(value: object) -> str | None:
    """A name that may come as an enum member, a UUID or a number; empty is not recorded."""
    if isinstance(value, str):
        return value or None
    if value is None:
        return None
    try:
        return str(value.value) if isinstance(value, Enum) else str(value)
    except Exception:  # noqa: BLE001 - the host's object, which may raise anything
        return None
