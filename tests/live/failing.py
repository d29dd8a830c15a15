"""Messages that a group fails to consume."""

from __future__ import annotations

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import send_back
from mqctl.client.admin.broker_messages import pull
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links


def fail(
    cluster: EmbeddedCluster, broker: str, offset: int, *, level: int = 0, most: int = 16, group: str = "G"
) -> None:
    """Has a group give back the message at a queue offset of Pay's first queue, as consumers do."""
    address, links = cluster.broker(broker).address, Links()
    pulled = links.ask(address, pull("TOOLS_CONSUMER", "Pay", 0, offset, max_count=1), Deadline(60_000))
    physical = pulled.messages[0].physical_offset
    given_back = send_back(group, physical_offset=physical, delay_level=level, topic="Pay", max_reconsume_times=most)
    links.ask(address, given_back, Deadline(60_000))
    links.close()
