"""Small pieces of HTML."""

import pytest

from turnout.dashboards.markup import Cell, Column, Link, Marked, badges, facts, headline, table

EVIL = "<script>alert('x')</script>\"&"


@pytest.mark.parametrize("cell", [EVIL, Link(EVIL, f"turn?turn={EVIL}"), Marked(EVIL, EVIL)])
def test_no_text_of_the_lake_becomes_markup(cell: Cell) -> None:
    """Names of agents, models and turns are chosen by others."""
    shown = table([Column("a", EVIL)], [{"a": cell}]) + facts([(EVIL, cell)]) + headline(EVIL, [[cell]], "red")
    assert "<script>" not in shown + badges([(EVIL, EVIL, True)])


def test_a_link_stays_in_its_tab_and_can_be_copied() -> None:
    """A plain anchor with the whole address."""
    assert (
        table([Column("a", "A")], [{"a": Link("3 min ago", "turn?turn=x&window=6h")}]).count(
            '<a href="turn?turn=x&amp;window=6h" target="_self">3 min ago</a>'
        )
        == 1
    )


def test_a_cell_that_is_not_recorded_stays_empty() -> None:
    """The row keeps its columns."""
    assert table([Column("a", "A"), Column("b", "B", "number")], [{"a": "1"}]).endswith(
        '<tr><td class="">1</td><td class="number"></td></tr></tbody></table></div>'
    )
