"""What each provider's finish value means: the tables `finish_reasons.tsv`, `finish_classes.tsv`, `provider_aliases.tsv`.

A value is looked up in the vocabulary of its provider, told apart by API where one provider has several. Without a provider
(or with one that no table lists) every vocabulary counts, and a statement holds only where all of them agree.
"""

import csv
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from turnout.outcomes.verdict import BudgetKind, Cause, Outcome, Resumable


class FinishClass(StrEnum):
    """What a finish value says of its step; the classes of `finish_classes.tsv`."""

    COMPLETED = "completed"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTEXT_OVERFLOW = "context_overflow"
    REFUSAL = "refusal"
    PAUSE = "pause"
    YIELD = "yield"
    MALFORMED = "malformed"
    ERROR = "error"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    USER_STOP = "user_stop"
    STEP_BUDGET = "step_budget"
    UNKNOWN = "unknown"


class Meaning(NamedTuple):
    """What one value means in one vocabulary; ``with_tools`` holds only beside tool calls of the same step."""

    provider: str
    api: str
    value: str
    finish_class: FinishClass
    resumable: Resumable
    with_tools: bool = False


class ClassEnd(NamedTuple):
    """How a turn ended whose last step is of one class."""

    outcome: Outcome | None
    cause: Cause | None
    budget_kind: BudgetKind | None


_DOCUMENTS_A_LOSS = "litellm(mapping)"
_UNIFIER = "vercel-ai"
_ABSENT = '""'
_STANDS_FOR_ANY_OTHER = "<"
_NO_CATEGORY = "null"
_SEPARATORS = (".", " ", "/", "(")


def fold(value: str) -> str:
    """The spelling that values are compared in: no case, `-` as `_`."""
    return value.strip().lower().replace("-", "_")


def _rows(name: str) -> list[dict[str, str]]:
    text = files("turnout.outcomes").joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


def _values(raw: str) -> list[tuple[str, bool]]:
    """The spellings a table row answers to, each with whether it needs tool calls beside it."""
    literal = fold(raw)
    base, _, condition = literal.partition(" + ")
    if condition:
        needs_tools = "tool" in condition or "function" in condition
        return [(literal, False), (base, True)] if needs_tools else [(literal, False)]
    plain = base.split(" (", 1)[0]
    named = plain.rpartition("=")[2]
    return [(value, False) for value in dict.fromkeys((literal, plain, named))]


def _meanings() -> list[Meaning]:
    found: list[Meaning] = []
    for row in _rows("finish_reasons.tsv"):
        raw = row["raw_value"]
        if row["provider"] == _DOCUMENTS_A_LOSS or raw.startswith(_STANDS_FOR_ANY_OTHER) or raw == _NO_CATEGORY:
            continue
        kind, resumable = FinishClass(row["class"]), Resumable(row["resumable"])
        values = [(_ABSENT, False)] if raw.startswith(_ABSENT) else _values(raw)
        found += [Meaning(row["provider"], row["api"].lower(), v, kind, resumable, tools) for v, tools in values]
    return found


def _by_value(meanings: Iterable[Meaning]) -> dict[str, tuple[Meaning, ...]]:
    index: dict[str, tuple[Meaning, ...]] = {}
    for meaning in meanings:
        index[meaning.value] = (*index.get(meaning.value, ()), meaning)
    return index


_ALL = _meanings()
_ANYWHERE = _by_value(_ALL)
_BY_PROVIDER = {name: _by_value(m for m in _ALL if m.provider == name) for name in {m.provider for m in _ALL}}
_ALIASES = {
    row["name in telemetry"].lower(): row["provider in finish_reasons.tsv"] for row in _rows("provider_aliases.tsv")
}

CLASS_ENDS: dict[FinishClass, ClassEnd] = {
    FinishClass(row["class"]): ClassEnd(
        Outcome(row["outcome"]) if row["outcome"] else None,
        Cause(row["cause"]) if row["cause"] else None,
        BudgetKind(row["budget_kind"]) if row["budget_kind"] else None,
    )
    for row in _rows("finish_classes.tsv")
}
"""How a turn ended, by the class of its last step; `tool_calls` and `pause` are no end."""


@lru_cache(maxsize=1024)
def vocabularies(provider: str) -> tuple[str, ...]:
    """The providers of the table that a telemetry name stands for, nearest first; empty where none is listed.

    A name with a suffix (`mistral.chat`, as unifiers write it) stands for what comes before the dot.
    """
    name = provider.strip().lower()
    found = [candidate for candidate in (name, _ALIASES.get(name)) if candidate in _BY_PROVIDER]
    if not found and "." in name:
        return vocabularies(name.rsplit(".", 1)[0])
    return tuple(str(candidate) for candidate in dict.fromkeys(found))


@lru_cache(maxsize=8192)
def meanings_of(provider: str | None, api: str | None, value: str) -> tuple[Meaning, ...]:
    """Every row of the provider's vocabulary that lists the value, the API's own rows alone where it has some.

    Without a provider, or with one that no table lists, the rows of all providers.
    """
    key = fold(value)
    names = vocabularies(provider) if provider else ()
    if not names:
        return _ANYWHERE.get(key, ())
    rows = tuple(meaning for name in names for meaning in _BY_PROVIDER[name].get(key, ()))
    return _of_api(rows, api)


def meanings_anywhere(value: str) -> tuple[Meaning, ...]:
    """Every row of any provider that lists the value."""
    return _ANYWHERE.get(fold(value), ())


def meanings_unified(value: str) -> tuple[Meaning, ...]:
    """The rows of the unifier's own vocabulary that list the value."""
    return _BY_PROVIDER[_UNIFIER].get(fold(value), ())


def meaning_of_absence(provider: str | None) -> Meaning | None:
    """What a finished stream without any finish value means, where the provider's vocabulary says so."""
    names = vocabularies(provider) if provider else ()
    return next((row for name in names for row in _BY_PROVIDER[name].get(_ABSENT, ())), None)


def _of_api(rows: tuple[Meaning, ...], api: str | None) -> tuple[Meaning, ...]:
    if not api or len(rows) < 2:  # noqa: PLR2004 - one row cannot be told apart any further
        return rows
    name = api.strip().lower()
    exact = tuple(row for row in rows if row.api == name)
    return exact or tuple(row for row in rows if row.api.startswith(tuple(name + s for s in _SEPARATORS))) or rows


def agreed_class(rows: Sequence[Meaning], *, with_tools: bool) -> FinishClass | None:
    """The class of the rows; of a vocabulary's several, the finish values come first in the table."""
    if with_tools:
        conditional = next((row.finish_class for row in rows if row.with_tools), None)
        if conditional is not None:
            return conditional
    return next((row.finish_class for row in rows if not row.with_tools), None)


def agreed_resumable(rows: Sequence[Meaning], kind: FinishClass) -> Resumable:
    """What all rows of the class say of going on; unknown where they differ."""
    said = {row.resumable for row in rows if row.finish_class is kind and not row.with_tools}
    return said.pop() if len(said) == 1 else Resumable.UNKNOWN


def finish_class(provider: str | None, api: str | None, raw_value: str) -> FinishClass | None:
    """The class of one value as the provider spelled it, or ``None`` where no vocabulary in question lists it."""
    return agreed_class(meanings_of(provider, api, raw_value), with_tools=False)
