"""`mqctl history` knows every journal that this machine keeps, without a cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mqctl.errors import BadInputError
from mqctl.execute.journal import Journal
from mqctl.execute.replays import PUBLISH, ReplayRecord, Replays
from mqctl.execute.resend_journal import ResendJournal
from mqctl.execute.setting_journal import SettingJournal
from mqctl.execute.step_journal import StepJournal
from mqctl.model.plan import ClusterIdentity
from mqctl.model.resend import ResendPlan
from mqctl.model.setting_plan import SettingKind, SettingPlan, SettingStep
from mqctl.model.step_plan import StepPlan
from tests.conftest import Outcome

IDENTITY = ClusterIdentity(cluster="C", brokers=(("a", "h:1"),))


def test_history_holds_every_kind_of_change(mqctl: Callable[..., Outcome], tmp_path: Path) -> None:
    steps = StepJournal(tmp_path / "journal" / "delay-repair")
    repair = steps.open(StepPlan(kind="delay-repair", target="/s", confirm="s", made_at_ms=1, steps=()))
    step = SettingStep(kind=SettingKind.TOPIC, place="a", address="h:1", subject="T", old=None, new={"perm": "6"})
    setting = SettingJournal(tmp_path / "journal" / "settings").begin(
        SettingPlan(
            kind="topic-create", noun="topic", subject="T", identity=IDENTITY, made_at_ms=2, steps=(step,), severe=False
        )
    )
    resend = ResendJournal(tmp_path / "journal" / "resends").begin(
        ResendPlan(identity=IDENTITY, group="G", to_topic=None, rate=1, made_at_ms=3, items=(), hearers={})
    )
    replay = ReplayRecord(
        id="R", kind=PUBLISH, who="w", made_at_ms=4, cluster="C", brokers={}, source="s", ranges=[], target="T2"
    )
    Replays(tmp_path / "replays").write(replay)
    outcome = mqctl("history", "-o", "json", env={"MQCTL_STATE_DIR": str(tmp_path)})
    assert outcome.exit_code == 0, outcome.stderr
    found = [(item["kind"], item["subject"], item["state"], item["back"]) for item in outcome.json["changes"]]
    assert found == [
        ("replay-publish", "T2", "interrupted", "mqctl replay resume R"),
        ("dlq-resend", "G", "interrupted", f"mqctl dlq resend -g G --resume {resend.id}"),
        ("topic-create", "T", "interrupted", f"mqctl undo {setting.id}"),
        ("delay-repair", "/s", "interrupted", f"mqctl delay repair --undo {repair.id}"),
    ]
    table = mqctl("history", env={"MQCTL_STATE_DIR": str(tmp_path)}).stdout
    assert "mqctl replay resume R" in table
    broken = tmp_path / "journal" / "settings" / "broken.json"
    broken.write_text("{")


def test_history_shows_what_can_be_read_and_names_the_rest(mqctl: Callable[..., Outcome], tmp_path: Path) -> None:
    step = SettingStep(kind=SettingKind.TOPIC, place="a", address="h:1", subject="T", old=None, new={"perm": "6"})
    plan = SettingPlan(
        kind="topic-create", noun="topic", subject="T", identity=IDENTITY, made_at_ms=2, steps=(step,), severe=False
    )
    book = SettingJournal(tmp_path / "journal" / "settings")
    good, torn = book.begin(plan), book.begin(plan)
    file = tmp_path / "journal" / "settings" / f"{torn.id}.json"
    file.write_bytes(file.read_bytes()[:-20])
    (tmp_path / "journal" / "torn.json").write_text("{")
    (tmp_path / "replays").mkdir()
    (tmp_path / "replays" / "torn.json").write_text("{")
    env = {"MQCTL_STATE_DIR": str(tmp_path)}
    outcome = mqctl("history", "-o", "json", env=env)
    assert (outcome.exit_code, [item["id"] for item in outcome.json["changes"]]) == (69, [good.id])
    named = (str(file), str(tmp_path / "journal" / "torn.json"), str(tmp_path / "replays" / "torn.json"))
    assert len(outcome.json["unreadable"]) == 3
    assert all(name in outcome.stderr and name in str(outcome.json["unreadable"]) for name in named)
    assert "restore it, or move it away" in outcome.stderr
    for words, key in ((("offset", "history"), "changes"), (("replay", "status"), "replays")):
        part = mqctl(*words, "-o", "json", env=env)
        assert (part.exit_code, part.json[key], len(part.json["unreadable"])) == (69, [], 1), part.stderr
    damaged = mqctl("undo", torn.id, "--namesrv", "127.0.0.1:1", env=env)
    assert (damaged.exit_code, str(file) in damaged.stderr) == (65, True), damaged.stderr


@pytest.mark.parametrize("content", [b'{"id":"\xf8"}', b"", b"\x00" * 64, b"[]"])
def test_a_damaged_journal_file_is_named(tmp_path: Path, content: bytes) -> None:
    """What a crash of the machine may leave of a file; text that is no UTF-8 is msgspec's one surprise."""
    for suffix in ("json", "ndjson"):
        (tmp_path / f"x.{suffix}").write_bytes(content)
    directory_journals = (Journal, SettingJournal, StepJournal, Replays, ResendJournal)
    for journal in directory_journals:
        with pytest.raises(BadInputError, match="could not read"):
            journal(tmp_path).all()
