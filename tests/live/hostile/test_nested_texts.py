"""Texts that are nested deeper than any parser goes: in bodies, in what brokers tell, in files that others wrote."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from embedded_broker import Answer, EmbeddedCluster
from embedded_broker.acl.file import read_node
from mqctl.errors import ConfigurationError
from mqctl.plan.plan_file import read_plan
from mqctl.plan.range_file import read_ranges
from mqctl.protocol.bodies_stats import ConsumeQueueData, ConsumeQueueEntry
from mqctl.protocol.codes import RequestCode
from tests.conftest import Outcome
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
        assert "nested" in outcome.stderr, (words, outcome.stderr)
    profiles.parent.mkdir(parents=True, exist_ok=True)
    profiles.write_text(DEEP_YAML)
    shown = live("profile", "list")
    assert (shown.exit_code, "nested" in shown.stderr) == (78, True), shown.stderr


def test_an_access_list(tmp_path: Path) -> None:
    file = tmp_path / "plain_acl.yml"
    file.write_text(DEEP_YAML)
    with pytest.raises(ConfigurationError, match="it is no YAML"):
        read_node(file)
    file.write_text("accounts: 2026-99-99")
    with pytest.raises(ConfigurationError, match="it is no YAML"):
        read_node(file)
