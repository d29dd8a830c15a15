"""Recorded POP sessions of 5.3.3, request by request: the embedded broker answers as the real one did."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.protocol.body import read_topic_config
from mqctl.protocol.fastjson import loads
from mqctl.protocol.requests_admin import CreateTopic, UpdateAndCreateSubscriptionGroup
from tests.embedded_broker.pop_replay import Replay, frames_of
from tests.embedded_broker.wire import Peer
from tests.pop_recording import PopFrame, recorded_pop_frames

APART = ("buffer_merge", "grpc_proxy", "local_proxy")
"""Sessions of other brokers than the first: with the buffer, and with a proxy before or in it."""


@pytest.fixture
def replay() -> Iterator[Replay]:
    with EmbeddedCluster(version="5.3.3", virtual_time=True, settings={"enablePropertyFilter": "true"}) as cluster:
        session = Replay(cluster)
        session.choose_draws()
        yield session
        session.close()


def of_one_broker() -> list[PopFrame]:
    """Returns what raw peers, Java clients and mqadmin asked one broker, as it came: sessions meet each other."""
    sessions = {frame.session for frame in recorded_pop_frames()}.difference(APART)
    return [frame for frame in frames_of(*sessions) if frame.request_code not in UNREPEATABLE]


def test_raw_peers_java_clients_and_mqadmin_are_answered_as_by_the_real_broker(replay: Replay) -> None:
    assert replay.run(of_one_broker()) == 358


def test_the_buffer_spares_records_and_loses_with_a_kill_what_the_real_one_lost(replay: Replay) -> None:
    frames, settings = frames_of("buffer_merge"), {"enablePopBufferMerge": "true"}
    replay.kill(settings)
    assert replay.run([frame for frame in frames if frame.connection == 74]) > 40
    replay.kill(settings)
    assert replay.run([frame for frame in frames if frame.connection == 75]) == 4


PROXY = "grpc_proxy"
UNREPEATABLE = {36, 37, 39}
"""Requests that name places in the real broker's commit log."""
THINNED = 815
"""From here on too much of the session was left out of the recording to repeat what rests on what was before."""
ON_THEIR_OWN = {17, 35, 200, 351, 352}
"""Requests that rest on nothing before: settings of topics and groups, and clients that leave."""


def of_proxy() -> list[PopFrame]:
    return [frame for frame in frames_of(PROXY) if _is_repeatable(frame)]


def of_local_proxy() -> list[PopFrame]:
    return [frame for frame in frames_of("local_proxy") if frame.request_code in ON_THEIR_OWN]


def _is_repeatable(frame: PopFrame) -> bool:
    code = frame.request_code
    return code in ON_THEIR_OWN if frame.seq >= THINNED else code not in UNREPEATABLE


def test_what_is_not_replayed_of_the_recording_is_known() -> None:
    """34 frames behind what was thinned out, 12 of a group that joined a proxy unseen, 5 that name places in a log."""
    replayed = [*of_one_broker(), *frames_of("buffer_merge"), *of_proxy(), *of_local_proxy()]
    assert (len(replayed), len(recorded_pop_frames())) == (995, 1046)
    thinned = [frame for frame in frames_of(PROXY) if frame.seq >= THINNED and not _is_repeatable(frame)]
    unseen = len(frames_of("local_proxy")) - len(of_local_proxy())
    assert (len(thinned), unseen, 1046 - 995) == (34, 12, 34 + 12 + 5)


def test_a_proxy_is_answered_as_by_the_real_broker(replay: Replay) -> None:
    frames = of_proxy()
    replay.kill({"recallMessageEnable": "true"})
    prepare(replay, frames)
    replay.supplies = True
    assert replay.run(frames) == 59
    assert replay.run(of_local_proxy()) == 2


def prepare(replay: Replay, frames: list[PopFrame]) -> None:
    """Makes the topics and groups of the proxy, which are known by what 351 and 352 answered."""
    with Peer(replay.cluster.broker().address, version=479) as peer:
        for frame in frames:
            if frame.command.is_response and frame.request_code == 351:
                topic = read_topic_config(loads(frame.command.body))
                kinds = ",".join(f"+{name}={value}" for name, value in topic.attributes.items())
                request = CreateTopic(
                    topic=topic.name, default_topic="TBW102", read_queue_nums=topic.read_queue_count,
                    write_queue_nums=topic.write_queue_count, perm=6, topic_filter_type="SINGLE_TAG", attributes=kinds,
                )  # fmt: skip
                assert peer.call(request).code == 0
            if frame.command.is_response and frame.request_code == 352:
                assert peer.call(UpdateAndCreateSubscriptionGroup(), frame.command.body).code == 0
