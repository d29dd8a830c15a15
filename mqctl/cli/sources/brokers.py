"""What the broker commands share: asking, and turning answers into rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from mqctl.cli.connection.target import Connection
from mqctl.cli.emit import tell
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.answers import denial_remedy, tells_denial
from mqctl.errors import ExitCode, MqctlError, NotFoundError
from mqctl.model.gap import Gap, Part
from mqctl.model.near_names import meant
from mqctl.model.queue import MessageQueue
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, list_brokers

if TYPE_CHECKING:
    from mqctl.model.snapshot import ClusterSnapshot


def open_brokers(asking: Asking, names: Iterable[str] = ()) -> list[LiveBroker]:
    """Returns the broker processes of the cluster, or those named by name or address.

    Raises:
        NotFoundError: a name is none of theirs.
    """
    addresses = asking.cluster.brokers(asking.deadline)
    wanted = set(names)
    unknown = wanted - {item.broker_name for item in addresses} - {item.address for item in addresses}
    if unknown:
        known = ", ".join(sorted({item.broker_name for item in addresses})) or "none"
        remedy = meant(min(unknown), {item.broker_name for item in addresses}, "mqctl broker list")
        raise NotFoundError(f"there is no broker {min(unknown)}", reason=f"known: {known}", remedy=remedy)
    chosen = tuple(item for item in addresses if not wanted or {item.broker_name, item.address} & wanted)
    return list_brokers(asking, chosen, Scope())


def asking_of(cluster: Cluster, chosen: Connection) -> Asking:
    """Starts the command's time."""
    return Asking(cluster, chosen.deadline())


def tell_gaps(gaps: Iterable[Gap], broker: str = "") -> int:
    """Names on stderr what could not be asked, and returns the exit code of a read command."""
    reasons = []
    for gap in gaps:
        where = gap.at(broker).scope
        tell(f"mqctl: {gap.part}{f' ({where})' if where else ''} not read: {gap.reason}")
        reasons.append(gap.reason)
    return tell_remedies(reasons)


def tell_remedies(reasons: Iterable[str]) -> int:
    """Says what to do where access control was the reason, and returns the exit code of a read command."""
    listed = list(reasons)
    for remedy in dict.fromkeys(denial_remedy(reason) for reason in listed if tells_denial(reason)):
        tell(f"  next: {remedy}")
    return max(map(gap_code, listed), default=ExitCode.OK)


def tell_unread(problems: Mapping[MessageQueue, MqctlError]) -> int:
    """Names the queues that could not be read, those of one broker and reason in a line; returns the exit code of a
    read command."""
    alike: dict[tuple[str, str], list[str]] = {}
    for queue, error in sorted(problems.items()):
        alike.setdefault((queue.broker_name, str(error)), []).append(str(queue.queue_id))
    for (broker, reason), numbers in alike.items():
        tell(f"mqctl: queue{'s' if len(numbers) > 1 else ''} {', '.join(numbers)} of {broker} not read: {reason}")
    return tell_remedies(reason for _, reason in alike)


def gap_code(reason: str) -> ExitCode:
    """Returns the exit code of a read command that lacks something for this reason."""
    return ExitCode.PERMISSION if tells_denial(reason) else ExitCode.UNREACHABLE


def tell_broker_gaps(brokers: Iterable[LiveBroker]) -> int:
    """Names every broker's gaps, one line a broker."""
    return tell_gaps(broker_gaps(brokers))


def broker_gaps(brokers: Iterable[LiveBroker]) -> list[Gap]:
    """Returns the first gap of every broker that has one: the others follow from it."""
    return [gap.at(broker.name) for broker in brokers for gap in broker.gaps[:1]]


def gaps_of(state: ClusterSnapshot, parts: Collection[Part]) -> list[Gap]:
    """Returns what a snapshot lacks of some parts, each with the name of its broker."""
    gaps = [*state.unavailable, *(gap.at(item.name) for item in state.brokers for gap in item.unavailable)]
    return [gap for gap in gaps if gap.part in parts]


def unread_queues(problems: Mapping[MessageQueue, MqctlError]) -> list[Gap]:
    """Returns queues that could not be read as gaps."""
    return [
        Gap(part=Part.QUEUES, reason=str(error), scope=f"{queue.broker_name}/{queue.queue_id}")
        for queue, error in sorted(problems.items())
    ]
