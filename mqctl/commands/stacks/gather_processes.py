"""Consumer processes of this machine, joined with what a cluster says of its clients, as rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from time import sleep

from mqctl.capture.access import obstacle
from mqctl.capture.processes import LocalProcess, Surroundings, find_consumers
from mqctl.cli.connection.target import cluster_target
from mqctl.cli.sources.brokers import asking_of, open_brokers
from mqctl.commands.stacks.find_view import ProcessRow
from mqctl.errors import ConfigurationError, DeadlineError, NotFoundError, UnreachableError
from mqctl.model.gap import Gap, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import Member
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, ask_groups, masters_of
from mqctl.snapshot.live.members import gather_memberships
from mqctl.snapshot.live.stacks import Memberships, mode_of

_LOOK_S = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStackRequest:
    """Which cluster to ask about its clients; nobody is asked when none is named and none runs here."""

    namesrv: str | None = None
    profile: str | None = None
    timeout: str | None = None


def surroundings(request: ClusterStackRequest) -> tuple[Surroundings | None, list[Gap]]:
    """Asks the cluster for its members and addresses, and says what is missing; None when no cluster is named.

    Raises:
        NotFoundError, UsageError, ConfigurationError: the cluster is named, and wrongly.
    """
    try:
        target = cluster_target(request.namesrv, request.profile, request.timeout)
    except ConfigurationError:
        if request.profile:
            raise
        return None, []
    try:
        with target.open() as cluster:
            known = members_of(asking_of(cluster, target), Scope())
    except (UnreachableError, DeadlineError) as error:
        return Surroundings(), [Gap.of(Part.MEMBERS, error)]
    return known.around, known.gaps


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownMembers:
    """Who consumes in a cluster, as its brokers tell it.

    Attributes:
        brokers: the masters; `memberships` are by their numbers.
    """

    around: Surroundings
    brokers: list[LiveBroker]
    memberships: Memberships
    gaps: list[Gap]


def members_of(asking: Asking, scope: Scope) -> KnownMembers:
    """Asks every broker for the members of its groups.

    Raises:
        UnreachableError, DeadlineError: no name server answered.
    """
    everyone = open_brokers(asking)
    brokers = masters_of(everyone)
    if not scope.groups:
        ask_groups(asking, brokers, scope)
    memberships = gather_memberships(asking, brokers, scope)
    members: dict[str, list[Member]] = {}
    for held in memberships.values():
        for item in held:
            members.setdefault(item.group, []).extend(item.members)
    addresses = {*asking.cluster.name_servers.addresses(), *(broker.address.address for broker in everyone)}
    around = Surroundings(
        members={group: tuple(items) for group, items in members.items()},
        addresses=frozenset(addresses),
        consume_modes={group: mode for group in members if (mode := mode_of(memberships, group))},
    )
    gaps = [gap for broker in brokers for gap in broker.gaps[:1]]
    return KnownMembers(around=around, brokers=brokers, memberships=memberships, gaps=gaps)


def process_rows(around: Surroundings) -> tuple[list[ProcessRow], list[Gap]]:
    """Looks for consumer processes; returns a row for each of them and of its groups."""
    processes, gaps = find_consumers(around, own_pid=os.getpid(), look_s=_LOOK_S, wait=sleep)
    return [row for process in processes for row in _rows(process, around.consume_modes)], gaps


def _rows(process: LocalProcess, modes: Mapping[str, str]) -> Sequence[ProcessRow]:
    try:
        hindrance = obstacle(process)
    except NotFoundError:
        return []
    return [
        ProcessRow(
            pid=process.pid,
            runtime=process.runtime,
            group=identity.group if identity else None,
            client_id=identity.client_id if identity else None,
            known_by=identity.known_by if identity else None,
            thread_count=process.thread_count,
            consume_thread_count=process.consume_thread_count,
            cpu_share=process.cpu_share,
            rss_bytes=process.rss_bytes,
            user=process.user,
            started_time_ms=process.started_time_ms,
            connected_to=list(process.connected_to),
            command=process.command,
            obstacle=hindrance.reason if hindrance else None,
            consume_mode=modes.get(identity.group) if identity else None,
        )
        for identity in (process.identities or (None,))
    ]
