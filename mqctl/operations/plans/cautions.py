"""What a plan cannot promise, said and not refused: changes never made on a release, or of kinds that are not known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from pathlib import Path

from mqctl.client.remoting.links import Unproven
from mqctl.errors import MqctlError
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.gap import Gap, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.release import Release, release_text
from mqctl.rules.engine.unknown import odd_kind, odd_setting
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, ask_groups, ask_settings, ask_topics, list_brokers, masters_of
from mqctl.text import sentence

Entry = TopicConfig | SubscriptionGroupConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """What a change rests on.

    Attributes:
        entries: topics and groups as they are, where the plan knows them.
        topics, groups: names of others, whose settings are asked for.
        brokers: names of those that keep them; all that have one of the topics where none is named.
        store: directory that is read or changed; None for none.
        files: of the files in its `config`, those that the plan rests on.
    """

    entries: tuple[Entry, ...] = ()
    topics: Set[str] = frozenset()
    groups: Set[str] = frozenset()
    brokers: Set[str] = frozenset()
    store: Path | None = None
    files: tuple[str, ...] = ()


def cautions(asking: Asking | None, proven_to: Release, touched: Touched) -> list[str]:
    """Returns a sentence for all that makes a plan less sure: releases that are newer than those on which a kind of
    change was made, and topics, groups, engines and parts of a store that are not known.

    Args:
        asking: who answered while the plan was made; None for a plan about a store alone.
    """
    said = [] if asking is None else list(_of_cluster(asking, touched))
    said += _of_kinds(touched.entries)
    said += [] if touched.store is None else _of_store(touched.store, touched.files)
    newer = [] if asking is None else asking.cluster.newer_than(proven_to)
    return [*_of_releases(newer, proven_to), *dict.fromkeys(said)]


def _of_cluster(asking: Asking, touched: Touched) -> Iterator[str]:
    """Asks brokers how they keep what is touched, and what topics and groups are."""
    if not touched.topics and not touched.groups and not touched.brokers:
        return
    try:
        addresses = asking.cluster.brokers(asking.deadline)
    except MqctlError as error:
        yield _not_told(Gap.of(Part.CONFIG, error))
        return
    brokers = masters_of(list_brokers(asking, addresses, Scope(brokers=touched.brokers)))
    if touched.topics:
        ask_topics(asking, brokers)
        if not touched.brokers:
            brokers = [broker for broker in brokers if broker.gaps or not touched.topics.isdisjoint(broker.topics)]
    if touched.groups:
        ask_groups(asking, brokers, Scope(groups=touched.groups))
    ask_settings(asking, brokers)
    for broker in brokers:
        yield from _of_broker(broker)
        yield from _of_kinds(broker.topics[name] for name in sorted(touched.topics & broker.topics.keys()))
        yield from _of_kinds(broker.groups.values())


def _of_broker(broker: LiveBroker) -> Iterator[str]:
    if broker.gaps:
        yield _not_told(broker.gaps[0].at(broker.name))
    why = odd_setting(broker.config)
    if why is not None:
        yield sentence(
            "plan-odd-setting",
            "{broker} runs with {setting}={value}, which mqctl does not know: the change may do something else there "
            "than is shown",
            broker=broker.name,
            **why.values,
        )


def _not_told(gap: Gap) -> str:
    return sentence(
        "plan-kinds-not-told",
        "whether mqctl knows the kinds of what is changed on {broker} was not checked: {reason}",
        broker=gap.broker or sentence("plan-all-brokers", "all brokers"),
        reason=gap.reason,
    )


def _of_kinds(entries: Iterable[Entry]) -> list[str]:
    """Returns a sentence for each topic or group with an attribute, or the like, that is not known."""
    return [
        sentence(
            "plan-odd-attribute",
            "{name} has the attribute {attribute}={value}, which mqctl does not know: the change may mean more for it "
            "than is shown",
            name=entry.name,
            **why.values,
        )
        for entry in entries
        for why in odd_kind(entry)
    ]


def _of_store(path: Path, files: tuple[str, ...]) -> Iterator[str]:
    """Names what lies in a store and that no known broker writes: it may hold what the plan does not see."""
    from mqctl.store.directory import StoreDirectory

    store = StoreDirectory.open(path)
    own = tuple(f"config/{name}:" for name in files)
    fields = [each for each in store.unknown_fields() if each.part.startswith(own)] if own else []
    parts = [each.part for each in (*store.unknown, *fields)]
    if parts:
        yield sentence(
            "plan-odd-store",
            "mqctl does not know what {parts} in {store} mean: the plan does not take them into account",
            parts=parts,
            store=path,
        )


def _of_releases(peers: Iterable[Unproven], proven_to: Release) -> list[str]:
    by_release: dict[str, list[str]] = defaultdict(list)
    for peer in peers:
        by_release[peer.release].append(peer.address)
    return [
        sentence(
            "plan-newer-release",
            "release {release} of {addresses} is newer than those on which mqctl made such changes (to {newest}): "
            "try it on a small part first, and read back what it did",
            release=release,
            addresses=sorted(addresses),
            newest=release_text(proven_to),
        )
        for release, addresses in sorted(by_release.items())
    ]
