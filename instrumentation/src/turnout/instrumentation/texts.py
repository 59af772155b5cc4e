"""Ids, names and words as the host has them: PURE.

Ids and names are the host's own and are taken as they are. A word (a reason, a status, the type of an error) is what a machine says; what is
no word may be anything, a prompt too, and goes no further.
"""

import re
from enum import Enum
from functools import lru_cache
from typing import Final

OTHER: Final = "_OTHER"
"""What stands in the place of a word that was none: something was said, which is not the same as nothing."""

_WORD: Final = re.compile(r"[\w.:/<>\[\]+@#-]{1,128}")


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


def word(value: object) -> str | None:
    """A machine's word, without white space and no longer than one is; `OTHER` for anything else, and empty is not recorded."""
    said = text(value)
    return said if said is None or is_word(said) else OTHER


@lru_cache(maxsize=4096)
def is_word(said: str) -> bool:
    """Whether a text has the shape of a word; the few that there are come again and again."""
    return _WORD.fullmatch(said) is not None
