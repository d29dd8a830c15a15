"""Where playbooks are: inside an installed mqctl, or at the top of a checkout."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from mqctl.errors import NotFoundError
from mqctl.model.command_line import command_line
from mqctl.model.lang import Lang
from mqctl.model.names_alike import meant
from mqctl.model.playbook import Playbook
from mqctl.playbook.reading import read_playbook
from mqctl.text import sentence

_README = {Lang.EN: "README.md", Lang.ZH: "README.zh.md"}


def directory() -> Traversable:
    """Returns the directory with one folder for each playbook. Raises NotFoundError."""
    packaged = files("mqctl") / "playbooks"
    if packaged.is_dir():
        return packaged
    checkout = Path(__file__).resolve().parents[2] / "playbooks"
    if checkout.is_dir():
        return checkout
    raise NotFoundError(
        sentence("no-playbooks", "there are no playbooks"),
        reason=sentence(
            "playbook-neither-nor", "neither in {packaged} nor in {checkout}", packaged=packaged, checkout=checkout
        ),
    )


def slugs() -> list[str]:
    """Returns the names of all playbooks, in alphabetical order."""
    return sorted(item.name for item in directory().iterdir() if (item / "playbook.yaml").is_file())


def load_playbook(slug: str) -> Playbook:
    """Reads one playbook, by its name or, with a slash in it, from a directory of one's own.

    Raises:
        NotFoundError: there is none.
        ConfigurationError: it cannot be used.
    """
    file = _folder(slug) / "playbook.yaml"
    return read_playbook(Path(slug).name, file) if "/" in slug else read_playbook(slug, file, _answers(slug))


def _answers(slug: str) -> tuple[str, ...]:
    """Returns the codes of the rules that lead to a playbook: each names the one that helps."""
    from mqctl.rules import RULES

    return tuple(sorted(code for code, rule in RULES.items() if rule.playbook == slug))


def readme(slug: str, lang: Lang | None) -> str:
    """Returns what a playbook has to say in prose. Raises NotFoundError."""
    file = _folder(slug) / _README[lang or Lang.EN]
    if not file.is_file():
        raise NotFoundError(
            sentence("playbook-no", "the playbook {slug} has no {file}", slug=slug, file=file.name),
            remedy=command_line("mqctl playbook show {}", slug),
        )
    return file.read_text(encoding="utf-8")


def _folder(slug: str) -> Traversable:
    if "/" in slug and (Path(slug) / "playbook.yaml").is_file():
        return Path(slug)
    if slug not in slugs():
        raise NotFoundError(
            sentence("no-playbook", "there is no playbook {slug}", slug=slug),
            remedy=meant(slug, slugs(), "mqctl playbook list"),
        )
    return directory() / slug
