"""Who has a group, and who its members are, as brokers of a live cluster or a snapshot tell."""

from __future__ import annotations

from collections.abc import Set

from mqctl.cli.sources.live_or_saved import LiveOrSaved
from mqctl.errors import MqctlError, NotFoundError
from mqctl.model.command_line import command_line
from mqctl.model.gap import Gap, Part
from mqctl.model.member import GroupMembership
from mqctl.model.names_alike import meant
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.snapshot.live.asking import Scope
from mqctl.snapshot.live.brokers import LiveBroker, ask_groups, ask_settings, ask_topics, masters_of, speakers_of
from mqctl.text import sentence


def group_holders(source: LiveOrSaved, group: str) -> list[LiveBroker]:
    """Returns the masters, each with the settings of one group.

    Raises:
        NotFoundError: every broker answered, and none knows it.
    """
    brokers = masters_of(source.brokers({Part.GROUPS, Part.MEMBERS}))
    source.ask(ask_groups, brokers, Scope(groups=frozenset({group})))
    if not any(group in broker.groups or broker.gaps for broker in brokers):
        source.ask(ask_topics, brokers)
        if any(group in broker.topics for broker in brokers):
            topic = command_line("mqctl topic describe {}", group)
            raise NotFoundError(
                sentence("no-consumer-group", "there is no consumer group {group}", group=group),
                reason=sentence("common-topic", "it is a topic"),
                remedy=topic,
            )
        known = {name for broker in brokers for name in broker.told_groups or broker.groups}
        raise NotFoundError(
            sentence("no-consumer-group", "there is no consumer group {group}", group=group),
            remedy=meant(group, known, "mqctl group list --all"),
        )
    return brokers


def speaking(source: LiveOrSaved, parts: Set[Part]) -> tuple[list[LiveBroker], list[Gap]]:
    """Returns whom consumers talk to, and why a slave speaks where its master is registered and does not answer."""
    brokers = source.brokers(parts | {Part.CONFIG})
    slaves = {broker.name for broker in brokers if not broker.address.is_master}
    doubtful = [broker for broker in brokers if broker.address.is_master and broker.name in slaves]
    if source.saved is None:
        source.ask(ask_settings, doubtful)
        for broker in doubtful:
            broker.gaps = broker.gaps if broker.lost else []  # one that refuses this question is there
    speakers = speakers_of(brokers)
    chosen = {broker.address for broker in speakers}
    silent = [gap.at(item.name) for item in doubtful if item.address not in chosen for gap in item.gaps[:1]]
    for broker in speakers:
        broker.gaps = [gap for gap in broker.gaps if gap.part in parts]
    return speakers, silent


def memberships_by_broker(source: LiveOrSaved, brokers: list[LiveBroker], group: str) -> dict[str, GroupMembership]:
    """Returns what each broker says of one group's members."""
    memberships = source.memberships(brokers, frozenset({group}))
    return {brokers[number].name: items[0] for number, items in memberships.items()}


def nobody_there(state: ClusterSnapshot, group: str, topic: str) -> MqctlError:
    """Returns the error for a group without members or a topic without queues; where a broker gave no answer, that."""
    gaps = [*state.unavailable, *(gap for broker in state.brokers for gap in broker.unavailable)]
    for gap in gaps:
        if gap.part in (Part.MEMBERS, Part.ROUTES):
            problem = sentence("allocation-online-unknown", "who of {group} is online is not known", group=group)
            return gap.as_error(
                problem,
                sentence("broker-list-shows-answering", "mqctl broker list shows which brokers answer"),
                so_far="",
            )
    return NotFoundError(
        sentence(
            "allocation-no-member-online",
            "no member of {group} is online, or there is no topic {topic}",
            group=group,
            topic=topic,
        ),
        remedy=command_line("mqctl group list"),
    )
