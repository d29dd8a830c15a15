"""The page of `report run` in a real browser: nothing fetched, nothing cut off on a phone, printable."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.planted_store import write_planted
from tests.browser import DESK, PHONE, page_of
from tests.conftest import Outcome

pytestmark = [pytest.mark.spark, pytest.mark.slow]
Run = Callable[..., Outcome]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, mqctl: Run) -> Path:
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
        assert page.locator("p.verdict").inner_text().startswith("ERROR: ")
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
