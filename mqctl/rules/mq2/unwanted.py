"""MQ216: messages that no group of their topic subscribes to, by samples of topics that all groups filter by tag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from mqctl.filter.tags import tag_code
from mqctl.model.finding import Confidence, Reason, Severity, Subject, SubjectKind, Why
from mqctl.model.gap import Part
from mqctl.model.member import filtered_topics
from mqctl.model.names import is_system_group
from mqctl.rules.engine.audience import APPLICATION
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Unknown, Verdict, rule

_SHOWN = 3


@rule(
    "MQ216",
    Severity.INFO,
    source="DefaultMessageFilter, ConsumerFilterManager",
    needs=(Part.MEMBERS, Part.CONSUMER_OFFSETS, Part.TAGS),
    playbook="subscription-change",
    topics=APPLICATION,
    texts=RuleTexts(
        title="Messages with a tag that no group of the topic subscribes to",
        speaks="a message has a tag that no online group of its topic subscribes to",
        silent="the same, and another group wants *",
        what={
            "": "Of {sampled_count:message} sampled on {topic}, {unwanted_count:message} with {tag_count:tag} ({tags}; - means no tag) are of interest to no group that is online ({groups}).",
            "offline": "Of {sampled_count:message} sampled on {topic}, {unwanted_count:message} with {tag_count:tag} ({tags}; - means no tag) are of interest to no group that is online ({groups}); what {offline} would subscribe to is not known, since no member is online.",
        },
        effect="They are stored and delivered to nobody, and no lag shows it: offsets pass filtered messages.",
        advice="A tag that was misspelled or renamed by producers looks the same as one that nobody needs yet: compare the tags with what producers send. A broadcasting group that is offline leaves no trace here.",
        explain="Live, the newest 400 messages of each queue are sampled, of up to 32 topics that all groups filter by tag. A group with *, or with SQL92, takes a topic out: it may want everything. mqctl report tags --store counts all messages of a store.",
        next_command="mqctl subscription check {source} -g {group}",
    ),
)
def tags_that_nobody_wants(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """Tags in a topic that every online group filters by tag, and that none of them subscribes to."""
    memberships = [entry for broker in case.snapshot.brokers for entry in broker.memberships]
    wants = filtered_topics(memberships, case.snapshot.running)
    sampled: dict[str, Counter[str]] = {}
    for sample in case.snapshot.tag_samples:
        if sample.all_groups_known and sample.queue.topic in wants:
            sampled.setdefault(sample.queue.topic, Counter()).update(sample.counts)
    for topic, counts in sorted(sampled.items()):
        names = {name for tags in wants[topic].values() for name in tags}
        known = names | {f"#{tag_code(name)}" for name in names}
        unwanted = Counter({tag: count for tag, count in counts.items() if tag not in known})
        if not unwanted:
            continue
        offline = _offline(case, topic, set(wants[topic]))
        yield Verdict(
            subject=Subject(kind=SubjectKind.TOPIC, topic=topic),
            params={
                "topic": topic,
                "group": min(wants[topic]),
                "tags": _named([tag or "-" for tag, _ in unwanted.most_common()]),
                "groups": _named(sorted(wants[topic])),
                "offline": _named(offline) or None,
            },
            evidence={
                "unwanted_count": unwanted.total(),
                "sampled_count": counts.total(),
                "tag_count": len(unwanted),
                "group_count": len(wants[topic]),
            },
            confidence=Confidence.LOW if offline else Confidence.MEDIUM,
            variant="offline" if offline else None,
        )
    filled = {queue.topic for queue, state in case.queue_states.items() if state.max_offset > state.min_offset}
    for topic in sorted((wants.keys() & filled) - sampled.keys()) if sampled else ():
        yield Unknown(subject=Subject(kind=SubjectKind.TOPIC, topic=topic), why=Why(Reason.NOT_SAMPLED))


def _offline(case: ClusterCase, topic: str, online: set[str]) -> list[str]:
    """Groups that consumed the topic and have no member now: what they would want is not known."""
    offsets = (item for broker in case.snapshot.brokers for item in broker.consumer_offsets)
    consumed = {item.group for item in offsets if item.topic == topic}
    return sorted(group for group in consumed - online if not is_system_group(group))


def _named(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} (+{len(names) - _SHOWN})"
