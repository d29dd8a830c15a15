"""Removes what benches and drills left on a cluster: their topics with all messages, and their groups; by plan."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.changes.engine.run import now_ms
from mqctl.changes.settings.change import identity_of, run_setting_change, touched_masters
from mqctl.changes.settings.groups import refuse_with_members
from mqctl.changes.settings.topics import route_steps
from mqctl.cli.connection.target import ClusterTarget
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.names import group_of
from mqctl.model.own_names import Purpose, is_own
from mqctl.model.setting_plan import SettingKind, SettingPlan, SettingStep, fields_of
from mqctl.render.document import Document
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, ask_groups, ask_topics
from mqctl.snapshot.live.topic_use import all_told
from mqctl.text import sentence


def clean(
    target: ClusterTarget, brokers: Sequence[str], *, execute: bool, prefixes: Sequence[str] = tuple(Purpose)
) -> tuple[Document, int]:
    """Plans to remove every topic and group whose name begins with one of `prefixes`, and removes them when asked to.

    Raises:
        RefusedError: a group of them has members: a run is still going on.
    """
    return run_setting_change(
        target, lambda asking: plan_cleaning(asking, brokers, prefixes), execute=execute, confirmed=None
    )


def plan_cleaning(asking: Asking, brokers: Sequence[str], prefixes: Sequence[str]) -> SettingPlan:
    """Plans the removal; no step when nothing is there."""
    masters = touched_masters(asking, tuple(brokers))
    ask_topics(asking, masters)
    ask_groups(asking, masters, Scope())
    all_told(masters)
    steps: list[SettingStep] = []
    topics: set[str] = set()
    groups: set[str] = set()
    for broker in masters:
        for group in sorted(name for name in broker.groups if is_own(name, prefixes)):
            groups.add(group)
            steps.append(_removal(broker, SettingKind.GROUP, group, broker.groups[group]))
        for topic in sorted(name for name in broker.topics if is_own(name, prefixes)):
            topics.add(topic)
            steps.append(_removal(broker, SettingKind.TOPIC, topic, broker.topics[topic]))
    groups |= {group for group in map(group_of, topics) if group is not None}
    for group in sorted(groups):
        refuse_with_members(asking, masters, group)
    if not brokers:
        steps += [step for topic in sorted(topics) for step in route_steps(asking, topic)]
    return SettingPlan(
        kind="own-clean",
        noun="topic",
        subject=" ".join(f"{prefix}*" for prefix in prefixes),
        identity=identity_of(masters),
        made_at_ms=now_ms(),
        steps=tuple(steps),
        warnings=(
            sentence(
                "own-topics-messages-these-topics-go",
                "the messages of these topics go with them; mqctl undo restores settings, not messages",
            ),
        )
        if steps
        else (),
        severe=False,
    )


def _removal(
    broker: LiveBroker, kind: SettingKind, name: str, old: TopicConfig | SubscriptionGroupConfig
) -> SettingStep:
    return SettingStep(
        kind=kind,
        place=broker.name,
        address=broker.address.address,
        subject=name,
        old=fields_of(old),
        new=None,
    )
