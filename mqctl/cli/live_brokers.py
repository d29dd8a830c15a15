"""What the broker commands share: asking, and turning answers into rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mqctl.cli.connection import Connection
from mqctl.cli.emit import tell
from mqctl.client.answers import denial_remedy, tells_denial
from mqctl.client.cluster import Cluster
from mqctl.errors import ExitCode, MqctlError, NotFoundError
from mqctl.model.near_names import meant
from mqctl.model.queue import MessageQueue
from mqctl.model.unavailable import Unavailable
from mqctl.snapshot.live_asking import Asking, Scope
from mqctl.snapshot.live_brokers import LiveBroker, list_brokers


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


def tell_gaps(gaps: Iterable[Unavailable], broker: str = "") -> int:
    """Names on stderr what could not be asked, and returns the exit code of a read command."""
    return _tell_gaps((broker, gap) for gap in gaps)


def _tell_gaps(gaps: Iterable[tuple[str, Unavailable]]) -> int:
    code: int = ExitCode.OK
    remedies: dict[str, None] = {}
    for broker, gap in gaps:
        where = " ".join(part for part in (broker, gap.scope) if part)
        tell(f"mqctl: {gap.part}{f' ({where})' if where else ''} not read: {gap.reason}")
        code = max(code, gap_code(gap.reason))
        if tells_denial(gap.reason):
            remedies[denial_remedy(gap.reason)] = None
    for remedy in remedies:
        tell(f"  next: {remedy}")
    return code


def tell_unread(problems: Mapping[MessageQueue, MqctlError]) -> int:
    """Names the queues that could not be read, and returns the exit code of a read command."""
    code: int = ExitCode.OK
    for queue, error in sorted(problems.items()):
        tell(f"mqctl: queue {queue.queue_id} of {queue.broker_name} not read: {error}")
        code = max(code, gap_code(str(error)))
    return code


def gap_code(reason: str) -> ExitCode:
    """Returns the exit code of a read command that lacks something for this reason."""
    return ExitCode.PERMISSION if tells_denial(reason) else ExitCode.UNREACHABLE


def tell_broker_gaps(brokers: Iterable[LiveBroker]) -> int:
    """Names every broker's gaps, one line a broker."""
    return _tell_gaps((broker.name, gap) for broker in brokers for gap in broker.gaps[:1])
