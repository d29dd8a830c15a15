"""Each case of the delay catalogue, injected into a running broker, named live, and the same from its files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import time

import pytest

from embedded_broker import Answer, EmbeddedCluster
from embedded_broker.broker import Broker
from mqctl.client.admin.broker_changes import put_topic
from mqctl.model.config import TopicConfig
from mqctl.model.names import SCHEDULE_TOPIC
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_cluster import KVTable
from mqctl.protocol.bodies_stats import TopicOffset, TopicStatsTable
from mqctl.store.record_writer import Incoming
from tests.conftest import Outcome
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run, change

HOUR = 3_600_000
_VIEW, _STATS, _RUNTIME = 33, 202, 28


@dataclass
class Standing:
    """A broker whose clock stands still an hour ago, so that what is sent is overdue to everybody else."""

    cluster: EmbeddedCluster
    run: Run

    def delayed(self, level: int, count: int = 1) -> None:
        with Peer(self.cluster.broker().address) as peer:
            for number in range(count):
                properties = {"DELAY": str(level), "UNIQ_KEY": f"K{level}-{number}-{time()}"}
                assert peer.call(send("Pay", properties=properties), b"later").code == 0

    def inside(self, function: Callable[[Broker], object]) -> None:
        self.cluster.broker().on_loop(function)

    def set_clock(self, ms: int) -> None:
        self.cluster.on_loop(lambda cluster: setattr(cluster.clock, "_now_ms", ms))

    def levels(self, text: str) -> None:
        broker = self.cluster.broker()
        broker.stop()
        broker.start(settings={"messageDelayLevel": text})

    def check(self) -> Outcome:
        return self.run("delay", "check", "-o", "json", env={"MQCTL_NAMESRV": self.cluster.namesrv})

    def check_files(self, *words: str) -> Outcome:
        self.cluster.broker().stop()
        return self.run("delay", "check", "--store", self.cluster.broker().store, "--at", "now", "-o", "json", *words)


@pytest.fixture(params=["4.9.8", "5.3.3"])
def standing(request: pytest.FixtureRequest, mqctl: Run) -> Iterator[Standing]:
    with EmbeddedCluster(virtual_time=True, version=request.param) as cluster:
        where = Standing(cluster, mqctl)
        where.set_clock(round(time() * 1000) - HOUR)
        change(cluster, "broker-a", put_topic(TopicConfig(name="Pay", read_queue_count=1, write_queue_count=1)))
        yield where


def codes(outcome: Outcome) -> list[str]:
    return sorted(item["code"] for item in outcome.json["diagnosis"]["findings"])


def evidence(outcome: Outcome, code: str) -> dict[str, object]:
    (finding,) = [item for item in outcome.json["diagnosis"]["findings"] if item["code"] == code]
    return dict(finding["evidence"])


def beyond(where: Standing) -> None:
    where.delayed(18, 2)
    where.inside(lambda broker: broker.schedule.offsets.update({18: 9}))


def level_missing(where: Standing) -> None:
    where.cluster.broker().restart()  # its timers were set before the clock was
    where.delayed(1, 3)
    where.cluster.advance(5_000)
    where.inside(lambda broker: broker.schedule.offsets.pop(1))


def unknown_level(where: Standing) -> None:
    where.delayed(18)
    where.levels("1s 5s")


def overdue(where: Standing) -> None:
    where.delayed(2, 3)


def wait(broker: Broker, level: int, properties: str) -> None:
    message = Incoming(
        topic=SCHEDULE_TOPIC, queue_id=level - 1, body=b"x", properties=properties, born_host="127.0.0.1:1",
        store_host="127.0.0.1:2", born_ms=broker.clock.now_ms(),
    )  # fmt: skip
    broker.storage.append(message)


def poison_head(where: Standing) -> None:
    where.inside(lambda broker: wait(broker, 2, "DELAY\x012\x02REAL_QID\x010"))
    where.delayed(2, 2)


def changed_table(where: Standing) -> None:
    where.delayed(18, 2)
    where.levels("1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 3h")


def rebuilt(where: Standing) -> None:
    where.levels("3h")
    where.delayed(1, 2)
    where.levels("2h")
    where.delayed(1, 1)
    where.levels("3h")


def beyond_retention(where: Standing) -> None:
    where.levels("1s 4d")
    where.delayed(2)


def clock_set_back(where: Standing) -> None:
    where.set_clock(round(time() * 1000))
    where.delayed(18)
    where.set_clock(round(time() * 1000) - 60_000)
    where.delayed(18)


CASES: dict[str, tuple[Callable[[Standing], None], list[str], tuple[str, ...]]] = {
    "D1 beyond": (beyond, ["MQ701"], ()),
    "D3 level missing": (level_missing, ["MQ703"], ()),
    "D5 unknown level": (unknown_level, ["MQ705"], ("--levels", "1s 5s")),
    "D7 overdue": (overdue, ["MQ707"], ()),
    "D8 poison head": (poison_head, ["MQ707", "MQ708"], ()),
    "D10 changed table": (
        changed_table, ["MQ710"], ("--levels", "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 3h")
    ),
    "D11 rebuilt": (rebuilt, ["MQ710", "MQ711"], ("--levels", "3h")),
    "D12 beyond retention": (beyond_retention, ["MQ712"], ("--levels", "1s 4d")),
    "D13 clock set back": (clock_set_back, ["MQ713"], ()),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_named_live_and_from_the_files_alike(standing: Standing, name: str) -> None:
    inject, expected, options = CASES[name]
    assert standing.check().exit_code == 0
    inject(standing)
    live = standing.check()
    assert codes(live) == expected, live.stderr
    assert live.json["table_source"] == "broker-config"
    files = standing.check_files(*options)
    passed_over = ["MQ717"] if "MQ701" in expected else []  # what no copy was made of, files tell and brokers do not
    assert codes(files) == [*expected, *passed_over], files.stderr
    for code in expected:
        mine, theirs = evidence(live, code), evidence(files, code)
        assert {key: mine[key] for key in mine if not key.endswith("_ms")} == {
            key: theirs[key] for key in theirs if not key.endswith("_ms")
        }


def test_what_comes_while_it_looks_is_no_clock_that_went_back(standing: Standing) -> None:
    standing.set_clock(round(time() * 1000) + 1_500)  # as if it came so long after the look had begun
    standing.delayed(18)
    assert codes(standing.check()) == []


@pytest.mark.both_releases
def test_an_offset_below_its_queue_means_lost_messages(standing: Standing) -> None:
    standing.delayed(18, 5)
    standing.inside(lambda broker: broker.schedule.offsets.update({18: 1}))
    bounds = TopicOffset(min_offset=4, max_offset=5, last_update_timestamp=1)
    stats = TopicStatsTable(offset_table={MessageQueue(SCHEDULE_TOPIC, "broker-a", 17): bounds})
    body = stats.to_bytes(is_v5=standing.cluster.spec.version.startswith("5"))
    standing.cluster.fault(_STATS, Answer(0, body=body), where={"topic": SCHEDULE_TOPIC})
    outcome = standing.check()
    assert (outcome.exit_code, codes(outcome)) == (2, ["MQ702"])
    assert evidence(outcome, "MQ702")["lost_count"] == 3


@pytest.mark.both_releases
def test_an_entry_without_its_record_is_named(standing: Standing) -> None:
    standing.delayed(18, 3)
    places: list[int] = []
    standing.inside(lambda broker: places.extend(e[0] for e in broker.storage.entries(SCHEDULE_TOPIC, 17, 0, 9)))
    gone = Answer(0) if standing.cluster.spec.version.startswith("5") else Answer(1, "can not find message")
    standing.cluster.fault(_VIEW, gone, where={"offset": str(places[1])})
    outcome = standing.check()
    assert codes(outcome) == ["MQ709"]
    assert evidence(outcome, "MQ709") == {"lost_count": 1, "first_offset": 1}


def test_a_full_disk_beside_overdue_messages_is_named(standing: Standing) -> None:
    standing.delayed(2, 1)
    body = KVTable(table={"commitLogDiskRatio": "0.97"}).to_bytes()
    standing.cluster.fault(_RUNTIME, Answer(0, body=body))
    assert codes(standing.check()) == ["MQ707", "MQ714"]


def test_levels_and_backlog_count_what_waits(standing: Standing) -> None:
    standing.delayed(2, 700)
    standing.delayed(18, 2)
    env = {"MQCTL_NAMESRV": standing.cluster.namesrv}
    backlog = standing.run("delay", "levels", "-o", "json", env=env)
    rows = {row["level"]: row for row in backlog.json["levels"]}
    assert backlog.exit_code == 0
    assert (rows[2]["waiting_count"], rows[2]["overdue_count"], rows[18]["overdue_count"]) == (700, 700, 0)
    assert rows[2]["late_ms"] >= HOUR - 6_000
    levels = standing.run("delay", "levels", "--broker", "broker-a", "-o", "json", env=env).json["levels"]
    assert [row["level"] for row in levels] == list(range(1, 19))
    assert {row["level"]: row["max_offset"] for row in levels if row["max_offset"]} == {2: 700, 18: 2}
    assert standing.run("delay", "levels", "--broker", "nobody", env=env).exit_code == 66
    shown = standing.run("delay", "levels", env=env).stdout
    assert "delays from level 1 on: 1 s, 5 s, 10 s, " in shown
    assert re.findall(r"^broker-a +(\d+) ", shown, re.MULTILINE) == ["2", "18"], "unused levels have no rows"


def test_a_long_backlog_is_counted_by_bisection(standing: Standing) -> None:
    """Half of the messages are due: the counts are exact although only the head is read."""
    standing.set_clock(round(time() * 1000) - 2 * HOUR - 60_000)
    standing.inside(lambda broker: fill(broker, 1_500))
    standing.set_clock(round(time() * 1000))
    standing.inside(lambda broker: fill(broker, 1_000))
    outcome = standing.run("delay", "levels", "-o", "json", env={"MQCTL_NAMESRV": standing.cluster.namesrv})
    (row,) = [row for row in outcome.json["levels"] if row["max_offset"]]
    assert (row["waiting_count"], row["overdue_count"]) == (2_500, 1_500)


def fill(broker: Broker, count: int) -> None:
    for number in range(count):
        properties = f"DELAY\x0118\x02REAL_TOPIC\x01Pay\x02REAL_QID\x010\x02UNIQ_KEY\x01U{number}"
        wait(broker, 18, properties)


def test_a_broker_that_does_not_tell_is_unknown(standing: Standing) -> None:
    standing.delayed(2)
    standing.cluster.fault(45, Answer(1, "no"))
    outcome = standing.check()
    assert outcome.exit_code == 3
    assert all("no" in gap["reason"] for gap in outcome.json["diagnosis"]["not_judged"])
    answer = standing.run("delay", "levels", env={"MQCTL_NAMESRV": standing.cluster.namesrv})
    assert (answer.exit_code, "broker-a" in answer.stderr) == (76, True)
