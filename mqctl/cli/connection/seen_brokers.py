"""Brokers that were there when a cluster was last looked at: name servers forget one as soon as it dies.

What is kept is no more than a help: where it cannot be read or written, a look goes on without it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from time import time
from typing import TYPE_CHECKING

import msgspec

from mqctl.cli.emit import note
from mqctl.cli.places import state_dir
from mqctl.errors import MqctlError
from mqctl.model.remark import on_one_line
from mqctl.model.route import SeenBroker
from mqctl.render.units import duration
from mqctl.store.plain_files import read_whole
from mqctl.store.whole_file import write_whole

if TYPE_CHECKING:  # values of a snapshot cost a fifth of a live command's start
    from mqctl.client.admin.cluster import BrokerAddress, Cluster
    from mqctl.model.snapshot import ClusterSnapshot

_KEPT_MS = 7 * 86_400_000
_TOLD_MS = 86_400_000
_already_told: set[str] = set()
_WRITTEN_MS = 10_000
"""How old what is kept may be before it is written anew: a command in a loop writes no more often."""


def with_seen_brokers(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Adds the brokers that were seen within seven days to a look at a whole live cluster, and notes those of now.

    A cluster is told by the addresses of its name servers. A look at which no name server knew a broker notes nothing,
    and needs what was noted before most of all.
    """
    if not snapshot.name_servers:
        return snapshot
    now_ms = snapshot.origin.observed_at_ms
    now = [
        SeenBroker(cluster=item.cluster, name=item.name, address=item.any_address(), last_seen_time_ms=now_ms)
        for view in snapshot.name_servers
        for item in view.endpoints
    ]
    return replace(snapshot, seen_brokers=_noted(snapshot.origin.location, now, now_ms))


def tell_missing(cluster: Cluster, brokers: Iterable[BrokerAddress]) -> None:
    """Notes the brokers that are registered, and tells those that were within a day and are not any more: what a
    command answers is without their queues."""
    now_ms = round(time() * 1000)
    registered = list(brokers)
    names = {item.broker_name for item in registered}
    for seen in note_brokers(cluster, registered):
        age_ms = now_ms - seen.last_seen_time_ms
        if seen.name not in names and age_ms < _TOLD_MS and seen.name not in _already_told:
            _already_told.add(seen.name)  # an exporter looks again and again
            who = f"{on_one_line(seen.name)} ({on_one_line(str(seen.address))})"
            note(f"{who} is not registered any more, and was {duration(age_ms)} ago: its queues are in no answer")


def note_brokers(cluster: Cluster, brokers: Iterable[BrokerAddress]) -> tuple[SeenBroker, ...]:
    """Notes the brokers that a list of a live cluster showed, so that the first `doctor` misses one that died since.

    Returns:
        all that were seen within seven days.
    """
    now_ms = round(time() * 1000)
    # Of each name the process with the lowest id, the master where there is one.
    addresses = {item.broker_name: item for item in sorted(brokers, reverse=True)}
    now = [
        SeenBroker(cluster=item.cluster, name=name, address=item.address, last_seen_time_ms=now_ms)
        for name, item in addresses.items()
    ]
    return _noted(";".join(cluster.name_servers.addresses()), now, now_ms) if now else ()


def _noted(location: str, now: Iterable[SeenBroker], now_ms: int) -> tuple[SeenBroker, ...]:
    """Returns the brokers of now and those seen before, and keeps them; none where they cannot be kept."""
    try:
        place = state_dir() / "seen" / f"{sha256(location.encode()).hexdigest()[:24]}.json"
        data = read_whole(place) if place.exists() else b"[]"
        known = {item.name: item for item in msgspec.json.decode(data, type=list[SeenBroker])}
        fresh = {item.name: item for item in known.values() if now_ms - item.last_seen_time_ms < _KEPT_MS}
        if all(item.name in fresh and now_ms - fresh[item.name].last_seen_time_ms < _WRITTEN_MS for item in now):
            return tuple(fresh[name] for name in sorted(fresh))
        fresh |= {item.name: item for item in now}
        write_whole(place, msgspec.json.encode([fresh[name] for name in sorted(fresh)]), sweep="*")
    except (OSError, MqctlError, msgspec.MsgspecError):
        return ()
    return tuple(fresh[name] for name in sorted(fresh))
