"""`explain kafka`: any of Kafka's words is found, in both languages, and every command it names runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mqctl.cli.catalog import BY_PATH
from mqctl.model.lang import Lang
from mqctl.render.kafka_terms import KAFKA_TERMS
from mqctl.render.translation import spoken
from tests.conftest import Outcome

Run = Callable[..., Outcome]


@pytest.mark.parametrize(
    ("word", "rocketmq"),
    [
        ("partition", "message queue"),
        ("Partitions", "message queue"),
        ("auto.offset.reset", "consumeFromWhere"),
        ("__consumer_offsets", "consumer offset"),
        ("Consumer-Group", "consumer group"),
        ("sticky", "allocation strategy"),
    ],
)
def test_a_term_is_found_by_any_of_its_words(mqctl: Run, word: str, rocketmq: str) -> None:
    outcome = mqctl("explain", "kafka", word)
    assert outcome.exit_code == 0
    assert outcome.stdout.splitlines()[0].endswith(f"→  {rocketmq}")
    (term,) = mqctl("explain", "kafka", word, "-o", "json").json["terms"]
    assert term["rocketmq"] == rocketmq and term["text"] in outcome.stdout and term["command"] in outcome.stdout


def test_without_a_term_all_are_listed_in_the_language_asked_for(mqctl: Run) -> None:
    assert len(mqctl("explain", "kafka", "-o", "json").json["terms"]) == len(KAFKA_TERMS)
    shown = mqctl("explain", "kafka", "rebalance", "--lang", "zh").stdout
    assert "重平衡" in shown and "每 20 秒" in shown


def test_an_unknown_word_names_those_near_to_it(mqctl: Run) -> None:
    outcome = mqctl("explain", "kafka", "partitoin")
    assert (outcome.exit_code, outcome.stdout) == (66, "")
    assert "near to it: partition" in outcome.stderr


def test_no_word_means_two_terms_and_every_command_is_there() -> None:
    words = [word for term in KAFKA_TERMS for word in (term.name, *term.also)]
    assert len(words) == len(set(words))
    for term in KAFKA_TERMS:
        start = tuple(term.command.split()[1:3])
        assert start in BY_PATH, term.command
        assert spoken(term.text, Lang.ZH) != term.text
