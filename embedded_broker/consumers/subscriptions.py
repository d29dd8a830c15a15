"""Which messages a subscription wants, by the tags code in the consume queue (`ExpressionMessageFilter` of 4.9.8)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from mqctl.filter.tags import ALL, parse_tags
from mqctl.protocol.bodies_client import SubscriptionData


def subscription_of(topic: str, expression: str | None) -> SubscriptionData:
    """Builds the subscription of a pull that brings its own expression.

    Raises:
        TagExpressionError: the expression names no tag.
    """
    tags = parse_tags(expression)
    return SubscriptionData(
        topic=topic, sub_string=tags.expression, tags_set=tags.tags, code_set=tuple(sorted(tags.codes))
    )


@lru_cache(maxsize=1_024)
def wanted_by(expression: str | None) -> Callable[[int], bool] | None:
    """Returns the test of a tags code that an expression means; None where every message passes.

    Raises:
        TagExpressionError: the expression names no tag.
    """
    return wanted_codes(subscription_of("", expression))


def wanted_codes(subscription: SubscriptionData) -> Callable[[int], bool] | None:
    """Returns the test of a tags code; None where every message passes."""
    if subscription.sub_string == ALL:
        return None
    return frozenset(subscription.code_set).__contains__
