"""Running a playbook against a cluster: what is asked, refused, stopped, reported."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import msgspec
import pytest

from embedded_broker import Answer, Delay, EmbeddedCluster
from mqctl.model.playbook_run import PlaybookRun
from mqctl.playbook.places import load_playbook, slugs
from mqctl.protocol.bodies_cluster import BrokerData, ClusterInfo
from mqctl.protocol.codes import RequestCode
from tests.conftest import REPOSITORY, Outcome
from tests.live.changing import changes
from tests.live.conftest import Run
from tests.live.offset.test_offset_plans import at_terminal

HEAD = """\
title: {en: A test, zh: 测试}
symptom: {en: none, zh: 无}
answers: [MQ401]
parameters:
  - {name: group, type: group, required: true, about: {en: group, zh: 组}}
  - {name: topic, type: topic, default: Pay, about: {en: topic, zh: 主题}}
rollback: {en: [take it back], zh: [回退]}
steps:
"""
LAG = """\
  - id: lag
    about: {en: how far, zh: 多远}
    run: group lag -g {group}
    capture: {lag: 'sum(groups[].lag_count)'}
    exits:
      0: {en: "behind by {lag}", zh: "积压 {lag} 条"}
"""
RESET = """\
  - id: reset
    about: {en: to the end, zh: 到末尾}
    run: offset reset -g {group} -t {topic} --to-latest
    changes: true
    confirm: "{group}"
  - id: after
    about: {en: and now, zh: 之后}
    when: done.reset
    run: group lag -g {group}
    capture: {left: 'sum(groups[].lag_count)'}
    results:
      - {id: none, when: 'left == `0`', means: {en: nothing is left, zh: 已无积压}, stop: done}
