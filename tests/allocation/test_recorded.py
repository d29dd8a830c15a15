"""AVG against what real clients held: the assignments in recorded running information of 4.9.8 and 5.3.3."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from mqctl.allocation.strategies import Average
from mqctl.allocation.views import View, ownership, sorted_clients, sorted_queues
from mqctl.model.member import RunningInfo
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ConsumerConnection, ConsumerRunningInfo
from mqctl.protocol.bodies_cluster import TopicConfigTable, TopicRouteData
from mqctl.protocol.frame import FrameDecoder
from tests.conftest import GOLDEN


@dataclass(frozen=True)
class Recorded:
    """One instance: its group's client ids, what it wants and what it held."""

    release: str
    group: str
    client: str
    clients: tuple[str, ...]
    info: ConsumerRunningInfo

    def __str__(self) -> str:
        return f"{self.release}-{self.group}-{self.client.partition('@')[2]}"


def _bodies() -> dict[str, bytes]:
    with tarfile.open(GOLDEN / "assignments" / "assignments.tar.gz") as archive:
        files = {item.name: archive.extractfile(item) or io.BytesIO() for item in archive.getmembers()}
        return {
            name: next(iter(FrameDecoder().feed(file.read()))).body if name.endswith(".bin") else file.read()
            for name, file in files.items()
        }


BODIES = _bodies()


def _recorded() -> Iterator[Recorded]:
    for row in json.loads(BODIES["index.json"]):
        members = ConsumerConnection.from_bytes(BODIES[row["members"]]).connection_set
        yield Recorded(
            release=row["release"],
            group=row["group"],
            client=row["client"],
            clients=tuple(member.client_id for member in members),
            info=ConsumerRunningInfo.from_bytes(BODIES[row["running"]]),
        )


def _queue_counts(release: str) -> dict[str, int]:
    """Readable queues by topic, on the one broker that was recorded: from its topic table, and from routes."""
    counts: dict[str, int] = {}
    for name, body in BODIES.items():
        if name.startswith(f"{release}/21_"):
            table = TopicConfigTable.from_bytes(body).topic_config_table
            counts |= {topic: config.read_queue_count for topic, config in table.items()}
        elif name.startswith(f"{release}/105_"):
            topic = name.removeprefix(f"{release}/105_").removesuffix(".bin").replace("_RETRY_", "%RETRY%")
            counts[topic] = sum(data.read_queue_nums for data in TopicRouteData.from_bytes(body).queue_datas)
    return counts


RECORDED = list(_recorded())
COUNTS = {release: _queue_counts(release) for release in ("4.9.8", "5.3.3")}


def _queues(release: str, topic: str) -> list[MessageQueue]:
    # A retry topic has retryQueueNums queues, 1 in every recorded group.
    count = COUNTS[release].get(topic, 1) if topic.startswith("%RETRY%") else COUNTS[release][topic]
    return sorted_queues(MessageQueue(topic, "broker-a", number) for number in range(count))


@pytest.mark.parametrize("recorded", RECORDED, ids=str)
def test_avg_gives_each_instance_what_it_held(recorded: Recorded) -> None:
    topics = {item.topic for item in recorded.info.subscription_set}
    assert topics
    for topic in topics:
        held = {queue for queue in recorded.info.mq_table if queue.topic == topic}
        queues = _queues(recorded.release, topic)
        clients = sorted_clients(recorded.clients)
        assert set(Average().allocate(recorded.client, queues, clients)) == held, topic


@pytest.mark.parametrize("recorded", RECORDED, ids=str)
def test_java_clients_print_their_strategy(recorded: Recorded) -> None:
    info = RunningInfo(group="G", client_id="c", properties=recorded.info.properties)
    assert info.strategy == "AVG"


def test_the_recorded_incident_has_the_orphans_that_views_predict() -> None:
    """GC_incons: one instance wants TopicTest, the other TopicKeys; half of each topic was nobody's."""
    both = [item for item in RECORDED if item.group == "GC_incons"]
    clients = sorted_clients(both[0].clients)
    held = {queue for item in both for queue in item.info.mq_table}
    for topic in ("TopicTest", "TopicKeys"):
        queues = _queues("4.9.8", topic)
        views = [
            View(
                client_id=item.client,
                strategy=Average(),
                clients=clients,
                queues=queues,
                subscribes=any(wanted.topic == topic for wanted in item.info.subscription_set),
            )
            for item in both
        ]
        orphans = set(ownership(views).orphans)
        assert orphans == {queue for queue in queues if queue not in held}
        assert len(orphans) == len(queues) // 2
