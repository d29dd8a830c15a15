"""A consumer group for one command: made where a topic lives, placed, and taken away again without a trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from mqctl.client.admin import broker_changes as change
from mqctl.client.admin.cluster import Cluster
from mqctl.client.admin.nameserver import delete_route
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import MqctlError
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.names import retry_topic
from mqctl.model.queue import MessageQueue
from mqctl.text import sentence

_CLEANING_MS = 5_000


@contextmanager
def temporary_group(
    cluster: Cluster,
    deadline: Deadline,
    name: str,
    *,
    addresses: Mapping[MessageQueue, str],
    starts: Mapping[MessageQueue, int],
    left_behind: list[str],
) -> Iterator[None]:
    """Makes group `name` on the brokers of `addresses`, with committed offsets `starts`; removes it at the end.

    Offsets are committed before anybody consumes: where a group without offsets begins differs between releases.

    Args:
        left_behind: gets a sentence for whatever could not be removed.

    Raises:
        MqctlError: the group cannot be made, or its offsets not committed; what was made is removed.
    """
    brokers = sorted(set(addresses.values()))
    try:
        for address in brokers:
            cluster.ask(address, change.put_group(SubscriptionGroupConfig(name=name)), deadline)
        for queue, offset in starts.items():
            question = change.commit_offset(name, queue.topic, queue.queue_id, offset)
            cluster.ask(addresses[queue], question, deadline)
        yield
    finally:
        _remove(cluster, name, brokers, left_behind)


def _remove(cluster: Cluster, name: str, brokers: list[str], left_behind: list[str]) -> None:
    """Deletes the group with its offsets and the retry topic that brokers made when the consumer registered."""
    limit = Deadline(_CLEANING_MS)
    retries = retry_topic(name)
    for address in brokers:
        for what, question in (
            (sentence("group-name", "group {name}", name=name), change.delete_group(name, with_offsets=True)),
            (sentence("shared-topic", "topic {topic}", topic=retries), change.delete_topic(retries)),
        ):
            try:
                cluster.ask(address, question, limit)
            except MqctlError as error:
                left_behind.append(
                    sentence(
                        "temporary-group-stays",
                        "{what} stays on {address}: {error}",
                        what=what,
                        address=address,
                        error=error,
                    )
                )
    for server in cluster.name_servers.addresses():
        try:
            cluster.ask(server, delete_route(retries), limit)
        except MqctlError as error:
            left_behind.append(
                sentence(
                    "temporary-group-route-stays",
                    "the route of {retries} stays at {server}: {error}",
                    retries=retries,
                    server=server,
                    error=error,
                )
            )
