"""MQ64x: brokers' own settings against what is in use, and against each other's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import PULL
from mqctl.model.numbers import decimal
from mqctl.model.route import MASTER_ID
from mqctl.model.snapshot import BrokerSnapshot
from mqctl.model.spans import HOUR_MS
from mqctl.rules.engine.rule import Case, ClusterCase, RuleTexts, Verdict, rule
from mqctl.text import sentence

_CONFIG = (Part.CONFIG,)
_NAMED = 5
# Computes the bit maps of SQL92 subscriptions; stores them; lets groups subscribe so.
_CALCULATES, _EXTENDS, _FILTERS = "enableCalcFilterBitMap", "enableConsumeQueueExt", "enablePropertyFilter"


def _value(broker: BrokerSnapshot, name: str) -> str:
    return broker.config.get(name, "").strip().lower()


def _is(wanted: str) -> Callable[[str, Case], bool]:
    return lambda value, _: value == wanted


def _holds(wanted: str) -> Callable[[str, Case], bool]:
    return lambda value, _: wanted in value


def _is_ahead(value: str, case: Case) -> bool:
    return (decimal(value) or 0) > case.now_ms


def _typed(kind: str) -> Callable[[Case], str | None]:
    """Returns what finds the topics of a message type (5.x)."""
    return lambda case: _named(item.name for item in case.broker.topics if item.message_type == kind)


def _named(names: Iterable[str]) -> str | None:
    """Returns names in one text, of many the first; None of none."""
    known = sorted(set(names))
    return ", ".join(known[:_NAMED]) + (", ..." if len(known) > _NAMED else "") or None


def _transactions(case: Case) -> str | None:
    pending = case.broker.transactions.pending if case.broker.transactions else ()
    return _named(item.topic for item in pending if item.topic) or _typed("TRANSACTION")(case)


def _precious(case: Case) -> str | None:
    """Finds topics whose order or transactions say that their messages matter, where no slave has them at once."""
    if _value(case.broker, "brokerRole") == "sync_master":
        return None
    return _named(item.name for item in case.broker.topics if item.message_type in ("FIFO", "TRANSACTION"))


def _compacted(case: Case) -> str | None:
    topics = case.broker.topics
    return _named(item.name for item in topics if item.attributes.get("cleanup.policy") == "COMPACTION")


def _pulling(case: Case) -> str | None:
    return next((item.group for item in case.broker.memberships if item.consume_type == PULL), None)


def _reading_old(case: Case) -> str | None:
    """Finds a group whose next message has left memory long ago."""
    ages = (
        (case.now_ms - held.next_store_time_ms, held.group)
        for held in case.broker.consumer_offsets
        if held.next_store_time_ms is not None
    )
    return next((group for age_ms, group in ages if age_ms > HOUR_MS), None)


def _late_delays(case: Case) -> str | None:
    levels = case.broker.delay.levels if case.broker.delay else ()
    return next(
        (
            sentence("common-level", "level {level}", level=item.level)
            for item in levels
            if item.queue and item.queue.overdue_count
        ),
        None,
    )


def _shared(case: Case) -> str | None:
    return next((item.group for item in case.broker.memberships if len(item.client_ids) > 1), None)


def _without(*partners: str) -> Callable[[Case], str | None]:
    """Returns what finds the first of the settings that are off and without which another one does nothing."""
    return lambda case: next((f"{name}=false" for name in partners if _value(case.broker, name) == "false"), None)


def _anything(case: Case) -> str | None:
    return case.broker.name or ""


@dataclass(frozen=True, slots=True)
class _Switch:
    """A setting that stands against something in use.

    Attributes:
        against: tells of a value whether it does.
        user: finds what is in use; None when nothing is.
    """

    variant: str
    name: str
    against: Callable[[str, Case], bool]
    user: Callable[[Case], str | None]
    severity: Severity


_SWITCHES = (
    _Switch("timers", "timerWheelEnable", _is("false"), _typed("DELAY"), Severity.ERROR),
    _Switch("timers-stopped", "timerStopEnqueue", _is("true"), _typed("DELAY"), Severity.ERROR),
    _Switch("timers-stopped", "timerStopDequeue", _is("true"), _typed("DELAY"), Severity.ERROR),
    _Switch("transactions", "rejectTransactionMessage", _is("true"), _transactions, Severity.ERROR),
    _Switch("pulling", "rejectPullConsumerEnable", _is("true"), _pulling, Severity.ERROR),
    _Switch("compaction", "enableCompaction", _is("false"), _compacted, Severity.ERROR),
    _Switch("sends", "startAcceptSendRequestTimeStamp", _is_ahead, _anything, Severity.ERROR),
    _Switch("cold", "coldDataFlowControlEnable", _is("true"), _reading_old, Severity.ERROR),
    _Switch("rocksdb", "storeType", _holds("rocksdb"), _late_delays, Severity.ERROR),
    _Switch("notice", "notifyConsumerIdsChangedEnable", _is("false"), _shared, Severity.INFO),
    _Switch("flush", "flushDiskType", _is("async_flush"), _precious, Severity.INFO),
    _Switch("bitmaps", _CALCULATES, _is("true"), _without(_EXTENDS, _FILTERS), Severity.INFO),
    _Switch("bitmaps", _EXTENDS, _is("true"), _without(_CALCULATES, _FILTERS), Severity.INFO),
)


@rule(
    "MQ640",
    Severity.ERROR,
    source="BrokerConfig, MessageStoreConfig",
    needs=_CONFIG,
    playbook="broker-down",
    texts=RuleTexts(
        title="A setting contradicts something in use",
        speaks="timer messages are sent to a broker without timers",
        silent="a broker without timers has a usual topic",
        what={
            "timers": "{broker} has {setting}, and timer messages are sent to {user}: they are delivered at once.",
            "timers-stopped": "{broker} has {setting}, and timer messages are sent to {user}: its timer has stopped.",
            "transactions": "{broker} has {setting}, and transactions are sent to {user}: their half messages are refused.",
            "pulling": "{broker} has {setting}, and the members of group {user} pull by themselves and are refused.",
            "compaction": "{broker} has {setting}, and compaction is configured for {user}: it does not run.",
            "sends": "{broker} refuses all sends until {until_time_ms} ({setting}).",
            "cold": "{broker} has {setting}, and group {user} reads messages that left memory long ago: its pulls are held back or refused.",
            "rocksdb": "{broker} has {setting}, and delayed messages are overdue ({user}): its delay service reads its queues slowly.",
            "notice": "{broker} has {setting}: members of group {user} and others learn of changes only after 20 s.",
            "flush": "{broker} has {setting} and waits for no slave: a power cut takes the last messages of ordered and transactional topics, too: {user}.",
            "bitmaps": "{broker} has {setting} but {user}: bit maps of SQL92 filters need enableCalcFilterBitMap, enableConsumeQueueExt and enablePropertyFilter together.",
        },
        effect="The feature does not work there as its users expect.",
        advice="Change the setting with `mqctl broker set`, or stop using the feature on this broker. Some settings "
        "are read only at start.",
        explain="Compares switches of the broker with its topics, members, offsets and delay levels. A setting that nothing in use contradicts is not reported.",
        next_command="mqctl broker config {source} {broker}",
    ),
)
def setting_against_use(case: Case) -> Iterator[Verdict]:
    """A setting of a broker that stands against something that is in use there."""
    for switch in _SWITCHES:
        value = _value(case.broker, switch.name)
        user = switch.user(case) if value and switch.against(value, case) else None
        if user is not None:
            moment = switch.against is _is_ahead
            yield Verdict(
                subject=Subject(kind=SubjectKind.BROKER, broker=case.broker.name),
                params={
                    "broker": case.broker.name,
                    "setting": switch.name if moment else f"{switch.name}={value}",
                    "user": user,
                },
                evidence={"until_time_ms": decimal(value)} if moment else {},
                variant=switch.variant,
                severity=switch.severity,
            )


_WARNED, _TOLD = Severity.WARNING, Severity.INFO
# What clients meet when brokers of one cluster differ in it; access control has rules of its own.
_COMPARED = {
    "autoCreateSubscriptionGroup": _WARNED,
    "autoCreateTopicEnable": _WARNED,
    "enablePropertyFilter": _WARNED,
    "fileReservedTime": _WARNED,
    "maxMessageSize": _WARNED,
    "messageDelayLevel": _WARNED,
    "namesrvAddr": _WARNED,
    "rejectTransactionMessage": _WARNED,
    "storeType": _WARNED,
    "timerWheelEnable": _WARNED,
    "transactionCheckMax": _WARNED,
    "deleteWhen": _TOLD,
    "flushDiskType": _TOLD,
    "msgTraceTopicName": _TOLD,
    "traceTopicEnable": _TOLD,
    "transactionTimeOut": _TOLD,
    "useServerSideResetOffset": _TOLD,
}


@rule(
    "MQ641",
    Severity.WARNING,
    source="BrokerConfig",
    needs=_CONFIG,
    playbook="broker-down",
    texts=RuleTexts(
        title="Brokers of one cluster are set up differently",
        speaks="retention differs between two masters of a cluster",
        silent="two masters list the same name servers in another order",
        what={"": "{setting} differs in {cluster}: {sides}."},
        effect="Brokers behave differently: refusals, delays or losses come and go with the queue.",
        advice="Set it to one value on all masters (`mqctl cluster describe --config`), and restart those where it is read at the start only.",
        explain="Compares the masters of a cluster in settings that clients rely on. Differences in where files lie, in ports and names are not reported.",
        next_command="mqctl broker config {source}",
    ),
)
def brokers_differ(case: ClusterCase) -> Iterator[Verdict]:
    """Masters of one cluster whose settings differ in what clients rely on."""
    masters: dict[str, list[BrokerSnapshot]] = {}
    for broker in case.snapshot.brokers:
        if broker.config and broker.broker_id == MASTER_ID:
            masters.setdefault(broker.cluster or "", []).append(broker)
    for cluster, brokers in sorted(masters.items()):
        for name, severity in _COMPARED.items():
            sides: dict[str, list[str]] = {}
            for broker in brokers:
                if name in broker.config:
                    sides.setdefault(_comparable(name, broker.config[name]), []).append(broker.name or "")
            if len(sides) > 1:
                values = "; ".join(
                    f"{', '.join(sorted(names))}: {value or '-'}" for value, names in sorted(sides.items())
                )
                yield Verdict(
                    subject=Subject(kind=SubjectKind.CLUSTER),
                    params={"cluster": cluster, "setting": name, "sides": values},
                    evidence={"broker_count": len(brokers), "value_count": len(sides)},
                    severity=severity,
                )


def _comparable(name: str, value: str) -> str:
    parts = sorted(part.strip() for part in value.split(";")) if name == "namesrvAddr" else value.split()
    return (";" if name == "namesrvAddr" else " ").join(parts)


@rule(
    "MQ642",
    Severity.WARNING,
    source="BrokerConfig.aclEnable, AuthConfig",
    needs=_CONFIG,
    playbook="cluster-mixup",
    texts=RuleTexts(
        title="Access keys that nobody checks",
        speaks="keys are sent to a broker with access control off",
        silent="access control is off and no keys are sent",
        what={
            "": "{broker} does not check the access keys it was sent: access control is off there.",
            "half": "{broker} checks who a client is but not what it may do (authorizationEnabled=false): any user may "
            "do everything.",
        },
        effect="Whoever reaches the broker may read, write and change what lies there.",
        advice="Set aclEnable=true (4.x), or authenticationEnabled and authorizationEnabled (5.x), in the properties of every broker, and restart it.",
        explain="Reads the switches of access control from the broker's own settings; a broker with access control off takes any key. The rules in its access file are not read.",
        next_command="mqctl broker config {source} {broker}",
    ),
)
def access_unchecked(case: Case) -> Iterator[Verdict]:
    """Keys that a broker does not look at, or that it knows and lets do everything."""
    values = {
        name: _value(case.broker, name) for name in ("aclEnable", "authenticationEnabled", "authorizationEnabled")
    }
    if not any(values.values()):
        return
    unchecked = values["aclEnable"] != "true" and values["authenticationEnabled"] != "true"
    half = values["authenticationEnabled"] == "true" and values["authorizationEnabled"] == "false"
    if (case.signed and unchecked) or half:
        yield Verdict(
            subject=Subject(kind=SubjectKind.BROKER, broker=case.broker.name),
            params={"broker": case.broker.name},
            variant="half" if half else None,
        )


@rule(
    "MQ643",
    Severity.WARNING,
    source="MessageStoreConfig.brokerRole",
    needs=_CONFIG,
    playbook="broker-down",
    texts=RuleTexts(
        title="A master waits for slaves that are not there",
        speaks="a synchronous master has no slave",
        silent="a synchronous master has one slave",
        what={
            "": "{broker} is a synchronous master that waits for {wanted_count:copy} of each message, and {process_count:process is/are} registered under its name."
        },
        effect="Producers get SLAVE_NOT_AVAILABLE, or that too few replicas are in sync; messages have no second copy.",
        advice="Bring the slave back, or set brokerRole=ASYNC_MASTER if there is to be none.",
        explain="With brokerRole=SYNC_MASTER a send is acknowledged in full only when a slave has it.",
        next_command="mqctl broker list {source}",
    ),
)
def nobody_to_copy_to(case: ClusterCase) -> Iterator[Verdict]:
    """A master that waits for copies of each message, and has fewer slaves than it waits for."""
    counts: dict[str, int] = {}
    for view in case.snapshot.name_servers:
        for endpoint in view.endpoints:
            counts[endpoint.name] = max(counts.get(endpoint.name, 0), len(endpoint.addresses))
    for broker in case.snapshot.brokers:
        if broker.broker_id != MASTER_ID or _value(broker, "brokerRole") != "sync_master":
            continue
        in_sync = decimal(_value(broker, "inSyncReplicas"))
        if (broker.version or "").startswith("V5") and (in_sync or 1) <= 1:
            continue  # it waits for nobody, and has a rule of its own
        wanted = max(2, in_sync or 0)
        replica_count = counts.get(broker.name or "", 1)
        if replica_count < wanted:
            yield Verdict(
                subject=Subject(kind=SubjectKind.BROKER, broker=broker.name),
                params={"broker": broker.name},
                evidence={"process_count": replica_count, "wanted_count": wanted},
            )
