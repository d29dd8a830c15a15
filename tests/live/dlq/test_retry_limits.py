"""Members decide how often a message is tried again: what commands say where they tell it, and where they do not."""

from __future__ import annotations

from collections.abc import Mapping

from embedded_broker import EmbeddedCluster
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.cast import Cast, Scripted
from tests.live.conftest import Run

CONCURRENT, ORDERLY = {"PROP_CONSUMEORDERLY": "false"}, {"PROP_CONSUMEORDERLY": "true"}


def _fail(cluster: EmbeddedCluster, *counts: int) -> None:
    """Messages of G that failed so often are ready to be tried again."""
    with Peer(cluster.broker("broker-a").address) as peer:
        peer.version = 401
        for count in counts:
            again = send("%RETRY%G", properties={"RETRY_TOPIC": "Pay"}, reconsume_times=count, max_reconsume_times=999)
            assert peer.call(again, b"again").code == 0


def _rows(live: Run) -> Mapping[int, tuple[object, ...]]:
    rows = live("retry", "list", "-o", "json").json["retries"]
    keys = ("limit_of", "retry_limit", "tries_left", "dead_letter_in_ms")
    return {row["failed_count"]: tuple(row[key] for key in keys) for row in rows}


def test_the_largest_limit_that_members_report_counts(live: Run, cluster: EmbeddedCluster) -> None:
    _fail(cluster, 7, 14, 17)
    assert _rows(live) == {
        7: ("group", 16, 10, 16_200_000),
        14: ("group", 16, 3, 10_800_000),
        17: ("group", 16, None, None),
    }
    shown = live("retry", "list").stdout
    assert "failed more often than 16, the group's retryMaxTimes: 1 message; who consumes them has another" in shown
    with Cast(cluster) as cast:
        cast.join(
            Scripted(client_id="one", properties={**CONCURRENT, "maxReconsumeTimes": "18"}),
            Scripted(client_id="two", properties={**CONCURRENT, "maxReconsumeTimes": "-1"}),
        )
        assert _rows(live) == {
            7: ("members", 18, 12, 30_600_000),
            14: ("members", 18, 5, 25_200_000),
            17: ("members", 18, 2, 7_200_000),
        }
        shown = live("retry", "list").stdout
        assert "by the largest maxReconsumeTimes that members online report: 18" in shown, shown
        (window,) = live("group", "lag", "-g", "G", "-o", "json").json["windows"]
        assert (window["limit_of"], window["closes_in_ms"]) == ("members", 7_200_000)
        assert (
            "按在线成员报告的最大 maxReconsumeTimes 计算：18" in live("retry", "list", env={"MQCTL_LANG": "zh"}).stdout
        )
        cast.change("one", properties={**CONCURRENT, "maxReconsumeTimes": "1"})
        cast.change("two", properties={**CONCURRENT, "maxReconsumeTimes": "14"})
        assert _rows(live) == {
            7: ("members", 14, 8, 5_400_000),
            14: ("members", 14, 1, 0),
            17: ("members", 14, None, None),
        }
        cast.change("two", properties={**ORDERLY, "maxReconsumeTimes": "-1"})
        assert {*_rows(live).values()} == {("members", None, None, None)}
        shown = live("retry", "list").stdout
        assert "in place without end" in shown and "have the fix out" not in shown, shown


def test_where_no_member_tells_its_limit_the_groups_is_said_to_be_the_groups(
    live: Run, cluster: EmbeddedCluster
) -> None:
    _fail(cluster, 15)
    with Cast(cluster) as cast:
        cast.join(Scripted(client_id="one", properties=CONCURRENT))
        assert _rows(live) == {15: ("group", 16, 2, 7_200_000)}
        assert (
            "by the group's settings (no member online told a limit of its own)"
            in live("group", "lag", "-g", "G").stdout
        )
        assert "按消费组的 retryMaxTimes（16）计算" in live("retry", "list", env={"MQCTL_LANG": "zh"}).stdout


def test_doctor_speaks_of_retries_beyond_the_limit_only_where_members_tell_theirs(
    live: Run, cluster: EmbeddedCluster
) -> None:
    _fail(cluster, 17)

    def said() -> tuple[list[object], list[object]]:
        answer = live("doctor", "--only", "MQ423", "-o", "json").json
        findings = [item["evidence"]["tries_count"] for item in answer["findings"]]
        return findings, [item["values"] for item in answer["not_judged"]]

    assert said() == ([], [{"tries_count": 17, "most": 16}])
    with Cast(cluster) as cast:
        cast.join(Scripted(client_id="one", properties={**CONCURRENT, "maxReconsumeTimes": "200"}))
        assert said() == ([], [])
        cast.change("one", properties={**CONCURRENT, "maxReconsumeTimes": "-1"})
        assert said() == ([17], [])


def test_a_dead_letter_sent_again_is_tried_as_often_as_members_allow(live: Run, cluster: EmbeddedCluster) -> None:
    with Peer(cluster.broker("broker-a").address) as peer:
        peer.version = 401
        failed = send("%RETRY%G", properties={"RETRY_TOPIC": "Pay"}, reconsume_times=4, max_reconsume_times=3)
        assert peer.call(failed, b"x").code == 0
    shown = live("dlq", "list", "-g", "G").stdout
    assert "given up as early as these were (failures: 4); the group's own limit comes after 4 h 45 min" in shown
    with Cast(cluster) as cast:
        cast.join(Scripted(client_id="one", properties={**CONCURRENT, "maxReconsumeTimes": "3"}))
        shown = live("dlq", "list", "-g", "G").stdout
        assert "is a dead letter after 1 min 40 s (failures: 4)" in shown, shown
        cast.change("one", properties={**CONCURRENT, "maxReconsumeTimes": "5"})
        shown = live("dlq", "list", "-g", "G").stdout
        assert "(failures: 4); the limit of the members online comes after 6 min 40 s (failures: 6)" in shown, shown
        cast.change("one", properties={**ORDERLY, "maxReconsumeTimes": "-1"})
        assert "orderly members try a message sent again in place" in live("dlq", "list", "-g", "G").stdout
