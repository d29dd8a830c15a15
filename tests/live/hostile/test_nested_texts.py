"""Texts that are nested deeper than any parser goes: in bodies, in what brokers tell, in files that others wrote."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from embedded_broker import Answer, EmbeddedCluster
from embedded_broker.acl.file import read_node
from mqctl.changes.plan.plan_file import read_plan
from mqctl.changes.plan.range_file import read_ranges
from mqctl.changes.plan.settings_file import value_of
from mqctl.drill.declarations import read_declaration
from mqctl.errors import BadInputError, ConfigurationError, MqctlError
from mqctl.protocol.bodies_stats import ConsumeQueueData, ConsumeQueueEntry
from mqctl.protocol.codes import RequestCode
from mqctl.store.access_file import read_access_file
from tests.conftest import REPOSITORY, Outcome
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run

DEEP = '{"a":[' * 5_000
EXTENSIONS = (DEEP, "[" * 5_000, "nothing", "[1]", '{"tagsCode":"x"}', '{"tagsCode":1e400}', '{"tagsCode":null}')


def _is_no_bug(outcome: Outcome) -> bool:
    return outcome.exit_code != 70 and "Traceback" not in outcome.stderr


def test_a_body_that_looks_like_json_is_shown_as_text(cluster: EmbeddedCluster, live: Run) -> None:
    with Peer(cluster.broker("broker-a").address) as peer:
        assert peer.call(send("Pay", queue_id=1), b"[" * 20_000).code == 0
    words = ("message", "peek", "-t", "Pay", "--from-start", "--body", "json", "-o", "json")
    rows = live(*words).json["messages"]
    assert [row["body_encoding"] for row in rows if row["queue_id"] == 1] == ["text"]


@pytest.mark.parametrize("text", EXTENSIONS, ids=lambda text: text[:12])
def test_extensions_of_queue_entries_that_cannot_be_read(cluster: EmbeddedCluster, live: Run, text: str) -> None:
    entry = ConsumeQueueEntry(extend_data_json=text, physic_offset=0, physic_size=20, tags_code=7)
    body = ConsumeQueueData(max_queue_index=1, queue_data=(entry,)).to_bytes()
    cluster.fault(RequestCode.QUERY_CONSUME_QUEUE, Answer(0, body=body))
    try:
        shown = live("topic", "entries", "-t", "Pay", "-q", "0", "-o", "json")
        assert shown.exit_code == 0, shown.stderr
        assert {row["tags_code"] for row in shown.json["entries"]} == {7}
        judged = live("doctor", "-o", "json")
        assert _is_no_bug(judged), judged.stderr
    finally:
        cluster.clear_faults()


def test_plans_and_snapshots(live: Run, tmp_path: Path) -> None:
    for read in (read_plan, read_ranges):
        with pytest.raises(ValueError, match="nested too deeply"):
            read(DEEP.encode(), is_csv=False)
    plan, snapshot = tmp_path / "plan.json", tmp_path / "deep.snap"
    plan.write_text(DEEP)
    snapshot.write_bytes(gzip.compress(DEEP.encode()))
    planned = live("offset", "apply", plan)
    assert _is_no_bug(planned), planned.stderr
    judged = live("doctor", "--snapshot", snapshot)
    assert (judged.exit_code, "could not read the snapshot" in judged.stderr) == (65, True), judged.stderr


@pytest.mark.parametrize("words", [(), ("-o", "json")])
def test_a_value_that_a_snapshot_must_not_have_is_cut_and_its_place_is_told(
    live: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    saved = tmp_path / "now.snap"
    assert live("snapshot", "save", saved).exit_code == 0
    archive = json.loads(gzip.decompress(saved.read_bytes()))
    archive["snapshot"]["origin"]["kind"] = "z " * 40_000
    saved.write_bytes(gzip.compress(json.dumps(archive).encode()))
    judged = live("doctor", "--snapshot", saved, *words)
    assert (judged.exit_code, judged.stderr.count("$.origin.kind")) == (65, 1), judged.stderr[:2_000]
    assert len(judged.stderr) < 1_000
    assert "(300 of 80,0" in judged.stderr


@pytest.mark.parametrize("text", [DEEP.encode(), b"\xff\xfe{", json.dumps([]).encode()], ids=["deep", "bytes", "list"])
def test_journals_of_changes_and_replays(live: Run, tmp_path: Path, text: bytes) -> None:
    state = tmp_path / "mqctl_state_dir"
    for words in (("undo", "x"), ("replay", "status", "x"), ("history",), ("local", "status"), ("replay", "status")):
        for name in ("journal", "journal/settings", "journal/resends", "replays", "local"):
            for suffix in ("json", "ndjson"):
                (state / name).mkdir(parents=True, exist_ok=True)
                (state / name / f"x.{suffix}").write_bytes(text)
        outcome = live(*words)
        assert _is_no_bug(outcome), (words, outcome.stderr)


DEEP_YAML = "[" * 60_000 + "]" * 60_000
"""What ended a process without a word: PyYAML composes by recursion in C."""


def test_yaml_that_others_wrote(live: Run, tmp_path: Path) -> None:
    file, profiles = tmp_path / "deep.yaml", tmp_path / "mqctl_config_dir" / "profiles.yaml"
    file.write_text(DEEP_YAML)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "playbook.yaml").write_text(DEEP_YAML)
    for words in (
        ("check", file),
        ("doctor", "--known", file),
        ("playbook", "show", tmp_path / "own"),
        ("playbook", "run", tmp_path / "own"),
        ("local", "scenario", "run", file),
        ("stacks", "dump", "-g", "G", "--rules-file", file),
        ("allocation", "simulate", "-t", "Pay", "--queues", "8", "--clients", "2", "--config", file),
        ("allocation", "simulate", "-t", "Pay", "-g", "G", "--room-rule", f"map:{file}"),
    ):
        outcome = live(*words)
        assert outcome.exit_code in {64, 65, 78}, (words, outcome.exit_code, outcome.stderr)
        assert "nested too deeply" in outcome.stderr, (words, outcome.stderr)
    profiles.parent.mkdir(parents=True, exist_ok=True)
    profiles.write_text(DEEP_YAML)
    shown = live("profile", "show")
    assert (shown.exit_code, "nested too deeply" in shown.stderr) == (78, True), shown.stderr


def test_an_access_list(tmp_path: Path) -> None:
    file = tmp_path / "plain_acl.yml"
    file.write_text(DEEP_YAML)
    with pytest.raises(ConfigurationError, match="nested too deeply"):
        read_node(file)
    with pytest.raises(BadInputError, match="nested too deeply"):
        read_access_file(file)
    file.write_text("accounts: 2026-99-99")
    with pytest.raises(ConfigurationError, match="it is not YAML"):
        read_node(file)


NESTED_PATTERN, NESTED_PATH, NESTED_JSON = "(" * 5_000, "!" * 5_000 + "a", "[" * 50_000
"""A regular expression, an expression of JMESPath, and JSON."""


def test_what_else_others_write(live: Run, tmp_path: Path) -> None:
    template, rules, run = tmp_path / "deep.json", tmp_path / "rules.yaml", tmp_path / "run.json"
    playbook, check = tmp_path / "own" / "playbook.yaml", tmp_path / "check.yaml"
    template.write_text(NESTED_JSON)
    run.write_text(f'{{"schema": "bench.run/1", "x": {NESTED_JSON}')
    rules.write_text(f'rules:\n- {{class: slow, code: ["{NESTED_PATTERN}"]}}\n')
    check.write_text("groups: {}\n")
    playbook.parent.mkdir()
    backlog = (REPOSITORY / "playbooks" / "backlog" / "playbook.yaml").read_text()
    playbook.write_text(backlog.replace("sum(groups[].lag_count)", f"'{NESTED_PATH}'"))
    for words in (
        ("check", check, "--webhook", "http://127.0.0.1:1/", "--webhook-template", template),
        ("stacks", "dump", "-g", "G", "--rules-file", rules),
        ("bench", "compare", run, run),
        ("playbook", "show", playbook.parent),
        ("allocation", "simulate", "-t", "Pay", "-g", "G", "--room-rule", f"regex:{NESTED_PATTERN}"),
    ):
        outcome = live(*words)
        assert outcome.exit_code in {64, 65, 78}, (words[:2], outcome.exit_code, outcome.stderr)
        assert "nested too deeply" in outcome.stderr, (words[:2], outcome.stderr)


def test_what_else_brokers_and_histories_say() -> None:
    assert value_of(NESTED_JSON) == NESTED_JSON
    with pytest.raises(MqctlError, match="line 7") as refused:
        read_declaration(f'{{"type": "ended", "x": {NESTED_JSON}'.encode(), 7)
    assert refused.value.reason == "it is nested too deeply"
