"""Finish reasons, providers and error classes as emitters spell them -> the plain word.

What an SDK holds as an enum or a list is often exported as the text of it: ``FinishReason.STOP``, ``<FinishReason.STOP: 'STOP'>``, ``['stop']``,
``FINISH_REASON_MAX_TOKENS``, ``EndTurn``, ``<class 'openai.RateLimitError'>``. A word that some provider lists as it stands is never touched, and one
that no spelling makes a listed one keeps its own: it is an unknown value, not a badly spelled one.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from turnout.outcomes.providers import meanings_anywhere

_QUOTED = re.compile(r"""(?P<quote>['"])(.*?)(?P=quote)""")
_ENUM = re.compile(r"<?[A-Za-z_][\w.]*\.(\w+)(?:: .*)?>?")
_PREFIX = re.compile(r"finish_?reason_", re.IGNORECASE)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_CLASS = re.compile(r"<class '([\w.]+)'>")
_LONGEST = 200
"""Characters; what is longer is no word."""
_OTHER_NAMES = {"function_calls": "function_call"}
_PROVIDERS = {
    "amazon": "aws.bedrock",
    "amazon_bedrock": "aws.bedrock",
    "aws": "aws.bedrock",
    "bedrock_converse": "aws.bedrock",
    "az.ai.inference": "azure.ai.inference",
    "azure_openai": "azure.ai.openai",
    "google_genai": "gcp.gen_ai",
    "google_vertexai": "gcp.vertex_ai",
    "vertexai": "gcp.vertex_ai",
    "vertex_ai_beta": "gcp.vertex_ai",
}
"""Names that libraries give to providers, and those of the conventions."""
_NOTHING = frozenset({"", "none", "null", "nil", "undefined"})


def reason(word: str) -> str | None:
    """The plain word of a finish reason; ``None`` where the text says that there was none."""
    return word if len(word) > _LONGEST else _plain(word)


@lru_cache(maxsize=1024)
def _plain(word: str) -> str | None:
    plain = word.strip()
    if plain.lower() in _NOTHING:
        return None
    return next((spelled for spelled in _spellings(plain) if meanings_anywhere(spelled)), plain)


def _spellings(word: str) -> Iterator[str]:
    yield word
    quoted = _QUOTED.search(word)
    inside = quoted.group(2) if quoted else word
    enum = _ENUM.fullmatch(word) or _ENUM.fullmatch(inside)
    yield _OTHER_NAMES.get(word, word)
    for found in (inside, enum.group(1) if enum else inside):
        yield found
        yield _PREFIX.sub("", found)
        yield _HUMP.sub("_", found)


def provider(name: str | None) -> str | None:
    """The provider by its name in the conventions, where a library has one of its own."""
    return _PROVIDERS.get(name.lower(), name) if name else None


def error_class(name: str | None) -> str | None:
    """The name of an error class, also where its text was exported in place of its name."""
    found = _CLASS.fullmatch(name) if name and len(name) <= _LONGEST else None
    return found.group(1) if found else name
