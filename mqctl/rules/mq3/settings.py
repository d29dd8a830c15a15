"""MQ311, MQ312, MQ314: consumers that their own settings hold back or work against, and members that differ in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import RunningInfo
from mqctl.model.numbers import decimal
from mqctl.model.spans import MINUTE_MS
from mqctl.rules.engine.audience import ONLINE, SHARING
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Verdict, rule

_NEEDS = (Part.MEMBERS, Part.RUNNING_INFO)
_USUAL_BATCH = 32
# What a group needs alike in all members; threads may differ, machines do.
_COMPARED = (
    "consumeFromWhere",
    "consumeMessageBatchMaxSize",
    "consumeTimeout",
    "maxReconsumeTimes",
    "pullBatchSize",
    "pullInterval",
    "suspendCurrentQueueTimeMillis",
)


def _set(info: RunningInfo, name: str) -> int | None:
    return decimal(info.properties.get(name))


@rule(
    "MQ311",
    Severity.WARNING,
    source="DefaultMQPushConsumer.pullInterval, pullThresholdForQueue",
    needs=_NEEDS,
    playbook="backlog",
    groups=SHARING,
    texts=RuleTexts(
        title="A consumer is held back by its own settings",
        speaks="a second of rest after each pull, and 500 messages wait",
        silent="the same rest with the messages of one pull waiting",
        what={
            "interval": "{client} of group {group} pauses {interval_ms} after each pull of {batch_count:message} "
            "(pullInterval): it can take {limit_tps} at most, and {waiting_count:message waits/wait}.",
            "threshold": "{client} of group {group} stops pulling at {limit_count:cached message} (pullThresholdForQueue) in {queue_count:queue}, and {waiting_count:message waits/wait}.",
        },
        effect="More threads or instances help little: the setting limits each queue.",
        advice="Set pullInterval to 0, or pullThresholdForQueue to its default of 1000, unless the listener must be "
        "throttled.",
        explain="Reads the settings that members report. They matter only where messages are waiting.",
        next_command="mqctl group members {source} -g {group} --client {client}",
    ),
)
def held_back_by_itself(case: ClusterCase) -> Iterator[Verdict]:
    """A member whose own pull settings are what bounds it, while messages wait."""
    for view in case.views:
        for client, info in sorted(view.running.items()):
            subject = Subject(kind=SubjectKind.CLIENT, group=view.group, client=client)
            params = {"group": view.group, "client": client}
            batch = _set(info, "pullBatchSize") or _USUAL_BATCH
            interval_ms = _set(info, "pullInterval") or 0
            limit = _set(info, "pullThresholdForQueue")
            full = [held for held in info.queues if limit is not None and held.cached_count >= limit > 0]
            if interval_ms <= 0 and not full:
                continue
            waiting = case.waiting_in(view.group, [held.queue for held in info.queues if not held.dropped]) or 0
            if interval_ms > 0 and waiting > batch * len(info.queues):
                yield Verdict(
                    subject=subject,
                    params=params,
                    evidence={
                        "interval_ms": interval_ms,
                        "batch_count": batch,
                        "limit_tps": batch * len(info.queues) * 1_000 / interval_ms,
                        "waiting_count": waiting,
                    },
                    variant="interval",
                )
            if full and limit is not None and limit < case.settings.cache_limit_count and waiting > limit:
                yield Verdict(
                    subject=subject,
                    params=params,
                    evidence={"limit_count": limit, "queue_count": len(full), "waiting_count": waiting},
                    variant="threshold",
                )


@rule(
    "MQ312",
    Severity.INFO,
    source="DefaultMQPushConsumer",
    needs=_NEEDS,
    playbook="subscription-change",
    groups=ONLINE,
    texts=RuleTexts(
        title="Members of a group are set up differently",
        speaks="members differ in how often they try again",
        silent="members are set up alike",
        what={"": "Members of group {group} differ in {setting}: {sides}."},
        effect="How a message is handled depends on which member gets it.",
        advice="Give all members the same settings. During a rollout this passes by itself.",
        explain="Compares reported settings that must be the same in a group; thread counts are left out.",
        next_command="mqctl group members {source} -g {group}",
    ),
)
def set_up_differently(case: ClusterCase) -> Iterator[Verdict]:
    """Members of one group that differ in settings that decide what becomes of a message."""
    for view in case.views:
        for name in _COMPARED:
            sides: dict[str, list[str]] = {}
            for client, info in view.running.items():
                if name in info.properties:
                    sides.setdefault(info.properties[name], []).append(client)
            if len(sides) > 1:
                counts = "; ".join(f"{value}: {len(clients)}" for value, clients in sorted(sides.items()))
                yield Verdict(
                    subject=view.subject,
                    params={"group": view.group, "setting": name, "sides": counts},
                    evidence={"member_count": len(view.running), "value_count": len(sides)},
                )


# After so long without a heartbeat a broker drops a client; after so long without a pull a client drops its queue
# (`ClientHousekeepingService`, `ProcessQueue.isPullExpired`).
_EXPIRED_MS = 2 * MINUTE_MS


@dataclass(frozen=True, slots=True)
class _Doubtful:
    """A setting whose value works against the consumer that has it.

    Attributes:
        limit: what it must stay below, or must not pass where `reaches` is not set.
    """

    variant: str
    name: str
    limit: Callable[[RunningInfo], int]
    unit: str
    severity: Severity
    reaches: bool = True

    def of(self, info: RunningInfo) -> int | None:
        """Returns the value where it is doubtful."""
        value = _set(info, self.name)
        if value is None:
            return None
        limit = self.limit(info)
        return value if value > limit or (self.reaches and value == limit) else None


_DOUBTFUL = (
    _Doubtful("heartbeat", "heartbeatBrokerInterval", lambda _: _EXPIRED_MS, "ms", Severity.ERROR),
    _Doubtful("pulls", "pullInterval", lambda _: _EXPIRED_MS, "ms", Severity.WARNING),
    _Doubtful("offsets", "persistConsumerOffsetInterval", lambda _: MINUTE_MS, "ms", Severity.WARNING),
    _Doubtful("routes", "pollNameServerInterval", lambda _: 5 * MINUTE_MS, "ms", Severity.WARNING),
    _Doubtful(
        "batch",
        "consumeMessageBatchMaxSize",
        lambda info: _set(info, "pullBatchSize") or _USUAL_BATCH,
        "count",
        Severity.INFO,
        reaches=False,
    ),
)


@rule(
    "MQ314",
    Severity.ERROR,
    source="ClientConfig, DefaultMQPushConsumer",
    needs=_NEEDS,
    playbook="stuck-consumer",
    groups=ONLINE,
    texts=RuleTexts(
        title="A consumer's setting works against it",
        speaks="a member sends a heartbeat every five minutes",
        silent="a member sends one every 100 seconds",
        what={
            "heartbeat": "{member_count:member} of group {group} with heartbeatBrokerInterval={setting_ms}: brokers drop clients that they have "
            "not heard of for {limit_ms}.",
            "pulls": "{member_count:member} of group {group} with pullInterval={setting_ms}: a client drops a queue that it has not pulled for {limit_ms}.",
            "offsets": "{member_count:member} of group {group} with persistConsumerOffsetInterval={setting_ms}: what was consumed since is consumed again after a crash.",
            "routes": "{member_count:member} of group {group} with pollNameServerInterval={setting_ms}: new brokers and queues are seen that late.",
            "batch": "{member_count:member} of group {group} with {setting}={setting_count}: no batch is larger than what one pull brings, "
            "{limit_count} (pullBatchSize).",
        },
        effect="Members vanish and come back, queues change hands, messages are redelivered, or the setting does nothing.",
        advice="Go back to the defaults: heartbeatBrokerInterval and pollNameServerInterval 30 s, persistConsumerOffsetInterval 5 s, pullInterval 0; "
        "raise pullBatchSize together with consumeMessageBatchMaxSize.",
        explain="Reads the settings that members report; of those that all clients share, 5.x clients report them, 4.x clients do not. The longest of "
        "the members' values is shown.",
        next_command="mqctl group members {source} -g {group}",
    ),
)
def set_against_itself(case: ClusterCase) -> Iterator[Verdict]:
    """Members with a setting that does not do what it was set for, or does harm."""
    for view in case.views:
        for setting in _DOUBTFUL:
            values = {client: value for client, info in view.running.items() if (value := setting.of(info)) is not None}
            if values:
                client = max(values, key=lambda name: (values[name], name))
                yield Verdict(
                    subject=view.subject,
                    params={"group": view.group, "setting": setting.name},
                    evidence={
                        "member_count": len(values),
                        f"setting_{setting.unit}": values[client],
                        f"limit_{setting.unit}": setting.limit(view.running[client]),
                    },
                    variant=setting.variant,
                    severity=setting.severity,
                )
