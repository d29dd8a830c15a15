"""`mqctl doctor --recording`: a recorded moment is judged with the looks before it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mqctl.errors import UnreachableError
from mqctl.recording.history import past_of
from mqctl.recording.past import with_looks_before
from mqctl.recording.reader import open_recording
from mqctl.recording.writer import LookTime
from mqctl.rules import diagnose
from tests.conftest import Outcome
from tests.recording.worlds import MINUTE_MS, at, broker, cluster, look, writer

MEMBERS = {"one@1": "10.0.0.1:1", "two@1": "10.0.0.2:1"}


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Group G stands still from minute 10 to 20, is reset at 30; the recorder is away from 31 to 95, and nobody answers
    it from 98 to 100."""
    place = tmp_path_factory.mktemp("night")
    recorder = writer(place)
    for minute in range(32):
        stood = min(minute, 10) if minute < 20 else minute
        look(recorder, minute, broker(end=minute * 10, offset=0 if minute >= 30 else stood * 10, members=MEMBERS))
    recorder = writer(place)
    for minute in (95, 96, 97, 101):
        look(recorder, minute, broker(end=950, offset=950, members=MEMBERS))
        if minute == 97:
            for silent in (98, 99, 100):
                error = UnreachableError("could not ask any name server", reason="refused")
                recorder.failed(error, LookTime(wall_ms=at(silent), steady_ms=at(silent)))
    return place


def judged(place: Path, minute: float, window_ms: int = 2 * MINUTE_MS) -> dict[str, str]:
    """Returns rule and subject of what is found at a moment."""
    recording = open_recording(str(place))
    state = with_looks_before(recording, at(minute), window_ms=window_ms)
    diagnosis = diagnose(replace(state, past=past_of(recording, at(minute))))
    return {item.code: str(item.subject) for item in diagnosis.findings}


def test_a_moment_is_judged_with_its_own_past(night: Path) -> None:
    assert "MQ410" not in judged(night, 8)
    assert judged(night, 15)["MQ410"] == "broker-a G Pay/0"
    assert "MQ410" not in judged(night, 11)
    assert "MQ411" not in judged(night, 29)
    assert judged(night, 30.5)["MQ411"] == "broker-a G Pay/0"
    assert "MQ410" not in judged(night, 15, window_ms=10 * MINUTE_MS)


def test_what_nobody_recorded_is_no_all_clear_and_gaps_are_named(mqctl: Callable[..., Outcome], night: Path) -> None:
    # The world has no settings of topics and groups.
    last = mqctl("doctor", "--recording", night, *(f"--skip={code}" for code in ("MQ201", "MQ604", "MQ625")))
    assert last.exit_code == 3
    assert "the recorder got no answer (could not ask any name server" in last.stdout
    assert "the recorder did not run" in last.stdout
    assert "a recorder does not ask for it" in last.stdout
    value = json.loads(mqctl("doctor", "--recording", night, "-o", "json").stdout)
    assert value["observed_at_ms"] == at(101)
    assert [(gap["since_ms"], gap["until_ms"], gap["kind"]) for gap in value["past"]["gaps"]] == [
        (at(31), at(95), "silent"),
        (at(97), at(101), "unanswered"),
    ]
    codes_left = {item["code"] for item in value["not_judged"]}
    assert codes_left >= {"MQ309", "MQ133"}
    assert "MQ410" not in codes_left
    away = mqctl("doctor", "--recording", night, "--at", at(60), "-g", "G", "--window", "1m", "--lang", "zh")
    assert "早 29 min" in away.stderr
    assert "录制于" in away.stdout
    alone = mqctl("doctor", "--recording", night, "--at", at(95))
    assert "it compares two samples, and none was recorded" in alone.stdout


