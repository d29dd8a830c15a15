"""`explain`: rules, exit codes, causes and any of Kafka's words are found, in both languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from mqctl.cli.catalog import BY_PATH
from mqctl.errors import ExitCode
from mqctl.model.gap import Cause
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
    outcome = mqctl("explain", word)
    assert outcome.exit_code == 0
    assert outcome.stdout.splitlines()[0].endswith(f"→  {rocketmq}")
    (term,) = mqctl("explain", word, "-o", "json").json["explanations"]
    assert (term["kind"], term["meaning"]) == ("Kafka", rocketmq)
    assert term["text"] in outcome.stdout and term["command"] in outcome.stdout


def test_without_a_term_all_are_listed_in_the_language_asked_for(mqctl: Run) -> None:
    rows = mqctl("explain", "-o", "json").json["explanations"]
    kinds = Counter(row["kind"] for row in rows)
    assert kinds == {"exit code": len(ExitCode), "cause": len(Cause), "Kafka": len(KAFKA_TERMS)}
    assert mqctl("explain", "kafka", "-o", "json").json["explanations"] == rows
    shown = mqctl("explain", "rebalance", "--lang", "zh").stdout
    assert "重平衡" in shown and "每 20 秒" in shown


def test_exit_codes_and_causes_are_explained(mqctl: Run) -> None:
    assert mqctl("explain", "75").stdout == "exit code 75: no answer within the deadline\n"
    assert "退出码 75" in mqctl("explain", "timed-out", "--lang", "zh").stdout


def test_a_rule_is_explained_by_its_code(mqctl: Run) -> None:
    (row,) = mqctl("explain", "mq203", "-o", "json").json["explanations"]
    shown = mqctl("explain", "MQ203").stdout
    assert (row["kind"], shown.splitlines()[0]) == ("rule", f"MQ203  {row['meaning']}")
    assert row["rule"]["source"] in shown and row["command"] in shown
    assert mqctl("rules", "explain", "MQ203").stdout == shown
    unknown = mqctl("explain", "MQ999")
    assert (unknown.exit_code, "mqctl rules list" in unknown.stderr) == (66, True)


def test_an_unknown_word_names_those_near_to_it(mqctl: Run) -> None:
    outcome = mqctl("explain", "partitoin")
    assert (outcome.exit_code, outcome.stdout) == (66, "")
    assert "near to it: partition" in outcome.stderr


def test_no_word_means_two_terms_and_every_command_is_there() -> None:
    words = [word for term in KAFKA_TERMS for word in (term.name, *term.also)]
    assert len(words) == len(set(words))
    for term in KAFKA_TERMS:
        start = tuple(term.command.split()[1:3])
        assert start in BY_PATH, term.command
        assert spoken(term.text, Lang.ZH) != term.text
