"""The process behind the Tab: asks a cluster for its names and writes them down for the next seconds."""

from __future__ import annotations

from pathlib import Path

from mqctl.cli.completion.names import asking_mark
from mqctl.cli.connection.target import cluster_target
from mqctl.client.admin.nameserver import topic_names
from mqctl.errors import StorageError
from mqctl.model.names import group_of, is_system_group, is_system_topic
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import ask_groups, ask_producers, list_brokers, masters_of
from mqctl.snapshot.live.members import gather_memberships
from mqctl.store.own_files import write_whole
from mqctl.text import sentence

_LIMIT = "5s"
_MOST_GROUPS = 200


def refresh(place: Path, words: list[str]) -> int:
    """Asks the cluster that `words` (connection options) mean and replaces the cache file.

    Raises:
        MqctlError: no name server answered, or the disk is full; the old file stays.
    """
    options = dict(zip(words[::2], words[1::2], strict=False))
    target = cluster_target(options.get("--namesrv") or options.get("-n"), options.get("--profile"), _LIMIT)
    with target.open() as cluster:
        asking = Asking(cluster, target.deadline())
        addresses = cluster.brokers(asking.deadline)
        brokers = masters_of(list_brokers(asking, addresses, Scope()))
        topics = {
            topic
            for topic in cluster.name_servers.ask(topic_names(), asking.deadline)
            if not (brokers and topic in brokers[0].reserved) and not is_system_topic(topic)
        }
        ask_groups(asking, brokers, Scope())
        ask_producers(asking, brokers)
        groups = {group for broker in brokers for group in broker.groups if not is_system_group(group)}
        names = {
            "cluster": {item.cluster for item in addresses},
            "broker": {item.broker_name for item in addresses},
            "topic": topics,
            "group": groups,
            "producer": {item.group for broker in brokers for item in broker.producers},
            "client": set(),
        }
        _write(place, names)
        if len(groups) <= _MOST_GROUPS:  # with more, asking each for its members is no matter for a Tab
            memberships = gather_memberships(asking, brokers, Scope(groups=groups))
            names["client"] = {client for items in memberships.values() for item in items for client in item.client_ids}
            _write(place, names)
    asking_mark(place).unlink(missing_ok=True)  # after a failure it stays: the next Tab does not ask at once again
    return 0


def _order(name: str) -> tuple[bool, str]:
    """Retry and dead-letter topics come last."""
    return group_of(name) is not None, name


def _write(place: Path, by_kind: dict[str, set[str]]) -> None:
    lines = [f"{kind}\t{name}\n" for kind, names in by_kind.items() for name in sorted(names, key=_order)]
    try:
        write_whole(place, "".join(lines).encode(), sweep="*")
    except OSError as error:
        problem, remedy = (
            sentence("cli-could-not-write-names", "could not write the names of the cluster to {place}", place=place),
            sentence("cli-set-cache-directory", "set MQCTL_CACHE_DIR to another place"),
        )
        raise StorageError(problem, reason=error.strerror or str(error), remedy=remedy) from error
