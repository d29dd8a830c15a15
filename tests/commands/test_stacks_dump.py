"""`stacks dump` on saved dumps, through the command line: every output, bad input, rules of a user's own."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from mqctl.commands.stacks.dump_view import StackDumpReport
from mqctl.snapshot.archive import save_snapshot
from mqctl.stacks.parse import read_dumps
from tests.conftest import REPOSITORY, Outcome
from tests.rules import stack_faults
from tests.rules.live_snapshots import LIVE
from tests.stacks.samples import DUMPS

Run = Callable[..., Outcome]
JAVA = DUMPS / "java17-jstack-l.txt"
READ = "java.net.SocketInputStream.socketRead0(Native Method)"
USUAL = stack_faults.behind(stack_faults.busy("RUNNABLE", READ, "okhttp3.Call.execute(C.kt:1)"))


@pytest.fixture
def usual(tmp_path: Path) -> Path:
    """18 of 20 threads wait for HTTP in two dumps."""
    file = tmp_path / "usual.txt"
    file.write_text((USUAL.running[0].stacks or "") * 2)
    return file


def test_the_usual_answer_fits_a_small_terminal(mqctl: Run, usual: Path) -> None:
    outcome = mqctl("stacks", "dump", "--file", usual)
    assert outcome.exit_code == 0
    top = outcome.stdout.split("WARNING")[0].splitlines()
    assert len(top) <= 12
    assert max(map(len, top[1:])) <= 80
    rows = [line.split() for line in top if line.strip().startswith(("18  ", "2  "))]
    assert rows == [["18", "http", "read", "stuck", "Tools.handle(Tools.java:28)"], ["2", "idle", "idle", "-"]]
    assert "  G: 20 consume threads, 2 idle" in top
    assert "WARNING  MQ322  G " in outcome.stdout
    assert "next: mqctl group lag -g G" in outcome.stdout


LOADING = "java.lang.ClassLoader.loadClass(ClassLoader.java:418)"


@pytest.mark.parametrize(
    ("calls", "cls", "code"),
    [
        # The listener calls a service that its class loader was entered for, inside or outside of the call.
        (
            (READ, "okhttp3.Call.execute(C.kt:1)", "java.net.URLClassLoader.findClass(U.java:382)", LOADING),
            "http",
            "MQ322",
        ),
        ((READ, "okhttp3.Call.execute(C.kt:1)", "shop.PluginLoader.loadClass(P.java:9)", LOADING), "http", "MQ322"),
        # It does load classes, by a loader of its own.
        (("shop.PluginLoader.findClass(P.java:5)", LOADING), "class-loading", "MQ324"),
    ],
)
def test_f9_the_listener_is_the_cause_and_no_class_loader_hides_it(
    mqctl: Run, tmp_path: Path, calls: tuple[str, ...], cls: str, code: str
) -> None:
    file = tmp_path / "loading.txt"
    file.write_text((stack_faults.behind(stack_faults.busy("RUNNABLE", *calls)).running[0].stacks or "") * 2)
    shown = mqctl("stacks", "dump", "--file", file)
    rows = [line.split() for line in shown.stdout.splitlines() if line.strip().startswith("18  ")]
    assert [(row[1], row[-1]) for row in rows] == [(cls, "Tools.handle(Tools.java:28)")]
    assert [word for word in shown.stdout.split() if word.startswith("MQ")] == [code]
    assert ("load classes before" in shown.stdout) is (code == "MQ324")


def test_findings_speak_chinese(mqctl: Run, usual: Path) -> None:
    outcome = mqctl("stacks", "dump", "--file", usual, "--lang", "zh")
    assert "在等 HTTP 应答" in outcome.stdout
    assert "影响: " in outcome.stdout


def test_json_has_every_stack_and_the_evidence(mqctl: Run) -> None:
    outcome = mqctl("stacks", "dump", "--file", JAVA, "-o", "json")
    document = outcome.json
    assert document.pop("schema") == "stacks.dump/1"
    report = msgspec.convert(document, StackDumpReport)
    (instance,) = report.instances
    assert (instance.dump_count, instance.span_ms, instance.thread_count, instance.tool) == (2, 2000, 57, "jstack")
    assert instance.deadlocks == [["ConsumeMessageThread_deadlock_1", "ConsumeMessageThread_deadlock_2"]]
    monitor = next(item for item in instance.groups if item.group == "monitor")
    assert (monitor.thread_count, monitor.cls, monitor.root, monitor.root_cls) == (
        3, "lock", "ConsumeMessageThread_owner_1", "http",
    )  # fmt: skip
    assert monitor.calls[0] == "shop.orders.Tools.monitor(Tools.java:57)"
    codes = {(item.code, item.names["group"]) for item in report.findings}
    assert {("MQ320", "deadlock"), ("MQ321", "monitor"), ("MQ322", "http"), ("MQ324", "cpu")} <= codes
    assert ("MQ321", "deadlock") not in codes
    assert not any(group == "idle" for _, group in codes)
    (busy,) = [item for item in report.findings if item.names["group"] == "cpu"]
    assert busy.evidence["busy_count"] == 1
    assert float(busy.evidence["cpu_share"] or 0) > 0.3


def test_other_formats_hold_the_same_rows(mqctl: Run) -> None:
    words = ["stacks", "dump", "--file", JAVA]
    groups = mqctl(*words, "-o", "json").json["instances"][0]["groups"]
    lines = [json.loads(line) for line in mqctl(*words, "-o", "ndjson").stdout.splitlines()]
    assert [line["threads"] for line in lines] == [item["threads"] for item in groups]
    listed = list(csv.DictReader(io.StringIO(mqctl(*words, "-o", "csv").stdout)))
    assert [(row["cls"], int(row["thread_count"])) for row in listed] == [
        (item["cls"], item["thread_count"]) for item in groups
    ]
    wide = mqctl(*words, "-o", "wide", "--all").stdout
    assert "com.zaxxer.hikari.pool.HikariPool.getConnection(HikariPool.java:13)" in wide
    assert "Reference.waitForReferencePendingList" in wide


def test_stdin_is_a_dump(tmp_path: Path) -> None:
    with JAVA.open("rb") as stream:
        done = subprocess.run(
            [sys.executable, "-m", "mqctl", "stacks", "dump", "--file", "-", "-o", "json"],
            cwd=REPOSITORY, stdin=stream, capture_output=True, text=True, check=True,
        )  # fmt: skip
    assert json.loads(done.stdout)["instances"][0]["thread_count"] == 57


def test_dumps_of_one_process_in_several_files_are_looks_at_it(mqctl: Run, tmp_path: Path) -> None:
    text = JAVA.read_text()
    place = text.index("Full thread dump", 200)
    begin = text.rindex("\n", 0, text.rindex("\n", 0, place) - 1) + 1
    late, early = tmp_path / "1.txt", tmp_path / "2.txt"
    early.write_text(text[:begin])
    late.write_text(text[begin:])
    document = mqctl("stacks", "dump", "--file", late, "--file", early, "-o", "json").json
    (instance,) = document["instances"]
    assert (instance["dump_count"], instance["span_ms"]) == (2, 2000)
    apart = mqctl("stacks", "dump", "--file", JAVA, "--file", DUMPS / "python311-py-spy.txt", "-o", "json").json
    assert [item["tool"] for item in apart["instances"]] == ["jstack", "py-spy"]


def test_collapsed_stacks_begin_at_the_base(mqctl: Run, usual: Path) -> None:
    outcome = mqctl("stacks", "dump", "--file", usual, "--collapsed")
    assert outcome.exit_code == 0
    lines = outcome.stdout.splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == 40
    (busy,) = [line for line in lines if "okhttp3" in line]
    assert busy.startswith(
        "G;org.apache.rocketmq.client.impl.consumer.ConsumeMessageConcurrentlyService$ConsumeRequest.run;"
    )
    assert busy.endswith("java.net.SocketInputStream.socketRead0 36")
    assert mqctl("stacks", "dump", "--file", usual, "--collapsed", "-o", "json").exit_code == 64


def test_a_users_rules_go_first(mqctl: Run, tmp_path: Path, usual: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules:\n- name: pay\n  class: pay-gateway\n  calls: ['okhttp3.*']\nlibraries: ['shop.orders']\n")
    document = mqctl("stacks", "dump", "--file", usual, "--rules-file", rules, "-o", "json").json
    (busy, _) = document["instances"][0]["groups"]
    assert (busy["cls"], busy["rule"], busy["line"]) == ("pay-gateway", "pay", None)
    (finding,) = document["findings"]
    assert (finding["code"], finding["names"]["cls"]) == ("MQ326", "pay-gateway")
    rules.write_text("rules: [")
    broken = mqctl("stacks", "dump", "--file", usual, "--rules-file", rules)
    assert (broken.exit_code, "not YAML" in broken.stderr, "docs/stack-classes.md" in broken.stderr) == (65, True, True)
    rules.write_text("rules: [{class: x}]")
    assert "rule 1: it has no condition" in mqctl("stacks", "dump", "--file", usual, "--rules-file", rules).stderr
    assert mqctl("stacks", "dump", "--file", usual, "--rules-file", tmp_path / "none").exit_code == 66


def test_calls_that_no_rule_knows_are_shown(mqctl: Run, tmp_path: Path) -> None:
    file = tmp_path / "unknown.txt"
    file.write_text(stack_faults.threads(3, "RUNNABLE", "shop.Native.call(Native Method)", "shop.A.b(A.java:1)"))
    outcome = mqctl("stacks", "dump", "--file", file)
    assert "unknown at A.b(A.java:1):\n    shop.Native.call\n    shop.A.b(A.java:1)\n" in outcome.stdout
    every = mqctl("stacks", "dump", "--file", JAVA, "--calls").stdout
    assert "    jdk.internal.net.http.HttpClientImpl.send(HttpClientImpl.java:554)\n" in every


def test_a_cut_dump_is_shown_as_far_as_it_goes(mqctl: Run, tmp_path: Path) -> None:
    cut = tmp_path / "cut.txt"
    cut.write_text((DUMPS / "java17-jcmd.txt").read_text()[:40_000])
    outcome = mqctl("stacks", "dump", "--file", cut)
    assert outcome.exit_code == 74
    assert "INCOMPLETE" in outcome.stdout.splitlines()[0]
    assert "incomplete: a call could not be read; the end of the dump is missing" in outcome.stderr
    assert mqctl("stacks", "dump", "--file", cut, "-o", "json").json["instances"][0]["truncated"] is True


@pytest.mark.parametrize("content", [b"", b"no stacks here\n", bytes(range(256)) * 100])
def test_files_without_stacks_are_refused(mqctl: Run, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x"
    file.write_bytes(content)
    outcome = mqctl("stacks", "dump", "--file", file)
    assert (outcome.exit_code, "holds no stacks" in outcome.stderr) == (65, True)
    assert mqctl("stacks", "dump", "--file", tmp_path / "none").exit_code == 66
    assert mqctl("stacks", "dump", "--file", tmp_path).exit_code == 66


def test_saving_needs_a_live_source(mqctl: Run, tmp_path: Path) -> None:
    outcome = mqctl("stacks", "dump", "--file", JAVA, "--save", tmp_path / "x")
    assert (outcome.exit_code, "--save has nothing to save" in outcome.stderr) == (64, True)


def test_whose_stacks_has_to_be_said(mqctl: Run) -> None:
    outcome = mqctl("stacks", "dump")
    assert (outcome.exit_code, "no source of stacks given" in outcome.stderr) == (64, True)
    assert mqctl("stacks", "dump", "--file", JAVA, "--pid", "1").exit_code == 64


def test_a_running_information_saved_by_mqadmin_is_read(mqctl: Run, tmp_path: Path, usual: Path) -> None:
    file = tmp_path / "10.0.0.1@1#1"
    head = "#Consumer Properties#\nPROP_CONSUMEORDERLY                     : false\n\n\n#Consumer jstack#\n"
    file.write_text(head + usual.read_text())
    assert [len(dump.threads) for dump in read_dumps(file.read_text(), source="x")] == [20, 20]
    assert mqctl("stacks", "dump", "--file", file, "-o", "json").json["instances"][0]["thread_count"] == 20


def test_stacks_of_a_snapshot_are_judged_with_what_it_knows(mqctl: Run, tmp_path: Path) -> None:
    file = tmp_path / "s.snap"
    save_snapshot(USUAL, file)
    client = USUAL.running[0].client_id
    outcome = mqctl("stacks", "dump", "--snapshot", file, "-g", "G", "--client", client, "-o", "json")
    assert outcome.exit_code == 0
    (instance,) = outcome.json["instances"]
    assert instance["pools"] == [
        {
            "group": "G", "thread_count": 20, "idle_count": 2, "configured_count": 20,
            "line": "shop.orders.Tools.handle(Tools.java:28)", "line_count": 18,
        }
    ]  # fmt: skip
    (finding,) = outcome.json["findings"]
    assert (finding["code"], finding["severity"], finding["confidence"]) == ("MQ322", "error", "high")
    assert (finding["evidence"]["lag_count"], finding["evidence"]["lag_ms"]) == (100, 120_000)
    assert finding["next_command"] == f"mqctl group lag --snapshot {file} -g G"
    doctor = mqctl("doctor", "--snapshot", file, "-o", "json").json
    assert [item["code"] for item in doctor["findings"]] == ["MQ322"]
    both = mqctl("stacks", "dump", "--snapshot", file)
    assert both.stdout.count("20 consume threads of 20 configured") == 1
    assert (both.exit_code, "stacks (192.0.2.2@200#2 of G) not read: " in both.stderr) == (69, True)
    assert mqctl("stacks", "dump", "--snapshot", file, "-g", "nobody").exit_code == 66
    assert mqctl("stacks", "dump", "--snapshot", file, "--pid", "1").exit_code == 64
    plain = tmp_path / "plain.snap"
    save_snapshot(LIVE, plain)
    without = mqctl("stacks", "dump", "--snapshot", plain, "-g", "G")
    assert (without.exit_code, "snapshot save --stacks" in without.stderr) == (76, True)


def test_many_instances_are_folded_and_their_raw_dumps_kept(mqctl: Run, tmp_path: Path) -> None:
    one = USUAL.running[0]
    file, kept = tmp_path / "s.snap", tmp_path / "raw"
    save_snapshot(replace(USUAL, running=tuple(replace(one, client_id=f"192.0.2.{n}@1#1") for n in range(1, 9))), file)
    outcome = mqctl("stacks", "dump", "--snapshot", file, "--save", kept)
    assert "and 5 more instances with 100 threads" in outcome.stdout
    assert "    144  http read  stuck   Tools.handle(Tools.java:28)" in outcome.stdout
    assert outcome.stdout.count("MQ322") == 1
    assert "as well in 192.0.2.2@1#1, 192.0.2.3@1#1, 192.0.2.4@1#1 (+4)" in outcome.stdout
    assert sorted(path.name for path in kept.iterdir()) == [f"192.0.2.{n}@1#1.txt" for n in range(1, 9)]
    saved = kept / "192.0.2.1@1#1.txt"
    again = mqctl("stacks", "dump", "--file", saved, "-o", "json").json
    assert [item["dump_count"] for item in again["instances"]] == [2]
    assert mqctl("stacks", "dump", "--snapshot", file, "--save", kept).exit_code == 74
