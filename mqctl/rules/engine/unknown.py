"""What the rules are known to hold for: releases of brokers, engines, kinds of topics and groups; all else is no OK.

What members, queues and offsets are, a release does not change. How brokers count, what their settings default to, how
they keep transactions, popped messages, access and files does change: a rule that looks at those is judged only on
releases and engines that it was tried on. What an attribute that nobody knows makes of a topic or of a group is
anybody's guess: nothing is judged of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.finding import Reason, Subject, Why
from mqctl.model.gap import Part
from mqctl.model.member import KNOWN_KINDS
from mqctl.model.release import Release, release_of, release_text
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot

if TYPE_CHECKING:  # lists that judge nothing by rules say what is not known, too
    from mqctl.rules.engine.rule import Rule

_CHANGES_WITH_RELEASES = frozenset(
    {Part.RUNTIME, Part.CONFIG, Part.REPLICATION, Part.CONTROLLERS, Part.POP, Part.TRANSACTIONS, Part.ACCESS}
    | {Part.DELAY_TIMERS, Part.NEWEST, Part.PROBE, Part.STORAGE, Part.VERIFICATION, Part.CLOCKS, Part.OFFSET_JUMPS}
)
_Known: TypeAlias = Mapping[str, Set[str] | None]
# BrokerRole, FlushDiskType and StoreType of 5.5.0. How a broker that names another keeps messages is not known.
KNOWN_SETTINGS: Mapping[str, set[str]] = {
    "brokerRole": {"async_master", "sync_master", "slave"},
    "flushDiskType": {"sync_flush", "async_flush"},
    "storeType": {"default", "defaultrocksdb"},
}
# TopicAttributes and TopicMessageType of 5.3.3. LITE and PRIORITY of later ones consume in other ways than by queues
# and offsets of members, which no rule knows yet.
_TOPIC_ATTRIBUTES: _Known = {
    "message.type": {"UNSPECIFIED", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED"},
    "cleanup.policy": {"DELETE", "COMPACTION"},
    "queue.type": {"SimpleCQ", "BatchCQ"},
    "reserve.time": None,
}
# SubscriptionGroupAttributes of 5.4.0: how often POP looks at its retry topic, which changes nothing that is judged.
_GROUP_ATTRIBUTES: _Known = {"priority.factor": None}
KNOWN_PERMISSIONS = 0b1111
"""PermName of all releases: inherit, write, read, priority."""
KNOWN_ATTRIBUTES: _Known = {**_TOPIC_ATTRIBUTES, **_GROUP_ATTRIBUTES}
"""Attributes of topics and groups with the values that are known of each; None where any is."""


def changes_with_releases(rule: Rule) -> bool:
    """Tells whether a rule looks at anything that another release, or another engine, may mean otherwise."""
    return not _CHANGES_WITH_RELEASES.isdisjoint(rule.needs)


def of_broker(broker: BrokerSnapshot, proven_to: Release) -> Why | None:
    """Returns why a rule that was tried up to a release, and looks at what changes with releases, does not judge a
    broker; None where its release and its engine are known. Files name no release."""
    newest = release_text(proven_to)
    if broker.version is not None:
        release = release_of(broker.version)
        if release is None:
            return Why(Reason.ODD_RELEASE, {"release": broker.version, "newest": newest})
        if release > proven_to:
            return Why(Reason.NEWER_RELEASE, {"release": release_text(release), "newest": newest})
    return odd_setting(broker.config)


def odd_setting(config: Mapping[str, str]) -> Why | None:
    """Returns the engine or role of a broker that is not known; None where its settings name known ones or none."""
    for name, known in KNOWN_SETTINGS.items():
        value = config.get(name)
        if value is not None and value.lower() not in known:
            return Why(Reason.ODD_SETTING, {"setting": name, "value": value})
    return None


class UnknownKinds:
    """Topics and groups of a snapshot with attributes that no rule knows."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self._snapshot = snapshot

    @cached_property
    def topics(self) -> dict[str, Why]:
        """Topics with an attribute, the value of one, or a permission that is not known, and which."""
        return {item.name: why for broker in self._snapshot.brokers for item in broker.topics for why in odd_kind(item)}

    @cached_property
    def groups(self) -> dict[str, Why]:
        """The same of groups, and of those whose members, or whose retries, are of another kind than those known."""
        odd: dict[str, Why] = {}
        for broker in self._snapshot.brokers:
            odd |= {item.name: why for item in broker.groups for why in odd_kind(item)}
            odd |= {item.group: why for item in broker.memberships for why in _odd(item.unknown_kinds, {})}
            odd |= {item.group: why for item in broker.pop for why in _odd({"mode": item.shown_mode}, KNOWN_KINDS)}
        return odd

    def why(self, subject: Subject) -> Why | None:
        """Returns why nothing is judged of a subject; None where its topic and its group are known."""
        return self.topics.get(subject.topic or "") or self.groups.get(subject.group or "")


def odd_kind(entry: TopicConfig | SubscriptionGroupConfig) -> list[Why]:
    """Returns what of a topic or group is not known, of much the first: an attribute or its value, a permission, a kind
    of retries."""
    if isinstance(entry, TopicConfig):
        bits = {"perm": str(entry.perm)} if entry.perm & ~KNOWN_PERMISSIONS else {}
        return (_odd(entry.attributes, _TOPIC_ATTRIBUTES) or _odd(bits, {}))[:1]
    return (_odd(entry.attributes, _GROUP_ATTRIBUTES) or _odd(entry.unknown_kinds, {}))[:1]


def _odd(attributes: Mapping[str, str], known: _Known) -> list[Why]:
    odd = []
    for key, value in attributes.items():
        plain = key.removeprefix("+")
        values = known.get(plain, frozenset())
        if values is not None and value not in values:
            odd.append(Why(Reason.ODD_ATTRIBUTE, {"attribute": plain, "value": value}))
    return odd
