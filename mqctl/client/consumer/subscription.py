"""Subscriptions as clients announce them (`FilterAPI.buildSubscriptionData` of 4.9.8)."""

from __future__ import annotations

from mqctl.errors import UsageError
from mqctl.filter.tags import ALL, parse_tags, tag_code
from mqctl.protocol.bodies_client import SubscriptionData
from mqctl.text import sentence

TAG = "TAG"
SQL92 = "SQL92"


def subscription(topic: str, expression: str | None = ALL, *, kind: str = TAG, version: int) -> SubscriptionData:
    """Returns the subscription of a topic.

    Args:
        expression: tags between `||`, `*` (also None or empty) for all; or a condition in SQL92.
        kind: `TAG` or `SQL92`.
        version: epoch milliseconds; brokers keep the newest.

    Raises:
        UsageError: an expression of bars alone, an empty condition, or another kind.
    """
    if kind == SQL92:
        if not (expression or "").strip():
            raise UsageError(
                sentence(
                    "client-sql-subscription-no-condition",
                    "the SQL92 subscription of {topic} has no condition",
                    topic=topic,
                )
            )
        return SubscriptionData(topic=topic, sub_string=expression or "", expression_type=SQL92, sub_version=version)
    if kind != TAG:
        raise UsageError(
            sentence(
                "client-expression-type-unknown", "expression type {kind} of {topic} is unknown", kind=kind, topic=topic
            ),
            remedy=sentence("client-use-tag-sql", "use TAG or SQL92"),
        )
    tags = parse_tags(expression)
    return SubscriptionData(
        topic=topic,
        sub_string=tags.expression,
        tags_set=tags.tags,
        code_set=tuple(dict.fromkeys(map(tag_code, tags.tags))),
        sub_version=version,
    )
