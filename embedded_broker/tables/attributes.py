"""Attributes of topics and groups, and changes of them (`AttributeUtil`, `TopicAttributes` of 5.3.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from embedded_broker.remoting.refusals import Refusal
from mqctl.errors import RefusedError
from mqctl.model.config import TopicConfig
from mqctl.model.numbers import MOST_INT64, decimal
from mqctl.protocol.codes import ResponseCode

MESSAGE_TYPE = "message.type"
_QUEUE_TYPE, _BATCH = "queue.type", "BatchCQ"
_NO_BATCHES = "queue.type=BatchCQ is not served by the embedded broker: create the topic with queue.type=SimpleCQ"
_MOST = (1 << 63) - 1


class AttributeRefused(RefusedError):
    """A change of attributes that 5.3.3 does not take.

    Attributes:
        message: what it says.
    """

    def __init__(self, message: str) -> None:
        super().__init__("attributes not changed", reason=message)
        self.message = message


def _one_of(*values: str) -> Callable[[str], None]:
    def check(value: str) -> None:
        if value not in values:
            raise AttributeRefused(f"value is not in set: [{', '.join(values)}]")

    return check


def _reserve_time(value: str) -> None:
    number = decimal(value, -MOST_INT64)
    if number is None:
        raise AttributeRefused(f'For input string: "{value:.80}"')
    if not -1 <= number <= _MOST:
        raise AttributeRefused(f"value is not in range(-1, {_MOST})")


def _queue_type(value: str) -> None:
    _one_of(_BATCH, "SimpleCQ")(value)
    if value == _BATCH:
        raise AttributeRefused(_NO_BATCHES)


def check_served(topic: TopicConfig) -> None:
    """Refuses what would be read or written of a topic whose records are batches, which is not done here.

    A store of another broker may have one. Raises Refusal.
    """
    if topic.attributes and topic.attributes.get(_QUEUE_TYPE) == _BATCH:
        raise Refusal(ResponseCode.SYSTEM_ERROR, f"topic[{topic.name}]: {_NO_BATCHES}")


Known = Mapping[str, tuple[bool, Callable[[str], None]]]
TOPIC_ATTRIBUTES: Known = {
    _QUEUE_TYPE: (False, _queue_type),
    "cleanup.policy": (False, _one_of("COMPACTION", "DELETE")),
    MESSAGE_TYPE: (True, _one_of("UNSPECIFIED", "MIXED", "TRANSACTION", "FIFO", "DELAY", "NORMAL")),
    "reserve.time": (True, _reserve_time),
}
"""By name: whether it can be changed later, and what checks a value. Groups have none."""


def changes_of(text: str | None) -> dict[str, str]:
    """Reads `+name=value,-name`. Raises AttributeRefused."""
    changes: dict[str, str] = {}
    for item in (text or "").rstrip(",").split(",") if text else ():
        key, equals, rest = item.partition("=")
        value = rest.partition("=")[0]
        if equals and not value:
            raise AttributeRefused("Index 1 out of bounds for length 1")
        if equals and "+" not in key:
            raise AttributeRefused(f"add/alter attribute format is wrong: {key}")
        if not equals and "-" not in key:
            raise AttributeRefused(f"delete attribute format is wrong: {key}")
        if key in changes:
            raise AttributeRefused(f"key duplication: {key}")
        changes[key] = value
    return changes


def altered(current: Mapping[str, str] | None, changes: Mapping[str, str], known: Known) -> dict[str, str]:
    """Returns attributes after changes whose names begin with `+` or `-`.

    Args:
        current: what there is; None when topic or group are created by this.
        known: the attributes that exist.

    Raises:
        AttributeRefused: a change is not allowed.
    """
    attributes = dict(current or {})
    seen: set[str] = set()
    for key, value in changes.items():
        name = key[1:]
        if not name or "+" in name or "-" in name:
            raise AttributeRefused("kv string format wrong.")
        if name in seen:
            raise AttributeRefused(f"alter duplication key. key: {name}")
        seen.add(name)
        if current is None and not key.startswith("+"):
            raise AttributeRefused(f"only add attribute is supported while creating topic. key: {name}")
        if not key.startswith(("+", "-")):
            raise AttributeRefused(f"wrong format key: {name}")
        if key.startswith("-") and current is not None and name not in current:
            raise AttributeRefused(f"attempt to delete a nonexistent key: {name}")
        if name not in known:
            raise AttributeRefused(f"unsupported key: {name}")
        changeable, check = known[name]
        if current is not None and not changeable:
            raise AttributeRefused(f"attempt to update an unchangeable attribute. key: {name}")
        if key.startswith("+"):
            check(value)
            attributes[name] = value
        else:
            del attributes[name]
    return attributes
