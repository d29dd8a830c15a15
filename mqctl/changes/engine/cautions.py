"""What a plan cannot promise, said and not refused: changes never made on a release, or of kinds that are not known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from time import time

from mqctl.client.remoting.links import Unproven
from mqctl.errors import MqctlError
from mqctl.model.command_line import command_line
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.gap import Gap, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.release import Release, release_text
from mqctl.rules.engine.unknown import odd_kind, odd_setting
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, ask_groups, ask_settings, ask_topics, list_brokers, masters_of
from mqctl.text import sentence

_HANGING = ("MQ307", "MQ502")
"""Rules about members that finish nothing."""
Entry = TopicConfig | SubscriptionGroupConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """What a change rests on.

    Attributes:
        entries: topics and groups as they are, where the plan knows them.
        topics, groups: names of others, whose settings are asked for.
        brokers: names of those that keep them; all that have one of the topics where none is named.
        members_of: a group with members online, which a change of its offsets does not heal; None for none.
        store: directory that is read or changed; None for none.
        files: of the files in its `config`, those that the plan rests on.
    """

    entries: tuple[Entry, ...] = ()
    topics: Set[str] = frozenset()
    groups: Set[str] = frozenset()
    brokers: Set[str] = frozenset()
    members_of: str | None = None
    store: Path | None = None
    files: tuple[str, ...] = ()


def cautions(asking: Asking | None, proven_to: Release, touched: Touched) -> list[str]:
    """Returns a sentence for all that makes a plan less sure: releases that are newer than those on which a kind of
    change was made, and topics, groups, engines and parts of a store that are not known.

    Args:
        asking: who answered while the plan was made; None for a plan about a store alone.
    """
    said = [] if asking is None else [*_of_cluster(asking, touched), *_of_members(asking, touched.members_of)]
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


def _of_members(asking: Asking, group: str | None) -> Iterator[str]:
    """Names members that hang: their threads stay where they are, whatever becomes of the offsets."""
    if group is None:
        return
    from mqctl.rules.engine.judging import diagnose
    from mqctl.snapshot.live.gatherer import gather_live

    cluster, limit = asking.cluster, asking.deadline.within(asking.deadline.remaining_ms // 3)
    by_plan = cluster.releases_told
    try:
        now_ms = round(time() * 1000)
        snapshot = gather_live(cluster, limit, now_ms=now_ms, scope=Scope(groups=frozenset({group})), members_only=True)
    except MqctlError as error:
        yield sentence("plan-members-not-told", "whether members hang was not checked: {reason}", reason=str(error))
        return
    finally:
        cluster.releases_told = by_plan
    for finding in diagnose(snapshot, only=_HANGING).findings:
        values = {item.name: item.value for item in finding.evidence}
        yield sentence(
            "plan-member-hangs",
            "{client} has finished no message for {idle_ms}, in {queues}: other offsets do not free its threads; find "
            "out what they wait for ({stacks}) and restart it",
            client=finding.params["client"],
            idle_ms=values["idle_ms"],
            queues=finding.params["queues"],
            stacks=command_line("mqctl stacks dump -g {} --client {}", group, str(finding.params["client"])),
        )


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
