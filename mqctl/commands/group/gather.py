"""Gathers the members of a group, and what brokers know of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import time

from mqctl.cli.sources.live_or_saved import LiveOrSaved
from mqctl.commands.group.rows import GroupMembers, GroupOnBroker, GroupRow, MemberRow, SubscriptionRow
from mqctl.model.config import creates_groups
from mqctl.model.gap import Cause, Gap, Part
from mqctl.model.member import GroupMembership, RunningInfo, Subscription, consume_mode
from mqctl.model.numbers import MOST_INT32, decimal
from mqctl.model.pop_share import PopShare, summed_shares
from mqctl.protocol.codes import version_text
from mqctl.snapshot.live.brokers import LiveBroker, ask_settings
from mqctl.text import sentence


def gather_members(
    look: LiveOrSaved,
    brokers: list[LiveBroker],
    memberships: Mapping[str, GroupMembership],
    group: str,
    *,
    whole: bool = False,
) -> tuple[GroupMembers, list[Gap], list[Gap]]:
    """Asks the members of a group what they do, and brokers how they have it.

    Args:
        brokers: each that knows members with the settings of the group.
        memberships: by name of the broker.
        whole: with its settings on each broker, and what it pops.

    Returns:
        The group, what could not be asked of members, and what only some releases and clients tell.
    """
    numbered = {n: (memberships[item.name],) for n, item in enumerate(brokers) if item.name in memberships}
    refused_by = _refusing(look, [brokers[number] for number in numbered], group)
    running, unanswered = look.running(brokers, numbered)
    modes = look.declared_modes(brokers).get(group, ())
    unseen = _missing_members(look, brokers, memberships, group)
    pops = _shares(look, brokers, group) if whole else []
    first = next(iter(memberships.values()), GroupMembership(group=group))
    members = GroupMembers(
        group=group,
        consume_type=first.consume_type,
        message_model=first.message_model.value if first.message_model else None,
        consume_mode=consume_mode(memberships.values()) or ", ".join(sorted(modes)) or None,
        consume_from_where=first.consume_from_where,
        members=_member_rows(memberships, running),
        subscriptions=_subscription_rows(memberships),
        brokers=settings_rows(brokers, group) if whole else [],
        pops=pops,
        refused_by=refused_by,
        retries_in_place=_retries_in_place(running),
    )
    gaps = [gap for gap in unanswered if gap.cause is not Cause.UNSUPPORTED]
    return members, gaps, [*unseen, *(gap for gap in unanswered if gap.cause is Cause.UNSUPPORTED)]


def settings_rows(brokers: Iterable[LiveBroker], group: str) -> list[GroupOnBroker]:
    """Returns the settings of a group on each broker that has it, by name."""
    configs = {broker.name: broker.groups[group] for broker in brokers if group in broker.groups}
    return [GroupOnBroker.of(broker, config) for broker, config in sorted(configs.items(), key=lambda item: item[0])]


def _refusing(source: LiveOrSaved, brokers: list[LiveBroker], group: str) -> list[str]:
    """Returns those of the brokers that refuse all pulls of a group: they know no settings of it, and make none.

    Args:
        brokers: each with the settings of the group.
    """
    answered = [item for item in brokers if all(gap.part is not Part.GROUPS for gap in item.gaps)]
    unknown = [item for item in answered if group not in item.groups]
    source.ask(ask_settings, unknown)
    return [item.name for item in unknown if not creates_groups(item.config)]


def _missing_members(
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
                reason=sentence("topic-store-not-tell-who", "a store does not show who is online"),
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


def _shares(source: LiveOrSaved, brokers: list[LiveBroker], group: str) -> list[PopShare]:
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


def _subscription_rows(memberships: Mapping[str, GroupMembership]) -> list[SubscriptionRow]:
    by_broker = sorted(memberships.items())
    heard = dict.fromkeys((held.known_to(name), item) for name, held in by_broker for item in held.subscriptions)
    return [
        SubscriptionRow(
            broker=broker,
            topic=item.topic,
            expression_type=item.expression_type,
            expression=item.expression,
            version_time_ms=item.version_ms,
        )
        for broker, item in heard
    ]


def _subscription_text(wanted: Subscription) -> str:
    """Writes a subscription as `topic: tags`."""
    shown = " || ".join(wanted.tags) if wanted.expression_type == "TAG" and wanted.tags else wanted.expression
    kind = "" if wanted.expression_type == "TAG" else f"{wanted.expression_type} "
    return f"{wanted.topic}: {kind}{shown}"


def _member_rows(memberships: Mapping[str, GroupMembership], running: Sequence[RunningInfo]) -> list[MemberRow]:
    """Joins what brokers say of the members with what these say of themselves."""
    infos = {info.client_id: info for info in running}
    known: dict[str, list[tuple[str, str, str | None, int | None]]] = {}
    for broker, held in sorted(memberships.items()):
        for member in held.members:
            proxy = held.proxied.get(member.client_id)
            entry = (
                sentence("common-proxy", "proxy {proxy}", proxy=proxy) if proxy else broker,
                member.address,
                member.language,
                member.version,
            )
            known.setdefault(member.client_id, []).append(entry)
    return [_member(client, entries, infos.get(client)) for client, entries in sorted(known.items())]


def _member(
    client: str, entries: Sequence[tuple[str, str, str | None, int | None]], info: RunningInfo | None
) -> MemberRow:
    wanted = [item for item in (info.subscriptions if info else ()) if not item.topic.startswith("%")]
    held = [queue for queue in (info.queues if info else ()) if not queue.dropped]
    version = entries[0][3]
    return MemberRow(
        client_id=client,
        addresses=", ".join(dict.fromkeys(address for _, address, _, _ in entries)),
        language=entries[0][2],
        version=_version(version, info),
        brokers=", ".join(dict.fromkeys(broker for broker, _, _, _ in entries)),
        queue_count=len(held) if info else None,
        cached_count=sum(queue.cached_count for queue in held) + sum(info.held_counts.values()) if info else None,
        subscriptions="; ".join(map(_subscription_text, wanted)) if info else None,
        start_time_ms=info.start_time_ms if info else None,
        grpc_settings=info.grpc_settings if info else None,
        held_since_ms=info.held_since_ms if info else None,
    )


def _version(ordinal: int | None, info: RunningInfo | None) -> str | None:
    """Returns a client's release; a gRPC client has its own, and brokers know that of its proxy."""
    if info is not None and info.grpc_version is not None:
        return f"{info.grpc_version} (gRPC)"
    return version_text(ordinal) if ordinal else None


def _retries_in_place(running: Iterable[RunningInfo]) -> int | None:
    """Java's orderly consumers take -1, which is what they have unless it is set, for no limit at all."""
    limits = [decimal(info.properties.get("maxReconsumeTimes"), high=MOST_INT32) for info in running if info.orderly]
    return max((MOST_INT32 if limit is None else limit for limit in limits), default=None)


def group_row(
    group: str, brokers: Iterable[str], memberships: Sequence[GroupMembership], modes: Iterable[str] = ()
) -> GroupRow:
    """Builds the row of a group from what brokers say of it.

    Args:
        modes: how brokers have it consume, for a group without members.
    """
    clients = {client for item in memberships for client in item.client_ids}
    topics = {entry.topic for item in memberships for entry in item.subscriptions if not entry.topic.startswith("%")}
    first = memberships[0] if memberships else None
    return GroupRow(
        group=group,
        member_count=len(clients),
        message_model=first.message_model.value if first and first.message_model else None,
        consume_type=first.consume_type if first else None,
        consume_mode=consume_mode(memberships) or ", ".join(sorted(modes)) or None,
        topics=", ".join(sorted(topics)),
        brokers=", ".join(sorted(brokers)),
    )
