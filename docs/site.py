"""Builds the documentation site in dist/site, in English and below zh/ in Chinese: `.ci/site`.

Pages are the repository's Markdown files at their own paths, so that links work on the site as they do in a checkout,
and the references of docs/built.py: what a page links to in docs/reference.md is there itself.
The Chinese site has the same pages; one that has a sibling X.zh.md shows that, another its English text. A broken link,
a page that the navigation does not name, and what a page would fetch from the network fail the build.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from docs import built  # noqa: E402 - the checkout goes before an installed copy

BUILT = {"#commands": "docs/commands.md", "#rules": "docs/rules.md", "#machine-output": "docs/schemas/README.md"}
"""Pages that are built, by the section of docs/reference.md that speaks of each."""
_STAGED = ROOT / "build" / "site"
_SITE = ROOT / "dist" / "site"
_HOME = "https://github.com/mqctl/mqctl/blob/main/"
_LINK = re.compile(r"\[([^\[\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[\w-]*)?\)")
_SHOWN = {".md", ".svg", ".png", ".json", ".yaml", ".yml"}
_HAN = re.compile("[\u4e00-\u9fff]{2,}")
_FETCHED = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//[^\s"'>]+""")


def main() -> int:
    """Builds both sites; returns 1 when one is not as it should be."""
    shutil.rmtree(_STAGED, ignore_errors=True)
    shutil.rmtree(_SITE, ignore_errors=True)
    references = built.site_pages()
    for language, place in (("en", _SITE), ("zh", _SITE / "zh")):
        pages = _STAGED / language
        for name, text in references.items():
            (pages / name).parent.mkdir(parents=True, exist_ok=True)
            (pages / name).write_text(text, encoding="utf-8")
        for name in markdown_names():
            lay(name, pages, language)
        config = _STAGED / f"mkdocs.{language}.yml"
        config.write_text(yaml.safe_dump(settings(language, pages, place), allow_unicode=True, sort_keys=False))
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config)]
        environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.stderr.write(done.stderr)
            return 1
    set_words_apart(_SITE / "zh" / "search" / "search_index.json")
    fetched = [f"{page.relative_to(_SITE)}: {found}" for page in _SITE.rglob("*.html") for found in outside(page)]
    sys.stderr.write("".join(f"would be fetched from the network: {line}\n" for line in fetched))
    return 1 if fetched else 0


def markdown_names() -> list[str]:
    """Names of the committed Markdown files that are pages, without the Chinese siblings."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return sorted(name for name in listed if not name.endswith(".zh.md") and (ROOT / name).exists())


def lay(name: str, pages: Path, language: str) -> None:
    """Lays one page, and the pictures and examples it links to, where mkdocs finds them."""
    chinese = Path(name).with_suffix(".zh.md")
    source = ROOT / (chinese if language == "zh" and (ROOT / chinese).exists() else name)
    target = pages / name
    target.parent.mkdir(parents=True, exist_ok=True)

    def turned(link: re.Match[str]) -> str:
        linked = Path(os.path.normpath(source.parent / link[2]))
        if not linked.is_relative_to(ROOT) or not linked.exists():
            return link[0]  # mkdocs says so
        inside = linked.relative_to(ROOT)
        if str(inside) == "docs/reference.md" and link[3] in BUILT:
            return f"[{link[1]}]({os.path.relpath(BUILT[link[3]], Path(name).parent)})"
        if source.name.endswith(".zh.md") and inside.name.endswith(".zh.md"):
            return link[0].replace(".zh.md", ".md")  # within the Chinese site
        if inside.name.endswith(".zh.md") or (source.name.endswith(".zh.md") and str(inside) == name):
            page = re.sub(r"README\.html$", "index.html", re.sub(r"(\.zh)?\.md$", ".html", str(inside)))
            other = "zh/" if language == "en" else "../"  # the same page of the other site
            return f'<a href="{"../" * (len(Path(name).parts) - 1)}{other}{page}">{link[1]}</a>'
        if linked.is_dir() or linked.suffix not in _SHOWN or inside.parts[0] == ".ci":
            return f"[{link[1]}]({_HOME}{inside})"
        if linked.suffix != ".md":
            (pages / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(linked, pages / inside)
        return link[0]

    text = _LINK.sub(turned, source.read_text(encoding="utf-8"))
    if source.name.endswith(".zh.md"):
        text = with_anchors(text, headings((ROOT / name).read_text(encoding="utf-8")))
    target.write_text(text, encoding="utf-8")


def headings(text: str) -> list[str]:
    """The headings of a page, without the comments in its blocks of commands."""
    return re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)


def with_anchors(text: str, english: list[str]) -> str:
    """A Chinese page whose headings have the anchors of the English ones, so that links to them lead to either."""
    from markdown.extensions.toc import slugify

    for own, other in zip(headings(text), english, strict=True):
        text = re.sub(rf"^(#+ {re.escape(own)})$", rf"\1 {{#{slugify(other, '-')}}}", text, count=1, flags=re.MULTILINE)
    return text


def settings(language: str, pages: Path, place: Path) -> dict[str, Any]:
    """The settings of mkdocs.yml for one language, with every playbook's page in the navigation."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    titles = found["extra"].pop("titles")[language] if language == "zh" else {}
    found |= {"docs_dir": str(pages), "site_dir": str(place), "nav": list(navigation(found["nav"], titles))}
    found["theme"]["language"] = language
    if language == "zh":
        links = {"en": "../", "zh": "./"}
        found["extra"]["alternate"] = [{**item, "link": links[item["lang"]]} for item in found["extra"]["alternate"]]
    return found


def navigation(entries: list[Any], titles: dict[str, str]) -> Iterator[Any]:
    """The navigation with its titles translated, as far as they are."""
    for entry in entries:
        if isinstance(entry, str):
            yield entry
            continue
        ((title, below),) = entry.items()
        shown = titles.get(title, title)
        if below == {}:
            stories = sorted((ROOT / "playbooks").glob("*/README.md"))
            yield {shown: [{story.parent.name: str(story.relative_to(ROOT))} for story in stories]}
        else:
            yield {shown: list(navigation(below, titles)) if isinstance(below, list) else below}


def set_words_apart(index: Path) -> None:
    """Puts blanks of no width between the Chinese words of a search index: the search finds what a word begins with."""
    import rjieba

    found = msgspec.json.decode(index.read_bytes())
    for entry in found["docs"]:
        for part in ("title", "text"):
            entry[part] = _HAN.sub(lambda run: "\u200b".join(rjieba.cut(run[0])), entry[part])
    index.write_bytes(msgspec.json.encode(found))


def outside(page: Path) -> list[str]:
    """What a browser would fetch from elsewhere when it shows a page."""
    text = page.read_text(encoding="utf-8")
    return [found for found in _FETCHED.findall(text) if 'rel="canonical"' not in found]


if __name__ == "__main__":
    sys.exit(main())
