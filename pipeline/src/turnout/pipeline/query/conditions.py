"""Filters -> conditions of SQL with named parameters, for each of the three tables. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from turnout.pipeline.counted import VIEWS
from turnout.pipeline.cubes import Cube
from turnout.pipeline.query.filters import NOT_RECORDED, VALUES, Clock, Filters

OF_TURNS: Final = ("counted_turns", "counted_links", "counted_tools_used")
"""The counted views whose rows are turns."""

_ONE: Final = ("{name} in ({values})", "{name} is null")
_OF_A_TURN: Final = {
    "model": ("list_has_any(models, [{values}])", "len(models) = 0"),
    "provider": ("list_has_any(providers, [{values}])", "len(providers) = 0"),
    "tool": ("list_has_any(tools, [{values}])", "len(tools) = 0"),
}
_USED_AT_ALL: Final = {
    **{(view, name): asked for view in OF_TURNS for name, asked in _OF_A_TURN.items()},
    ("counted_steps", "tool"): (
        "turn_id in (select turn_id from tool_calls where tool in ({values}))",
        "turn_id not in (select turn_id from tool_calls)",
    ),
    ("counted_tool_calls", "provider"): (
        "turn_id in (select turn_id from steps where provider in ({values}))",
        "turn_id in (select turn_id from steps where provider is null)",
    ),
}
# Filled with our own names and parameters alone; a value never becomes part of a statement.
_NARROWED: Final = "select {columns} from main.{relation} where {condition}"
_ALL_LINKS: Final = "all_links"

ALWAYS: Final = ("day", "everything", "n")
"""The columns that the view of any cube has besides its own."""

_COLUMNS: Final = {
    **{(view, name): f"{name}s" for view in OF_TURNS for name in _OF_A_TURN},
    ("counted_steps", "tool"): "turn_id",
    ("counted_tool_calls", "provider"): "turn_id",
}
_CLOCKS: Final[Mapping[Clock, str]] = {Clock.STARTED: "counted_at", Clock.ENDED: "over_at"}


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a ``where``, with the values of its parameters; empty for no condition."""

    text: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict[str, object])


def condition(view: str, filters: Filters) -> Condition:
    """The condition that a counted view must meet."""
    parameters: dict[str, object] = {}
    texts = [*_window(filters, parameters), *_values(view, filters, parameters)]
    if filters.attended is not None:
        parameters["attended"] = filters.attended
        texts.append("attended = $attended")
    return Condition(" and ".join(texts), parameters)


def narrowed(statement: str, filters: Filters, cubes: Mapping[str, Cube] | None = None) -> Condition:
    """A statement over the counted views, in which they hold only what the filters let through.

    Args:
        statement: one ``select``.
        filters: what to let through.
        cubes: by view, the cube whose files (all of them within the window) stand for some of the rows.
    """
    parameters: dict[str, object] = {}
    ctes: list[str] = []
    for view in VIEWS:
        wanted, cube = condition(view, filters), (cubes or {}).get(view)
        if view in statement and (wanted.text or cube is not None):
            ctes.append(f"{view} as not materialized ({_rows(view, filters, wanted, cube)})")
            parameters |= wanted.parameters
    links = (cubes or {}).get("counted_links")
    if links is not None and _ALL_LINKS in statement:
        ctes.append(f"{_ALL_LINKS} as not materialized ({_rows('counted_links', Filters(), Condition(), links)})")
    return Condition(_with(ctes, statement), parameters)


def columns_of(view: str, filters: Filters) -> set[str]:
    """The columns of a view that the filters ask for, besides the time."""
    named = {_COLUMNS.get((view, name), name) for name in VALUES if getattr(filters, name)}
    return named if filters.attended is None else named | {"attended"}


def _rows(view: str, filters: Filters, wanted: Condition, cube: Cube | None) -> str:
    if cube is None:
        return _NARROWED.format(columns="*", relation=view, condition=wanted.text)
    columns = ", ".join((*cube.columns, *cube.sums, *ALWAYS))
    anywhen = condition(view, replace(filters, since=None, until=None)).text
    together = _NARROWED.format(columns=columns, relation=f"cube_{cube.name}", condition=anywhen or "true")
    single = _NARROWED.format(columns=columns, relation=view, condition=wanted.text or "true")
    return f"{together} union all {single}"


def _with(ctes: list[str], statement: str) -> str:
    return f"with {', '.join(ctes)}\nfrom (\n{statement}\n)" if ctes else statement


def _window(filters: Filters, parameters: dict[str, object]) -> Iterable[str]:
    clock = _CLOCKS[filters.clock]
    if filters.since is not None:
        parameters["since"] = filters.since
        yield f"{clock} >= $since"
    if filters.until is not None:
        parameters["until"] = filters.until
        yield f"{clock} < $until"


def _values(view: str, filters: Filters, parameters: dict[str, object]) -> Iterable[str]:
    for name in VALUES:
        values: tuple[str, ...] = getattr(filters, name)
        if values:
            known = {f"{name}_{n}": value for n, value in enumerate(values) if value != NOT_RECORDED}
            parameters |= known
            yield _any_of(view, name, [f"${parameter}" for parameter in known], missing=NOT_RECORDED in values)


def _any_of(view: str, name: str, parameters: list[str], *, missing: bool) -> str:
    listed, absent = _USED_AT_ALL.get((view, name), _ONE)
    texts = [listed.format(name=name, values=", ".join(parameters))] if parameters else []
    texts += [absent.format(name=name)] if missing else []
    return texts[0] if len(texts) == 1 else f"({' or '.join(texts)})"
