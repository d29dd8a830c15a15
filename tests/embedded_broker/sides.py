"""A broker of one release with a connection to it, for tests of what differs between releases."""

from __future__ import annotations

from dataclasses import dataclass

from embedded_broker import EmbeddedCluster
from mqctl.protocol.requests_admin import UpdateBrokerConfig
from mqctl.protocol.requests_client import QueryConsumerOffset, UpdateConsumerOffset
from tests.embedded_broker.wire import Peer


@dataclass(frozen=True)
class Side:
    """A broker of one release and a connection to it."""

    cluster: EmbeddedCluster
    peer: Peer
    is_v5: bool

    def set(self, **properties: str) -> None:
        body = "".join(f"{name}={value}\n" for name, value in properties.items()).encode()
        assert self.peer.call(UpdateBrokerConfig(), body).code == 0

    def commit(self, offset: int, *, group: str = "G", topic: str = "T", queue_id: int = 0) -> int:
        request = UpdateConsumerOffset(consumer_group=group, topic=topic, queue_id=queue_id, commit_offset=offset)
        return self.peer.call(request).code

    def stored(self, *, group: str = "G", topic: str = "T") -> int | None:
        request = QueryConsumerOffset(consumer_group=group, topic=topic, queue_id=0, set_zero_if_not_found=False)
        answer = self.peer.call(request)
        return int(answer.ext("offset") or "") if answer.code == 0 else None
