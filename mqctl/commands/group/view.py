"""Consumer groups as tables."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.commands.group.rows import (
    GroupListReport,
    GroupMembers,
    GroupOnBroker,
    GroupRow,
    MemberRow,
    SubscriptionRow,
)
from mqctl.model.column import columns_of
from mqctl.model.member import PULL
from mqctl.model.numbers import MOST_INT32
from mqctl.model.pop_share import PopShare
from mqctl.render.document import Document, Paragraphs, Table
from mqctl.text import Sentence, sentence

_MEMBER_COLUMNS = columns_of(
    MemberRow,
    *("client_id", "addresses", "language", "version", "brokers", "queue_count", "cached_count", "subscriptions"),
    *("start_time_ms", "grpc_settings", "held_since_ms"),
)
_SHARE_COLUMNS = columns_of(
    PopShare,
    *("topic", "mode", "ready_count", "invisible_count", "due_count", "retry_count", "given_up_count"),
    *("blocked_queue_count", "next_visible_ms"),
)
_NOT_KNOWN = sentence("group-members-not-known-store", "members are not known: a store does not show who is online")


def list_document(rows: Sequence[GroupRow]) -> Document:
    """Builds the document of `group list`."""
    some_pop = any(row.consume_mode not in (None, PULL) for row in rows)
    columns = [column for column in columns_of(GroupRow) if some_pop or column.key != "consume_mode"]
    value = GroupListReport(groups=list(rows))
    return Document(schema="group.list/1", value=value, records=rows, blocks=[Table(columns, rows)])


def _how_members_consume(kinds: str) -> Paragraphs:
    return Paragraphs([sentence("group-how-members-consume", "how members consume: {kinds}", kinds=kinds)])


def members_document(group: GroupMembers, *, online_known: bool = True) -> Document:
    """Builds the document of `group members`; with settings, that of `group describe`.

    Args:
        online_known: whether the source tells who is online; a store does not.
    """
    blocks: list[Table | Paragraphs] = []
    if group.brokers:
        title = sentence("consumer-group", "Consumer group {group}", group=group.group)
        blocks.append(Table(columns_of(GroupOnBroker), group.brokers, title=title))
    if group.refused_by:
        refusal = sentence(
            "every-pull-refused-no",
            "{brokers}: every pull of {group} is refused, there are no settings of the group and none "
            "are made (autoCreateSubscriptionGroup=false). Create it (`mqctl group create`), or check "
            "its name.",
            brokers=group.refused_by,
            group=group.group,
        )
        blocks.append(Paragraphs([refusal]))
    blocks += _online_tables(group, online_known=online_known)
    if group.pops:
        title = sentence("title-what-the-group-pops", "What the group pops")
        blocks.append(Table(_SHARE_COLUMNS, group.pops, title=title))
    kinds = (group.message_model, group.consume_type, group.consume_mode, group.consume_from_where)
    if any(kinds):
        blocks.append(_how_members_consume(", ".join(filter(None, kinds))))
    blocks += _retry_words(group)
    schema = "group.describe/1" if group.brokers else "group.members/1"
    return Document(schema=schema, value=group, records=group.members, csv_columns=_MEMBER_COLUMNS, blocks=blocks)


def _online_tables(value: GroupMembers, *, online_known: bool) -> list[Table | Paragraphs]:
    """Returns who is online and what brokers filter by for them."""
    return [
        Table(
            _MEMBER_COLUMNS,
            value.members,
            empty=sentence("no-member-online", "no member of {group} is online", group=value.group)
            if online_known
            else _NOT_KNOWN,
        ),
        Table(
            columns_of(SubscriptionRow),
            value.subscriptions,
            title=sentence("title-what-brokers-filter-by", "What brokers filter by"),
            empty=sentence("empty-no-subscriptions", "no subscriptions")
            if online_known
            else sentence("not-known", "not known"),
        ),
    ]


_FOR_EVER = Sentence(
    "group-orderly-members-retry-failed",
    "{group}: orderly members retry a failed message in place, without a limit; its queue is "
    "blocked meanwhile, and nothing shows in retry topics (MQ503). The limit of brokers is for "
    "concurrent members.",
)
_IN_PLACE = Sentence(
    "group-orderly-members-retry-failed-message",
    "{group}: orderly members retry a failed message in place (at most: {most:,}); its queue "
    "is blocked meanwhile, and nothing shows in retry topics (MQ503). The limit of brokers is "
    "for concurrent members.",
)


def _retry_words(value: GroupMembers) -> list[Paragraphs]:
    most = value.retries_in_place
    if most is None:
        return []
    if most == MOST_INT32:
        return [Paragraphs([_FOR_EVER(group=value.group)])]
    return [Paragraphs([_IN_PLACE(group=value.group, most=most)])]