def test_files_that_cannot_be_read_are_named_and_nothing_is_judged_well_without_them(
    mqctl: Callable[..., Outcome], night: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(night, copy)
    (cut,) = (copy / "offsets").rglob(f"{at(5)}-*.parquet")
    cut.write_bytes(cut.read_bytes()[:100])
    (newer,) = (copy / "members").rglob(f"{at(0)}-*.parquet")
    pq.write_table(pq.read_table(newer).replace_schema_metadata({"format": "recording/9"}), newer)
    answer = mqctl("doctor", "--recording", copy, "--at", at(15), "-o", "json")
    assert f"{cut.name}: cut or damaged" in answer.stderr
    assert "a newer mqctl: it has form 9" in answer.stderr
    reasons: dict[str, str] = {}
    for item in json.loads(answer.stdout)["not_judged"]:
        reasons.setdefault(item["code"], item["reason"])
    assert "cut or damaged" in reasons["MQ401"]
    assert "it has form 9" in reasons["MQ208"]
    assert reasons.keys() >= {"MQ430", "MQ221"}
    assert "cut or damaged" not in reasons.get("MQ406", "")


def test_what_does_not_go_with_a_recording_is_refused(
    mqctl: Callable[..., Outcome], night: Path, tmp_path: Path
) -> None:
    for words in (["--stacks"], ["--probe"], ["--namesrv", "127.0.0.1:1"], ["--store", tmp_path]):
        assert mqctl("doctor", "--recording", night, *words).exit_code == 64
    assert mqctl("doctor", "--recording", night, "--at", at(-5)).exit_code == 66
    assert mqctl("doctor", "--recording", tmp_path / "none").exit_code == 66


@pytest.mark.parametrize("words", [("-g", "GG"), ("-t", "Paj"), ("--broker", "broker-x")])
def test_a_name_that_the_recorded_moment_has_not_is_no_healthy_one(
    mqctl: Callable[..., Outcome], night: Path, tmp_path: Path, words: tuple[str, str]
) -> None:
    outcome = mqctl("doctor", "--recording", night, *words)
    assert (outcome.exit_code, words[1] in outcome.stderr) == (66, True), outcome.stderr
    assert mqctl("doctor", "--recording", night, "-g", "G", "-t", "Pay", "--broker", "broker-a").exit_code != 66
    if words[0] == "-g":  # what cannot be read may have held it
        place = tmp_path / "damaged"
        shutil.copytree(night, place)
        for file in place.rglob("offsets/*/*.parquet"):
            file.write_bytes(b"PAR1")
        assert mqctl("doctor", "--recording", place, *words).exit_code != 66


def test_the_last_moment_is_that_of_the_last_look_not_of_the_recorder_s_end(
    mqctl: Callable[..., Outcome], tmp_path: Path
) -> None:
    """A recorder that was stopped later looked at nothing then; one that got no answer is no fresh look."""
    stopped = writer(tmp_path / "stopped")
    for minute in range(5):
        look(stopped, minute, broker(end=5, offset=5, members={"one@1": f"10.0.0.1:{minute // 4}"}))
    stopped.stopped(LookTime(wall_ms=at(30), steady_ms=at(30)), "interrupted")
    outcome = mqctl("doctor", "--recording", tmp_path / "stopped", "-o", "json")
    assert (outcome.json["observed_at_ms"], "there is no sample of that moment" in outcome.stderr) == (at(4), False)
    (remade,) = [item for item in outcome.json["findings"] if item["code"] == "MQ219"]
    assert (remade["evidence"]["remade_count"], remade["evidence"]["moved_count"]) == (1, None)
    shown = mqctl("doctor", "--recording", tmp_path / "stopped").stdout
    assert "Who owned the queues is not known" in " ".join(shown.split())
    later = mqctl("doctor", "--recording", tmp_path / "stopped", "--at", at(30), "-o", "json")
    assert "there is no sample of that moment: the previous one is used" in later.stderr
    silent = writer(tmp_path / "silent")
    look(silent, 0, broker(end=5, offset=5))
    silent.failed(UnreachableError("could not ask any name server"), LookTime(wall_ms=at(30), steady_ms=at(30)))
    assert "the previous one is used, 30 min earlier" in mqctl("doctor", "--recording", tmp_path / "silent").stderr


def test_a_clock_that_goes_back_is_one_event_and_nobody_stands_still_for_it(
    mqctl: Callable[..., Outcome], tmp_path: Path
) -> None:
    recorder = writer(tmp_path)
    for minute in range(120):
        wall_ms = at(minute if minute < 60 else minute - 30)
        state = broker(end=minute * 600 + 50, offset=minute * 600, members=MEMBERS)
        recorder.look(cluster(state, moment_ms=wall_ms), LookTime(wall_ms=wall_ms, steady_ms=at(minute)))
    events = mqctl("timeline", "--recording", tmp_path, "-o", "json").json["events"]
    assert [(item["kind"], item["jump_ms"]) for item in events] == [("clock-jumped", -30 * MINUTE_MS)]
    calm = {item["code"] for item in mqctl("doctor", "--recording", tmp_path, "-o", "json").json["findings"]}
    assert {code for minute in (58, 60, 75) for code in judged(tmp_path, minute)} <= calm
