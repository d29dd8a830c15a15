"""`mqctl check` against clusters, and its answers in the words of CI systems and monitors."""

from __future__ import annotations

import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from embedded_broker import Drop, EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, put_group
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.protocol.codes import RequestCode
from mqctl.render.checks import CheckReport
from tests.client.consuming import Heard, quick, quick_client
from tests.conftest import Outcome
from tests.live.changing import reached
from tests.live.conftest import Run, change

GOOD = """
cluster: DefaultCluster
brokers: [broker-a, broker-b]
disk: 1.0
delay_overdue: 1m
topics:
  Pay: {queues: 4, perm: RW-, silent_for: 1h}
groups:
  G:
    lag: {warning: 3, error: 100}
    lag_time: 1h
    dead_letters: 0
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "checks.yaml"


def check(live: Run, file: Path, text: str, *words: object) -> Outcome:
    file.write_text(text)
    return live("check", file, *words)


def states(outcome: Outcome) -> dict[str, str]:
    return {f"{row['subject']} {row['check']}": row["state"] for row in outcome.json["results"]}


def test_what_holds_and_what_is_a_warning(live: Run, file: Path) -> None:
    outcome = check(live, file, GOOD, "-o", "json")
    outcome_states = states(outcome)
    msgspec.convert({**outcome.json, "schema": None}, CheckReport, strict=True)
    assert (outcome.exit_code, outcome_states.pop("group G lag")) == (1, "warning"), outcome.stdout
    assert set(outcome_states.values()) == {"ok"}
    assert {"broker broker-a disk", "broker broker-b delay_overdue", "topic Pay silent_for"} <= outcome_states.keys()
    lag = next(row for row in outcome.json["results"] if row["check"] == "lag")
    assert (lag["value"], lag["limit"]) == (4, {"warning": 3, "error": 100})
    assert check(live, file, GOOD.replace("warning: 3", "warning: 30")).exit_code == 0


def test_what_does_not_hold_comes_first_and_ends_with_2(live: Run, file: Path) -> None:
    text = """
