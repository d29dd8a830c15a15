"""What the broker commands share: asking, and turning answers into rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from mqctl.errors import MqctlError, NotFoundError, UsageError
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.names import retry_topic
from mqctl.model.names_alike import is_pattern, meant
from mqctl.model.release import NEWEST
from mqctl.text import sentence

if TYPE_CHECKING:  # commands that read a store need the gaps only
    from mqctl.cli.connection.target import ClusterTarget
    from mqctl.client.admin.cluster import Cluster
    from mqctl.model.queue import MessageQueue
    from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
    from mqctl.snapshot.live.asking import Asking
    from mqctl.snapshot.live.brokers import LiveBroker


def open_brokers(asking: Asking, names: Iterable[str] = (), *, anywhere: bool = False) -> list[LiveBroker]:
    """Returns the broker processes of the cluster, or those named by name or address.

    Args:
        anywhere: an address that no name server lists is asked as well, and a note says that it is not registered; if
            nobody answers there, the broker is returned with that gap.

    Raises:
        NotFoundError: a name is none of theirs.
    """
    from mqctl.snapshot.live.asking import Scope
    from mqctl.snapshot.live.brokers import list_brokers

    wanted = set(names)
    elsewhere = {name for name in wanted if anywhere and is_address(name)}
    try:
        addresses = asking.cluster.brokers(asking.deadline)
    except NotFoundError:
        if not wanted or wanted - elsewhere:
            raise
        addresses = ()
    elsewhere -= {name for item in addresses for name in (item.broker_name, item.address)}
    wanted -= elsewhere
    unknown = wanted - {item.broker_name for item in addresses} - {item.address for item in addresses}
    if unknown:
        known = sorted({item.broker_name for item in addresses})
        remedy = meant(min(unknown), {item.broker_name for item in addresses}, "mqctl broker list")
        raise NotFoundError(
            sentence("no-broker", "there is no broker {broker}", broker=min(unknown)),
            reason=sentence("common-known", "known: {known}", known=known),
            remedy=remedy,
        )
    everyone = not wanted and not elsewhere
    chosen = tuple(item for item in addresses if everyone or {item.broker_name, item.address} & wanted)
    brokers = list_brokers(asking, chosen, Scope())
    if elsewhere:
        from mqctl.cli.sources.unregistered import brokers_at

        brokers += brokers_at(asking, sorted(elsewhere), addresses)
    return brokers


def is_address(name: str) -> bool:
    """Tells whether a name is written as `host:port`."""
    from mqctl.client.remoting.link import split_address

    try:
        return bool(split_address(name))
    except UsageError:
        return False


def asking_of(cluster: Cluster, target: ClusterTarget) -> Asking:
    """Starts the command's time."""
    from mqctl.snapshot.live.asking import Asking

    return Asking(cluster, target.deadline())


def require_known(brokers: Collection[LiveBroker], groups: Iterable[str]) -> None:
    """Passes when some broker has each group in its table or a topic of its retries, or when one did not answer.

    Raises:
        NotFoundError: one has neither: its answer would be empty, and read as good news.
    """
    if any(broker.gaps for broker in brokers):
        return
    known = {name for broker in brokers for name in broker.told_groups}
    topics = {name for broker in brokers for name in broker.topics}
    for group in sorted(groups):
        if group not in known and not is_pattern(group) and retry_topic(group) not in topics:
            remedy = meant(group, known, "mqctl group list --all")
            raise NotFoundError(
                sentence("no-consumer-group", "there is no consumer group {group}", group=group), remedy=remedy
            )


def broker_gaps(brokers: Iterable[LiveBroker]) -> list[Gap]:
    """Returns the gaps of brokers, each with the name of its broker."""
    return [gap.at(broker.name) for broker in brokers for gap in broker.gaps]


def gaps_of(state: ClusterSnapshot, parts: Collection[Part]) -> list[Gap]:
    """Returns what a snapshot lacks of some parts, each with the name of its broker."""
    of_brokers = (gap.at(item.name) for item in state.brokers for gap in item.unavailable if gap.part in parts)
    return [*(gap for gap in state.unavailable if gap.part in parts), *of_brokers]


def unproven_gaps(brokers: Iterable[BrokerSnapshot], part: Part) -> list[Gap]:
    """Returns a gap for each broker whose release or engine mqctl does not know: its answer may mean something else.

    Args:
        part: what an answer rests on that changes with releases.
    """
    from mqctl.rules.engine.unknown import of_broker
    from mqctl.rules.engine.why_words import reason

    odd = ((broker, of_broker(broker, NEWEST)) for broker in brokers)
    return [
        Gap(part=part, cause=Cause.UNPROVEN, reason=reason(why), broker=broker.name)
        for broker, why in odd
        if why is not None
    ]


def unregistered_gaps(state: ClusterSnapshot, part: Part) -> list[Gap]:
    """Returns what a snapshot lacks of a part because brokers that belong to the cluster are not registered."""
    from mqctl.rules.engine.gone_brokers import out_of_reach

    return [Gap.of_unregistered(name, part) for name in out_of_reach(state)]


def queue_gaps(problems: Mapping[MessageQueue, MqctlError]) -> list[Gap]:
    """Returns queues that could not be read as gaps."""
    return [
        Gap.of(Part.QUEUES, error, GapSubject(topic=queue.topic, queue_id=queue.queue_id), broker=queue.broker_name)
        for queue, error in sorted(problems.items())
    ]
