"""Brokers that were there when a cluster was last looked at, or belong to it: name servers forget one that dies.

What is kept is no more than a help: where it cannot be read or written, a look goes on without it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Set
from dataclasses import asdict, replace
from hashlib import sha256
from time import time
from typing import TYPE_CHECKING, Protocol

from mqctl.cli.emit import note
from mqctl.cli.places import state_dir
from mqctl.errors import MqctlError
from mqctl.model.gap import Part
from mqctl.model.names import group_of, is_system_group, is_system_topic
from mqctl.model.remark import on_one_line
from mqctl.model.route import RECENT_MS, SeenBroker, SeenProcess, gone_processes, missed_brokers
from mqctl.store.own_files import write_whole
from mqctl.store.plain_files import read_whole
from mqctl.text import sentence

if TYPE_CHECKING:  # values of a snapshot cost a fifth of a live command's start
    from mqctl.client.admin.cluster import BrokerAddress, Cluster
    from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot

_KEPT_MS = 7 * 86_400_000
_already_told: set[str] = set()
_WRITTEN_MS = 10_000
"""How old what is kept may be before it is written anew: a command in a loop writes no more often."""


class Expecting(Protocol):
    """What of a `ClusterTarget` tells who belongs to the cluster."""

    @property
    def namesrv(self) -> str: ...

    @property
    def source(self) -> str: ...

    @property
    def cluster(self) -> str | None: ...

    @property
    def brokers(self) -> tuple[str, ...]: ...


def with_seen_brokers(snapshot: ClusterSnapshot, target: Expecting, *, whole: bool) -> ClusterSnapshot:
    """Adds the brokers that were seen within seven days, or belong to the cluster, to a look at a live cluster, and
    notes those of now.

    A cluster is told by the addresses of its name servers. A look at which no name server knew a broker notes nothing,
    and needs what was noted before most of all.

    Args:
        whole: everything was looked at: how many groups each broker has is noted, too; its topics are always asked.
    """
    if not snapshot.name_servers:
        return snapshot
    now_ms = snapshot.origin.observed_at_ms
    sizes = {item.name: _size(item) for item in snapshot.brokers if not item.broker_id}
    now = [
        SeenBroker(
            cluster=item.cluster,
            name=item.name,
            address=item.any_address(),
            last_seen_time_ms=now_ms,
            queue_count=sizes.get(item.name, (None, None))[0],
            group_count=sizes.get(item.name, (None, None))[1] if whole else None,
            processes=_processes(item.addresses, now_ms),
        )
        for view in snapshot.name_servers
        for item in view.endpoints
    ]
    noted = _noted(snapshot.origin.location, now, now_ms)
    registered = {item.name for item in now}
    answers = {item.name: item.answer for item in snapshot.seen_brokers}
    seen = _with_expected(noted, target, registered, {item.cluster for item in now})
    return replace(snapshot, seen_brokers=tuple(replace(item, answer=answers.get(item.name)) for item in seen))


def missing_brokers(cluster: Cluster, brokers: Iterable[BrokerAddress], target: Expecting) -> tuple[SeenBroker, ...]:
    """Notes the brokers that are registered, and returns those that belong to the cluster, or were seen within a day,
    and are not."""
    registered = list(brokers)
    return _missing(_known(cluster, registered, target), {item.broker_name for item in registered})


def tell_missing(cluster: Cluster, brokers: Iterable[BrokerAddress], target: Expecting) -> tuple[SeenBroker, ...]:
    """Notes the brokers that are registered, and tells those that ought to be and are not: what a command answers is
    without their queues. A command that looks on is not interrupted by one that dies meanwhile.

    Returns:
        those without which an answer is part of one.
    """
    registered = list(brokers)
    names = {item.broker_name for item in registered}
    known = _known(cluster, registered, target)
    for missing in _missing(known, names) if cluster.missing is None else ():
        if missing.name not in _already_told:
            _already_told.add(missing.name)  # an exporter looks again and again
            _tell(missing)
    return missed_brokers(known, names, round(time() * 1000))


def _known(cluster: Cluster, registered: list[BrokerAddress], target: Expecting) -> tuple[SeenBroker, ...]:
    names, clusters = {item.broker_name for item in registered}, {item.cluster for item in registered if item.cluster}
    return _with_expected(note_brokers(cluster, registered), target, names, clusters)


def _missing(known: Iterable[SeenBroker], names: Set[str]) -> tuple[SeenBroker, ...]:
    now_ms = round(time() * 1000)
    gone = (item for item in known if item.name not in names)
    return tuple(item for item in gone if item.expected_by or now_ms - (item.last_seen_time_ms or 0) < RECENT_MS)


def _tell(missing: SeenBroker) -> None:
    who = on_one_line(missing.name) + (f" ({on_one_line(missing.address)})" if missing.address else "")
    if missing.expected_by is not None:
        by = on_one_line(missing.expected_by)
        note(
            sentence(
                "cli-not-registered-part-queues",
                "{who} is not registered, and is part of {by}: its queues are in no answer",
                who=who,
                by=by,
            )
        )
    else:
        age_ms = round(time() * 1000) - (missing.last_seen_time_ms or 0)
        note(
            sentence(
                "cli-not-registered-any-more",
                "{who} is not registered any more, and was {age_ms} ago: its queues are in no answer",
                who=who,
                age_ms=age_ms,
            )
        )


def note_brokers(cluster: Cluster, brokers: Iterable[BrokerAddress]) -> tuple[SeenBroker, ...]:
    """Notes the brokers that a list of a live cluster showed, so that the first `doctor` misses one that died since.

    Returns:
        all that were seen within seven days.
    """
    now_ms = round(time() * 1000)
    # Of each name the process with the lowest id, the master where there is one.
    ordered = sorted(brokers, reverse=True)
    addresses = {item.broker_name: item for item in ordered}
    now = [
        SeenBroker(
            cluster=item.cluster,
            name=name,
            address=item.address,
            last_seen_time_ms=now_ms,
            processes=_processes({it.broker_id: it.address for it in ordered if it.broker_name == name}, now_ms),
        )
        for name, item in addresses.items()
    ]
    return _noted(";".join(cluster.name_servers.addresses()), now, now_ms)


def tell_gone_processes(cluster: Cluster, brokers: Iterable[BrokerAddress]) -> None:
    """Tells which processes of brokers were registered within a day and are not, though their brokers are."""
    registered, now_ms = list(brokers), round(time() * 1000)
    for seen in note_brokers(cluster, registered):
        addresses = {item.broker_id: item.address for item in registered if item.broker_name == seen.name}
        for gone in gone_processes(seen, addresses, now_ms):
            note(
                sentence(
                    "cli-process-not-registered",
                    "process {broker_id} of {name} ({address}) is not registered any more, and was {age_ms} ago",
                    broker_id=gone.broker_id,
                    name=on_one_line(seen.name),
                    address=on_one_line(gone.address),
                    age_ms=now_ms - gone.last_seen_time_ms,
                )
            )


def _processes(addresses: Mapping[int, str], now_ms: int) -> tuple[SeenProcess, ...]:
    return tuple(
        SeenProcess(broker_id=number, address=address, last_seen_time_ms=now_ms)
        for number, address in sorted(addresses.items())
    )


def _size(broker: BrokerSnapshot) -> tuple[int | None, int | None]:
    """Returns how many application queues a broker has, and how many groups have offsets in them or subscribe them."""
    if broker.lacks(Part.TOPICS) is not None:
        return None, None
    own = {broker.cluster, broker.name}  # each broker makes itself a topic of these names
    topics = (item for item in broker.topics if item.name not in own and _is_application(item.name))
    used = {item.name: item.read_queue_count for item in topics}
    queue_count = sum(used.values())
    if broker.lacks(Part.CONSUMER_OFFSETS) is not None:
        return queue_count, None
    groups = {item.group for item in broker.consumer_offsets if item.topic in used}
    groups |= {item.group for item in broker.memberships if any(wanted.topic in used for wanted in item.subscriptions)}
    return queue_count, sum(not is_system_group(group) for group in groups)


def _is_application(topic: str) -> bool:
    return not is_system_topic(topic) and group_of(topic) is None


def _with_expected(
    seen: tuple[SeenBroker, ...], target: Expecting, registered: Set[str], clusters: Set[str]
) -> tuple[SeenBroker, ...]:
    """Returns the brokers, those marked and added that the profile names, or that a local cluster was started with."""
    known = {item.name: item for item in seen}
    cluster = target.cluster or (next(iter(clusters)) if len(clusters) == 1 else "")
    for item in expected_brokers(target, registered):
        before = known.get(item.name) or replace(item, cluster=item.cluster or cluster)
        known[item.name] = replace(before, expected_by=item.expected_by)
    return tuple(known[name] for name in sorted(known))


def expected_brokers(target: Expecting, registered: Set[str]) -> Iterable[SeenBroker]:
    """Yields the brokers that belong to a cluster.

    Args:
        registered: names; while none is missing nobody asks whether the process of a local cluster still runs.
    """
    for name in target.brokers:
        yield SeenBroker(cluster=target.cluster or "", name=name, address=None, expected_by=target.source)
    directory = state_dir() / "local"
    if not directory.is_dir():
        return
    from mqctl.local.state import LocalStates

    try:
        here = set(target.namesrv.split(";"))
        for state in LocalStates(directory).all():
            ready = state.ready
            masters = [item for item in ready.brokers if not item.broker_id]
            if not here & set(ready.namesrv.split(";")):
                continue
            if all(item.name in registered for item in masters) or state.alive:
                for item in masters:
                    yield SeenBroker(
                        cluster=ready.cluster,
                        name=item.name,
                        address=item.address,
                        last_seen_time_ms=state.started_ms,
                        expected_by=f"local cluster {state.name}",
                    )
    except MqctlError:  # its file is damaged: whoever works on local clusters is told
        return


def _noted(location: str, now: Iterable[SeenBroker], now_ms: int) -> tuple[SeenBroker, ...]:
    """Returns the brokers of now and those seen before, and keeps them; none where they cannot be kept."""
    try:
        place = state_dir() / "seen" / f"{sha256(location.encode()).hexdigest()[:24]}.json"
        data = read_whole(place) if place.exists() else b"[]"
        known = {item.name: item for item in map(_kept, json.loads(data))}
        fresh = {item.name: item for item in known.values() if now_ms - (item.last_seen_time_ms or 0) < _KEPT_MS}
        if all(_is_fresh(item, fresh.get(item.name)) for item in now):
            return tuple(fresh[name] for name in sorted(fresh))
        fresh |= {item.name: _sized(item, fresh.get(item.name)) for item in now}
        write_whole(place, json.dumps([asdict(fresh[name]) for name in sorted(fresh)]).encode(), sweep="*")
    except (OSError, MqctlError, ValueError, TypeError, RecursionError):  # a file that says anything else is none
        return ()
    return tuple(fresh[name] for name in sorted(fresh))


_TEXTS, _NUMBERS = ("address", "expected_by"), ("last_seen_time_ms", "queue_count", "group_count")


def _kept(item: object) -> SeenBroker:
    """Reads a broker as it was kept, by hand: every live command waits for it, and msgspec takes 7 ms to import.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(item, dict):
        raise TypeError("a broker is kept as an object")
    known = {name: item[name] for name in ("cluster", "name", *_TEXTS, *_NUMBERS) if name in item}
    texts = {name: known.get(name) or "" for name in _TEXTS} | {name: known.get(name) for name in ("cluster", "name")}
    numbers = {name: known.get(name) or 0 for name in _NUMBERS}
    if not all(isinstance(text, str) for text in texts.values()) or any(type(it) is not int for it in numbers.values()):
        raise TypeError("a broker is kept with texts and numbers")
    return SeenBroker(**known, processes=tuple(map(_kept_process, item.get("processes", ()))))