cluster: other
brokers: [broker-z]
topics: {Pay: {queues: 5, perm: R--}, nope: {queues: 1}}
groups: {G: {lag: 3, members: {min: 1}, subscribes: {Pay: A}}}
"""
    outcome = check(live, file, text, "-o", "json")
    assert (outcome.exit_code, set(states(outcome).values())) == (2, {"error"})
    table = check(live, file, text)
    assert table.stdout.startswith("ERROR: 8 expectations, 8 error")
    for row in outcome.json["results"]:  # each says what to type, where a playbook is the way that playbook
        assert f"next: {row['next_command']}" in table.stdout
        words = shlex.split(row["next_command"])[1:]
        dry = ["--dry-run"] if words[0] == "playbook" else []
        assert live(*words, *dry).exit_code in {0, 66}, words  # 66: what is declared is not there
    nexts = {row["check"]: row["next_command"] for row in outcome.json["results"]}
    assert nexts["lag"].startswith("mqctl playbook run backlog -p group=G --namesrv ")
    assert nexts["subscribes"].startswith("mqctl playbook run tag-loss -p group=G --namesrv ")
    assert "DefaultCluster" in table.stdout


def test_members_and_subscriptions_of_a_group_that_runs(live: Run, cluster: EmbeddedCluster, file: Path) -> None:
    heard = Heard()
    consumer = PushConsumer("G", quick_client(cluster), heard, quick())
    consumer.subscribe("Pay", "B || A")
    with consumer:
        heard.wait_for(4)
        same = check(live, file, 'groups: {G: {members: 1, subscribes: {Pay: "A||B"}}}', "-o", "json")
        other = check(live, file, 'groups: {G: {members: {max: 0, min: 0}, subscribes: {Pay: "A"}}}', "-o", "json")
    assert (same.exit_code, set(states(same).values())) == (0, {"ok"}), same.stdout
    assert states(other)["group G subscribes"] == "error"


def test_what_could_not_be_asked_is_unknown_unless_it_is_broken_anyway(
    live: Run, cluster: EmbeddedCluster, file: Path
) -> None:
    cluster.fault(43, Drop(), server="broker-b")
    unknown = check(live, file, "groups: {G: {lag: 100}}", "--timeout", "3s", "-o", "json")
    broken = check(live, file, "groups: {G: {lag: 1}}", "--timeout", "3s", "-o", "json")
    cluster.clear_faults()
    assert (unknown.exit_code, states(unknown)) == (3, {"group G lag": "unknown"})
    assert (broken.exit_code, states(broken)) == (2, {"group G lag": "error"})


def test_a_group_without_offsets_and_growth_without_a_second_look_are_unknown(live: Run, file: Path) -> None:
    text = "groups: {nope: {lag: 1}, G: {dead_letter_growth: 0}}"
    outcome = check(live, file, text, "-o", "json")
    assert (outcome.exit_code, set(states(outcome).values())) == (3, {"unknown"})
    assert "--window" in outcome.stdout
    twice = check(live, file, "groups: {G: {dead_letter_growth: 0}}", "--window", "100ms")
    assert twice.exit_code == 0


def test_waiting_ends_when_all_holds_or_with_the_last_verdict(live: Run, cluster: EmbeddedCluster, file: Path) -> None:
    assert check(live, file, "groups: {G: {lag: 1}}", "--wait", "100ms").exit_code == 2
    cluster.record_requests()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(check, live, file, "groups: {G: {lag: 1}}", "--wait", "1h")
        reached(cluster, RequestCode.GET_ALL_CONSUMER_OFFSET, count=len(cluster.brokers) + 1)  # it looks again
        for name in cluster.brokers:
            change(cluster, name, commit_offset("G", "Pay", 0, 5))
        outcome = waiting.result()
    assert (outcome.exit_code, "do not hold yet" in outcome.stderr) == (0, True), outcome
    assert check(live, file, "groups: {G: {lag: 100}}", "--wait", "1h").exit_code == 0


def test_a_saved_snapshot_is_held_against_the_same_file(live: Run, file: Path, tmp_path: Path) -> None:
    saved = tmp_path / "now.snap"
    assert live("snapshot", "save", saved).exit_code == 0
    assert check(live, file, GOOD, "--snapshot", saved).exit_code == 1


BAD = "groups: {G: {lag: 1, members: {min: 1}}, nope: {lag: 1}}\ntopics: {Pay: {queues: 4}}"


def test_junit(live: Run, file: Path) -> None:
    outcome = check(live, file, BAD, "--as", "junit")
    suite = ElementTree.fromstring(outcome.stdout)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "2", "1")
    cases = {f"{case.get('classname')} {case.get('name')}": [child.tag for child in case] for case in suite}
    assert cases == {
        "topic Pay queues": [],
        "group G lag": ["failure"],
        "group G members": ["failure"],
        "group nope lag": ["error"],
    }


def test_nagios(live: Run, file: Path) -> None:
    outcome = check(live, file, BAD, "--as", "nagios")
    first, *rest = outcome.stdout.splitlines()
    assert outcome.exit_code == 2
    assert first.startswith("MQCTL CRITICAL - 4 expectations, 1 ok, 2 error, 1 unknown | ")
    assert "'group G lag'=4;;1" in first
    assert len(rest) == 3


def test_prometheus(live: Run, file: Path) -> None:
    text = check(live, file, BAD, "--as", "prometheus").stdout
    assert 'mqctl_check_state{subject="group G",check="lag",unit=""} 2' in text
    assert 'mqctl_check_value{subject="group G",check="lag",unit=""} 4' in text
    line = re.compile(r'[a-z_]+\{(\w+="[^"]*",?)+\} -?[0-9.e+-]+')
    assert all(line.fullmatch(row) for row in text.splitlines() if not row.startswith("# "))


def test_github(live: Run, file: Path) -> None:
    lines = check(live, file, BAD, "--as", "github").stdout.splitlines()
    said, _, further = lines[0].partition("%0A")
    assert said == "::error title=group G lag::error: 4 messages behind on Pay"
    assert further.startswith("next: mqctl playbook run backlog -p group=G --namesrv ")
    assert lines[-1].startswith("::notice title=mqctl check::4 expectations")


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("groups: {G: {lagg: 1}}", 78, "lagg"),
        ("grups: {}", 78, "grups"),
        ("", 78, "declares nothing"),
        ("groups: [1", 78, "could not read"),
        ("groups: {G: {lag: many}}", 78, "many"),
        ("groups: {G: {lag_time: soonish}}", 78, "soonish"),
        ("topics: {Pay: {queues: four}}", 78, "queues"),
    ],
)
def test_files_that_say_nothing_that_is_known(live: Run, file: Path, text: str, code: int, said: str) -> None:
    outcome = check(live, file, text)
    assert (outcome.exit_code, said in outcome.stderr, outcome.stdout) == (code, True, ""), outcome.stderr


def test_no_file(live: Run, file: Path) -> None:
    assert live("check", file).exit_code == 66


def test_patterns_mean_all_but_exceptions_and_those_declared_by_themselves(
    live: Run, cluster: EmbeddedCluster, file: Path
) -> None:
    for name in ("late-one", "late-two", "late-test", "late-but-known"):
        change(cluster, "broker-a", put_group(SubscriptionGroupConfig(name=name)))
        change(cluster, "broker-a", commit_offset(name, "Pay", 0, 1))
    text = """
