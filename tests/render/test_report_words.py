"""The sentences of reports over store directories, in each language."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.conftest import Outcome
from tests.each import each

Run = Callable[..., Outcome]
Store = Callable[[str], Path]
FIGURE = re.compile(r"(?<![\w/-])\d[\d,.:+-]*")


@each("report", ["order", "retries", "duplicates", "transactions", "delay"])
def test_people_read_their_language(report: str, mqctl: Run, golden_store: Store) -> None:
    words = ("report", report, "--store", golden_store("store-5.3.3"), "--no-spark")
    english, chinese = mqctl(*words).stdout, mqctl(*words, "--lang", "zh").stdout
    assert english != chinese
    assert re.search(r"[\u4e00-\u9fff]", chinese.split("\n\n", 1)[0])
    assert not re.search(r"[\u4e00-\u9fff]", english.split("\n\n", 1)[0])
    # Figures are the same, whatever the words and the widths of the columns around them.
    tables, translated = (text.split("\n\n", 1)[1] for text in (english, chinese))
    assert FIGURE.findall(translated) == FIGURE.findall(tables)
    assert len(FIGURE.findall(tables)) > 10


def test_machines_read_english_and_the_environment_names_a_language_too(mqctl: Run, golden_store: Store) -> None:
    words = ("report", "retries", "--store", golden_store("store-5.3.3"), "--no-spark")
    assert mqctl(*words, env={"MQCTL_LANG": "zh"}).stdout == mqctl(*words, "--lang", "zh").stdout
    assert mqctl(*words, "-o", "json", "--lang", "zh").json == mqctl(*words, "-o", "json").json


def test_a_page_is_written_in_its_language(mqctl: Run, golden_store: Store, tmp_path: Path) -> None:
    store = golden_store("store-5.3.3")
    outcome = mqctl("report", "run", "--store", store, "--no-spark", "--html", tmp_path / "zh.html", "--lang", "zh")
    assert outcome.exit_code == 0
    page = (tmp_path / "zh.html").read_text()
    lines = [line for line in outcome.stdout.splitlines() if "TopicTest" in line]
    assert lines
    assert "个键中有" in page
