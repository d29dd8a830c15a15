"""Timer messages are taken back by the handle that their send answered, by plan; what cannot be is said beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from docs.schemas import SCHEMAS
from embedded_broker import Drop, EmbeddedCluster
from mqctl.client.admin.broker_changes import put_topic
from mqctl.model.config import TopicConfig
from mqctl.protocol.codes import RequestCode
from mqctl.protocol.recall_handle import RecallHandle
from tests.conftest import Outcome
from tests.live.conftest import Run, change

_RECALL = int(RequestCode.RECALL_MESSAGE)
_FAR_MS = 4_102_444_800_000


@pytest.fixture
def timed() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version="5.3.3", settings={"recallMessageEnable": "true"}, virtual_time=True) as cluster:
        yield cluster


@pytest.fixture
def on_timed(mqctl: Run, timed: EmbeddedCluster, tmp_path: Path) -> Run:
    change(timed, "broker-a", put_topic(TopicConfig(name="Pay", read_queue_count=1, write_queue_count=1)))
    places = {name: str(tmp_path / name.lower()) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}

    def run(*words: object, env: Mapping[str, str] | None = None) -> Outcome:
        return mqctl(*words, env={**places, "MQCTL_NAMESRV": timed.namesrv, **(env or {})})

    return run


def sent(run: Run, body: str) -> str:
    outcome = run("message", "send", "-t", "Pay", "--body", body, "--deliver-at", "+20min", "-o", "json")
    assert (outcome.exit_code, outcome.json["way"]) == (0, "timer"), outcome.stderr
    return str(outcome.json["recall_handle"])


def bodies(run: Run) -> list[str]:
    return [item["body"] for item in run("message", "peek", "-t", "Pay", "-o", "json").json["messages"]]


def test_a_message_that_waits_is_taken_back_and_the_others_come(on_timed: Run, timed: EmbeddedCluster) -> None:
    handle, _ = sent(on_timed, "recalled"), sent(on_timed, "kept")
    timed.record_requests()
    plan = on_timed("message", "recall", handle)
    assert (plan.exit_code, "--confirm Pay" in plan.stdout) == (0, True), plan.stderr
    assert on_timed("message", "recall", handle, "--execute").exit_code == 76
    assert timed.requests(_RECALL) == []
    done = on_timed("message", "recall", handle, "--execute", "--confirm", "Pay", "-o", "json")
    assert (done.exit_code, [step["state"] for step in done.json["steps"]]) == (0, ["confirmed"]), done.stderr
    document = done.json
    document.pop("schema")
    msgspec.convert(document, SCHEMAS["message.recall/1"], strict=True)
    (record,) = on_timed("history", "-o", "json").json["changes"]
    assert (record["kind"], record["back"]) == ("message-recall", None)
    undo = on_timed("undo", record["id"])
    assert (undo.exit_code, "are not delivered" in undo.stderr) == (76, True)
    timed.advance(21 * 60_000)
    assert bodies(on_timed) == ["kept"]


def test_what_is_sent_says_how_to_take_it_back(on_timed: Run) -> None:
    waiting = on_timed("message", "send", "-t", "Pay", "--body", "x", "--deliver-at", "+20min")
    assert "mqctl message recall djEg" in waiting.stdout
    assert "recall" not in on_timed("message", "send", "-t", "Pay", "--body", "x").stdout


def test_a_recall_that_is_not_answered_is_unknown(on_timed: Run, timed: EmbeddedCluster) -> None:
    handle = sent(on_timed, "x")
    timed.fault(_RECALL, Drop())
    done = on_timed("message", "recall", handle, "--execute", "--confirm", "Pay", "--timeout", "2s", "-o", "json")
    assert (done.exit_code, done.json["steps"][0]["state"]) == (3, "unknown")


def test_a_broker_that_refuses_left_the_message_where_it_was(on_timed: Run) -> None:
    """No topic of the name: only the broker can tell."""
    handle = str(RecallHandle("Nowhere", "broker-a", _FAR_MS, "K"))
    done = on_timed("message", "recall", handle, "--execute", "--confirm", "Nowhere", "-o", "json")
    (step,) = done.json["steps"]
    assert (done.exit_code, step["state"], "not exist" in step["reason"]) == (1, "not-done", True)


@pytest.mark.parametrize(
    ("broker", "deliver_ms", "said"),
    [
        ("broker-z", _FAR_MS, "no master that is registered"),
        ("broker-a", 1_700_000_000_000, "its moment is over"),
    ],
)
def test_what_cannot_be_recalled_is_left_out(
    on_timed: Run, timed: EmbeddedCluster, broker: str, deliver_ms: int, said: str
) -> None:
    timed.record_requests()
    handle = str(RecallHandle("Pay", broker, deliver_ms, "K"))
    assert said in on_timed("message", "recall", handle).stdout
    assert on_timed("message", "recall", handle, "--execute", "--confirm", "Pay").exit_code == 1
    assert timed.requests(_RECALL) == []


def test_brokers_that_recall_nothing_say_why(live: Run, cluster: EmbeddedCluster) -> None:
    """5.3.3 has it switched off by default, 4.9.8 does not know it."""
    handle = str(RecallHandle("Pay", "broker-a", _FAR_MS, "K"))
    plan = live("message", "recall", handle).stdout
    assert "recallMessageEnable=false" in plan or "V4_9_8 recalls no messages" in plan


@pytest.mark.parametrize(
    ("handles", "code", "said"),
    [
        (("nonsense",), 65, "is not a recall handle"),
        ((RecallHandle("A", "b", 1, "K"), RecallHandle("B", "b", 1, "K")), 64, "several topics: A, B"),
    ],
)
def test_bad_handles(on_timed: Run, handles: tuple[object, ...], code: int, said: str) -> None:
    outcome = on_timed("message", "recall", *map(str, handles))
    assert (outcome.exit_code, said in outcome.stderr) == (code, True), outcome.stderr
