"""The pages in a real browser: what only a browser shows.

Leaves screenshots in the folder that ``TURNOUT_SCREENSHOTS`` names, else in a temporary one.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from synthetic_lake import fill

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
TITLES = {"On call": "", "Budget": "budget", "Length": "length", "Refusals": "refusals"}
ALL_TITLES = {**TITLES, "Tools": "tools", "Compare": "compare", "Cost": "cost"}
FILTERS = {"window": ["6h"], "agent": ["coder"], "source": ["own"], "outcome": ["budget"]}
QUERY = "window=6h&agent=coder&source=own&outcome=budget"
PATIENCE = 30_000
CLICKED_AT_ONCE = """
(() => {
  const link = () => [...document.querySelectorAll("a")].find(each => each.textContent.includes("Length"));
  const look = () => (link() ? setTimeout(() => link().click(), %d) : setTimeout(look, 5));
  if (location.pathname === "/") look();
})();
"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (Debian: apt-get install chromium)"),
]


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def wait_for(url: str) -> None:
    """Wait until something answers there."""
    for _ in range(150):
        try:
            urllib.request.urlopen(url, timeout=5)
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
        else:
            return
    raise AssertionError(f"nothing answers at {url}")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake that was written a moment ago."""
    root = tmp_path_factory.mktemp("lake") / "live"
    fill(root, datetime.now(UTC), count=900)
    return root


@pytest.fixture(scope="module")
def site(lake: Path) -> Iterator[str]:
    """The pages as a process, as ``turnout dashboard`` starts them."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "turnout.dashboards", f"--server.port={port}"],
        env={**os.environ, "TURNOUT_LAKE": str(lake)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/_stcore/health")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=10)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh tab."""
    opened = browser.new_page(viewport={"width": 1440, "height": 900})
    opened.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    yield opened
    opened.close()


def drawn(page: Page) -> None:
    """Wait until the headline is there and the filters have reached the browser."""
    expect(page.locator(".to-headline").first).to_be_visible()
    expect(page.get_by_test_id("stMultiSelect").first).to_be_visible()
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)


def filters_of(page: Page) -> dict[str, list[str]]:
    """The filters in the address, without the turn."""
    found = parse_qs(urlsplit(page.url).query)
    return {name: values for name, values in found.items() if name in FILTERS}


def path_of(page: Page) -> str:
    """The page in the address."""
    return urlsplit(page.url).path.strip("/")


# The first test of the module on purpose: it must be the first visit that the process sees.
def test_the_first_visit_may_be_a_shared_link(page: Page, site: str) -> None:
    """A link to a page works for whoever is the first to open it after a start, with its filters and its navigation."""
    page.goto(f"{site}/budget?{QUERY}")
    drawn(page)
    expect(page.get_by_role("link", name="On call")).to_be_visible()
    assert filters_of(page) == FILTERS


def test_changing_the_page_and_going_back_keep_the_filters(page: Page, site: str) -> None:
    """Through every page and back again, the address says the same filters."""
    page.goto(f"{site}/?{QUERY}")
    drawn(page)
    for title, path in list(TITLES.items())[1:]:
        page.get_by_role("link", name=title, exact=True).click()
        page.wait_for_url(f"{site}/{path}?**")
        drawn(page)
        assert filters_of(page) == FILTERS
    for path in ["length", "budget", ""]:
        page.go_back()
        drawn(page)
        assert (path_of(page), filters_of(page)) == (path, FILTERS)


@pytest.mark.parametrize("milliseconds", [0, 100, 300])
def test_a_page_that_is_changed_at_once_keeps_the_filters(page: Page, site: str, milliseconds: int) -> None:
    """Also before the browser has drawn the first filter, the next page has them all: in its address and in the widgets."""
    page.add_init_script(CLICKED_AT_ONCE % milliseconds)
    page.goto(f"{site}/?{QUERY}")
    page.wait_for_url(f"{site}/length**")
    drawn(page)
    expect(page.get_by_test_id("stMultiSelect").first).to_contain_text("coder")
    assert filters_of(page) == FILTERS


def test_a_turn_opens_from_the_list_and_back_is_where_it_was(page: Page, site: str) -> None:
    """The link names the turn, its date and the filters; Back returns to the same board."""
    page.goto(f"{site}/?{QUERY}")
    drawn(page)
    page.locator(".to-table a").first.click()
    expect(page.get_by_text("Evidence for rule")).to_be_visible()
    assert path_of(page) == "turn"
    assert {"turn", "date"} <= set(parse_qs(urlsplit(page.url).query))
    assert filters_of(page) == FILTERS
    page.go_back()
    drawn(page)
    assert (path_of(page), filters_of(page)) == ("", FILTERS)


def test_a_filter_that_is_chosen_stands_in_the_address(page: Page, site: str) -> None:
    """What is chosen by hand can be shared as it is."""
    page.goto(site)
    drawn(page)
    page.get_by_test_id("stMultiSelect").first.locator("input").click()
    page.get_by_role("option", name="coder", exact=True).click()
    page.wait_for_url("**/?agent=coder")


def test_the_board_sees_a_turn_that_arrives_while_it_is_open(page: Page, tmp_path: Path) -> None:
    """An empty lake turns into a board by itself."""
    root = tmp_path / "late"
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "turnout.dashboards", f"--server.port={port}"],
        env={**os.environ, "TURNOUT_LAKE": str(root)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/_stcore/health")
        page.goto(f"http://127.0.0.1:{port}")
        expect(page.get_by_text("No turns here yet")).to_be_visible()
        fill(root, datetime.now(UTC), count=60)
        drawn(page)
    finally:
        process.terminate()
        process.wait(timeout=10)


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures of the pages are left."""
    named = os.environ.get("TURNOUT_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 800])
def test_no_page_scrolls_sideways(
    browser: Browser, site: str, screenshots: Path, width: int, theme: Literal["light", "dark"]
) -> None:
    """At both widths and in both themes every page fits, raises no error, and leaves a picture."""
    context = browser.new_context(viewport={"width": width, "height": 1200}, color_scheme=theme)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    try:
        for title, path in ALL_TITLES.items():
            page.goto(f"{site}/{path}?compare=agent")
            drawn(page)
            if title in TITLES:
                expect(page.get_by_test_id("stVegaLiteChart").first).to_be_visible()
            expect(page.get_by_test_id("stException")).to_have_count(0)
            page.screenshot(path=screenshots / f"{title.lower().replace(' ', '-')}-{width}-{theme}.png")
            main = page.get_by_test_id("stMain")
            assert main.evaluate("element => element.scrollWidth - element.clientWidth") <= 0
    finally:
        context.close()
