"""A real browser for tests of pages: whatever a page asks for beyond itself fails the test.

Chromium is taken from MQCTL_TEST_CHROMIUM, from `playwright install chromium`, from the PATH, or from where the npm
package `@sparticuz/chromium` unpacks itself (the temporary directory); without any the test is skipped.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.requires import leave_out, need_extra

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1_280, "height": 900}


def chromium() -> str | None:
    """Finds a Chromium, or None."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        own = play.chromium.executable_path
    candidates = [
        os.environ.get("MQCTL_TEST_CHROMIUM"),
        own,
        shutil.which("chromium"),
        shutil.which("google-chrome"),
        str(Path(tempfile.gettempdir()) / "chromium"),
    ]
    return next((path for path in candidates if path and Path(path).is_file()), None)


@contextmanager
def page_of(file: Path, viewport: dict[str, int]) -> Iterator[Any]:
    """Opens a file; any request for anything else fails the test."""
    need_extra("interop", "playwright")
    from playwright.sync_api import sync_playwright

    path = chromium()
    if path is None:
        leave_out("it needs Chromium: install it, set MQCTL_TEST_CHROMIUM or run `playwright install chromium`")
    arguments = ["--no-sandbox", "--single-process", "--no-zygote", "--headless=shell"]
    requests: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=arguments)
        try:
            page = browser.new_page(viewport={"width": viewport["width"], "height": viewport["height"]})
            page.on("request", lambda request: requests.append(request.url))
            page.on("pageerror", lambda error: requests.append(str(error)))
            page.goto(file.as_uri())
            yield page
            assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
        finally:
            browser.close()
