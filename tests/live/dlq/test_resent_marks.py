"""`mqctl dlq list` marks the letters that were sent again, from here or from elsewhere; what nobody tells is no no."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedded_broker import Answer, EmbeddedCluster
from tests.live.conftest import Run
from tests.live.failing import fail

_QUERY = 12


@pytest.fixture
def dead(cluster: EmbeddedCluster) -> EmbeddedCluster:
    """G gave up k0 and k1 on broker-a."""
    for number in range(2):
        fail(cluster, "broker-a", number, level=-1)
    return cluster


def marks(live: Run, env: dict[str, str] | None = None, code: int = 0) -> dict[str, tuple[bool | None, str | None]]:
    shown = live("dlq", "list", "G", "-o", "json", env=env)
    assert shown.exit_code == code, shown.stderr
    return {item["keys"]: (item["resent"], item["resent_by"]) for item in shown.json["letters"]}


@pytest.mark.parametrize("to", [(), ("--to", "%RETRY%G")], ids=["topic", "retries"])
def test_a_letter_that_was_sent_again_is_marked_on_every_machine(
    live: Run, dead: EmbeddedCluster, tmp_path: Path, to: tuple[str, ...]
) -> None:
    assert marks(live) == {"k0": (False, None), "k1": (False, None)}
    done = live("dlq", "resend", "G", "--key", "k0", *to, "--execute", "--confirm", "G", "-o", "json")
    assert done.exit_code == 0, done.stderr
    elsewhere = {"MQCTL_STATE_DIR": str(tmp_path / "another machine")}
    for env in (None, elsewhere):
        assert marks(live, env) == {"k0": (True, done.json["id"]), "k1": (False, None)}
    text = live("dlq", "list", "G").stdout
    assert "SENT AGAIN" in text
    assert "sent again already: 1; a resend leaves them out" in text
    assert "which were sent again: mqctl dlq list G" in live("dlq", "list").stdout


def test_a_broker_that_does_not_tell_leaves_it_open(live: Run, dead: EmbeddedCluster) -> None:
    dead.fault(_QUERY, Answer(code=1, remark="busy"), server="broker-b")
    assert marks(live, code=69) == {"k0": (None, None), "k1": (None, None)}
    dead.clear_faults()