def _kept_process(item: object) -> SeenProcess:
    """Raises TypeError: it is none."""
    number, address, time_ms = (
        (item.get("broker_id"), item.get("address"), item.get("last_seen_time_ms"))
        if isinstance(item, dict)
        else (None, None, None)
    )
    if type(number) is not int or type(time_ms) is not int or not isinstance(address, str):
        raise TypeError("a process is kept with its id, its address and a time")
    return SeenProcess(broker_id=number, address=address, last_seen_time_ms=time_ms)


def _is_fresh(item: SeenBroker, kept: SeenBroker | None) -> bool:
    """Tells whether what is kept of a broker need not be written anew."""
    if kept is None or (item.last_seen_time_ms or 0) - (kept.last_seen_time_ms or 0) >= _WRITTEN_MS:
        return False
    sized = _sized(item, kept)
    return (sized.queue_count, sized.group_count, _places(sized)) == (
        kept.queue_count,
        kept.group_count,
        _places(kept),
    )


def _places(item: SeenBroker) -> set[tuple[int, str]]:
    return {(each.broker_id, each.address) for each in item.processes}


def _sized(item: SeenBroker, kept: SeenBroker | None) -> SeenBroker:
    """Returns a broker of now with what an earlier look saw of its size and its processes, as far as this one did not
    look; a process that was not seen for a day is forgotten."""
    if kept is None:
        return item
    oldest_ms = (item.last_seen_time_ms or 0) - RECENT_MS
    before = {each.broker_id: each for each in kept.processes if each.last_seen_time_ms > oldest_ms}
    processes = before | {each.broker_id: each for each in item.processes}
    queue_count = kept.queue_count if item.queue_count is None else item.queue_count
    group_count = kept.group_count if item.group_count is None else item.group_count
    return replace(
        item,
        queue_count=queue_count,
        group_count=group_count,
        processes=tuple(processes[number] for number in sorted(processes)),
    )
