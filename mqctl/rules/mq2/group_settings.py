"""MQ217: settings of a group that brokers differ in, that hold members back, or that leave a failure no second try."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mqctl.allocation.group_view import GroupView
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.member import Member
from mqctl.model.names import is_system_group
from mqctl.model.route import MASTER_ID
from mqctl.rules.engine.audience import EVERY, GroupKind, kind_of
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Verdict, rule

# From this release (3.4.9) on a client of Java says itself how often a message is tried; the group's number is unused.
_OWN_MAXIMUM = 121
# What becomes of a message by the settings of the broker that has it.
_COMPARED: dict[str, tuple[Callable[[SubscriptionGroupConfig], object], Severity]] = {
    "consumeMessageOrderly": (lambda config: config.consume_message_orderly, Severity.WARNING),
    "consumeTimeoutMinute": (lambda config: config.consume_timeout_minute, Severity.INFO),
    "retryMaxTimes": (lambda config: config.retry_max_times, Severity.INFO),
}
_ONLY_V5 = frozenset({"consumeMessageOrderly", "consumeTimeoutMinute"})
_SENDING_BACK = frozenset({GroupKind.CLUSTERING, GroupKind.PULL, GroupKind.PROXY, GroupKind.OFFLINE})

_Held = dict[str, SubscriptionGroupConfig]


@rule(
    "MQ217",
    Severity.WARNING,
    source="SubscriptionGroupConfig",
    needs=(Part.GROUPS,),
    playbook="subscription-change",
    groups=EVERY,
    texts=RuleTexts(
        title="A group's settings on brokers work against it",
        speaks="brokers differ in how often a group tries again",
        silent="no retries are allowed, and all members send their own maximum",
        what={
            "": "Brokers differ in {setting} of group {group}: {sides}.",
            "notice": "notifyConsumerIdsChangedEnable=false for group {group} on {brokers}: {member_count:member} {member_count:/hears/hear} of another that joins or leaves only at the next rebalance.",
            "none": "Group {group} allows no retry on {brokers} (retryMaxTimes={most_tries_count}): a message that fails once becomes a dead letter there.",
        },
        effect="What becomes of a message depends on the broker that stores it, or on the next rebalance: without notice queues of a member that left wait for up to 20 s.",
        advice="Give the group the same settings on all brokers: `{command}` sets them on all of them.",
        command="mqctl group update -g {group}",
        explain="Compares consumeMessageOrderly, consumeTimeoutMinute (5.x) and retryMaxTimes between masters. Java clients from 3.4.9 on send their own maximum of retries; "
        "retryMaxTimes counts for clients of a proxy and for clients that send none. If all members that are online send their own, a retryMaxTimes of 0 is not reported.",
        next_command="mqctl group describe {source} -g {group}",
    ),
)
def settings_of_a_group(case: ClusterCase) -> Iterator[Verdict]:
    """A group whose settings differ between masters, keep members from hearing of each other, or allow no retry."""
    views = {view.group: view for view in case.views}
    releases = {broker.name or "": broker.version or "" for broker in case.snapshot.brokers}
    groups: dict[str, _Held] = {}
    for broker in case.snapshot.brokers:
        if broker.broker_id in (None, MASTER_ID):
            for config in broker.groups:
                if not is_system_group(config.name):
                    groups.setdefault(config.name, {})[broker.name or ""] = config
    for group, held in sorted(groups.items()):
        yield from _differing(group, held, releases)
        yield from _unheard(group, held, views.get(group))
        yield from _without_retry(group, held, views.get(group))


def _subject(group: str) -> Subject:
    return Subject(kind=SubjectKind.GROUP, group=group)


def _differing(group: str, held: _Held, releases: dict[str, str]) -> Iterator[Verdict]:
    for name, (read, severity) in _COMPARED.items():
        sides: dict[str, list[str]] = {}
        for broker, config in held.items():
            if name not in _ONLY_V5 or releases[broker].startswith("V5"):
                sides.setdefault(str(read(config)).lower(), []).append(broker)
        if len(sides) > 1:
            values = "; ".join(f"{', '.join(sorted(names))}: {value}" for value, names in sorted(sides.items()))
            yield Verdict(
                subject=_subject(group),
                params={"group": group, "setting": name, "sides": values},
                evidence={"broker_count": sum(map(len, sides.values())), "value_count": len(sides)},
                severity=severity,
            )


def _unheard(group: str, held: _Held, view: GroupView | None) -> Iterator[Verdict]:
    brokers = sorted(name for name, config in held.items() if not config.notify_consumer_ids_changed_enable)
    if brokers and view is not None and view.shares and len(view.client_ids) > 1:
        yield Verdict(
            subject=_subject(group),
            params={"group": group, "brokers": ", ".join(brokers)},
            evidence={"broker_count": len(brokers), "member_count": len(view.client_ids)},
            severity=Severity.INFO,
            variant="notice",
        )


def _without_retry(group: str, held: _Held, view: GroupView | None) -> Iterator[Verdict]:
    kind = GroupKind.OFFLINE if view is None else kind_of(view)
    members = () if view is None else view.members()
    by_group = view is None or kind is GroupKind.PROXY or not members or any(not _says_itself(item) for item in members)
    brokers = sorted(name for name, config in held.items() if config.retry_max_times <= 0)
    if brokers and kind in _SENDING_BACK and by_group:
        yield Verdict(
            subject=_subject(group),
            params={"group": group, "brokers": ", ".join(brokers)},
            evidence={"broker_count": len(brokers), "most_tries_count": held[brokers[0]].retry_max_times},
            variant="none",
            severity=Severity.INFO,
        )


def _says_itself(member: Member) -> bool:
    return member.language == "JAVA" and (member.version or 0) >= _OWN_MAXIMUM
