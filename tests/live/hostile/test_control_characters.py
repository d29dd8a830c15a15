"""Messages, tags, client ids and remarks that try to drive the reader's terminal: shown, never obeyed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from embedded_broker import Answer, EmbeddedCluster
from mqctl.protocol.codes import RequestCode
from mqctl.protocol.requests_client import UpdateConsumerOffset
from mqctl.text import printable
from tests.conftest import Outcome
from tests.embedded_broker.messages import heartbeat, send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run
from tests.live.terminal import Terminal
from tests.store.builder import StoreBuilder, message

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\x08\u202egpj.exe\u2066\u200b\u061c\xad\ufeff\U000e0041"
BREAK = "\nLINEBREAKER"
"""Begins a line of an answer only where a name's own line break got there as it was."""
CONTROLS = ("\x1b", "\x07", "\x08", "\x9b", "\u202e", "\u2066", "\r", "\x7f")


def is_harmless(text: str) -> bool:
    return all(char.isprintable() or char == "\n" for char in text) and not any(
        line.lstrip().startswith(BREAK.strip()) for line in text.split("\n")
    )


def harmless(outcome: Outcome) -> bool:
    return is_harmless(outcome.stdout) and is_harmless(outcome.stderr) and "Traceback" not in outcome.stderr


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[EmbeddedCluster]:
    """One release is enough: what is written does not depend on it."""
    with EmbeddedCluster() as running:
        yield running


@pytest.fixture
def cluster(shared_cluster: EmbeddedCluster) -> EmbeddedCluster:
    shared_cluster.reset()
    return shared_cluster


@pytest.fixture
def evil(cluster: EmbeddedCluster) -> Iterator[EmbeddedCluster]:
    """The cluster with such a message in Pay (tag, key, body, group of a property) and such a member of G."""
    with Peer(cluster.broker().address) as peer:
        for number in range(2):
            assert peer.call(send("Pay", properties={"TAGS": "A", "KEYS": f"k{number}"}), b"x").code == 0
        properties = {"TAGS": f"tag{EVIL}", "KEYS": f"key{EVIL.replace(' ', '')}", "UNIQ_KEY": f"u{EVIL}", "x": EVIL}
        properties |= {"RETRY_TOPIC": EVIL, "PGROUP": EVIL}
        for body in (EVIL.encode(), b'{"a":"\xc2\x9b\xe2\x80\xae\x7f"}'):
            assert peer.call(send("Pay", queue_id=1, properties=properties), body).code == 0
            assert peer.call(send("%DLQ%G", properties=properties), body).code == 0
        wanted = {"Pay": f"a||{EVIL}{BREAK}"}
        assert heartbeat(peer, f"client{EVIL}{BREAK}", group="G", subscriptions=wanted).code == 0
        yield cluster


READING: tuple[tuple[str, ...], ...] = (
    ("message", "peek", "-t", "Pay", "--from-start"),
    ("message", "tail", "-t", "Pay"),
    ("message", "get", "-t", "Pay", "--key", f"key{EVIL.replace(' ', '')}"),
    ("topic", "entries", "-t", "Pay", "-q", "1"),
    ("dlq", "list", "-g", "G"),
    ("group", "members", "-g", "G"),
    ("group", "describe", "-g", "G"),
    ("group", "lag", "-g", "G"),
    ("allocation", "show", "-g", "G"),
    ("subscription", "check", "-g", "G"),
    ("subscription", "simulate", "-g", "G", "-t", "Pay", "--to", "B", "--instances", "1"),
    ("group", "lag", "-g", "G", "--advise", "--window", "1s"),
    ("group", "list"),
    ("group", "members", "--client", f"client{EVIL}{BREAK}", "-g", "G"),
    ("topic", "describe", "-t", "Pay"),
    ("lock", "show", "-g", "G"),
    ("stacks", "dump", "-g", "G"),
    ("broker", "list"),
    ("order", "check", "-t", "Pay"),
    ("doctor",),
    ("top", "--once", "--every", "100ms"),
)


@pytest.mark.parametrize("words", READING, ids=lambda words: " ".join(words[:2]))
def test_no_text_of_others_reaches_the_terminal_raw(evil: EmbeddedCluster, live: Run, words: tuple[str, ...]) -> None:
    outcome = live(*words, "-o", "wide", "--timeout", "1s")  # the member that was made up answers no question
    assert harmless(outcome), (words, outcome)
    assert outcome.exit_code not in (64, 70), outcome


