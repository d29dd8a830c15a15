"""Which messages a subscription wants, by the tags code in the consume queue (`ExpressionMessageFilter` of 4.9.8)."""

from __future__ import annotations

from collections.abc import Callable

from mqctl.errors import BadInputError
from mqctl.model.java_hash import java_string_hash
from mqctl.protocol.bodies_client import SubscriptionData

ALL = "*"
TAG = "TAG"


class SubscriptionError(BadInputError):
    """A subscription expression that names no tag."""


def parse_tags(topic: str, expression: str | None) -> SubscriptionData:
    """Reads a tag expression as `FilterAPI.buildSubscriptionData` does.

    Raises:
        SubscriptionError: it consists of separators only.
    """
    text = expression or ALL
    if text == ALL:
        return SubscriptionData(topic=topic, sub_string=ALL)
    tags = [tag.strip() for tag in text.split("||")]
    tags = [tag for tag in tags if tag]
    if not tags:
        raise SubscriptionError("a tag expression cannot be read", reason=f"{text!r} names no tag")
    codes = tuple(java_string_hash(tag) for tag in tags)
    return SubscriptionData(topic=topic, sub_string=text, tags_set=tuple(tags), code_set=codes)


def wanted_codes(subscription: SubscriptionData) -> Callable[[int], bool] | None:
    """Returns the test of a tags code; None where every message passes."""
    if subscription.class_filter_mode or subscription.sub_string == ALL:
        return None
    return frozenset(subscription.code_set).__contains__
