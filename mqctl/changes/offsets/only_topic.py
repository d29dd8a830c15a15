"""The topic of a group that consumes one: nobody who names the group needs to name that as well."""

from __future__ import annotations

from mqctl.changes.offsets.planning import all_answered
from mqctl.cli.emit import tell
from mqctl.cli.sources.brokers import open_brokers
from mqctl.errors import UsageError
from mqctl.model.command_line import command_line, shell_word
from mqctl.model.names import is_retry_topic, is_system_topic
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import ask_offsets, masters_of
from mqctl.snapshot.live.members import members_by_broker
from mqctl.text import sentence

_NAMED = 10


def only_topic(asking: Asking, group: str) -> str:
    """Returns the one topic that a group has offsets on or subscribes to, and says which it is.

    Raises:
        UsageError: it has none or several.
        MqctlError: a broker did not tell.
    """
    brokers = masters_of(open_brokers(asking))
    ask_offsets(asking, brokers, Scope(groups=frozenset({group})))
    members = members_by_broker(asking, brokers, group)
    all_answered(brokers)
    topics = {topic for broker in brokers for _, topic, _ in broker.offsets}
    topics |= {item.topic for member in members.values() for item in member.subscriptions}
    listed = sorted(topic for topic in topics if not is_retry_topic(topic) and not is_system_topic(topic))
    if len(listed) == 1:
        tell(
            sentence(
                "offset-topic-group",
                "mqctl: topic {listed}, the only one of group {group}",
                listed=listed[0],
                group=group,
            )
        )
        return listed[0]
    if not listed:
        raise UsageError(
            sentence("no-topic-named", "no topic is named"),
            reason=sentence("offset-no-broker-knows-topic", "no broker knows a topic of group {group}", group=group),
            remedy=sentence(
                "offset-add-topic", "add -t TOPIC; {value}", value=command_line("mqctl group list {}", group)
            ),
        )
    more = sentence("common-more", " and {left} more", left=len(listed) - _NAMED) if len(listed) > _NAMED else ""
    raise UsageError(
        sentence("no-topic-named", "no topic is named"),
        reason=sentence(
            "offset-group-several",
            "group {group} has several: {listed}{more}",
            group=group,
            listed=listed[:_NAMED],
            more=more,
        ),
        remedy=sentence("offset-add-another", "add -t {listed}, or another of them", listed=shell_word(listed[0])),
    )
