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
    unread = mqctl("history", env={"MQCTL_STATE_DIR": str(tmp_path)})
    assert (unread.exit_code, "broken.json" in unread.stderr) == (65, True)


@pytest.mark.parametrize("content", [b'{"id":"\xf8"}', b"", b"\x00" * 64, b"[]"])
def test_a_damaged_journal_file_is_named(tmp_path: Path, content: bytes) -> None:
    """What a crash of the machine may leave of a file; text that is no UTF-8 is msgspec's one surprise."""
    for suffix in ("json", "ndjson"):
        (tmp_path / f"x.{suffix}").write_bytes(content)
    directory_journals = (Journal, SettingJournal, StepJournal, Replays, ResendJournal)
    for journal in directory_journals:
        with pytest.raises(BadInputError, match="could not read"):
            journal(tmp_path).all()
