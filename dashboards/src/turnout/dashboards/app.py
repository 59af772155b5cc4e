"""The frame of every page: navigation, filters, and the states in which there is nothing to show."""

from typing import Final

import streamlit as st

from turnout.dashboards import bar, components, data, first_run, markup

# Not in a folder named "pages": Streamlit would run such a file by itself, without this frame, for whoever is the first to open its link.
PAGES: Final = (
    ("topics/on_call.py", "On call", ":material/notifications_active:"),
    ("topics/budget.py", "Budget", ":material/hourglass_bottom:"),
    ("topics/length.py", "Length", ":material/content_cut:"),
    ("topics/refusals.py", "Refusals", ":material/block:"),
    ("topics/tools.py", "Tools", ":material/build:"),
    ("topics/compare.py", "Compare", ":material/compare_arrows:"),
    ("topics/cost.py", "Cost", ":material/payments:"),
    ("topics/turn.py", "Turn", ":material/search:"),
)

st.set_page_config(page_title="turnout", page_icon=":material/traffic:", layout="wide")
st.html(markup.STYLE)
page = st.navigation([st.Page(path, title=title, icon=icon) for path, title, icon in PAGES], position="top")
bar.keep(page.url_path)
with components.guarded():
    if data.version() < 0:
        first_run.wait_for_turns()
    else:
        bar.draw()
        page.run()
