"""Small pieces of HTML: tables with real links, badges, the style of the pages. Pure; every text is escaped here.

Tables are HTML, not data grids, so that a row's link can be opened in a new tab or copied, and so that nothing scrolls sideways.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

STYLE = """
<style>
.stMainBlockContainer {padding-top: 3.6rem; padding-bottom: 3rem;}
.to-table {width: 100%; border-collapse: collapse; font-size: 0.875rem;}
.to-table th {text-align: left; font-weight: 600; opacity: 0.75; padding: 0.25rem 0.75rem 0.25rem 0; border: none;
  border-bottom: 1px solid rgba(128, 128, 128, 0.45); white-space: nowrap;}
.to-table td {padding: 0.3rem 0.75rem 0.3rem 0; border: none; border-bottom: 1px solid rgba(128, 128, 128, 0.18);
  vertical-align: top; overflow-wrap: anywhere;}
.to-table .number {text-align: right; padding-right: 1.6rem; white-space: nowrap; font-variant-numeric: tabular-nums;}
.to-table .tight {white-space: nowrap;}
.to-dot {display: inline-block; width: 0.65rem; height: 0.65rem; border-radius: 2px; margin-right: 0.45rem;}
.to-dim {opacity: 0.7;}
.to-headline {padding: 0.9rem 1.1rem; border-left: 6px solid; border-radius: 6px; background: rgba(128, 128, 128, 0.1);
  margin-bottom: 0.2rem;}
.to-headline h2 {font-size: 1.55rem; line-height: 1.25; margin: 0; padding: 0; font-weight: 700;}
.to-headline p {margin: 0.35rem 0 0 0; font-size: 1rem;}
.to-sources {display: flex; flex-wrap: wrap; gap: 0.4rem 1.4rem; font-size: 0.875rem; align-items: baseline;}
.to-sources b.loud {color: #c30f0f; background: rgba(255, 255, 255, 0.9); padding: 0 0.35rem; border-radius: 4px;}
[data-stale="true"] {opacity: 1 !important;}
.to-facts {display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: 0.5rem 1.5rem;
  font-size: 0.9rem; margin: 0 0 0.6rem 0 !important; padding: 0 !important;}
.to-facts > div {margin: 0; padding: 0;}
.to-facts dt {opacity: 0.7; font-size: 0.8rem;}
.to-facts dd {margin: 0; overflow-wrap: anywhere;}
.to-scroll {overflow-x: auto;}
@media (max-width: 1000px) {.to-table .wide {display: none;} .to-table .number, .to-table .tight {white-space: normal;}
  .to-table .number {padding-right: 0.75rem;}}
[class*="st-key-split"] {display: grid !important; grid-template-columns: minmax(0, 1fr) max-content; gap: 0.5rem 2rem;
  align-items: start;}
[class*="st-key-split"] > div {width: 100% !important; min-width: 0;}
@media (max-width: 1000px) {[class*="st-key-split"] {grid-template-columns: minmax(0, 1fr);}}
[class*="st-key-grid"] {display: block !important; columns: 34rem 2; column-gap: 2.5rem;}
[class*="st-key-grid"] > div {width: 100% !important; break-inside: avoid; margin-bottom: 1rem;}
</style>
"""
"""The one style sheet. Colours are left to the theme, or are grey with some transparency, which reads on both."""


@dataclass(frozen=True, slots=True)
class Link:
    """A text that leads somewhere."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Marked:
    """A text with a coloured square before it; the colour only repeats what the text says."""

    text: str
    colour: str


Cell: TypeAlias = str | Link | Marked
"""What stands in one place of a table."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; ``kind`` is empty, ``number``, ``tight`` (never broken) or ``wide`` (left out on narrow pages)."""

    key: str
    title: str
    kind: str = ""


def table(columns: Sequence[Column], rows: Sequence[Mapping[str, Cell]]) -> str:
    """A table of rows; a row lacks the cells that are not recorded."""
    head = "".join(f'<th class="{column.kind}">{escape(column.title)}</th>' for column in columns)
    body = "".join(f"<tr>{''.join(_cell(column, row.get(column.key, '')) for column in columns)}</tr>" for row in rows)
    whole = f'<table class="to-table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="to-scroll">{whole}</div>'


def facts(pairs: Sequence[tuple[str, Cell]]) -> str:
    """Names and values in a grid that folds with the width."""
    return f'<dl class="to-facts">{"".join(_fact(name, value) for name, value in pairs)}</dl>'


def headline(title: str, lines: Sequence[Sequence[Cell]], colour: str) -> str:
    """The first thing that is seen: one sentence, and the figures that it rests on."""
    more = "".join(f"<p>{' '.join(map(_content, line))}</p>" for line in lines)
    return f'<div class="to-headline" style="border-color: {colour}"><h2>{escape(title)}</h2>{more}</div>'


def badges(parts: Sequence[tuple[str, str, bool]]) -> str:
    """Names with words in one line; the loud ones stand out."""
    spans = (
        f"<span><span class='to-dim'>{escape(name)}</span> <b{' class=loud' if loud else ''}>{escape(words)}</b></span>"
        for name, words, loud in parts
    )
    return f'<div class="to-sources">{"".join(spans)}</div>'


def _fact(name: str, value: Cell) -> str:
    return f"<div><dt>{escape(name)}</dt><dd>{_content(value)}</dd></div>"


def _cell(column: Column, value: Cell) -> str:
    return f'<td class="{column.kind}">{_content(value)}</td>'


def _content(value: Cell) -> str:
    match value:
        case Link(text, href):
            return f'<a href="{escape(href)}" target="_self">{escape(text)}</a>'
        case Marked(text, colour):
            return f'<span class="to-dot" style="background: {escape(colour)}"></span>{escape(text)}'
        case str():
            return escape(value)
