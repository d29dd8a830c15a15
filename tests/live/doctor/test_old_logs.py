"""An old log with several files on a running broker: it is asked when the first one ended."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from embedded_broker import Alter, EmbeddedCluster
from mqctl.client.admin.broker_changes import put_topic
from mqctl.client.admin.cluster import Cluster
from mqctl.client.instance import ClientSettings
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.producer.producer import Producer
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.config import TopicConfig
from mqctl.model.finding import Confidence
from mqctl.protocol.frame import RemotingCommand
from mqctl.rules import diagnose
from mqctl.snapshot.live.gatherer import gather_live

_DAY_MS = 86_400_000
_FILE_BYTES = 64 << 10


@pytest.fixture(scope="module", params=["4.9.8", "5.3.3"])
def cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    """A broker whose log has three files, all of which were filled now; it says that the first was begun long ago."""
    settings = {"mappedFileSizeCommitLog": str(_FILE_BYTES), "fileReservedTime": "24"}
    with EmbeddedCluster(version=request.param, settings=settings) as started:
        with Cluster(started.namesrv) as client:
            topic = TopicConfig(name="Audit", read_queue_count=1, write_queue_count=1)
            client.ask(started.broker().address, put_topic(topic), Deadline(60_000))
        with Producer("P", ClientSettings(name_servers=started.namesrv)) as producer:
            for _ in range(40):
                producer.send(OutgoingMessage(topic="Audit", body=b"x" * 4_000))
        yield started


@pytest.mark.parametrize(("days", "named"), [(2, False), (3.5, True)])
def test_an_old_log_is_judged_by_when_its_first_file_ended(cluster: EmbeddedCluster, days: float, named: bool) -> None:
    def old(_: RemotingCommand, answer: RemotingCommand) -> RemotingCommand:
        table = json.loads(answer.body)
        table["table"]["earliestMessageTimeStamp"] = str(now_ms - 200 * _DAY_MS)
        return replace(answer, body=json.dumps(table).encode())

    now_ms = round(time.time() * 1000 + days * _DAY_MS)
    cluster.fault(28, Alter(answer=old))
    with Cluster(cluster.namesrv) as client:
        diagnosis = diagnose(gather_live(client, Deadline(60_000), now_ms=now_ms), only=("MQ123",))
    cluster.clear_faults()
    assert "MQ123" in diagnosis.rules_run
    assert [(item.code, item.confidence) for item in diagnosis.findings] == [("MQ123", Confidence.HIGH)] * named
