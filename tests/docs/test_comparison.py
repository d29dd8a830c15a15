"""The comparison of tools: twelve questions, every tool in each, and nothing of mqadmin that it did not say."""

from __future__ import annotations

import re

from tests.conftest import REPOSITORY
from tests.each import each
from tests.live.mqadmin.replay import runs

PAGE = (REPOSITORY / "docs" / "comparison.md").read_text(encoding="utf-8")
QUESTIONS = re.findall(r"^## (\d+\. .+?)\n(.*?)(?=^## )", PAGE, re.DOTALL | re.MULTILINE)
TOOLS = ["mqadmin", "dashboard", "exporter", "mqctl"]


def rows(section: str) -> dict[str, list[str]]:
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in section.splitlines() if "|" in line]
    return {row[0].strip(" |"): row[1:] for row in cells if row[0].strip(" |") in TOOLS}


def test_there_are_twelve() -> None:
    assert [question.partition(".")[0] for question, _ in QUESTIONS] == [str(number) for number in range(1, 13)]


@each("question, section", QUESTIONS)
def test_every_tool_answers_and_ours_falls_short_somewhere(question: str, section: str) -> None:
    cells = rows(section)
    assert list(cells) == TOOLS, question
    assert "mqctl " in cells["mqctl"][0]
    assert len(cells["mqctl"]) == 3 and cells["mqctl"][2]


def test_what_mqadmin_says_is_what_it_said() -> None:
    recorded = [run for run in runs().values() if run.release == "4.9.8"]
    failed = sum("Exception" in run.err for run in recorded)
    assert f"the {failed} of the {len(recorded)} calls that printed an exception" in PAGE
    said = " ".join(" ".join(f"{run.out} {run.err}".split()) for run in recorded)
    commands = {run.argv[0] for run in recorded}
    for _, section in QUESTIONS:
        how, *answers = rows(section)["mqadmin"]
        if "not recorded" not in how:
            assert {span.split()[0] for span in re.findall(r"`([^`]+)`", how)} <= commands
        quoted = [span for answer in answers for span in re.findall(r"`([^`]+)`", answer)]
        assert [span for span in quoted if span not in said and span != "kill -9"] == []
