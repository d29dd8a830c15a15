"""Looks at the stacks of consumers through brokers and of processes: all at once, one deadline, and who is silent."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.remoting.deadline import Deadline
from mqctl.commands.stacks.gather import StackRequest, gather_stacks, open_source, take_looks
from mqctl.errors import NotFoundError, RefusedError, UsageError
from mqctl.model.stack_look import StackEvidence, StackLook
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import encode
from tests.client.consuming import quick, quick_client
from tests.embedded_broker.messages import heartbeat
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Consume

pytestmark = pytest.mark.slow

_TWICE = StackRequest(dump_count=2, every_ms=50)


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[EmbeddedCluster]:
    """Stacks are the clients' matter: one release of the brokers is enough."""
    with EmbeddedCluster(brokers=2, name_servers=2, version="5.3.3") as cluster:
        yield cluster


@pytest.fixture
def members(cluster: EmbeddedCluster) -> Iterator[ExitStack]:
    """Holds the members of a test until its end."""
    with ExitStack() as stack:
        yield stack


def join(members: ExitStack, cluster: EmbeddedCluster, name: str) -> None:
    client = quick_client(cluster, instance_name=name)
    consumer = PushConsumer("G", client, lambda *_: None, quick(threads=1))
    consumer.subscribe("Pay", "*")
    members.enter_context(consumer)


def silent_member(members: ExitStack, cluster: EmbeddedCluster, name: str, version: int = 409) -> Peer:
    """A member that is connected to the first broker only, and answers nothing by itself."""
    peer = members.enter_context(Peer(cluster.broker("broker-a").address, version=version))
    heartbeat(peer, name, group="G", subscriptions={"Pay": "*"})
    return peer


def reasons(evidence: StackEvidence) -> dict[str, str]:
    return {gap.scope or "": gap.reason for gap in evidence.unavailable}


def test_all_instances_at_once_and_whoever_cannot_answer_is_named(cluster: EmbeddedCluster, members: ExitStack) -> None:
    names = [f"member-{number}" for number in range(12)]
    for name in names:
        join(members, cluster, name)
    for number in range(20):  # more than a broker is asked at a time in other matters
        silent_member(members, cluster, f"hung-{number}")
    silent_member(members, cluster, "too-old", version=61)
    wish = replace(_TWICE, group="G", namesrv=cluster.namesrv, timeout="15s")
    evidence = gather_stacks(wish)
    seen = {instance.client_id or "": instance for instance in evidence.instances}
    assert sorted(seen) == sorted(f"127.0.0.1@{name}" for name in names)
    for instance in seen.values():
        assert [len(instance.dumps), len(instance.raws)] == [2, 2]
        assert instance.info is not None
        assert instance.earlier is not None
        assert "ConsumeMessageThread_G_1" in {thread.name for thread in instance.dumps[0].threads}
    unknown = reasons(evidence)
    assert sorted(unknown) == sorted(["too-old of G", *(f"hung-{number} of G" for number in range(20))])
    assert "too low" in unknown["too-old of G"]
    assert {row.queue_id for row in evidence.lags} == {0, 1}


def test_a_client_without_stacks_and_one_that_refuses(cluster: EmbeddedCluster, members: ExitStack) -> None:
    plain = silent_member(members, cluster, "plain")
    refusing = silent_member(members, cluster, "refusing")
    with open_source(StackRequest(group="G", namesrv=cluster.namesrv)) as (source, look_ms):

        def answer(peer: Peer, code: ResponseCode, body: bytes) -> None:
            request = peer.asked(RequestCode.GET_CONSUMER_RUNNING_INFO)
            peer.socket.sendall(encode(request.answer(code, remark="not here", body=body)))

        answering = [
            threading.Thread(target=answer, args=(plain, ResponseCode.SUCCESS, b'{"properties":{},"mqTable":{}}')),
            threading.Thread(target=answer, args=(refusing, ResponseCode.REQUEST_CODE_NOT_SUPPORTED, b"")),
        ]
        for thread in answering:
            thread.start()
        evidence = take_looks(source, look_ms, StackRequest(group="G", dump_count=1))
        for thread in answering:
            thread.join()
    unknown = reasons(evidence)
    assert "does not support" in unknown["plain of G"]
    assert "not here" in unknown["refusing of G"]
    assert [(item.client_id, item.dumps) for item in evidence.instances] == [("plain", ())]


