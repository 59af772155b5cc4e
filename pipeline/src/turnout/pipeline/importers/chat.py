"""What the chat formats of model providers share: usage counts, finish reasons and the provider behind a model's name."""

import re
from collections.abc import Mapping

from turnout.outcomes.facts import Usage
from turnout.pipeline.importers import fields
from turnout.pipeline.json_text import parse_log_json

_FAMILIES = (
    ("claude", "anthropic"),
    ("gpt", "openai"),
    ("chatgpt", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("gemini", "google"),
    ("mistral", "mistral"),
    ("command", "cohere"),
    ("deepseek", "deepseek"),
    ("grok", "xai"),
)
_QUOTA = re.compile(
    r"\b(usage|session|weekly|daily|hourly|5-hour|opus|plan|spending|credit)s? (limit|cap|balance)"
    r"|out of (extra )?(usage|credits)|\bhit your limit|quota",
    re.IGNORECASE,
)
_STATUS = re.compile(
    r"(?:^|\b(?:API Error|status|code|HTTP)\b(?: \([^()]{1,200}\))?\W{0,3}(?:code\W{0,2})?)([45]\d\d)\b", re.IGNORECASE
)
_STATUS_ERRORS = {
    401: "authentication_error",
    403: "permission_error",
    408: "timeout",
    429: "rate_limit",
    529: "overloaded",
}
_SERVER_ERROR = 500
_ROUTERS = frozenset({"openrouter", "litellm", "litellm_proxy", "vercel", "portkey"})


def usage_of(usage: Mapping[str, object]) -> Usage | None:
    """Read the usage of a chat completion or of the responses API; ``None`` where none is given.

    Both count cached tokens within the input and reasoning tokens within the output.
    """
    found = Usage(
        input_tokens=_first(usage, "prompt_tokens", "input_tokens"),
        output_tokens=_first(usage, "completion_tokens", "output_tokens"),
        cache_read_tokens=_detail(usage, "cached_tokens", "prompt_tokens_details", "input_tokens_details"),
        reasoning_tokens=_detail(usage, "reasoning_tokens", "completion_tokens_details", "output_tokens_details"),
    )
    return None if found == Usage() else found


def provider_of(model: str | None) -> str | None:
    """Name the provider that a model's name tells: a prefix as litellm writes it, or the family of the model."""
    if model is None:
        return None
    *prefixes, name = model.lower().split("/")
    known = next((prefix for prefix in prefixes if prefix not in _ROUTERS), None)
    if known is not None:
        return known
    return next((provider for family, provider in _FAMILIES if name.startswith(family)), None)


def _first(usage: Mapping[str, object], *keys: str) -> int | None:
    return next((count for key in keys if (count := fields.count(usage, key)) is not None), None)


def _detail(usage: Mapping[str, object], key: str, *parents: str) -> int | None:
    return next((count for parent in parents if (count := fields.count(usage, parent, key)) is not None), None)


def quota_error(words: str | None) -> str | None:
    """Name the error of a message that says a plan or a quota is used up; programs say it in words alone."""
    return "rate_limit" if words is not None and _QUOTA.search(words) else None


def status_in(words: str | None) -> int | None:
    """Find the status of a failed request in an error's words."""
    match = _STATUS.search(words or "")
    return None if match is None else int(match.group(1))


def error_of_status(status: int | None) -> str | None:
    """Name the error that a status stands for, where there is one name for it."""
    if status is None:
        return None
    return _STATUS_ERRORS.get(status) or ("server_error" if status >= _SERVER_ERROR else None)


def parsed(value: object) -> object:
    """Read JSON that stands as text inside JSON, once or twice over; other text stays text."""
    for _ in range(2):
        if not isinstance(value, str) or value[:1] not in {"{", "[", '"'}:
            return value
        try:
            value = parse_log_json(value)
        except ValueError:
            return value
    return value


def parsed_objects(value: object) -> tuple[Mapping[str, object], ...]:
    """Read a list of objects that may stand as text."""
    return fields.objects({"items": parsed(value)}, "items")