def test_what_was_made_visible_is_there(evil: EmbeddedCluster, live: Run) -> None:
    peeked = live("message", "peek", "-t", "Pay", "--from-start", "-o", "json")
    assert [row["tags"] for row in peeked.json["messages"] if row["tags"] != "A"] == [f"tag{EVIL}"] * 2
    assert "\\u009b" in peeked.stdout
    assert harmless(peeked)
    as_yaml = live("message", "peek", "-t", "Pay", "--from-start", "-o", "yaml")
    assert harmless(as_yaml)
    assert [row["tags"] for row in yaml.safe_load(as_yaml.stdout)["messages"]] == [
        row["tags"] for row in peeked.json["messages"]
    ]
    for words in (("dlq", "list", "-g", "G"), ("group", "members", "-g", "G")):
        shown = live(*words, "-o", "json", "--timeout", "2s")
        assert harmless(shown)
        assert "\\u202e" in shown.stdout
    assert "\\x1b]0;owned" in live("message", "peek", "-t", "Pay", "--from-start", "-o", "wide").stdout


def test_remarks_and_names_that_brokers_tell(evil: EmbeddedCluster, live: Run) -> None:
    evil.fault(RequestCode.GET_ALL_CONSUMER_OFFSET, Answer(1, remark=f"no{EVIL}\nnext: rm -rf /"))
    try:
        for form in ("table", "json"):
            outcome = live("group", "lag", "-g", "G", "-o", form)
            assert harmless(outcome), outcome
            assert "no" in outcome.stderr
    finally:
        evil.clear_faults()
    name = f'"{EVIL}"'.encode("unicode_escape").replace(b"\\x", b"\\u00")
    evil.fault(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, Answer(0, body=b'{"topicList":[' + name + b"]}"))
    try:
        assert harmless(live("topic", "list"))
    finally:
        evil.clear_faults()


def test_metrics_have_the_names_of_others_made_visible(evil: EmbeddedCluster, live: Run) -> None:
    with Peer(evil.broker().address) as peer:
        commit = UpdateConsumerOffset(consumer_group=f"group{EVIL}", topic="Pay", queue_id=0, commit_offset=1)
        assert peer.call(commit).code == 0
    outcome = live("export", "prometheus", "--once", "--clients")
    assert outcome.exit_code == 0, outcome.stderr
    assert is_harmless(outcome.stdout)
    groups = {
        sample.labels["group"]
        for family in text_string_to_metric_families(outcome.stdout)
        for sample in family.samples
        if "group" in sample.labels
    }
    assert printable(f"group{EVIL}") in groups


def test_what_the_user_types_comes_back_harmless(live: Run) -> None:
    for words in (("topic", "route", "-t", EVIL), ("offset", "reset", "-g", "G", "-t", "Pay", "--to", EVIL), (EVIL,)):
        outcome = live(*words)
        assert harmless(outcome), outcome
        assert outcome.exit_code in (64, 65, 66)


def test_a_styled_terminal_gets_only_the_styles(evil: EmbeddedCluster, terminal: Terminal) -> None:
    seen = terminal("message", "peek", "-t", "Pay", "--from-start")
    assert "\x1b]0;owned" not in seen.text
    assert not any(char in seen.text for char in ("\x07", "\x08", "\x9b", "\u202e", "\u2066"))
    listed = terminal("message", "peek", "-t", "Pay", "--from-start", "-o", "csv")
    assert not any(char in listed.text.replace("\r\n", "\n") for char in CONTROLS)


def test_stores_and_snapshots_of_others(mqctl: Run, tmp_path: Path) -> None:
    builder = StoreBuilder()
    properties = {"TAGS": EVIL, "KEYS": "k", "UNIQ_KEY": EVIL}
    for _ in range(3):
        builder.append(message(properties=properties, body=EVIL.encode()))
    root = builder.write(tmp_path / "store")
    (root / "consumequeue" / f"x{EVIL}" / "0").mkdir(parents=True)
    (root / "config" / "consumerOffset.json").write_text(
        '{"offsetTable":{"TopicTest@G' + EVIL.encode("unicode_escape").decode().replace("\\x", "\\u00") + '":{0:1}}}'
    )
    runs = [
        ("store", "describe", "--store", root), ("store", "verify", "--store", root), ("doctor", "--store", root),
        ("store", "cat", "--store", root, "-t", "TopicTest", "-q", "0"), ("group", "lag", "--store", root),
    ]  # fmt: skip
    for words in runs:
        for form in ("wide", "json"):
            outcome = mqctl(*words, "-o", form)
            assert harmless(outcome), (words, outcome)
            assert outcome.exit_code not in (64, 70), (words, outcome)