def test_one_instance_by_name(cluster: EmbeddedCluster, members: ExitStack) -> None:
    join(members, cluster, "one")
    join(members, cluster, "two")
    wish = replace(_TWICE, group="G", client_id="127.0.0.1@two", namesrv=cluster.namesrv)
    assert [item.client_id for item in gather_stacks(wish).instances] == ["127.0.0.1@two"]
    with pytest.raises(NotFoundError, match=re.escape("127.0.0.1@one, 127.0.0.1@two")):
        gather_stacks(StackRequest(group="G", client_id="three", namesrv=cluster.namesrv))


def test_a_process_is_joined_with_what_its_cluster_says(cluster: EmbeddedCluster, consume: Consume) -> None:
    process = consume("sleep")
    evidence = gather_stacks(replace(_TWICE, pid=process.pid, namesrv=cluster.namesrv))
    (instance,) = evidence.instances
    assert (instance.source, instance.group, instance.client_id) == (f"pid {process.pid}", "G", "127.0.0.1@one")
    assert instance.info is not None
    assert sum(held.cached_count for held in instance.info.queues) > 0
    assert len(instance.dumps) == 2
    assert {row.group for row in evidence.lags} == {"G"}
    other = gather_stacks(StackRequest(pid=process.pid, group="H", namesrv=cluster.namesrv, dump_count=1))
    assert other.instances[0].client_id is None
    assert "no broker of --namesrv names a connection" in reasons(other)[f"process {process.pid}"]


def test_a_process_of_two_groups_is_judged_as_one_of_them(cluster: EmbeddedCluster, consume: Consume) -> None:
    process = consume("sleep", group="G,H", ready=4)
    # On a busy machine a process stands still for longer than is passed over, and that is told.
    request = StackRequest(pid=process.pid, namesrv=cluster.namesrv, dump_count=1, long_pause_ms=60_000.0)
    evidence = gather_stacks(request)
    assert evidence.instances[0].group == "G"
    assert "consumes for G, H: judged as G, -g chooses another" in evidence.notes[0]
    other = gather_stacks(replace(request, group="H"))
    assert (other.instances[0].group, other.notes, other.unavailable) == ("H", (), ())


def test_a_long_pause_offers_the_way_without_one(cluster: EmbeddedCluster, consume: Consume) -> None:
    process = consume("sleep")
    request = StackRequest(pid=process.pid, namesrv=cluster.namesrv, dump_count=2, every_ms=50, long_pause_ms=0.0)
    (note,) = gather_stacks(request).notes
    assert "--nonblocking does without" in note
    assert gather_stacks(replace(request, nonblocking=True)).notes == ()
    assert gather_stacks(replace(request, long_pause_ms=60_000.0)).notes == ()


def test_a_process_that_is_no_member_is_judged_by_its_stacks(cluster: EmbeddedCluster) -> None:
    evidence = gather_stacks(StackRequest(pid=os.getpid(), namesrv=cluster.namesrv, dump_count=1))
    assert (len(evidence.instances[0].dumps), evidence.unavailable) == (1, ())
    assert "by its stacks alone" in evidence.notes[0]


def test_a_process_that_dies_between_looks_leaves_what_was_seen(cluster: EmbeddedCluster, consume: Consume) -> None:
    process = consume("sleep")

    class Dying:
        """A source whose process dies after the first look."""

        def look(self, deadline: Deadline) -> StackLook:
            seen = source.look(deadline)
            process.kill()
            process.wait()
            return seen

        def refresh(self, deadline: Deadline) -> None:
            source.refresh(deadline)

    wish = replace(_TWICE, pid=process.pid, namesrv=cluster.namesrv)
    with open_source(wish) as (source, look_ms):
        evidence = take_looks(Dying(), look_ms, wish)
    assert [len(item.dumps) for item in evidence.instances] == [1]
    assert "there is no process" in reasons(evidence)["look 2 of 2"]


def test_a_cluster_that_is_gone_does_not_hide_the_stacks(cluster: EmbeddedCluster, consume: Consume) -> None:
    process = consume("sleep")
    evidence = gather_stacks(StackRequest(pid=process.pid, namesrv="127.0.0.1:1", timeout="2s", dump_count=1))
    assert len(evidence.instances[0].dumps) == 1
    assert "127.0.0.1:1" in reasons(evidence)[""]


def test_wishes_that_make_no_sense_and_groups_without_members(cluster: EmbeddedCluster) -> None:
    for wish in (StackRequest(), StackRequest(pid=1, client_id="x", group="G"), StackRequest(client_id="x")):
        with pytest.raises(UsageError):
            gather_stacks(wish)
    with pytest.raises(RefusedError, match="none of its instances is online"):
        gather_stacks(StackRequest(group="G", namesrv=cluster.namesrv))
    with pytest.raises(NotFoundError, match="nope"):
        gather_stacks(StackRequest(group="nope", namesrv=cluster.namesrv))
