"""docs/numbers.md: each sum comes out of mqctl as the page says."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import jmespath

from docs.numbers_page import SUMS, Sum, page
from mqctl.model.lang import Lang
from tests.conftest import Outcome
from tests.each import each


@each("item", SUMS)
def test_the_sum_comes_out(mqctl: Callable[..., Outcome], item: Sum) -> None:
    assert (item.path is None) != (item.computed is None)
    if item.computed is not None:
        assert item.computed() == item.value
        return
    outcome = mqctl(*shlex.split(item.command), "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    assert item.path is not None
    assert jmespath.search(item.path, outcome.json) == item.value


@each("item", SUMS)
def test_the_sum_on_the_page_names_its_result(item: Sum) -> None:
    """A value that changes without its sentence would leave the page wrong."""
    values = item.value if isinstance(item.value, list | tuple) else [item.value]
    if item.command.startswith(("retry", "group")):
        return  # milliseconds there, hours on the page
    for text in item.how:
        for value in values:
            assert f"{value:,.0f}" in text or f"{value:.0f}" in text, (value, text)


def test_both_languages_have_every_sum() -> None:
    assert page(Lang.EN).count("\n| ") == page(Lang.ZH).count("\n| ") == len(SUMS) + 1
