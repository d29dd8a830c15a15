"""What the group commands share."""

from __future__ import annotations

from collections.abc import Mapping
from time import time

from mqctl.cli.sources.live_or_saved import LiveOrSaved
from mqctl.errors import NotFoundError
from mqctl.model.command_line import command_line
from mqctl.model.config import creates_groups
from mqctl.model.gap import Cause, Gap, Part
from mqctl.model.member import GroupMembership
from mqctl.model.names_alike import meant
from mqctl.model.pop_share import PopShare, summed_shares
from mqctl.snapshot.live.asking import Scope
from mqctl.snapshot.live.brokers import LiveBroker, ask_groups, ask_settings, ask_topics, masters_of
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


def refusing(source: LiveOrSaved, brokers: list[LiveBroker], group: str) -> list[str]:
    """Returns those of the brokers that refuse all pulls of a group: they know no settings of it, and make none.

    Args:
        brokers: each with the settings of the group.
    """
    answered = [item for item in brokers if all(gap.part is not Part.GROUPS for gap in item.gaps)]
    unknown = [item for item in answered if group not in item.groups]
    source.ask(ask_settings, unknown)
    return [item.name for item in unknown if not creates_groups(item.config)]


def memberships_by_broker(source: LiveOrSaved, brokers: list[LiveBroker], group: str) -> dict[str, GroupMembership]:
    """Returns what each broker says of one group's members."""
    memberships = source.memberships(brokers, frozenset({group}))
    return {brokers[number].name: items[0] for number, items in memberships.items()}


def missing_members(
    source: LiveOrSaved, brokers: list[LiveBroker], memberships: Mapping[str, GroupMembership], group: str
) -> list[Gap]:
    """Returns where a group of which no broker knows a member is probably behind a proxy that nobody named.

    Of a store, that it does not tell.
    """
    if source.is_store:
        return [
            Gap(
                part=Part.MEMBERS,
                cause=Cause.LEFT_OUT,
                reason=sentence("topic-store-not-tell-who", "a store does not tell who is online"),
            )
        ]
    if memberships or source.asking is None or source.asking.cluster.proxies:
        return []
    from mqctl.client.admin.broker_queries import consume_stats
    from mqctl.snapshot.live.consumption import behind_proxy

    requests = ((number, item.address.address, consume_stats(group)) for number, item in enumerate(brokers))
    stats_by_broker = source.asking.put(requests).values
    gaps = ((number, behind_proxy(group, [stats])) for number, stats in sorted(stats_by_broker.items()))
    return [gap.at(brokers[number].name) for number, gap in gaps if gap is not None]


def group_shares(source: LiveOrSaved, brokers: list[LiveBroker], group: str) -> list[PopShare]:
    """Returns the topics of which a group pops messages (5.x), all brokers together; gaps become those of brokers."""
    if source.saved is not None:
        shares = [share for broker in source.saved.brokers for share in broker.pop if share.group == group]
    else:
        from mqctl.snapshot.live.pop import gather_pop

        masters = [broker for broker in brokers if broker.address.is_master]
        shares_by_broker = (
            {} if source.asking is None else gather_pop(source.asking, masters, {group}, round(time() * 1000))
        )
        shares = [share for own in shares_by_broker.values() for share in own]
    return list(summed_shares(shares).values())
