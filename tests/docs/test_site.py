"""The documentation site: every page has a place in the navigation, in both languages, and its links lead to pages.

The build itself is a step of CI (`.ci/site`): mkdocs fails on broken links and anchors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs import site
from tests.conftest import REPOSITORY
from tests.each import each
from tests.requires import need_extra

SETTINGS: dict[str, Any] = yaml.safe_load((REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8"))


def entries(nav: list[Any]) -> Iterator[tuple[str, str]]:
    """Titles and pages of the navigation; a page without a title of its own, or a section, has the other empty."""
    for entry in nav:
        if isinstance(entry, str):
            yield "", entry
            continue
        ((title, below),) = entry.items()
        yield title, below if isinstance(below, str) else ""
        if isinstance(below, list):
            yield from entries(below)


def test_every_page_has_one_place_in_the_navigation() -> None:
    placed = [page for _, page in entries(list(site.navigation(SETTINGS["nav"], {}))) if page]
    assert sorted(placed) == sorted([*site.markdown_names(), *site.BUILT.values()])


def test_the_navigation_speaks_chinese_and_nothing_is_translated_for_nobody() -> None:
    titles = {title for title, _ in entries(SETTINGS["nav"]) if title}
    assert set(SETTINGS["extra"]["titles"]["zh"]) == titles


@pytest.mark.parametrize(
    ("language", "shown"), [("en", "RocketMQ for people who know Kafka"), ("zh", "写给熟悉 Kafka 的人")]
)
def test_a_page_is_laid_in_its_language_and_leads_to_the_other(tmp_path: Path, language: str, shown: str) -> None:
    if language == "zh":
        need_extra("site", "markdown")
    site.lay("docs/kafka.md", tmp_path, language)
    text = (tmp_path / "docs" / "kafka.md").read_text(encoding="utf-8")
    assert shown in text
    other = "../zh/docs/kafka.html" if language == "en" else "../../docs/kafka.html"
    assert f'<a href="{other}">' in text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_leads_to_a_section_of_the_reference_leads_to_the_page_that_is_built(
    tmp_path: Path, language: str
) -> None:
    need_extra("site", "markdown")
    from markdown.extensions.toc import slugify

    site.lay("README.md", tmp_path, language)
    site.lay("docs/comparison.md", tmp_path, language)
    assert "](docs/rules.md)" in (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "](schemas/README.md)" in (tmp_path / "docs" / "comparison.md").read_text(encoding="utf-8")
    sections = site.headings((REPOSITORY / "docs" / "reference.md").read_text(encoding="utf-8"))
    assert {f"#{slugify(section, '-')}" for section in sections} >= site.BUILT.keys()


def commands(page: Path) -> set[str]:
    """Command lines of mqctl on a page, in its text, and the lines of its blocks, whatever language they ask for."""
    text = page.read_text(encoding="utf-8").replace(" --lang zh", "")
    blocks = re.findall(r"^```(?:sh|console|python|yaml)$(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return {*re.findall(r"`(mqctl [^`\n]+)`", text), *(line for block in blocks for line in block.splitlines())}


CHINESE = [page for place in ("*", "docs/**/*", "playbooks/*/*") for page in sorted(REPOSITORY.glob(f"{place}.zh.md"))]


@each("page", CHINESE)
def test_a_chinese_page_names_the_same_commands_under_the_same_number_of_headings(page: Path) -> None:
    english = page.with_name(page.name.replace(".zh.md", ".md"))
    assert commands(page) ^ commands(english) == set()
    mine, others = (site.headings(each.read_text(encoding="utf-8")) for each in (page, english))
    assert len(mine) == len(others)


def test_a_chinese_page_leads_to_chinese_pages(tmp_path: Path) -> None:
    need_extra("site", "markdown")
    site.lay("docs/tasks/stuck-group.md", tmp_path, "zh")
    assert "](../concepts/allocation.md)" in (tmp_path / "docs/tasks/stuck-group.md").read_text(encoding="utf-8")


def test_pictures_and_examples_lie_beside_their_pages_and_sources_are_linked_where_they_are(tmp_path: Path) -> None:
    site.lay("README.md", tmp_path, "en")
    assert (tmp_path / "docs" / "quickstart.svg").exists()
    assert "(https://github.com/mqctl/mqctl/blob/main/LICENSE)" in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize(
    "tag", ['<script src="https://cdn.example/x.js">', '<link rel="stylesheet" href=//f.example/a>']
)
def test_what_a_page_would_fetch_is_seen(tmp_path: Path, tag: str) -> None:
    page = tmp_path / "page.html"
    page.write_text(f'<a href="https://example.org/">a link is no fetch</a>{tag}<script src="own.js">')
    assert len(site.outside(page)) == 1


def test_chinese_words_stand_apart_in_the_search_index(tmp_path: Path) -> None:
    need_extra("site", "rjieba")
    index = tmp_path / "search_index.json"
    index.write_text(
        '{"config": {}, "docs": [{"title": "消费堆积", "text": "<p><code>group lag</code> 重置位点</p>"}]}'
    )
    site.set_words_apart(index)
    (entry,) = json.loads(index.read_text(encoding="utf-8"))["docs"]
    assert entry["title"].split("\u200b") == ["消费", "堆积"]
    assert "</code> 重置\u200b" in entry["text"]
