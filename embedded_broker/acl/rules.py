"""What a request needs and what an account may: the rules of the plain ACL, without files and sockets.

Source: `Permission`, `PlainAccessResource`, `PlainAccessValidator.parse`, `PlainPermissionManager.checkPerm` of 4.9.8.
A consumer group counts as its retry topic. Codes that name no resource below need a good signature only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from mqctl.errors import ConfigurationError, MqctlError
from mqctl.model.java_hash import java_string_hash
from mqctl.model.names import RETRY_PREFIX
from mqctl.protocol.bodies_client import HeartbeatData
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import RemotingCommand

DENY, ANY, PUB, SUB = 1, 2, 4, 8
_WORDS = {"PUB": PUB, "SUB": SUB, "PUB|SUB": PUB | SUB, "SUB|PUB": PUB | SUB, "DENY": DENY}
ADMIN_CODES = frozenset(
    {
        RequestCode.UPDATE_AND_CREATE_TOPIC,
        RequestCode.UPDATE_BROKER_CONFIG,
        RequestCode.DELETE_TOPIC_IN_BROKER,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        RequestCode.DELETE_SUBSCRIPTIONGROUP,
    }
)
_EXCEPTION = "org.apache.rocketmq.acl.common.AclException"
_PACKAGE = "org.apache.rocketmq.acl.plain"
SHORTEST_KEY = 7
Needs = dict[str, int]


class AccessDenied(MqctlError):
    """A request that the access list does not let through.

    Attributes:
        code: what it is answered with.
        remark: what a 4.9.8 broker writes: exception, message, the frame it was thrown from.
    """

    code = ResponseCode.SYSTEM_ERROR

    def __init__(self, message: str | None, frame: str) -> None:
        super().__init__("access denied", reason=message or "the request cannot be read")
        place = f"{_PACKAGE}.{frame}"
        self.remark = f"{_EXCEPTION}: {message}, {place}" if message is not None else f"{_EXCEPTION}, {place}"


class PermissionRefused(AccessDenied):
    """The same of a 5.3.3 broker, whose remark is the bare sentence."""

    code = ResponseCode.NO_PERMISSION

    def __init__(self, remark: str) -> None:
        MqctlError.__init__(self, "access denied", reason=remark)
        self.remark = remark


@dataclass(frozen=True, slots=True)
class Account:
    """One account of an access list; the secret never shows in a representation.

    Attributes:
        white_address: pattern of addresses from which no signature is asked.
        perms: permission bits by topic, and by retry topic for groups; None when none are listed.
    """

    access_key: str
    secret_key: str = field(repr=False)
    white_address: str = ""
    admin: bool = False
    default_topic_perm: int = DENY
    default_group_perm: int = DENY
    perms: Mapping[str, int] | None = None

    def check(self, code: int, needs: Needs) -> None:
        """Passes when the account may do what a request needs. Raises AccessDenied."""
        if code in ADMIN_CODES and not self.admin:
            raise AccessDenied(
                f"Need admin permission for request code={code}, but accessKey={self.access_key} is not",
                "PlainPermissionManager.checkPerm(PlainPermissionManager.java:581)",
            )
        if self.perms is None and self.admin:
            return
        refused = [resource for resource, needed in needs.items() if not _allows(self._owned(resource), needed)]
        if not refused:
            return
        resource = min(refused, key=_place_in_hash_map(len(needs)))  # the first that Java comes to
        is_group = resource.startswith(RETRY_PREFIX)
        shown = f"group:{resource[len(RETRY_PREFIX) :]}" if is_group else f"topic:{resource}"
        line = 611 if resource in (self.perms or {}) else 606
        raise AccessDenied(
            f"No default permission for {shown}",
            f"PlainPermissionManager.checkPerm(PlainPermissionManager.java:{line})",
        )

    def _owned(self, resource: str) -> int:
        listed = (self.perms or {}).get(resource)
        if listed is not None:
            return listed
        return self.default_group_perm if resource.startswith(RETRY_PREFIX) else self.default_topic_perm


def _place_in_hash_map(count: int) -> Callable[[str], int]:
    """Returns what tells the bucket of a key in a `java.util.HashMap` into which `count` keys were put."""
    buckets = 16
    while count > buckets * 3 // 4:
        buckets *= 2

    def place(text: str) -> int:
        number = java_string_hash(text) & 0xFFFFFFFF
        return (number ^ number >> 16) & (buckets - 1)

    return place


def _allows(owned: int, needed: int) -> bool:
    if owned & DENY:
        return False
    return bool(owned & (PUB | SUB)) if needed & ANY else bool(owned & needed)


def permission(word: str | None) -> int:
    """Returns the bits of a word of the file; anything unknown denies."""
    return _WORDS.get((word or "").strip(), DENY)


def permissions(topics: Iterable[str], groups: Iterable[str]) -> dict[str, int] | None:
    """Reads `name=WORD` items of topics and groups; None when there are none.

    Raises:
        ConfigurationError: an item is not of that form.
    """
    parsed: dict[str, int] = {}
    for prefix, items in ((RETRY_PREFIX, groups), ("", topics)):
        for item in items:
            parts = [part for part in item.split("=") if part]
            if len(parts) != 2:
                raise ConfigurationError(
                    "a permission cannot be read", reason=f"{item!r} is not name=WORD", remedy="write topicA=PUB|SUB"
                )
            name = parts[0].strip()
            parsed[retry_name(name) if prefix else name] = permission(parts[1])
    return parsed or None


def retry_name(group: str) -> str:
    """Returns the name under which a group's permission is kept."""
    return RETRY_PREFIX + group


def needs_of(command: RemotingCommand) -> Needs:
    """Returns the permissions that a request needs, by topic and retry topic. Raises AccessDenied."""
    ext = command.ext_fields
    needs: Needs = {}
    if ext is None:
        return needs

    def want(resource: str | None, bits: int) -> None:
        if resource is not None:
            needs[resource] = bits

    def group(name: str) -> None:
        value = ext.get(name)
        want(None if value is None else retry_name(value), SUB)

    code = command.code
    if code in (RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2):
        topic_field, group_field = ("topic", "group") if code == RequestCode.SEND_MESSAGE else ("b", "a")
        topic = ext.get(topic_field)
        if topic is not None and topic.startswith(RETRY_PREFIX):
            group(group_field)
        else:
            want(topic, PUB)
    elif code == RequestCode.CONSUMER_SEND_MSG_BACK:
        group("group")
    elif code in (RequestCode.PULL_MESSAGE, RequestCode.UPDATE_CONSUMER_OFFSET):
        want(ext.get("topic"), SUB)
        group("consumerGroup")
    elif code == RequestCode.QUERY_MESSAGE:
        want(ext.get("topic"), SUB)
    elif code in (RequestCode.UNREGISTER_CLIENT, RequestCode.GET_CONSUMER_LIST_BY_GROUP):
        group("consumerGroup")
    elif code == RequestCode.HEART_BEAT:
        _heartbeat_needs(command, needs)
    return needs


def _heartbeat_needs(command: RemotingCommand, needs: Needs) -> None:
    try:
        heartbeat = HeartbeatData.from_bytes(command.body)
    except MqctlError as error:
        raise AccessDenied(None, "PlainAccessValidator.parse(PlainAccessValidator.java:134)") from error
    for consumer in heartbeat.consumer_data_set:
        needs[retry_name(consumer.group_name)] = SUB
        for subscription in consumer.subscription_data_set:
            needs[subscription.topic] = SUB
