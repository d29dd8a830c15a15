"""`mqctl record` against a live cluster: what is written, what survives, and what is refused."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset
from mqctl.recording.kinds import Aspect, LookOutcome, RowKind
from mqctl.recording.past import snapshot_at
from mqctl.recording.reader import open_recording
from tests.conftest import REPOSITORY
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.changes.test_topic_changes import sure
from tests.live.conftest import Run, change

BRISK = ("--every", "100ms")
NEAR = ("--window", "10ms", "-o", "json")


def test_a_look_is_written_whole_and_what_changes_after_it_alone(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    place = tmp_path / "recording"
    outcome = live("record", place, *BRISK, "--count", "2")
    assert outcome.exit_code == 0, outcome.stderr
    assert "recorded 2 looks" in outcome.stderr
    with Peer(cluster.broker("broker-a").address) as peer:
        assert peer.call(send("Pay"), b"more").code == 0
    change(cluster, "broker-b", commit_offset("G", "Pay", 0, 1))
    assert live("record", place, *BRISK, "--count", "1").exit_code == 0
    recording = open_recording(str(place))
    looks = recording.looks
    assert [look.outcome for look in looks] == [
        LookOutcome.WHOLE,
        LookOutcome.WHOLE,
        LookOutcome.STOPPED,
        LookOutcome.WHOLE,
        LookOutcome.STOPPED,
    ]
    assert [look.keyframe for look in looks] == [True, False, False, True, False]
    key = ("broker-b", "G", "Pay", 0)
    stood = [recording.state_at(look.moment_ms)[RowKind.OFFSETS][key][0] for look in looks]
    assert stood == [3, 3, 3, 1, 1]
    first, last = snapshot_at(recording, looks[1].moment_ms), snapshot_at(recording, looks[-1].moment_ms)
    ends = [
        {broker.name: broker.queue_index()["Pay", 0].max_offset for broker in state.brokers} for state in (first, last)
    ]
    assert ends == [{"broker-a": 5, "broker-b": 5}, {"broker-a": 6, "broker-b": 5}]
    assert {topic.name for topic in last.brokers[0].topics} >= {"Pay"}
    assert last.brokers[0].config and last.brokers[0].runtime["brokerVersionDesc"]
    assert last.name_servers[0].endpoints


def test_a_recorded_look_is_judged_as_the_cluster_was(live: Run, tmp_path: Path) -> None:
    place = tmp_path / "recording"
    assert live("record", place, *BRISK, "--count", "2").exit_code == 0
    recorded = json.loads(live("doctor", "--recording", place, "-o", "json").stdout)
    now = json.loads(live("doctor", "-o", "json").stdout)
    left_open = {item["code"] for item in recorded["not_judged"]}
    assert len(left_open) < len(recorded["rules_run"]) * 2 // 3
    assert says(recorded, without=left_open) == says(now, without=left_open)


def says(report: dict[str, Any], *, without: set[str]) -> set[tuple[str, str]]:
    """Returns what a diagnosis found, by rule and subject."""
    return {(item["code"], item["subject"]) for item in report["findings"] if item["code"] not in without}


def test_a_recorder_that_is_killed_leaves_readable_files_and_its_lock_to_others(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    place = tmp_path / "recording"
    with Recorder(cluster, place, tmp_path) as process:
        refused = live("record", tmp_path / "other", *BRISK, "--count", "1")
        assert refused.exit_code == 76
        assert "another mqctl is at it" in refused.stderr
        process.kill()
    assert live("record", place, *BRISK, "--count", "1").exit_code == 0
    recording = open_recording(str(place))
    assert recording.problems == {}
    assert [look.outcome for look in recording.looks].count(LookOutcome.STOPPED) == 1
    assert sum(look.keyframe for look in recording.looks) == 2
    for file in place.rglob("*.parquet"):
        assert pq.read_metadata(file).metadata[b"format"] == b"recording/1"


def test_what_a_killed_recorder_saw_and_who_changed_it_is_joined(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    """Recorded, killed, changed with mqctl, recorded again: the timeline says who, and each moment is judged."""
    place = tmp_path / "recording"
    with Recorder(cluster, place, tmp_path) as process:
        process.kill()
    reset = live("offset", "reset", "-g", "G", "-t", "Pay", "--to-earliest", *sure("G"))
    assert reset.exit_code == 0, reset.stderr
    # As seldom as the first: looks so near to each other that none is missing between them.
    assert live("record", place, "--every", "1h", "--count", "1").exit_code == 0
    before_ms, after_ms = (look.moment_ms for look in open_recording(str(place)).looks if look.has_rows)
    timeline = live("timeline", "--recording", place, "-g", "G", "-o", "json")
    assert timeline.exit_code == 0, timeline.stderr
    listed = {item["kind"]: item for item in timeline.json["events"]}
    back, made = listed["offset-went-back"], listed["change-made"]
    assert (back["change_id"], back["message_count"], back["after_ms"]) == (reset.json["id"], 6, before_ms)
    assert (made["change_id"], made["reason"], made["who"]) == (reset.json["id"], "G", back["who"])
    assert back["who"]
    codes = [
        {code for code, _ in says(live("doctor", "--recording", place, "--at", at_ms, *NEAR).json, without=set())}
        for at_ms in (before_ms, after_ms)
    ]
    assert ["MQ411" in each for each in codes] == [False, True], codes


def test_ctrl_c_ends_it_well_and_is_recorded(live: Run, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    place = tmp_path / "recording"
    with Recorder(cluster, place, tmp_path) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(90) == 0
    assert open_recording(str(place)).looks[-1].reason == "interrupted"


def test_silence_is_recorded_as_a_gap_with_its_cause(live: Run, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    place = tmp_path / "recording"
    cluster.broker("broker-b").kill()
    assert live("record", place, *BRISK, "--count", "1", "--timeout", "5s").exit_code == 0
    recording = open_recording(str(place))
    state = recording.state_at(recording.looks[-1].moment_ms)
    known = {key[0]: values for key, values in state[RowKind.BROKERS].items()}
    if "broker-b" in known:  # the name server has not noticed yet
        assert recording.looks[0].outcome is LookOutcome.PARTIAL
        assert ("broker-b", 0, Aspect.GAPS, "") in state[RowKind.FACTS]
    assert known["broker-a"][3] is True

    dead = live("record", tmp_path / "dead", *BRISK, "--count", "2", "-n", "127.0.0.1:1", "--timeout", "1s")
    assert dead.exit_code == 69
    looks = open_recording(str(tmp_path / "dead")).looks
    assert [look.outcome for look in looks] == [LookOutcome.FAILED, LookOutcome.FAILED, LookOutcome.STOPPED]
    assert looks[0].cause == "silent"
    assert "127.0.0.1:1" in str(looks[0].reason)
    other = live("record", tmp_path / "dead", *BRISK, "--count", "1")
    assert other.exit_code == 76
    assert "holds the recording of 127.0.0.1:1" in other.stderr


def test_a_place_of_fsspec_and_one_that_takes_nothing(live: Run, tmp_path: Path) -> None:
    place = f"local://{tmp_path}/remote"
    assert live("record", place, *BRISK, "--count", "1").exit_code == 0
    assert open_recording(place).looks[0].outcome is LookOutcome.WHOLE
    assert open_recording(str(tmp_path / "remote")).looks == open_recording(place).looks
    (tmp_path / "file").write_text("")
    refused = live("record", tmp_path / "file" / "below", *BRISK, "--count", "1")
    assert refused.exit_code == 74
    assert "could not write to the recording" in refused.stderr


def test_a_disk_that_fills_up_and_a_directory_that_vanishes_are_named_and_what_is_whole_is_used(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    place, moved = tmp_path / "recording", tmp_path / "moved"
    with Recorder(cluster, place, tmp_path, every="100ms") as process:
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (16, resource.RLIM_INFINITY))
        heard(process, "could not write to the recording")
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        heard(process, "looks are recorded again")
        place.rename(moved)
        heard(process, f"files of the recording {place} are gone")
        heard(process, "looks are recorded again")
        process.send_signal(signal.SIGINT)
        assert process.wait(90) == 0
    before, after = open_recording(str(moved)), open_recording(str(place))
    assert (before.problems, after.problems) == ({}, {})
    assert sum(look.keyframe for look in before.looks) >= 2, "the first look after the disk was full is whole"
    for recording in (before, after):
        first, last = recording.looks[0], [look for look in recording.looks if look.has_rows][-1]
        assert first.keyframe
        state = recording.state_at(last.moment_ms)
        assert len(state[RowKind.QUEUES]) == len(recording.state_at(first.moment_ms)[RowKind.QUEUES]) > 0
        assert snapshot_at(recording, last.moment_ms).brokers[0].queues
    timeline = live("timeline", "--recording", place, "-o", "json")
    assert timeline.exit_code == 0, timeline.stderr


def heard(process: subprocess.Popen[str], wanted: str) -> None:
    """Waits until the recorder says it."""
    assert process.stderr is not None
    timer = threading.Timer(90, process.kill)
    timer.start()
    lines: list[str] = []
    while wanted not in (lines or [""])[-1]:
        lines.append(process.stderr.readline())
        assert lines[-1], lines
    timer.cancel()


class Recorder:
    """A recorder as a process of its own, that has taken its first look."""

    def __init__(self, cluster: EmbeddedCluster, place: Path, home: Path, every: str = "1h") -> None:
        places = {name: str(home / name.lower()) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}
        words = (sys.executable, "-m", "mqctl", "record", str(place), "--every", every)
        env = {**os.environ, **places, "MQCTL_NAMESRV": cluster.namesrv}
        self.process = subprocess.Popen(words, cwd=REPOSITORY, env=env, stderr=subprocess.PIPE, text=True)

    def __enter__(self) -> subprocess.Popen[str]:
        assert self.process.stderr is not None
        timer = threading.Timer(90, self.process.kill)
        timer.start()
        assert "keyframe" in self.process.stderr.readline()
        timer.cancel()
        return self.process

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()
