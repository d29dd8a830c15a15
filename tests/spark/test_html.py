"""The page of `report run` in a real browser: nothing fetched, nothing cut off on a phone, printable.

Chromium is taken from MQCTL_TEST_CHROMIUM, from `playwright install chromium`, from the PATH, or from where the npm
package `@sparticuz/chromium` unpacks itself (the temporary directory); without any the test says so and is skipped.
"""

from __future__ import annotations

import base64
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.planted_store import write_planted
from tests.conftest import Outcome

pytestmark = [pytest.mark.spark, pytest.mark.slow]
Run = Callable[..., Outcome]
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1_280, "height": 900}


def chromium() -> str | None:
    """Finds a Chromium, or None."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        own = play.chromium.executable_path
    found = [
        os.environ.get("MQCTL_TEST_CHROMIUM"),
        own,
        shutil.which("chromium"),
        shutil.which("google-chrome"),
        str(Path(tempfile.gettempdir()) / "chromium"),
    ]
    return next((path for path in found if path and Path(path).is_file()), None)


@contextmanager
def page_of(file: Path, viewport: dict[str, int]) -> Iterator[Any]:
    """Opens a file; any request for anything else fails the test."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = chromium()
    if path is None:
        pytest.skip("no Chromium: set MQCTL_TEST_CHROMIUM or run `playwright install chromium`")
    arguments = ["--no-sandbox", "--single-process", "--no-zygote", "--headless=shell"]
    asked: list[str] = []
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=arguments)
        try:
            page = browser.new_page(viewport=viewport)
            page.on("request", lambda request: asked.append(request.url))
            page.on("pageerror", lambda error: asked.append(str(error)))
            page.goto(file.as_uri())
            yield page
            assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
        finally:
            browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, mqctl: Run) -> Path:
    pytest.importorskip("matplotlib", reason="the spark extra is not installed")
    directory = tmp_path_factory.mktemp("page")
    write_planted(directory, 2 << 20, body_bytes=300, file_bytes=1 << 20)
    page = directory / "report.html"
    snapshot = ("--snapshot", directory / "cluster.snap")
    outcome = mqctl("report", "run", "--store", directory / "store", *snapshot, "--no-spark", "--html", page)
    assert outcome.exit_code == 0, outcome.stderr
    return page


@pytest.mark.parametrize("viewport", [PHONE, DESK])
def test_the_page_fits_and_its_charts_are_drawn(report: Path, viewport: dict[str, int]) -> None:
    with page_of(report, viewport) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
        first = page.locator("#findings li").first.bounding_box()
        assert first is not None
        assert first["y"] < viewport["height"], "findings come first"
        assert page.locator("p.verdict").inner_text().startswith("CRITICAL: ")
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
        boxes = page.evaluate(
            "[...document.querySelectorAll('svg')].map("
            "s => [s.getBoundingClientRect().width, s.querySelectorAll('path').length])"
        )
        assert len(boxes) >= 8
        assert all(0.5 * viewport["width"] < width <= viewport["width"] or width > 500 for width, _ in boxes)
        assert all(paths > 3 for _, paths in boxes)
        for link in page.locator("#findings a").all():
            target = link.get_attribute("href") or ""
            assert page.locator(target).count() == 1


def test_no_column_is_cut_on_a_desk(report: Path) -> None:
    with page_of(report, DESK) as page:
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        cut = "[...document.querySelectorAll('.wide')].filter(e => e.scrollWidth > e.clientWidth).length"
        assert page.evaluate(cut) == 0


def test_wide_tables_scroll_inside_and_texts_are_not_cut(report: Path) -> None:
    with page_of(report, PHONE) as page:
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        cut = page.evaluate(
            "[...document.querySelectorAll('li, h2, h3, p')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
        )
        assert cut == 0
        scrolling = page.evaluate(
            "[...document.querySelectorAll('.wide')].filter(e => e.scrollWidth > e.clientWidth).length"
        )
        assert scrolling > 0


def test_figures_can_be_saved(report: Path) -> None:
    with page_of(report, DESK) as page:
        link = page.locator("#skew a[download]").first
        data = link.get_attribute("href") or ""
        lines = base64.b64decode(data.split(",", 1)[1]).decode().splitlines()
        assert lines[0].startswith("topic,queues,messages")
        assert any(line.startswith("orders,8,") for line in lines)


def test_it_prints_to_pdf(report: Path, tmp_path: Path) -> None:
    with page_of(report, DESK) as page:
        data = page.pdf(format="A4")
    assert data.startswith(b"%PDF-")
    assert 2 <= data.count(b"/Type /Page\n") + data.count(b"/Type /Page ") + data.count(b"/Type /Page/") <= 40
    assert len(data) > 20_000
