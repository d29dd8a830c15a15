"""What a client is answered to its settings: its own, with the server's filled in (`GrpcClientSettingsManager`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.ground import checked_group, checked_topic
from embedded_broker.proxy.statuses import Refused
from embedded_broker.proxy.times import set_ms

if TYPE_CHECKING:
    from embedded_broker.proxy.ground import ProxyGround
    from mqctl.model.config import SubscriptionGroupConfig

MOST_BODY_BYTES = 4 * 1024 * 1024
MOST_TAKEN = 32
_PRODUCER_ATTEMPTS, _FIRST_MS, _LAST_MS, _FACTOR = 3, 10, 1_000, 2.0
_DEFAULT_RETRIES = 16
_LADDER_MS = tuple(
    seconds * 1_000
    for seconds in (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1_200, 1_800, 3_600, 7_200)
)
_EXPONENTIAL, _GROUP_FIRST_MS, _GROUP_LAST_MS = "EXPONENTIAL", 5_000, 7_200_000
_LONG_POLL_MS = 20_000
_PREFIX = "process client telemetryCommand failed. "


class SettingsRefused(Exception):
    """Settings that end the telemetry stream."""


def merged_settings(settings: pb.Settings, ground: ProxyGround) -> pb.Settings:
    """Returns the settings that a client is answered. Raises SettingsRefused."""
    answer = pb.Settings()
    answer.CopyFrom(settings)
    answer.metric.SetInParent()
    try:
        if settings.HasField("publishing"):
            _publish(answer)
        elif settings.HasField("subscription"):
            _subscribe(answer, ground)
        else:
            raise SettingsRefused("there is no publishing or subscription data in settings")
    except Refused as refused:
        raise SettingsRefused(_PREFIX + refused.text) from refused
    return answer


def _publish(answer: pb.Settings) -> None:
    for topic in answer.publishing.topics:
        checked_topic(topic)
    answer.publishing.max_body_size = MOST_BODY_BYTES
    answer.publishing.validate_message_type = True
    policy = answer.backoff_policy
    policy.Clear()
    policy.max_attempts = _PRODUCER_ATTEMPTS
    _exponential(policy, _FIRST_MS, _LAST_MS)


def _subscribe(answer: pb.Settings, ground: ProxyGround) -> None:
    group = ground.group(checked_group(answer.subscription.group))
    for entry in answer.subscription.subscriptions:
        checked_topic(entry.topic)
    answer.subscription.fifo = group is not None and group.consume_message_orderly
    answer.subscription.receive_batch_size = MOST_TAKEN
    set_ms(answer.subscription.long_polling_timeout, _LONG_POLL_MS)
    policy = answer.backoff_policy
    policy.Clear()
    policy.max_attempts = max_attempts(group)
    if group is not None and group.retry_policy_type == _EXPONENTIAL:
        _exponential(policy, _GROUP_FIRST_MS, _GROUP_LAST_MS)
        return
    for ms in (group.retry_intervals_ms if group is not None else ()) or _LADDER_MS:
        set_ms(policy.customized_backoff.next.add(), ms)


def max_attempts(group: SubscriptionGroupConfig | None) -> int:
    """Returns how often a message is delivered to a group before it counts as dead."""
    return (_DEFAULT_RETRIES if group is None else group.retry_max_times) + 1


def _exponential(policy: pb.RetryPolicy, first_ms: int, last_ms: int) -> None:
    set_ms(policy.exponential_backoff.initial, first_ms)
    set_ms(policy.exponential_backoff.max, last_ms)
    policy.exponential_backoff.multiplier = _FACTOR
