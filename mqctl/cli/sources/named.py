"""Whether what a command line names is there at all: a misspelt name must not read as a healthy one."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from mqctl.errors import MqctlError, NotFoundError
from mqctl.model.command_line import command_line
from mqctl.model.gap import Cause, Part
from mqctl.model.names_alike import meant
from mqctl.model.origin import OriginKind
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.cli.sources.snapshot_source import LiveOptions

_OF_GROUPS = frozenset({Part.GROUPS, Part.MEMBERS, Part.CONSUMER_OFFSETS, Part.ROUTES})
_SWITCHES = ("aclEnable", "authorizationEnabled")
_OF_TOPICS = frozenset({Part.TOPICS, Part.QUEUES, Part.CONSUMER_OFFSETS, Part.ROUTES})


def require_group(snapshot: ClusterSnapshot, group: str, live: LiveOptions | None = None) -> None:
    """Passes when some broker knows `group`, or when one that could know it did not tell.

    Args:
        live: the cluster that the snapshot is of. It has the groups that were asked for only: names like the missing
            one are asked for anew.

    Raises:
        NotFoundError: all brokers told their groups, members and offsets, and `group` is in none.
    """
    existing = {item.name for broker in snapshot.brokers for item in broker.groups}
    known = existing | {item.group for broker in snapshot.brokers for item in broker.memberships}
    known |= {item.group for broker in snapshot.brokers for item in broker.consumer_offsets}
    if group not in known and _all_told(snapshot, _OF_GROUPS):
        missing = sentence("no-consumer-group", "there is no consumer group {group}", group=group)
        if group in snapshot.routes() or group in _names_there(snapshot, live, Part.TOPICS):
            raise NotFoundError(
                missing,
                reason=sentence("common-topic", "it is a topic"),
                remedy=command_line("mqctl topic describe {}", group),
            )
        names = existing or _names_there(snapshot, live, Part.GROUPS)
        raise NotFoundError(
            missing, reason=_refused_unseen(snapshot, group), remedy=meant(group, names, "mqctl group list --all")
        )


def _refused_unseen(snapshot: ClusterSnapshot, group: str) -> str:
    """Returns what else may be where brokers check who asks: members that they refuse are known to none of them."""
    checking = any(broker.config.get(name) == "true" for broker in snapshot.brokers for name in _SWITCHES)
    if not checking:
        return ""
    return sentence(
        "group-refused-unseen",
        "brokers check who asks, and do not know members that they refuse: {command}",
        command=command_line("mqctl acl explain KEY --resource {} --action Sub", f"Group:{group}"),
    )


def require_topic(snapshot: ClusterSnapshot, topic: str, live: LiveOptions | None = None) -> None:
    """Passes when some broker or name server knows `topic`, or when one that could know it did not tell.

    Raises:
        NotFoundError: all told, and `topic` is with none.
    """
    existing = {item.name for broker in snapshot.brokers for item in broker.topics} | snapshot.routes().keys()
    known = existing | {item.topic for broker in snapshot.brokers for item in broker.queues}
    known |= {item.topic for broker in snapshot.brokers for item in broker.consumer_offsets}
    if topic not in known and _all_told(snapshot, _OF_TOPICS):
        names = existing or _names_there(snapshot, live, Part.TOPICS)
        raise NotFoundError(
            sentence("no-topic", "there is no topic {topic}", topic=topic),
            remedy=meant(topic, names, "mqctl topic list"),
        )


def require_broker(snapshot: ClusterSnapshot, name: str, _live: LiveOptions | None = None) -> None:
    """Passes when `name` is a broker's, one that was seen lately included, or when the source names no brokers.

    Raises:
        NotFoundError: no name server knows it.
    """
    registered = {endpoint.name for view in snapshot.name_servers for endpoint in view.endpoints}
    known = (
        registered | {item.name for item in snapshot.seen_brokers} | {item.name or name for item in snapshot.brokers}
    )
    if name not in known and not snapshot.without_brokers:
        listed = sorted(registered or known)
        remedy = meant(name, known, "mqctl broker list")
        raise NotFoundError(
            sentence("no-broker", "there is no broker {broker}", broker=name),
            reason=sentence("common-known", "known: {known}", known=listed),
            remedy=remedy,
        )


def _names_there(snapshot: ClusterSnapshot, live: LiveOptions | None, part: Part) -> set[str]:
    """Returns the names of all groups or topics of a live cluster; none where that does not answer any more."""
    if live is None or snapshot.origin.kind is not OriginKind.LIVE or snapshot.origin.archive is not None:
        return set()
    from time import time

    from mqctl.cli.connection.target import cluster_target
    from mqctl.cli.sources.brokers import open_brokers
    from mqctl.snapshot.live.asking import Asking, Scope
    from mqctl.snapshot.live.brokers import ask_groups, ask_topics, masters_of

    target = cluster_target(live.namesrv, live.profile, live.timeout)
    spent_ms = round(time() * 1000) - snapshot.origin.observed_at_ms
    try:
        with target.open() as cluster:
            asking = Asking(cluster, target.deadline().within(max(0, target.timeout_ms - spent_ms)))
            brokers = masters_of(open_brokers(asking))
            if part is Part.TOPICS:
                ask_topics(asking, brokers)
                return {name for broker in brokers for name in broker.topics}
            ask_groups(asking, brokers, Scope())
            return {name for broker in brokers for name in broker.groups}
    except MqctlError:  # what was asked for is missing all the same
        return set()


def _all_told(snapshot: ClusterSnapshot, parts: Collection[Part]) -> bool:
    """Tells whether nobody kept back what could name it; without a broker nobody told anything."""
    gaps = [*snapshot.unavailable, *(gap for broker in snapshot.brokers for gap in broker.unavailable)]
    if snapshot.past is not None:
        # What a recorder never asks for names nothing that it does not record; what is damaged may have.
        gaps = [gap for gap in gaps if gap.cause is not Cause.LEFT_OUT]
        parts = {*parts, Part.PAST}
    return not snapshot.without_brokers and not any(gap.part in parts for gap in gaps)