groups:
  "late-*": {lag: 1, except: ["*-test"]}
  late-but-known: {lag: 100}
topics:
  "P*": {perm: RW-}
  "N*": {queues: 4}
"""
    outcome_states = states(check(live, file, text, "-o", "json"))
    assert outcome_states == {
        "group late-one lag": "error",
        "group late-two lag": "error",
        "group late-but-known lag": "ok",
        "topic Pay perm": "ok",
        "topic N* exists": "unknown",
    }


@pytest.mark.parametrize(
    ("words", "code", "found"),
    [
        (("--group", "G", "--max-lag", 4), 0, {"group G lag": "ok"}),
        (("--group", "G", "--max-lag", 3), 2, {"group G lag": "error"}),
        (("-g", "G", "--max-lag", 4, "--require-members"), 2, {"group G lag": "ok", "group G members": "error"}),
        (("-g", "G*", "--max-lag-time", "1h"), 0, {"group G lag_time": "ok"}),
        (("-g", "*", "--except", "G", "--max-lag", 4), 3, {"group * exists": "unknown"}),
        (("-g", "G", "--max-dead-letters", 0, "--brokers", 2), 0, {"cluster brokers brokers": "ok"}),
        (("--brokers", 3), 2, {"cluster brokers brokers": "error"}),
    ],
)
def test_one_line_is_enough(live: Run, words: tuple[object, ...], code: int, found: dict[str, str]) -> None:
    outcome = live("check", *words, "-o", "json")
    assert (outcome.exit_code, found.items() <= states(outcome).items()) == (code, True), outcome.stdout


def test_a_line_that_holds_nothing_is_refused(live: Run, file: Path) -> None:
    file.write_text("brokers: 2")
    assert live("check", file).exit_code == 0
    for words in ((), ("-g", "G"), ("--max-lag", 1), ("--except", "G"), (file, "--brokers", 2)):
        refused = live("check", *words)
        assert (refused.exit_code, refused.stdout, "next: " in refused.stderr) == (64, "", True), words


def test_groups_of_a_silent_broker_are_not_passed_over(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.fault(43, Drop(), server="broker-b")
    outcome = live("check", "-g", "*", "--require-members", "--timeout", "3s", "-o", "json")
    cluster.clear_faults()
    assert states(outcome)["group * exists"] == "unknown"
