"""MQ120, MQ628: what a message shows that doctor sent itself, with --probe only."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.finding import Severity, Subject, SubjectKind, Value
from mqctl.model.gap import Part
from mqctl.model.probe import SendProbe
from mqctl.model.runtime import read_runtime
from mqctl.rules.engine.rule import Case, RuleTexts, Verdict, rule

_STORED = "SEND_OK"
_SLOW_MS = 500.0
# Response code 14; `MessageStoreConfig.diskMaxUsedSpaceRatio`.
_UNAVAILABLE, _FULL_SHARE = 14, 0.75
# The ordinal of 4.6.0: older clients may send through the VIP port unasked.
_VIP_BEFORE = 333
_VARIANTS = {"FLUSH_DISK_TIMEOUT": "flush", "SLAVE_NOT_AVAILABLE": "copy", "FLUSH_SLAVE_TIMEOUT": "copy"}


@rule(
    "MQ120",
    Severity.ERROR,
    source="SendMessageProcessor",
    needs=(Part.PROBE,),
    playbook="broker-down",
    texts=RuleTexts(
        title="Sends are refused",
        speaks="a broker refuses a message for its own topic",
        silent="it takes the message in 60 ms",
        what={
            "refused": "{broker} refused a message for its own topic {topic}: {reason}.",
            "disk": "{broker} refused a message for its own topic {topic} although its disk has space: {reason}.",
            "copy": "{broker} stored a message, but no slave has a copy of it ({status}).",
            "flush": "{broker} stored a message, but did not flush it in time ({status}).",
            "slow": "{broker} took {took_ms} to store one small message.",
        },
        effect="Producers see the same: sends fail, are retried on another broker, or are slow.",
        advice="Start with the reason above. If the disk has space, the broker still carries a flag from when it "
        "was full or a queue file could not be written: restart it. If there is no copy, check the slave and "
        "its HA port (`mqctl ha status`, `mqctl broker reach`).",
        explain="`--probe` sends one message of a few bytes to the topic that each master keeps under its own name; "
        "nobody consumes it. A broker that refuses sends may look healthy in all its settings and figures.",
        next_command="mqctl broker describe {source} {broker}",
    ),
)
def refused_sends(case: Case) -> Iterator[Verdict]:
    """A broker that does not take a message, or takes it without what its settings promise."""
    probe = case.broker.probe
    variant = _variant(case, probe) if probe is not None else None
    if probe is None or variant is None:
        return
    params: dict[str, Value] = {"broker": case.broker.name, "topic": probe.topic}
    yield Verdict(
        subject=Subject(kind=SubjectKind.BROKER, broker=case.broker.name),
        params={**params, "reason": probe.reason, "status": probe.status},
        evidence={"took_ms": round(probe.took_ms)} if probe.took_ms is not None else {},
        variant=variant,
        severity=Severity.WARNING if variant == "slow" else None,
    )


def _variant(case: Case, probe: SendProbe) -> str | None:
    if probe.status is None:
        return "disk" if probe.code == _UNAVAILABLE and _has_room(case) else "refused"
    if probe.status != _STORED:
        return _VARIANTS[probe.status]
    return "slow" if (probe.took_ms or 0) >= _SLOW_MS else None


def _has_room(case: Case) -> bool:
    """Tells whether every disk that the broker tells of is far from full."""
    used = read_runtime(case.broker.runtime).disk_used_share
    return used is not None and used < _FULL_SHARE


@rule(
    "MQ628",
    Severity.WARNING,
    source="MixAll.brokerVIPChannel",
    needs=(Part.PROBE,),
    playbook="broker-down",
    texts=RuleTexts(
        title="The VIP port cannot be reached",
        speaks="the VIP port is closed and the broker takes messages",
        silent="the VIP port answers, and an old client is online",
        what={
            "": "{broker} accepts messages, but its VIP port (listenPort - 2) does not answer from here.",
            "old": "{broker} accepts messages, but its VIP port (listenPort - 2) does not answer from here; "
            "{client_count:client is/are} older than 4.6 and may send through it ({clients}).",
        },
        effect="Clients with vipChannelEnabled=true wait for it until they time out: sendDefaultImpl call timeout.",
        advice="Open listenPort - 2 (10909) where 10911 is open, or set vipChannelEnabled=false in the clients.",
        explain="`--probe` connects to the port from this machine only; a firewall may treat clients differently. "
        "Brokers do not report whether a client uses the VIP port; clients before 4.6 use it by default.",
        next_command="mqctl broker describe {source} {broker}",
    ),
)
def closed_vip_port(case: Case) -> Iterator[Verdict]:
    """A broker that takes messages, and whose port for important messages cannot be reached from here."""
    probe = case.broker.probe
    if probe is None or probe.status is None or probe.vip_open is not False:
        return
    connected = [*(entry.members for entry in case.broker.memberships), *(it.members for it in case.broker.producers)]
    members = {member.client_id: member.version for some in connected for member in some}
    old = sorted(client for client, version in members.items() if version is not None and version < _VIP_BEFORE)
    yield Verdict(
        subject=Subject(kind=SubjectKind.BROKER, broker=case.broker.name),
        params={"broker": case.broker.name, "clients": ", ".join(old[:3])},
        evidence={"client_count": len(old)} if old else {},
        variant="old" if old else None,
        severity=None if old else Severity.INFO,
    )
