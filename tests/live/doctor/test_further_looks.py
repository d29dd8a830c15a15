"""What one look at a cluster does not show: a message that is sent on request, members that come and go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from embedded_broker import Answer, EmbeddedCluster
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.protocol.codes import RequestCode
from mqctl.rules import diagnose
from mqctl.snapshot.live.handed_out import handed_out, with_handed_out
from mqctl.snapshot.live.looks_between import look_between
from tests.client.consuming import wait_until
from tests.embedded_broker.messages import pull
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run
from tests.live.doctor.stage import BROKERS, LATER_MS, TWO, Stage, codes, numbers, staged

_SENDS = {int(RequestCode.SEND_MESSAGE), int(RequestCode.SEND_MESSAGE_V2)}


def test_a_broker_that_refuses_sends_is_named_where_one_is_allowed(live: Run, cluster: EmbeddedCluster) -> None:
    for code in _SENDS:
        cluster.fault(code, Answer(14, remark="service not available now"), server="broker-a")
    cluster.record_requests()
    silent = live("doctor", "-o", "json")
    assert "MQ120" not in {finding["code"] for finding in silent.json["findings"]}
    assert not [request for request in cluster.requests() if request.code in _SENDS]
    named = live("doctor", "--probe", "-o", "json")
    by_code = {finding["code"]: finding for finding in named.json["findings"]}
    assert (named.exit_code, "broker-a" in by_code["MQ120"]["subject"]) == (2, True)
    assert "service not available now" in named.stdout
    sent = [request for request in cluster.requests() if request.code in _SENDS]
    assert {request.ext_fields.get("topic") or request.ext_fields["b"] for request in sent} == {"broker-a", "broker-b"}


def test_asked_for_by_name_it_says_what_it_takes(live: Run) -> None:
    outcome = live("doctor", "--only", "MQ120")
    assert (outcome.exit_code, "--probe" in outcome.stdout) == (3, True)


def test_files_get_no_message(live: Run, tmp_path: Path) -> None:
    file = tmp_path / "x.snap"
    assert live("snapshot", "save", file).exit_code == 0
    assert live("doctor", "--snapshot", file, "--probe").exit_code == 64


@pytest.fixture
def stage() -> Iterator[Stage]:
    with EmbeddedCluster(brokers=2, version="5.3.3") as running, staged(running) as built:
        yield built


def again(stage: Stage, first: ClusterSnapshot) -> ClusterSnapshot:
    with Cluster(stage.cluster.namesrv) as whole:
        return look_between(whole, Deadline(60_000), first, now_ms=stage.now_ms)


def test_a_member_that_leaves_and_comes_back_is_named_and_one_that_stays_is_not(stage: Stage) -> None:
    first = stage.look(before_ms=LATER_MS)
    stayed = again(stage, first)
    stage.cast.leave(TWO)
    gone = again(stage, first)
    stage.cast.join(stage.member(TWO))
    last = replace(stage.look(), earlier=first)
    assert codes(diagnose(replace(last, between=(stayed, stayed)))) == {"MQ219"}
    flapping = diagnose(replace(last, between=(stayed, gone)))
    assert codes(flapping) >= {"MQ220"}
    assert numbers(flapping, "MQ220")["flapping_count"] == 1


def test_a_master_that_is_away_between_two_looks_is_named(stage: Stage) -> None:
    first = stage.look(before_ms=LATER_MS)
    there = again(stage, first)
    broker = stage.cluster.broker("broker-a")
    broker.kill()
    wait_until(lambda: not _lists(again(stage, first), "broker-a"), "the name server to drop the broker")
    away = again(stage, first)
    broker.start()
    wait_until(lambda: _lists(again(stage, first), "broker-a"), "the broker to register")
    last = replace(stage.look(), earlier=first)
    ends_only = diagnose(replace(last, between=(there,)), only=("MQ646",))
    assert [item.variant for item in ends_only.findings] == ["restarted"]
    every_look = diagnose(replace(last, between=(there, away, there)), only=("MQ646",))
    assert [item.variant for item in every_look.findings] == [None]
    assert (numbers(every_look, "MQ646")["away_count"], numbers(every_look, "MQ646")["look_count"]) == (1, 5)


def _lists(look: ClusterSnapshot, name: str) -> bool:
    return any(item.name == name and item.addresses for view in look.name_servers for item in view.endpoints)


def test_a_group_that_stops_and_goes_within_a_window_is_named(stage: Stage) -> None:
    def move(committed: int, sent: int) -> None:
        for broker in BROKERS:
            stage.send(broker, count=sent)
            stage.commit(broker, committed)

    first = stage.look(before_ms=60_000)
    move(30, 40)
    stopped = [again(stage, first)]
    move(30, 40)
    stopped.append(again(stage, first))
    move(81, 0)
    dated = [
        replace(look, origin=replace(look.origin, observed_at_ms=stage.now_ms - ms))
        for look, ms in zip(stopped, (40_000, 20_000), strict=True)
    ]
    last = replace(stage.look(), earlier=first)
    assert "MQ428" not in codes(diagnose(last))
    paused = diagnose(replace(last, between=tuple(dated)))
    assert {name: numbers(paused, "MQ428")[name] for name in ("pause_ms", "waiting_count", "moved_count")} == {
        "pause_ms": 20_000,
        "waiting_count": 102,
        "moved_count": 160,
    }


def test_messages_that_are_pulled_twice_and_committed_once_are_handed_out_twice() -> None:
    """The broker counts every pull in which it finds messages, by its own minute."""
    with EmbeddedCluster(brokers=2, version="5.3.3", virtual_time=True) as running, staged(running) as stage:
        first = stage.look()
        for broker in BROKERS:
            stage.send(broker, count=30)
            with Peer(running.broker(broker).address) as peer:
                for _ in range(2):
                    pulled = peer.call(pull("Pay", 1, group="G", count=30))
                    assert pulled.code == 0
            stage.commit(broker, 31)
        running.advance(60_000)
        with Cluster(running.namesrv) as whole:
            counts = handed_out(whole, Deadline(60_000), first)
        assert {item.minute_count for items in counts.values() for item in items} == {60}
        stage.now_ms = running.now_ms()
        last = with_handed_out(stage.look(), counts)
        earlier = replace(first, origin=replace(first.origin, observed_at_ms=stage.now_ms - 90_000))
        twice = diagnose(replace(last, earlier=earlier), only=("MQ429",))
        assert (numbers(twice, "MQ429")["handed_count"], numbers(twice, "MQ429")["moved_count"]) == (120, 60)
        once = {
            address: tuple(replace(item, minute_count=item.minute_count // 2) for item in items)
            for address, items in counts.items()
        }
        healthy = replace(with_handed_out(last, once), earlier=earlier)
        assert codes(diagnose(healthy, only=("MQ429",))) == set()
