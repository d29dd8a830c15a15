"""`mqctl history` knows every journal that this machine keeps, without a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mqctl.changes.engine.journal import Journal, read_all, refuse
from mqctl.changes.engine.records import LetterPart, ReplayRecord, ResendRecord, SettingPart, SettingRecord, StepRecord
from mqctl.errors import BadInputError
from tests.conftest import Outcome


def setting(change_id: str = "20261101-000000-0002") -> SettingRecord:
    part = SettingPart(kind="topic", place="a", address="h:1", subject="T", old=None, new={"perm": "6"})
    return SettingRecord(
        id=change_id, kind="topic-create", noun="topic", subject="T", who="w", made_at_ms=2, cluster="C",
        brokers={"a": "h:1"}, parts=[part],
    )  # fmt: skip


def test_history_holds_every_kind_of_change(mqctl: Callable[..., Outcome], tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    repair = StepRecord(
        id="S", kind="delay-repair", subject="/s", confirm="s", who="w", made_at_ms=1, cluster="", brokers={}, parts=[]
    )
    journal.steps("delay-repair").write(repair)
    journal.settings.write(setting())
    letter = LetterPart(letter_id="L", unique_key="U", topic="T")
    resend = ResendRecord(
        id="D", kind="dlq-resend", subject="G", to_topic=None, rate=1, who="w", made_at_ms=3, cluster="C", brokers={},
        parts=[letter],
    )  # fmt: skip
    journal.resends.write(resend)
    replay = ReplayRecord(
        id="R", kind="replay-publish", subject="T2", who="w", made_at_ms=4, cluster="C", brokers={}, source="s",
        parts=[], target="T2",
    )  # fmt: skip
    journal.replays.write(replay)
    outcome = mqctl("history", "-o", "json", env={"MQCTL_STATE_DIR": str(tmp_path)})
    assert outcome.exit_code == 0, outcome.stderr
    changes = [(item["kind"], item["subject"], item["state"], item["back"]) for item in outcome.json["changes"]]
    assert changes == [
        ("replay-publish", "T2", "interrupted", "mqctl replay resume R"),
        ("dlq-resend", "G", "interrupted", "mqctl dlq resend -g G --resume D"),
        ("topic-create", "T", "interrupted", f"mqctl undo {setting().id}"),
        ("delay-repair", "/s", "interrupted", "mqctl delay repair --undo S"),
    ]
    table = mqctl("history", env={"MQCTL_STATE_DIR": str(tmp_path)}).stdout
    assert "mqctl replay resume R" in table
    broken = tmp_path / "journal" / "settings" / "broken.json"
    broken.write_text("{")


def test_history_shows_what_can_be_read_and_names_the_rest(mqctl: Callable[..., Outcome], tmp_path: Path) -> None:
    book = Journal(tmp_path).settings
    good, torn = setting(), setting("20261101-000000-0003")
    book.write(good)
    book.write(torn)
    file = tmp_path / "journal" / "settings" / f"{torn.id}.json"
    file.write_bytes(file.read_bytes()[:-20])
    (tmp_path / "journal" / "torn.json").write_text("{")
    (tmp_path / "replays").mkdir()
    (tmp_path / "replays" / "torn.json").write_text("{")
    env = {"MQCTL_STATE_DIR": str(tmp_path)}
    outcome = mqctl("history", "-o", "json", env=env)
    assert (outcome.exit_code, [item["id"] for item in outcome.json["changes"]]) == (74, [good.id])
    named = (str(file), str(tmp_path / "journal" / "torn.json"), str(tmp_path / "replays" / "torn.json"))
    assert len(outcome.json["unreadable"]) == 3
    assert all(name in outcome.stderr and name in str(outcome.json["unreadable"]) for name in named)
    assert "restore it, or move it away" in outcome.stderr
    part = mqctl("replay", "status", "-o", "json", env=env)
    assert (part.exit_code, part.json["replays"], len(part.json["unreadable"])) == (74, [], 1), part.stderr
    damaged = mqctl("undo", torn.id, "--namesrv", "127.0.0.1:1", env=env)
    assert (damaged.exit_code, str(file) in damaged.stderr) == (65, True), damaged.stderr


@pytest.mark.parametrize("content", [b'{"id":"\xf8"}', b"", b"\x00" * 64, b"[]"])
def test_a_damaged_journal_file_is_named(tmp_path: Path, content: bytes) -> None:
    """What a crash of the machine may leave of a file; text that is no UTF-8 is msgspec's one surprise."""
    journal = Journal(tmp_path)
    for drawer in (journal.offsets, journal.settings, journal.steps("x"), journal.replays, journal.resends):
        drawer.directory.mkdir(parents=True, exist_ok=True)
        for suffix in ("json", "ndjson"):
            (drawer.directory / f"x.{suffix}").write_bytes(content)
        with pytest.raises(BadInputError, match="could not read"):
            drawer.all()


def _entry(directory: Path) -> str:
    Journal(directory).settings.write(setting())
    return setting().id


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("journal/{}.json", None),
        ("journal/settings/{}.json", None),
        ("journal/resends/{}.ndjson", None),
        ("replays/{}.json", ("replay", "status")),
    ],
)
@pytest.mark.parametrize("kind", ["link", "directory", "pipe"])
def test_what_is_no_record_hides_no_others(
    mqctl: Callable[..., Outcome], tmp_path: Path, place: str, words: tuple[str, ...] | None, kind: str
) -> None:
    kept = _entry(tmp_path)
    file = tmp_path / place.format("20261101-000000-aab4")
    file.parent.mkdir(parents=True, exist_ok=True)
    match kind:
        case "link":
            file.symlink_to("/nonexistent")
        case "directory":
            file.mkdir()
        case _:
            os.mkfifo(file)
    env = {"MQCTL_STATE_DIR": str(tmp_path)}
    outcome = mqctl("history", "-o", "json", env=env)
    assert (outcome.exit_code, [item["id"] for item in outcome.json["changes"]]) == (74, [kept])
    assert f"could not read {file}: " in outcome.stderr
    assert [str(file) in line for line in outcome.json["unreadable"]] == [True]
    if words is not None:
        part = mqctl(*words, "-o", "json", env=env)
        assert (part.exit_code, len(part.json["unreadable"])) == (74, 1), part.stderr


def test_a_record_that_is_removed_meanwhile_is_left_out(tmp_path: Path) -> None:
    kept = _entry(tmp_path)
    book = Journal(tmp_path).settings
    gone = [kept, "20261101-000000-aab4"]
    assert [record.id for record in read_all(lambda: gone, book.read, refuse)] == [kept]


def test_the_name_of_a_record_stays_on_one_line_and_is_told_once(mqctl: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "a\nmqctl: all is well.json").mkdir()
    outcome = mqctl("history", env={"MQCTL_STATE_DIR": str(tmp_path)})
    assert outcome.stderr.splitlines() == [
        f"mqctl: could not read {tmp_path}/journal/a\\nmqctl: all is well.json: Is a directory; it is left out",
        "  next: restore it, or move it away",
    ]