"""


@pytest.fixture
def playbook(tmp_path: Path) -> Path:
    directory = tmp_path / "incident"
    directory.mkdir()
    return directory


def write(directory: Path, *steps: str) -> str:
    (directory / "playbook.yaml").write_text(HEAD + "".join(dedent(step) for step in steps), encoding="utf-8")
    return str(directory)


def states(outcome: Outcome) -> dict[str, str]:
    return {step["id"]: step["state"] for step in outcome.json["steps"]}


def test_a_run_tells_what_it_does_and_ends_with_a_documented_report(live: Run, playbook: Path, tmp_path: Path) -> None:
    files = [tmp_path / "report.json", tmp_path / "report.md"]
    words = ("playbook", "run", write(playbook, LAG), "-p", "group=G", "--cluster", "DefaultCluster")
    outcome = live(*words, "--report", files[0], "--report", files[1], "-o", "json")
    assert outcome.exit_code == 0
    document = outcome.json
    assert document == json.loads(files[0].read_text())
    assert document.pop("schema") == "playbook.run/1"
    run = msgspec.convert(document, PlaybookRun, strict=True)
    (step,) = run.steps
    assert (step.command, step.exit_code, step.captured) == ("mqctl group lag -g G", 0, {"lag": 4})
    assert (step.means, run.ending.value, step.took_ms > 0) == (["behind by 4"], "complete", True)
    assert run.cluster is not None
    assert run.cluster.brokers == ("DefaultCluster/broker-a", "DefaultCluster/broker-b")
    for said in ("[1/1] lag: how far", "$ mqctl group lag -g G", "| GROUP", "behind by 4"):
        assert said in outcome.stderr
    page = files[1].read_text(encoding="utf-8")
    assert "`mqctl group lag -g G`: exit 0, " in page
    assert "> behind by 4" in page
    assert re.search(r"DefaultCluster \([0-9a-f]{12}\)", page)
    assert "GROUP  TOPIC" in page


def test_what_a_run_did_is_shown_also_when_its_report_cannot_be_written(
    live: Run, playbook: Path, tmp_path: Path
) -> None:
    place = tmp_path / "report.md"
    place.symlink_to("/dev/full")
    words = ("playbook", "run", write(playbook, LAG), "-p", "group=G", "--report", place)
    outcome = live(*words, "-o", "json")
    assert (outcome.exit_code, outcome.json["ending"]) == (74, "complete"), outcome
    assert "it ended with 0" in live(*words).stderr


def test_people_read_it_in_chinese_and_codes_stay(live: Run, playbook: Path) -> None:
    outcome = live("playbook", "run", write(playbook, LAG), "-p", "group=G", env={"MQCTL_LANG": "zh"})
    assert outcome.exit_code == 0
    assert "积压 4 条" in outcome.stdout
    assert "所有步骤执行完毕" in outcome.stdout
    assert "[1/1] lag: 多远" in outcome.stderr


def test_a_dry_run_prints_command_lines_and_asks_nobody(live: Run, cluster: EmbeddedCluster, playbook: Path) -> None:
    cluster.record_requests()
    words = ("playbook", "run", write(playbook, LAG, RESET), "-p", "group=G", "--namesrv", cluster.namesrv)
    outcome = live(*words, "--execute", "--dry-run", "-o", "json")
    requests = cluster.requests()
    cluster.record_requests(on=False)
    assert (outcome.exit_code, requests) == (0, [])
    rows = {row["step"]: row for row in outcome.json["steps"]}
    assert rows["lag"]["command"].split()[:5] == ["mqctl", "group", "lag", "-g", "G"]
    assert cluster.namesrv in rows["lag"]["command"]
    assert rows["reset"]["command"].endswith("--execute --confirm G")
    assert (rows["after"]["when"], rows["reset"]["impact"]) == ("done.reset", "changes")


def test_a_change_is_only_planned_without_execute(live: Run, cluster: EmbeddedCluster, playbook: Path) -> None:
    cluster.record_requests()
    outcome = live("playbook", "run", write(playbook, LAG, RESET), "-p", "group=G", "-o", "json")
    changed = changes(cluster)
    cluster.record_requests(on=False)
    assert (outcome.exit_code, changed) == (0, [])
    assert states(outcome) == {"lag": "expected", "reset": "planned", "after": "skipped"}


def test_a_change_is_made_when_its_name_is_confirmed(live: Run, playbook: Path) -> None:
    words = ("playbook", "run", write(playbook, LAG, RESET), "-p", "group=G", "--execute")
    refused = live(*words, "-o", "json")
    assert (refused.exit_code, states(refused)["reset"]) == (76, "refused")
    assert "--confirm G" in refused.stderr
    wrong = live(*words, "--confirm", "H")
    assert wrong.exit_code == 76
    done = live(*words, "--confirm", "G", "-o", "json")
    assert (done.exit_code, done.json["ending"]) == (0, "done")
    assert states(done) == {"lag": "expected", "reset": "changed", "after": "expected"}
    change = next(step["change"] for step in done.json["steps"] if step["id"] == "reset")
    assert change in live("history").stdout
    again = live(*words, "--confirm", "G", "-o", "json")
    assert (again.exit_code, states(again)["reset"], states(again)["after"]) == (0, "expected", "skipped")
    assert live("undo", change, "--execute", "--confirm", "G").exit_code == 0
    assert live("group", "lag", "-g", "G", "-o", "json").json["groups"][0]["lag_count"] == 4


def test_a_decision_stops_a_run_that_nobody_can_be_asked_in(live: Run, playbook: Path) -> None:
    way = """\
      - id: way
        about: {en: which way, zh: 哪种}
        decide:
          wait: {en: wait for it, zh: 等}
          skip: {en: skip it, zh: 跳过}
      - id: waiting
        about: {en: look again, zh: 再看}
        when: choice.way == 'wait'
        run: group lag -g {group}
    """
    words = ("playbook", "run", write(playbook, way), "-p", "group=G", "-o", "json")
    outcome = live(*words)
    assert (outcome.exit_code, states(outcome)) == (1, {"way": "undecided"})
    assert "--choose way=CHOICE" in outcome.stderr
    assert states(live(*words, "--choose", "way=wait")) == {"way": "decided", "waiting": "expected"}
    assert states(live(*words, "--choose", "way=skip")) == {"way": "decided", "waiting": "skipped"}
    assert live(*words, "--choose", "way=fly").exit_code == 64
    assert live(*words, "--choose", "weigh=wait").exit_code == 64


def test_on_a_terminal_it_asks(live: Run, cluster: EmbeddedCluster, playbook: Path, tmp_path: Path) -> None:
    words = ("playbook", "run", write(playbook, RESET), "-p", "group=G", "--execute")
    code, screen = at_terminal(cluster, tmp_path, "nothing", lambda: None, *words)
    assert (code, "Type G" in screen) == (76, True)
    code, screen = at_terminal(cluster, tmp_path, "G", lambda: None, *words)
    assert (code, "nothing is left" in screen) == (0, True)


def test_a_stop_condition_ends_it(live: Run, playbook: Path) -> None:
    stop = "    results:\n      - {id: behind, when: 'lag > `3`', means: {en: act, zh: 处理}, stop: attention}\n"
    outcome = live("playbook", "run", write(playbook, LAG + stop, RESET), "-p", "group=G", "-o", "json")
    assert (outcome.exit_code, states(outcome), outcome.json["ending"]) == (1, {"lag": "expected"}, "attention")
    assert (outcome.json["steps"][0]["result"], outcome.json["why"]) == ("behind", "act")


def test_a_step_that_ends_unexpectedly_stops_it(live: Run, playbook: Path) -> None:
    path = write(playbook, LAG.replace("group lag -g {group}", "topic describe -t nope"), RESET)
    outcome = live("playbook", "run", path, "-p", "group=G", "-o", "json")
    assert (outcome.exit_code, states(outcome)) == (2, {"lag": "unexpected"})
    (step,) = outcome.json["steps"]
    assert (step["exit_code"], step["means"]) == (66, ["exit 66; expected 0"])
    assert "nope" in step["complained"]


def test_a_condition_that_cannot_be_decided_stops_it(live: Run, playbook: Path) -> None:
    odd = "    results:\n      - {id: odd, when: 'length(lag)', means: {en: x, zh: 无}}\n"
    outcome = live("playbook", "run", write(playbook, LAG + odd, RESET), "-p", "group=G", "-o", "json")
    assert (outcome.exit_code, states(outcome)) == (2, {"lag": "unexpected"})


def test_a_step_that_is_out_of_time_is_ended(live: Run, cluster: EmbeddedCluster, playbook: Path) -> None:
    cluster.fault(RequestCode.GET_CONSUME_STATS, Delay(60_000))
    outcome = live("playbook", "run", write(playbook, LAG), "-p", "group=G", "--step-timeout", "2s", "-o", "json")
    cluster.clear_faults()
    assert (outcome.exit_code, states(outcome)) == (75, {"lag": "timed-out"})
    assert outcome.json["steps"][0]["exit_code"] is None


def test_another_cluster_than_expected_is_left_alone(live: Run, cluster: EmbeddedCluster, playbook: Path) -> None:
    words = ("playbook", "run", write(playbook, RESET), "-p", "group=G", "--execute", "--confirm", "G", "-o", "json")
    cluster.record_requests()
    outcomes = [live(*words, "--cluster", "prod"), live(*words, "--fingerprint", "000000000000")]
    assert changes(cluster) == []
    cluster.record_requests(on=False)
    for outcome in outcomes:
        assert (outcome.exit_code, outcome.json["steps"], outcome.json["ending"]) == (65, [], "other-cluster")
    assert "DefaultCluster, and prod was expected" in outcomes[0].json["why"]


def test_a_cluster_that_is_another_one_before_the_change_is_left_alone(
    live: Run, cluster: EmbeddedCluster, playbook: Path, tmp_path: Path
) -> None:
    def moves() -> None:
        """While the name is typed, the name servers begin to tell of another cluster."""
        address = cluster.broker("broker-b").address
        broker = BrokerData(cluster="Other", broker_name="broker-x", broker_addrs={0: address})
        info = ClusterInfo(broker_addr_table={"broker-x": broker}, cluster_addr_table={"Other": ("broker-x",)})
        cluster.fault(RequestCode.GET_BROKER_CLUSTER_INFO, Answer(0, body=info.to_bytes()))
        cluster.record_requests()

    report = tmp_path / "report.json"
    words = ("playbook", "run", write(playbook, RESET), "-p", "group=G", "--execute", "--report", report)
    code, screen = at_terminal(cluster, tmp_path, "G", moves, *words)
    changed = changes(cluster)
    cluster.record_requests(on=False)
    cluster.clear_faults()
    assert (code, changed) == (65, []), screen
    why = "since the run began, DefaultCluster/broker-a, DefaultCluster/broker-b, Other/broker-x came or went"
    assert json.loads(report.read_text())["why"] == why


def test_nobody_at_the_address_is_said_at_once(live: Run, playbook: Path) -> None:
    words = ("playbook", "run", write(playbook, LAG), "-p", "group=G", "--namesrv", "127.0.0.1:1", "-o", "json")
    outcome = live(*words)
    assert (outcome.exit_code, outcome.json["ending"], outcome.json["steps"]) == (69, "no-cluster", [])
    assert "127.0.0.1:1" in outcome.json["why"]


def test_dry_runs_of_all_playbooks_ask_nobody(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.record_requests()
    for slug in slugs():
        given = [f"{item.name}=some-{item.name}" for item in load_playbook(slug).parameters if item.required]
        words = [word for item in given for word in ("-p", item)]
        outcome = live("playbook", "run", slug, *words, "--dry-run", "--execute", "-o", "json")
        assert outcome.exit_code == 0, outcome.stderr
        assert [row["step"] for row in outcome.json["steps"]] == [step.id for step in load_playbook(slug).steps]
    # Brokers tell name servers every half minute that they are there; this takes longer on a busy machine.
    requests = [item for item in cluster.requests() if item.code != RequestCode.REGISTER_BROKER]
    cluster.record_requests(on=False)
    assert requests == []


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("run", "nothing"), 66, "mqctl playbook list"),
        (("show", "nothing"), 66, "mqctl playbook list"),
        (("run", "backlog"), 64, "-p group=..."),
        (("run", "backlog", "-p", "group=G", "--report", "report.txt"), 64, ".md or .json"),
        (("run", "backlog", "-p", "group=G", "--report", "/nonexistent/report.md"), 74, "directory"),
        (("run", "backlog", "-p", "group=G", "--namesrv", "x:1", "--profile", "y"), 64, "cannot be combined"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(
    live: Run, cluster: EmbeddedCluster, words: tuple[str, ...], code: int, said: str
) -> None:
    cluster.record_requests()
    outcome = live("playbook", *words)
    requests = cluster.requests()
    cluster.record_requests(on=False)
    assert (outcome.exit_code, requests) == (code, [])
    assert said in outcome.stderr


def test_an_interrupted_run_still_reports(cluster: EmbeddedCluster, playbook: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    path = write(playbook, LAG.replace("group lag -g {group}", "group lag -g {group} --watch"), RESET)
    words = ["playbook", "run", path, "-p", "group=G", "--namesrv", cluster.namesrv, "--report", str(report)]
    process = subprocess.Popen(
        [sys.executable, "-m", "mqctl", *words],
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    while "| " not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.wait(60) == 130
    document = json.loads(report.read_text())
    assert (document["ending"], document["steps"][0]["state"]) == ("interrupted", "interrupted")


@pytest.mark.parametrize(("code", "ending"), [(14, "complete"), (16, "unexpected")], ids=["refused", "denied"])
def test_an_answer_in_part_is_expected_where_69_is_but_for_wrong_keys(
    live: Run, playbook: Path, cluster: EmbeddedCluster, code: int, ending: str
) -> None:
    part = '      69: {en: "in part: {lag}", zh: "部分：{lag}"}\n'
    cluster.fault(RequestCode.GET_ALL_CONSUMER_OFFSET, Answer(code, remark="no"), server="broker-b")
    outcome = live("playbook", "run", write(playbook, LAG + part), "-p", "group=G", "-o", "json")
    (step,) = outcome.json["steps"]
    assert (outcome.json["ending"], step["exit_code"]) == (ending, 76 if code == 14 else 77), outcome
    assert (step["means"] == ["in part: 2"]) == (code == 14)
