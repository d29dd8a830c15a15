"""Stacks of a group's instances through their brokers: all at once, again and again, each look under one deadline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from mqctl.client.admin.cluster import BrokerAddress, Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import DeadlineError, NotFoundError, RefusedError, UnreachableError
from mqctl.model.command_line import command_line
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.lag import QueueLag, queue_lags
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import GroupMembership, RunningInfo, StackText, consume_mode
from mqctl.model.remark import on_one_line
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.model.stack_look import Sight, StackLook
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.snapshot.live.lag import gather_live_lag
from mqctl.snapshot.live.running import gather_running, without_stacks
from mqctl.stacks.parse import read_dumps
from mqctl.text import sentence

Memberships = Mapping[int, tuple[GroupMembership, ...]]


@dataclass(kw_only=True)
class GroupLooks:
    """The instances of one group, or one of them, to be looked at through their brokers.

    Attributes:
        brokers, memberships: who knows whom, by the broker's number.
        client_id: the only instance to look at; None for all.
        gaps: instances that did not answer, by client id: they are not asked again, each look would wait for them.
    """

    cluster: Cluster
    group: str
    brokers: list[LiveBroker]
    memberships: Memberships
    client_id: str | None = None
    gaps: dict[str, Gap] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = self.client_ids()
        if self.client_id is not None and self.client_id not in known:
            shown = list(map(on_one_line, known))
            raise NotFoundError(
                sentence(
                    "snapshot-no-instance-group",
                    "there is no instance {client_id} of group {group}",
                    client_id=self.client_id,
                    group=self.group,
                ),
                reason=sentence("common-online", "online: {shown}", shown=shown),
                remedy=command_line("mqctl group members -g {}", self.group),
            )
        if not known:
            lag = command_line("mqctl group lag -g {}", self.group)
            raise RefusedError(
                sentence("snapshot-group-no-stacks", "group {group} has no stacks", group=self.group),
                reason=sentence("none-instances-online", "none of its instances is online"),
                remedy=sentence(
                    "snapshot-stacks-find-looks-processes",
                    "{lag}; mqctl stacks find looks for processes of this machine",
                    lag=lag,
                ),
            )

    def client_ids(self) -> list[str]:
        """Returns the instances, once each, sorted."""
        return sorted({name for items in self.memberships.values() for item in items for name in item.client_ids})

    def look(self, deadline: Deadline, now_ms: int) -> StackLook:
        """Asks every instance for its stacks and what it holds, and the brokers how far the group is behind."""
        asking = Asking(self.cluster, deadline)
        lags, gaps = lags_of(self.cluster, deadline, self.group, now_ms)
        wanted = self._wanted()
        running, unanswered = gather_running(
            asking, self.brokers, wanted, with_stacks=True, limit_ms=deadline.remaining_ms
        )
        for gap in unanswered:
            self.gaps[gap.client or ""] = gap
        heard = {info.client_id for info in running} | self.gaps.keys()
        for name in {name for items in wanted.values() for item in items for name in item.client_ids} - heard:
            self.gaps[name] = Gap(
                part=Part.RUNNING_INFO,
                cause=Cause.SILENT,
                reason=sentence("snapshot-left-group-while-asked", "it left the group while it was asked"),
                subject=GapSubject(group=self.group, client=name),
            )
        gaps += without_stacks(running)
        mode = mode_of(self.memberships, self.group)
        sights = tuple(
            Sight(
                source=info.client_id,
                group=info.group,
                client_id=info.client_id,
                raw=info.stacks or "",
                info=replace(info, stacks=None),
                consume_mode=mode,
            )
            for info in running
        )
        return StackLook(at_ms=now_ms, sights=sights, lags=lags, unavailable=(*gaps, *self.gaps.values()))

    def _wanted(self) -> Memberships:
        def is_wanted(name: str) -> bool:
            return name not in self.gaps and self.client_id in (None, name)

        return {
            number: tuple(replace(item, client_ids=tuple(filter(is_wanted, item.client_ids))) for item in items)
            for number, items in self.memberships.items()
        }


def mode_of(memberships: Memberships, group: str) -> str | None:
    """Returns how a group consumes, `POP` or `PULL`, both where it differs by topic; None where nobody tells."""
    return consume_mode(item for items in memberships.values() for item in items if item.group == group)


def lags_of(cluster: Cluster, deadline: Deadline, group: str, now_ms: int) -> tuple[tuple[QueueLag, ...], list[Gap]]:
    """Returns how far a group is behind in each of its queues, and what could not be asked about it."""
    limit = deadline.within(deadline.remaining_ms // 3)
    try:
        evidence = gather_live_lag(cluster, limit, now_ms=now_ms, scope=Scope(groups=frozenset({group})))
    except (UnreachableError, DeadlineError) as error:
        return (), [Gap.of(Part.CONSUMER_OFFSETS, error, GapSubject(group=group))]
    rows = tuple(row for item in evidence for row in queue_lags(item, now_ms) if row.group == group)
    return rows, [gap for item in evidence for gap in item.unavailable]


def running_of(
    asking: Asking, brokers: list[LiveBroker], memberships: Memberships, group: str, client_id: str
) -> RunningInfo | None:
    """Returns what one instance says of itself, without its stacks; None when it does not."""
    one = {
        number: tuple(replace(item, client_ids=(client_id,)) for item in items if item.group == group)
        for number, items in memberships.items()
        if any(client_id in item.client_ids for item in items if item.group == group)
    }
    running, _ = gather_running(asking, brokers, one)
    return running[0] if running else None


def with_later_stacks(cluster: Cluster, deadline: Deadline, snapshot: ClusterSnapshot, now_ms: int) -> ClusterSnapshot:
    """Asks every instance whose stacks a snapshot holds for them once more, all at once.

    One that does not answer this time keeps what it has.
    """
    wanted = {(info.group, info.client_id) for info in snapshot.running if info.stacks}
    brokers: list[LiveBroker] = []
    memberships: dict[int, tuple[GroupMembership, ...]] = {}
    for broker in snapshot.brokers:
        if broker.address is None or broker.broker_id != 0:
            continue
        memberships[len(brokers)] = tuple(
            replace(item, client_ids=tuple(name for name in item.client_ids if (item.group, name) in wanted))
            for item in broker.memberships
        )
        address = BrokerAddress(broker.cluster or "", broker.name or "", 0, broker.address)
        brokers.append(LiveBroker(address=address))
    running, _ = gather_running(
        Asking(cluster, deadline), brokers, memberships, with_stacks=True, limit_ms=deadline.remaining_ms
    )
    later = {
        (info.group, info.client_id): StackText(taken_at_ms=now_ms, text=info.stacks) for info in running if info.stacks
    }
    return replace(
        snapshot,
        running=tuple(
            replace(info, later_stacks=(*info.later_stacks, later[key])) if key in later else info
            for info in snapshot.running
            for key in [(info.group, info.client_id)]
        ),
    )


def read_sights(look: StackLook) -> StackLook:
    """Reads the dumps of a look; done after the last one, so that reading does not stretch the time between them."""
    return replace(look, sights=tuple(_read(sight, look.at_ms) for sight in look.sights))


def _read(sight: Sight, at_ms: int) -> Sight:
    if sight.dump is not None or not sight.raw:
        return sight
    dumps = read_dumps(sight.raw, source=sight.source, taken_at_ms=at_ms)
    return replace(sight, dump=dumps[0] if dumps else None)
