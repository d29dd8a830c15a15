"""What `python -m tests.real record` kept of a release is read: its stores after both ends, its frames, its origin."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from mqctl.protocol.frame import decode, encode
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests import REQUESTS, read_reply
from mqctl.store.directory import StoreDirectory
from tests.conftest import RECORDED, Outcome

Run = Callable[..., Outcome]
UNREAD = {"totalTopicNum", "totalGroupNum"}
"""Fields of answers since 5.4.0 for those who ask for tables in pages; mqctl asks for whole ones."""
RELEASES = sorted(path.name for path in RECORDED.iterdir())


@pytest.fixture(params=["tidy", "killed"])
def kept(request: pytest.FixtureRequest, release: str, tmp_path: Path) -> Path:
    """A store as its broker left it."""
    with tarfile.open(RECORDED / release / f"store-{request.param}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    (store,) = tmp_path.iterdir()
    assert (store / "abort").exists() == (request.param == "killed")
    return store


def kept_of(release: str, name: str) -> Any:
    return json.loads((RECORDED / release / name).read_text())


@pytest.mark.parametrize("release", RELEASES)
def test_a_recording_says_of_what_it_is(release: str) -> None:
    made = kept_of(release, "made.json")
    assert made["release"] == release and date.fromisoformat(made["date"])
    assert len(made["sha1"][f"rocketmq-broker-{release}.jar"]) == 40


@pytest.mark.parametrize("release", RELEASES)
def test_commands_find_the_store_sound_and_say_what_was_done(release: str, kept: Path, mqctl: Run) -> None:
    truth, words = kept_of(release, "truth.json"), ("--store", str(kept), "-o", "json")
    verified = mqctl("store", "verify", *words).json
    assert [item["code"] for item in verified["deviations"] if item["grade"] != "expected"] == []
    diagnosed = mqctl("doctor", *words).json
    assert [item["code"] for item in diagnosed["findings"] if item["severity"] in ("error", "fatal")] == []
    lag = mqctl("group", "lag", "-g", truth["group"], "--by", "queue", *words).json["queues"]
    read = {(row["topic"], row["queue_id"]): (row["consumer_offset"], row["broker_offset"]) for row in lag}
    ends: dict[int, int] = {}
    for message in truth["sent"]:
        ends[message["queue_id"]] = max(ends.get(message["queue_id"], 0), message["offset"] + 1)
    for queue_id, end in ends.items():
        assert read[truth["topic"], queue_id] == (truth["offsets"][str(queue_id)], end)
    assert read[truth["light_queue"], 0][1] == len(truth["light"])


@pytest.mark.parametrize("release", RELEASES)
def test_topics_that_nobody_made_are_those_of_the_system(release: str, kept: Path, mqctl: Run) -> None:
    shown = mqctl("store", "describe", "--store", str(kept), "--limit", "all").stdout
    normal = set(re.findall(r"^(\S+) +normal ", shown, re.MULTILINE))
    assert any("recorded" in name for name in normal), shown
    # A store does not tell the names of its broker and its cluster, which are topics as well.
    assert {name for name in normal if "recorded" not in name} <= {"burst", "broker-a", "DefaultCluster"}


@pytest.mark.parametrize("release", RELEASES)
def test_messages_are_where_they_were_sent(release: str, kept: Path) -> None:
    truth, store = kept_of(release, "truth.json"), StoreDirectory.open(kept)
    for sent in truth["sent"]:
        entry = store.consume_queue(truth["topic"], sent["queue_id"]).entries(sent["offset"], sent["offset"] + 1)
        record = store.commit_log.record_at(int(entry["physical_offset"][0]))
        assert (record.body.decode(), record.properties["UNIQ_KEY"]) == (sent["body"], sent["unique_key"])
    light = store.consume_queue(truth["light_queue"], 0).entries()["physical_offset"]
    assert [store.commit_log.record_at(int(at)).body.decode() for at in light] == truth["light"]


@pytest.mark.parametrize("release", RELEASES)
def test_frames_are_read_and_written_to_the_same_bytes(release: str) -> None:
    with tarfile.open(RECORDED / release / "frames.tar.gz") as archive:
        files = {member.name: archive.extractfile(member) for member in archive.getmembers()}
        contents = {name: file.read() for name, file in files.items() if file is not None}
    messages = 0
    for entry in json.loads(contents.pop("index.json")):
        command = decode(contents[entry["file"]])
        assert encode(command) == contents[entry["file"]], entry["file"]
        assert (command.code, command.version) == (entry["header"]["code"], entry["header"]["version"])
        if command.is_response and command.code == 0:
            read = read_reply(REQUESTS[entry["request_code"]].reply, command).to_ext()
            expected = {name: value for name, value in (command.ext_fields or {}).items() if name not in UNREAD}
            assert read == expected, entry["file"]
        if entry["request_code"] in (11, 12) and command.body:
            messages += len(decode_messages(command.body))
    assert len(contents) > 12 and messages
