"""The recorded picture of the README: a real run's, of commands and rules that exist."""

from __future__ import annotations

import re
from html import unescape

from docs.picture import PICTURE, drawn, shown
from mqctl.rules import RULES
from tests.conftest import REPOSITORY
from tests.docs import markdown
from tests.docs.markdown import CommandLine
from tests.docs.test_command_lines import complaint


def test_it_shows_what_exists_and_the_readme_shows_it() -> None:
    text = unescape(re.sub(r"<[^>]+>", " ", PICTURE.read_text())).replace("\xa0", " ")
    lines = re.findall(r"\$ (mqctl [^\n]+?)\s*$", text, re.MULTILINE)
    calls = [call for line in lines for call in markdown.split(line)]
    assert ("quickstart",) in calls
    assert len(calls) > 1
    assert [problem for call in calls if (problem := complaint(CommandLine("picture", call, whole=True)))] == []
    codes = set(re.findall(r"MQ\d{3}", text))
    assert codes
    assert codes <= RULES.keys()
    assert "](docs/quickstart.svg)" in (REPOSITORY / "README.md").read_text()


def test_pictures_are_compared_without_their_figures() -> None:
    one, other = drawn("\x1b[31mFATAL\x1b[0m  12 messages\nlate"), drawn("\x1b[31mFATAL\x1b[0m  97 messages\nlate")
    assert one != other
    assert shown(one) == shown(other) == ["$ mqctl quickstart", "FATAL # messages", "late"]
