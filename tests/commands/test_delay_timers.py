"""Timer messages of 5.x that wait: `delay levels` and `delay check` say so, live and from the store."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from embedded_broker import Answer, EmbeddedCluster
from mqctl.protocol.codes import RequestCode
from tests.conftest import Outcome
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer

Run = Callable[..., Outcome]
SECOND, HOUR = 1_000, 3_600_000


def test_a9_messages_in_the_timer_are_told_live_and_from_a_store(mqctl: Run, tmp_path: Path) -> None:
    with EmbeddedCluster(virtual_time=True, version="5.3.3", data_dir=tmp_path / "data") as cluster:
        due_ms = (cluster.now_ms() // SECOND + 3_600) * SECOND
        with Peer(cluster.broker().address) as peer:
            for key in ("K1", "K2"):
                peer.call(send("T", properties={"TIMER_DELIVER_MS": str(due_ms), "UNIQ_KEY": key}), b"later")
        cluster.advance(3 * SECOND)
        live = ("--namesrv", cluster.namesrv)
        for verb in ("backlog", "check"):
            answer = mqctl("delay", verb, *live, "-o", "json")
            assert [(row["topic"], row["waiting_count"]) for row in answer.json["timers"]] == [("T", 2)], answer.stderr
            text = mqctl("delay", verb, *live).stdout
            assert "IN TIMER" in text
            assert "nothing waits" not in text
        store = cluster.broker().store
    for verb in ("backlog", "check"):
        (row,) = mqctl("delay", verb, "--store", store, "-o", "json").json["timers"]
        assert (row["topic"], row["waiting_count"]) == ("T", 2)
        assert abs(row["next_due_time_ms"] - due_ms) <= SECOND


def test_a_timer_log_that_cannot_be_read_is_named(mqctl: Run, store_copy: Callable[[str], Path]) -> None:
    """No rule judges what waits in timers: the answers lacked it without a word."""
    store = store_copy("store-5.3.3")
    (file,) = (store / "timerlog").iterdir()
    file.unlink()
    file.symlink_to(file.name)
    backlog, check = (mqctl("delay", verb, "--store", store, "-o", "json") for verb in ("backlog", "check"))
    assert (backlog.exit_code, check.exit_code) == (74, 3)
    for answer in (backlog, check):
        assert "delay-timers not read" in answer.stderr
        assert [gap["part"] for gap in answer.json["unavailable"]] == ["delay-timers"]


def test_a_sparse_timer_log_of_a_terabyte_is_read_as_far_as_it_is_written(
    mqctl: Run, store_copy: Callable[[str], Path]
) -> None:
    store = store_copy("store-5.3.3")
    (file,) = (store / "timerlog").iterdir()
    wanted = mqctl("delay", "check", "--store", store, "-o", "json").json["timers"]
    os.truncate(file, 1 << 40)
    answer = mqctl("delay", "check", "--store", store, "-o", "json")
    assert (answer.exit_code, answer.json["timers"]) == (0, wanted)
    assert [row["waiting_count"] for row in wanted] == [2]


def test_a9_a_broker_that_does_not_tell_its_timers_is_a_gap(mqctl: Run) -> None:
    with EmbeddedCluster(version="5.3.3") as cluster:
        cluster.fault(RequestCode.GET_TIMER_METRICS, Answer(1, "The timer message store is null"))
        answer = mqctl("delay", "levels", "--namesrv", cluster.namesrv)
        judged = mqctl("delay", "check", "--namesrv", cluster.namesrv, "-o", "json")
    assert "delay-timers" in answer.stderr
    assert answer.exit_code != 0
    # Rules judge without them, and yet it is no whole answer.
    assert (judged.exit_code, judged.json["diagnosis"]["verdict"]) == (3, "ok")
    assert "delay-timers" in judged.stderr
    assert [gap["part"] for gap in judged.json["unavailable"]] == ["delay-timers"]


@pytest.mark.quick
@pytest.mark.parametrize("store", ["store-5.3.3"])
def test_a9_timers_of_a_recorded_store_are_counted_as_the_report_does(
    mqctl: Run, golden_store: Callable[[str], Path], store: str
) -> None:
    path = golden_store(store)
    rows = mqctl("delay", "levels", "--store", path, "-o", "json").json["timers"]
    report = mqctl("report", "delay", "--no-spark", "--store", path, "-o", "json").json["report"]
    assert {row["topic"]: row["waiting_count"] for row in rows} == {
        row["topic"]: row["waiting"] - row["missing"] for row in report["timers"]
    }
