"""A live cluster or a saved snapshot, looked at by the same commands.

Brokers of a snapshot come complete, so a command that asks them piece by piece finds nothing left to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from mqctl.cli.connection.target import ClusterTarget, cluster_target
from mqctl.cli.sources.brokers import asking_of, open_brokers, unproven_gaps
from mqctl.client.admin.cluster import BrokerAddress, none_registered
from mqctl.errors import NotFoundError, UsageError
from mqctl.model.gap import Gap, Part
from mqctl.model.names_alike import meant
from mqctl.model.origin import OriginKind
from mqctl.model.route import BrokerEndpoint, NameServerView, SeenBroker
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, list_brokers, release_heard
from mqctl.text import sentence

if TYPE_CHECKING:  # values of a snapshot cost a fifth of a live command's start
    from mqctl.model.member import GroupMembership, RunningInfo
    from mqctl.model.queue_state import QueueState
    from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot

    Memberships = Mapping[int, tuple[GroupMembership, ...]]
P = ParamSpec("P")
Servers = dict[str, tuple[BrokerEndpoint, ...]]


class LiveOrSaved:
    """What the commands may ask of either.

    Attributes:
        asking: the live cluster; None for a snapshot.
        saved: the snapshot; None for a live cluster.
        target: how the live cluster is reached, and who belongs to it.
    """

    def __init__(
        self, asking: Asking | None, saved: ClusterSnapshot | None, target: ClusterTarget | None = None
    ) -> None:
        self.asking = asking
        self.saved = saved
        self.target = target

    @property
    def cluster(self) -> str | None:
        """The name of the cluster that the connection prefers."""
        return self.target.cluster if self.target is not None else None

    @property
    def is_store(self) -> bool:
        """Whether files of a broker were looked at, which know no connections."""
        return self.saved is not None and self.saved.origin.kind is OriginKind.STORE

    def ask(self, question: Callable[Concatenate[Asking, P], None], /, *args: P.args, **named: P.kwargs) -> None:
        """Puts one of the questions of `live_brokers` to brokers; those of a snapshot know the answer already."""
        if self.asking is not None:
            question(self.asking, *args, **named)

    def brokers(self, parts: Set[Part], names: Iterable[str] = (), *, anywhere: bool = False) -> list[LiveBroker]:
        """Returns the broker processes, or those named by name or address.

        Args:
            parts: what the command is about; other gaps of a snapshot do not concern it.
            anywhere: addresses that no name server of a live cluster lists are asked as well.

        Raises:
            NotFoundError: a name is none of theirs.
            UnreachableError, DeadlineError: nobody answers at an address that is not registered.
        """
        if self.saved is None:
            brokers = open_brokers(self._live(), names, anywhere=anywhere)
            if any(not item.registered for item in brokers):
                from mqctl.cli.sources.unregistered import require_answers

                require_answers(brokers)
            return brokers
        if self.saved.without_brokers:
            raise none_registered(self.saved.origin.location)
        saved = [_broker(item, parts) for item in self.saved.brokers]
        wanted = set(names)
        known = {name for item in saved for name in (item.name, item.address.address)}
        if wanted - known:
            listed = sorted({item.name for item in saved})
            remedy = meant(min(wanted - known), known, "")
            raise NotFoundError(
                sentence("no-broker", "there is no broker {broker}", broker=min(wanted - known)),
                reason=sentence("common-known", "known: {known}", known=listed),
                remedy=remedy,
            )
        return [item for item in saved if not wanted or {item.name, item.address.address} & wanted]

    def unproven(self, brokers: Collection[LiveBroker], part: Part) -> list[Gap]:
        """Returns a part that brokers told, of a release or with an engine that is not known."""
        shown = [
            item.snapshot()
            if self.asking is None
            else replace(item.snapshot(), version=release_heard(self.asking, item))
            for item in brokers
        ]
        return unproven_gaps(shown, part)

    def brokers_at(self, addresses: tuple[BrokerAddress, ...], parts: Set[Part]) -> list[LiveBroker]:
        """Returns the broker processes at addresses that the name servers told."""
        if self.saved is None:
            return list_brokers(self._live(), addresses, Scope())
        return [item for item in self.brokers(parts) if item.address in addresses]

    def name_servers(self) -> tuple[Servers, tuple[BrokerAddress, ...], list[Gap]]:
        """Returns the brokers that each name server knows, all of them together, and what could not be asked.

        Raises:
            NotFoundError: no broker is registered with any of them.
        """
        if self.saved is None:
            from mqctl.snapshot.live.routes import ask_name_servers

            answered = ask_name_servers(self._live())
            if not answered[1]:
                raise none_registered(";".join(answered[0]))
            if self.target is not None:
                from mqctl.cli.connection.seen_brokers import tell_missing

                tell_missing(self._live().cluster, answered[1], self.target)
            return answered
        if self.saved.without_brokers:
            raise none_registered(self.saved.origin.location)
        servers = {view.address: view.endpoints for view in self.saved.name_servers}
        addresses = {_address(item) for item in self.saved.brokers}
        gaps = [gap for gap in self.saved.unavailable if gap.part is Part.ROUTES and gap.topic is None]
        return servers, tuple(sorted(addresses)), gaps

    def missing(self, addresses: Iterable[BrokerAddress]) -> list[SeenBroker]:
        """Notes the brokers that are registered, and returns those that ought to be and are not."""
        if self.saved is not None:
            from mqctl.rules.engine.gone_brokers import gone_brokers

            return [gone.seen for gone in gone_brokers(self.saved) if gone.seen and (gone.belongs or gone.recent)]
        if self.target is None:
            return []
        from mqctl.cli.connection.seen_brokers import missing_brokers

        return list(missing_brokers(self._live().cluster, addresses, self.target))

    def routes(self, topic: str) -> tuple[tuple[NameServerView, ...], list[Gap]]:
        """Returns what each name server tells of one topic, and which could not be asked."""
        if self.saved is None:
            from mqctl.snapshot.live.routes import ask_routes

            asking = self._live()
            return ask_routes(
                asking, dict.fromkeys(asking.cluster.name_servers.addresses(asking.deadline), ()), [topic]
            )
        views = tuple(
            NameServerView(address=view.address, routes=tuple(item for item in view.routes if item.topic == topic))
            for view in self.saved.name_servers
        )
        gaps = [gap for gap in self.saved.unavailable if gap.part is Part.ROUTES and gap.topic == topic]
        return views, gaps

    def memberships(self, brokers: list[LiveBroker], groups: Set[str] = frozenset()) -> Memberships:
        """Returns what each broker says of the members of groups, by the number of the broker; all unless given."""
        if self.saved is None:
            from mqctl.snapshot.live.members import gather_memberships

            return gather_memberships(self._live(), brokers, Scope(groups=groups))
        held = {_address(item): item.memberships for item in self.saved.brokers}
        pairs = (
            (number, tuple(item for item in held.get(broker.address, ()) if not groups or item.group in groups))
            for number, broker in enumerate(brokers)
        )
        return {number: items for number, items in pairs if items}

    def declared_modes(self, brokers: list[LiveBroker], topic: str | None = None) -> Mapping[str, Set[str]]:
        """Returns how brokers have groups consume, of those for which that was set, online or not; on one topic only,
        where it is named."""
        if self.saved is None:
            from mqctl.snapshot.live.members import declared_modes

            return declared_modes(self._live(), brokers, topic)
        modes: dict[str, set[str]] = {}
        for share in (share for broker in self.saved.brokers for share in broker.pop if share.mode is not None):
            if topic not in (None, share.topic):
                continue
            modes.setdefault(share.group, set()).add(share.mode or "")
        return modes

    def running(
        self, brokers: list[LiveBroker], memberships: Memberships
    ) -> tuple[tuple[RunningInfo, ...], tuple[Gap, ...]]:
        """Returns what the instances say of themselves, and which did not."""
        if self.saved is None:
            from mqctl.snapshot.live.running import gather_running

            return gather_running(self._live(), brokers, memberships)
        groups = {item.group for items in memberships.values() for item in items}
        gaps = (gap for gap in self.saved.unavailable if gap.part is Part.RUNNING_INFO)
        return (
            tuple(info for info in self.saved.running if info.group in groups),
            tuple(gap for gap in gaps if gap.group in groups),
        )

    def queues(self, brokers: list[LiveBroker], topic: str) -> list[tuple[str, QueueState]]:
        """Returns the queues of a topic with the name of their broker."""
        if self.saved is None:
            from mqctl.snapshot.live.queues import queue_bounds

            wanted = [(number, topic) for number, broker in enumerate(brokers) if topic in broker.topics]
            bounds = queue_bounds(self._live(), brokers, wanted)
            return [(brokers[number].name, queue) for number in sorted(bounds) for queue in bounds[number]]
        held = {_address(item): item.queues for item in self.saved.brokers}
        return [
            (broker.name, queue) for broker in brokers for queue in held.get(broker.address, ()) if queue.topic == topic
        ]

    def retained(self, brokers: list[LiveBroker], topic: str) -> list[tuple[str, QueueState]]:
        """Returns the queues of a topic as `queues` does, with the store time of their first message."""
        queues = self.queues(brokers, topic)
        if self.saved is not None:
            return queues
        from mqctl.snapshot.live.queues import first_store_times

        return first_store_times(self._live(), brokers, queues)

    def _live(self) -> Asking:
        if self.asking is None:
            raise TypeError("a look is either live or saved")
        return self.asking


@contextmanager
def looking(
    namesrv: str | None,
    profile: str | None,
    timeout: str | None,
    snapshot: Path | None,
    *,
    store: Path | None = None,
    at: str | None = None,
    proxies: Iterable[str] | None = None,
) -> Iterator[LiveOrSaved]:
    """Opens the live cluster, loads the snapshot, or looks at a store.

    Args:
        at: the moment that a store is looked at for, as it was typed.

    Raises:
        BadInputError: the file is no snapshot, or the directory no store.
        UsageError: options that do not go together.
        UnreachableError, ConfigurationError: there is no cluster to ask.
    """
    if store is not None or at is not None:
        from datetime import datetime

        from mqctl.cli.sources.snapshot_source import read_snapshot

        if store is None:
            raise UsageError(
                sentence("needs-store", "--at needs --store"),
                reason=sentence(
                    "snapshot-own-moment-live",
                    "a snapshot has its own moment, a live cluster its own clock",
                ),
            )
        now = datetime.now().astimezone()
        yield LiveOrSaved(None, read_snapshot(store=store, snapshot=snapshot, at=at, now=now, quick=True))
        return
    if snapshot is not None:
        from mqctl.snapshot.archive import load_snapshot

        yield LiveOrSaved(None, load_snapshot(snapshot))
        return
    target: ClusterTarget = cluster_target(namesrv, profile, timeout, proxies=proxies)
    with target.open() as cluster:
        yield LiveOrSaved(asking_of(cluster, target), None, target)


def _address(item: BrokerSnapshot) -> BrokerAddress:
    return BrokerAddress(item.cluster or "?", item.name or "?", item.broker_id or 0, item.address or "?")


def _broker(item: BrokerSnapshot, parts: Set[Part]) -> LiveBroker:
    return LiveBroker(
        address=_address(item),
        reserved=frozenset(name for name in (item.cluster, item.name) if name),
        runtime=dict(item.runtime),
        config=dict(item.config),
        topics={config.name: config for config in item.topics},
        groups={config.name: config for config in item.groups},
        offsets={(offset.group, offset.topic, offset.queue_id): offset.offset for offset in item.consumer_offsets},
        producers=item.producers,
        replication=item.replication,
        gaps=[gap for gap in item.unavailable if gap.part in parts],
    )
