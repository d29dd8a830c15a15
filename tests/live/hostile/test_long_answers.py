"""Answers about hundreds of groups: what matters comes first, within two screens, and machines get all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, put_group, put_topic
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run

GROUPS = 120
TOPICS = 60
RETRY = "%RETRY%group-007"
SCREENS = 100  # lines of two screens
BEHIND = ("doctor", "--only", "MQ401", "--time-scale", "900000")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A name server; on its only broker, `group-N` is N messages behind on topic Pay."""
    with EmbeddedCluster(brokers=1) as cluster, Links() as links:
        address = cluster.broker("broker-a").address
        links.ask(
            address, put_topic(TopicConfig(name="Pay", read_queue_count=1, write_queue_count=1)), Deadline(60_000)
        )
        with Peer(address) as peer:
            for _ in range(GROUPS):
                assert peer.call(send("Pay"), b"x").code == 0
        for number in range(GROUPS):
            links.ask(address, commit_offset(f"group-{number:03}", "Pay", 0, GROUPS - number), Deadline(60_000))
            links.ask(address, put_group(SubscriptionGroupConfig(name=f"group-{number:03}")), Deadline(60_000))
        for name in [RETRY, *(f"topic-{number:02}" for number in range(TOPICS))]:
            config = TopicConfig(name=name, read_queue_count=1, write_queue_count=1)
            links.ask(address, put_topic(config), Deadline(60_000))
        links.ask(address, commit_offset("group-007", RETRY, 0, 0), Deadline(60_000))
        links.ask(address, commit_offset("unknown", "Pay", 0, GROUPS), Deadline(60_000))
        yield cluster.namesrv


@pytest.fixture
def ask(mqctl: Run, many: str, tmp_path: Path) -> Run:
    places = {name: str(tmp_path / name.lower()) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}
    return lambda *words, env=None: mqctl(*words, env={**places, "MQCTL_NAMESRV": many, **(env or {})})


def test_doctor_tells_the_worst_of_many_alike(ask: Run) -> None:
    seen = ask(*BEHIND)
    assert not seen.stderr, seen.stderr
    lines = seen.stdout.splitlines()
    assert len(lines) < SCREENS
    named = [line.split()[1] for line in lines if line.startswith("  Group ")]
    assert named == [f"group-{GROUPS - number:03}" for number in range(1, 11)]
    assert f"  and {GROUPS - 1 - 10} more (-o json for all)" in lines
    (head,) = [line for line in lines if "MQ401" in line]
    assert f"{GROUPS - 1} findings, worst first" in head
    assert sum(line.startswith("  next: mqctl group lag ") for line in lines) == 1
    assert f"另有 {GROUPS - 1 - 10} 处" in ask(*BEHIND, "--lang", "zh").stdout


def test_machines_and_who_wants_the_evidence_get_every_finding(ask: Run) -> None:
    assert len(ask(*BEHIND, "-o", "json").json["findings"]) == GROUPS - 1
    assert sum("lag_count = " in line for line in ask(*BEHIND, "--explain").stdout.splitlines()) == GROUPS - 1


def test_below_the_verdict_stands_what_to_do_first(ask: Run) -> None:
    lines = ask("doctor", "--time-scale", "900000").stdout.splitlines()
    verdict = next(place for place, line in enumerate(lines) if "findings from" in line)
    assert lines[verdict + 1].startswith("first: mqctl group lag ")
    assert lines[verdict + 1].endswith(f" -g group-{GROUPS - 1:03} --advise")
    assert len(lines) < SCREENS


@pytest.mark.parametrize(
    ("words", "total"),
    [(("group", "lag"), GROUPS + 1), (("group", "list"), GROUPS), (("topic", "list"), TOPICS + 1)],
)
def test_tables_show_fifty_rows_and_say_of_how_many(ask: Run, words: tuple[str, ...], total: int) -> None:
    total_line = f"50 of {total} shown; --limit all"
    lines = ask(*words).stdout.splitlines()
    assert total_line in lines
    assert lines.index(total_line) == 1 + 50 + 1  # the heading, the rows, an empty line
    seven = ask(*words, "--limit", 7).stdout.splitlines()
    assert seven.index(f"7 of {total} shown; --limit all") == 1 + 7 + 1
    whole = ask(*words, "--limit", "all").stdout
    assert "; --limit all" not in whole
    assert len(whole.splitlines()) >= 1 + total
    assert f"共 {total} 行，显示 50 行" in ask(*words, env={"MQCTL_LANG": "zh"}).stdout


@pytest.mark.parametrize(
    ("words", "key", "total"),
    [(("group", "lag"), "groups", GROUPS + 2), (("group", "list"), "groups", GROUPS)],
)
def test_machine_forms_are_whole_unless_a_limit_is_given(
    ask: Run, words: tuple[str, ...], key: str, total: int, tmp_path: Path
) -> None:
    assert len(ask(*words, "-o", "json").json[key]) == total
    assert len(ask(*words, "-o", "csv").stdout.splitlines()) == 1 + total
    assert len(ask(*words, "-o", "json", "--limit", 7).json[key]) == 7
    assert len(ask(*words, "-o", "ndjson", "--limit", 7).stdout.splitlines()) == 7
    copy = tmp_path / "copy.json"
    ask(*words, "--limit", 7, env={"MQCTL_TEE_JSON": str(copy)})
    assert len(json.loads(copy.read_text())[key]) == total


def test_a_limit_that_is_no_number_of_rows_is_refused(ask: Run) -> None:
    for limit in ("0", "-1", "many", "\u0663"):
        refused = ask("group", "list", f"--limit={limit}")
        assert (refused.exit_code, refused.stdout) == (64, "")
        assert "use a number from 1 on, or all" in refused.stderr


def test_the_worst_lag_comes_first_and_idle_retry_topics_are_counted(ask: Run) -> None:
    shown = ask("group", "lag").stdout.splitlines()
    assert [line.split()[0] for line in shown[1:4]] == ["group-119", "group-118", "group-117"]
    assert "retry topics without lag, not shown: 1; --limit all" in shown
    queues = ask("group", "lag", "--by", "queue").stdout.splitlines()
    assert [line.split()[0] for line in queues[1:4]] == ["group-119", "group-118", "group-117"]
    assert RETRY not in ask("group", "lag").stdout
    assert RETRY in ask("group", "lag", "--limit", "all").stdout
    assert RETRY in ask("group", "lag", "-g", "group-007").stdout


def test_rows_of_lag_are_chosen_and_sorted(ask: Run) -> None:
    chosen = ask("group", "lag", "--min-lag", 117, "--sort", "group").stdout.splitlines()
    assert [line.split()[0] for line in chosen[1:4]] == ["group-117", "group-118", "group-119"]
    report = ask("group", "lag", "--min-lag", 117, "--sort", "lag", "-o", "json").json
    assert [row["lag_count"] for row in report["groups"]] == [119, 118, 117]
    assert {row["group"] for row in report["queues"]} == {"group-117", "group-118", "group-119"}
    refused = ask("group", "lag", "--min-lag", 1, "--until", "lag<1")
    assert (refused.exit_code, refused.stdout) == (64, "")
