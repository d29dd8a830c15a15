"""Errors in JSON have the words of the command that they advise."""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec

from mqctl.model.command_line import command_line
from mqctl.model.gap import Cause, Gap, Part
from mqctl.text import argv_of, encoded, plain_values, restored, sentence, values_of
from tests.argv import lines_without_argv
from tests.conftest import Outcome
from tests.each import each

TYPED = (
    (["consumerProgress", "-g", "orders x"], ["mqctl", "group", "lag", "-g", "orders x"]),
    (["lag", "it's"], ["mqctl", "group", "lag", "it's"]),
    (["group", "offsets", "GC_kill"], ["mqctl", "group", "lag", "GC_kill"]),
    (["status"], ["mqctl", "cluster", "describe"]),
)


@each("case", TYPED)
def test_a_guess_tells_the_words_to_type(mqctl: Callable[..., Outcome], case: tuple[list[str], list[str]]) -> None:
    typed, meant = case
    error = json.loads(mqctl(*typed, "-o", "json").stderr)
    assert lines_without_argv(error) == []
    assert error["remedy_argv"][: len(meant)] == meant, error


def test_values_have_the_words_and_are_read_back() -> None:
    line = command_line("mqctl dlq list {}", "a\nb c")
    said = sentence("dlq-shows", "{value} shows them", value=line)
    assert values_of(said) == {"value": "mqctl dlq list 'a\\nb c'", "value_argv": ["mqctl", "dlq", "list", "a\nb c"]}
    again = restored(said, "dlq-shows", values_of(said))
    assert plain_values(getattr(again, "values", {})) == values_of(said)


def test_a_gap_keeps_the_words_of_what_helps() -> None:
    gap = Gap(part=Part.TOPICS, cause=Cause.DENIED, reason="no", remedy=command_line("mqctl acl explain {}", "it's"))
    kept = msgspec.json.decode(msgspec.json.encode(gap, enc_hook=encoded), type=Gap)
    assert argv_of(kept.remedy) == gap.remedy_argv == ["mqctl", "acl", "explain", "it's"]
