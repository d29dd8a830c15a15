"""Sharding keys of planted messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import cycle

from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.model.message import SHARDING_KEY


def keys_in_turn(weights: Mapping[str, int]) -> Iterator[str]:
    """Yields keys for ever, each as often in a round as its weight says; nothing without weights."""
    return cycle([key for key, weight in weights.items() for _ in range(weight)])


def with_key(message: OutgoingMessage, key: str) -> OutgoingMessage:
    """Returns the message with a sharding key, which is its index key as well unless it has one."""
    return replace(message, keys=message.keys or key, properties={**message.properties, SHARDING_KEY: key})
