"""What a simple consumer asks of brokers, request by request, and how long it waits for their answers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumerSettings
from mqctl.client.consumer.pop_consumer import PopConsumer
from mqctl.client.consumer.popping import PopSettings
from mqctl.client.consumer.simple_consumer import SimpleConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.remoting.timers import Trouble
from mqctl.protocol.codes import RequestCode
from mqctl.protocol.requests_pop import PopMessage
from tests.client.consuming import Heard, create_topic, numbered, send, wait_until
from tests.client.test_pop_consumer import popping

SCALE = 100.0
_NUMBERS = count()


@pytest.fixture(scope="module")
def one_broker() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version="5.3.3", time_scale=SCALE) as running:
        running.record_requests()
        yield running


@pytest.fixture(scope="module")
def two_brokers() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version="5.3.3", brokers=2, time_scale=SCALE) as running:
        running.record_requests()
        yield running


def client(cluster: EmbeddedCluster, scale: float = SCALE, **changes: object) -> ClientSettings:
    return ClientSettings(
        name_servers=cluster.namesrv, time_scale=scale, time_origin_ms=cluster.time_origin_ms,
        client_ip="127.0.0.1", instance_name=f"simple-{next(_NUMBERS)}", **changes,  # type: ignore[arg-type]
    )  # fmt: skip


def pops(cluster: EmbeddedCluster, group: str) -> list[PopMessage]:
    """Returns what a group popped, in order."""
    logged = (PopMessage.from_ext(item.ext_fields) for item in cluster.requests(RequestCode.POP_MESSAGE))
    return [request for request in logged if request.consumer_group == group]


def asked_in_vain(cluster: EmbeddedCluster, wait_ms: int, group: str, **options: object) -> list[PopMessage]:
    """Returns the pops of one call of `receive` that finds nothing."""
    create_topic(cluster, "TNone", queues=1)
    member = SimpleConsumer(group, client(cluster), **options)  # type: ignore[arg-type]
    member.subscribe("TNone")
    with member:
        before = cluster.now_ms()
        assert member.receive("TNone", wait_ms=wait_ms) == ()
        assert cluster.now_ms() - before >= wait_ms - SCALE
    return pops(cluster, group)


def test_each_broker_is_looked_at_once_and_then_waited_for(
    one_broker: EmbeddedCluster, two_brokers: EmbeddedCluster
) -> None:
    for cluster, brokers, longest_ms in ((one_broker, 1, 5_000), (two_brokers, 2, 1_000)):
        at_once = asked_in_vain(cluster, 0, f"G-0-{brokers}")
        assert [request.poll_time for request in at_once] == [0] * brokers
        waited = asked_in_vain(cluster, 12_000, f"G-12-{brokers}")
        polls_ms = [request.poll_time for request in waited]
        assert polls_ms[:brokers] == [0] * brokers
        assert polls_ms[brokers] == longest_ms
        assert all(0 <= poll_ms <= longest_ms for poll_ms in polls_ms[brokers:])
        # A broker counts the wait from when the request was made.
        for request in (*at_once, *waited):
            assert (request.born_time > 0) == (request.poll_time > 0)
            assert request.born_time == 0 or abs(request.born_time - cluster.now_ms()) < 3_600_000


def test_a_group_without_offsets_begins_where_it_is_told(one_broker: EmbeddedCluster) -> None:
    for consume_from, mode in ((ConsumeFrom.FIRST_OFFSET, 0), (ConsumeFrom.LAST_OFFSET, 1)):
        (request,) = asked_in_vain(one_broker, 0, f"G-from-{mode}", consume_from=consume_from)
        assert (request.init_mode, request.queue_id, request.exp_type, request.exp) == (mode, -1, "TAG", "*")


def test_limits_are_handed_to_the_broker_as_they_are_given(one_broker: EmbeddedCluster) -> None:
    create_topic(one_broker, "TLimits", queues=1)
    send(one_broker, numbered("TLimits", 40))
    member = SimpleConsumer("GLimits", client(one_broker), consume_from=ConsumeFrom.FIRST_OFFSET)
    member.subscribe("TLimits")
    with member:
        for most, invisible_ms, expected in ((3, 1_000_000, 3), (32, 2_000_000, 32), (33, 3_000_000, 5)):
            popped = member.receive("TLimits", most=most, invisible_ms=invisible_ms)
            assert len(popped) == expected
            assert {message.receipt.invisible_ms for message in popped} == {invisible_ms}
    assert [(item.max_msg_nums, item.invisible_time) for item in pops(one_broker, "GLimits")] == [
        (3, 1_000_000),
        (32, 2_000_000),
        (32, 3_000_000),
    ]


def test_another_tag_of_the_same_hash_is_done_with_and_not_handed_on(one_broker: EmbeddedCluster) -> None:
    create_topic(one_broker, "THash", queues=1)
    send(one_broker, [OutgoingMessage(topic="THash", body=tag.encode(), tags=tag) for tag in ("Aa", "BB", "C", "Aa")])
    member = SimpleConsumer("GHash", client(one_broker), consume_from=ConsumeFrom.FIRST_OFFSET)
    member.subscribe("THash", "Aa || C")
    with member:
        popped = member.receive("THash")
        assert [message.body for message in popped] == [b"Aa", b"C", b"Aa"]
        acknowledged = one_broker.requests(RequestCode.ACK_MESSAGE)
        assert [item.ext_fields["offset"] for item in acknowledged if item.ext_fields["topic"] == "THash"] == ["1"]


def test_what_was_changed_is_answered_for_by_its_new_handle(one_broker: EmbeddedCluster) -> None:
    create_topic(one_broker, "TChange", queues=1)
    send(one_broker, numbered("TChange", 1))
    member = SimpleConsumer("GChange", client(one_broker), consume_from=ConsumeFrom.FIRST_OFFSET)
    member.subscribe("TChange")
    with member:
        (message,) = member.receive("TChange", invisible_ms=600_000)
        handles = [message.receipt]
        for invisible_ms in (700_000, 800_000):
            member.change_invisible(message, invisible_ms)
            handles.append(message.receipt)
            assert message.receipt.invisible_ms == invisible_ms
        member.acknowledge(message)
        assert len(set(handles)) == 3
    changes = one_broker.requests(RequestCode.CHANGE_MESSAGE_INVISIBLETIME)
    used = [item.ext_fields["extraInfo"] for item in changes if item.ext_fields["topic"] == "TChange"]
    (last,) = (
        item.ext_fields["extraInfo"]
        for item in one_broker.requests(RequestCode.ACK_MESSAGE)
        if item.ext_fields["topic"] == "TChange"
    )
    assert [*used, last] == [str(handle) for handle in handles]


def test_who_has_a_broker_wait_waits_longer_than_it() -> None:
    """Limits of the network are real milliseconds, a poll's are the client's own: none ends before the broker answers,
    though the limit of a call is shorter than the poll."""
    scale, poll_ms, limit_ms = 2.5, 5_000, 1_000  # two seconds of waiting against one
    with EmbeddedCluster(version="5.3.3", time_scale=scale) as cluster:
        cluster.record_requests()
        popping(cluster, "GPush", "TPush", queues=1)
        create_topic(cluster, "TSimple", queues=1)
        troubles: list[Trouble] = []
        settings = client(cluster, scale, api_timeout_ms=limit_ms, on_trouble=troubles.append)
        pushed = PopConsumer(
            "GPush",
            client(cluster, scale, on_trouble=troubles.append),
            Heard(),
            ConsumerSettings(pull_timeout_ms=limit_ms),
            pops=PopSettings(wait_ms=poll_ms),
        )
        pushed.subscribe("TPush")
        member = SimpleConsumer("GSimple", settings)
        member.subscribe("TSimple")
        with pushed, member:
            assert member.receive("TSimple", wait_ms=poll_ms) == ()
            assert poll_ms * 0.9 <= pops(cluster, "GSimple")[1].poll_time <= poll_ms
            wait_until(lambda: len(pops(cluster, "GPush")) >= 2, "the first poll is over")
        assert [trouble for trouble in troubles if trouble.doing.startswith("pop ")] == []
