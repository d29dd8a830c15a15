"""docs/literature.md: each clause names a test, a scenario and commands that exist."""

from __future__ import annotations

from docs.literature_page import Clause, page, sections
from mqctl.local.scenario_files import scenario_names
from mqctl.model.lang import Lang
from tests.conftest import REPOSITORY
from tests.each import each

CLAUSES = [clause for section in sections() for clause in section.clauses]


@each("clause", CLAUSES)
def test_what_a_clause_names_is_there(clause: Clause) -> None:
    assert clause.tests
    for named in clause.tests:
        file, _, name = named.partition("::")
        assert f"\ndef {name}(" in (REPOSITORY / file).read_text(encoding="utf-8"), named
    assert clause.scenario is None or clause.scenario in scenario_names()
    assert clause.run or "](" in clause.en, "a command, or a page"


def test_both_languages_have_every_clause() -> None:
    assert page(Lang.EN).count("\n| ") == page(Lang.ZH).count("\n| ") == len(CLAUSES) + len(sections())
