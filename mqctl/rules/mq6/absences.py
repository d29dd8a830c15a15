"""MQ646: brokers that were away, or started again, between the two ends of a window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.numbers import decimal
from mqctl.model.route import MASTER_ID
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Verdict, any_window, rule

_Process: TypeAlias = tuple[str, int]
"""Broker name and id."""
_Look: TypeAlias = dict[str, set[_Process]]
"""The processes that each name server lists."""


@rule(
    "MQ646",
    Severity.WARNING,
    source="RouteInfoManager.onChannelDestroy, BrokerStartup",
    needs=(Part.ROUTES,),
    playbook="broker-down",
    least_window=any_window,
    texts=RuleTexts(
        title="A broker was away within the window",
        speaks="the master is registered at the first and the last look, and at none between them",
        silent="a broker registers for the first time within the window",
        what={
            "": "{broker} had no master at {away_count} of {look_count} looks within {window_ms}; it is registered now.",
            "slave": "Slave {broker_id} of {broker} was not registered at {away_count} of {look_count} looks within {window_ms}; it is registered now.",
            "restarted": "Broker {broker_id} of {broker} started again within {window_ms}: its boot time changed from {earlier_boot_time_ms} to {boot_time_ms}.",
        },
        effect="While a master is away, sends to it fail, consumers of its queues pause or read from a slave, and unacknowledged messages are redelivered.",
        advice="If it was restarted on purpose, nothing is left to do. Otherwise read its broker.log and the system's log at that time: kills for memory, "
        "watchdogs, pauses of the JVM longer than 120 s, an unstable network between the broker and the name servers.",
        explain="Asks the name servers every 20 s of the window, four times at least, which brokers are registered. A broker counts as away in a sample where none of the "
        "name servers that listed it before and that answered lists it, and a later sample shows it again. A changed boot time shows a restart between two samples.",
        next_command="mqctl broker list {source}",
    ),
)
def brokers_away(case: ClusterCase) -> Iterator[Verdict]:
    """Brokers that were registered, then not, then again, and those whose boot time changed.

    One that is still away at the last look is MQ617's or MQ609's.
    """
    looks = [_by_server(look) for look in case.looks]
    booted = _boot_times(case.snapshot.earlier), _boot_times(case.snapshot)
    for process in sorted(set().union(*looks[-1].values())):
        there = [known for look in looks if (known := _is_listed(process, look, looks)) is not None]
        first = there.index(True) if True in there else len(there)
        away = there[first:].count(False)
        then, now = booted[0].get(process), booted[1].get(process)
        restarted = then is not None and now is not None and then[0] == now[0] and then[1] != now[1]
        if not (away and there[-1]) and not restarted:
            continue
        name, number = process
        yield Verdict(
            subject=Subject(kind=SubjectKind.BROKER, broker=name),
            params={"broker": name, "broker_id": number},
            evidence={
                "away_count": away,
                "look_count": len(there),
                "window_ms": case.window_ms,
                "earlier_boot_time_ms": then[1] if then else None,
                "boot_time_ms": now[1] if now else None,
            },
            variant="restarted" if not away else None if number == MASTER_ID else "slave",
        )


def _by_server(look: ClusterSnapshot) -> _Look:
    """Returns the broker processes that each name server lists which answered."""
    return {
        view.address: {(endpoint.name, number) for endpoint in view.endpoints for number in endpoint.addresses}
        for view in look.name_servers
    }


def _is_listed(process: _Process, look: _Look, looks: list[_Look]) -> bool | None:
    """Tells whether a look shows a process; None where none of those that ever list it answered."""
    knowing = [
        process in listed for address, listed in look.items() if any(process in one.get(address, ()) for one in looks)
    ]
    return any(knowing) if knowing else None


def _boot_times(snapshot: ClusterSnapshot | None) -> dict[_Process, tuple[str, int]]:
    """Returns address and boot time of each process that tells when it started."""
    if snapshot is None:
        return {}
    return {
        (broker.name or "", broker.broker_id or 0): (broker.address or "", booted_ms)
        for broker in snapshot.brokers
        if (booted_ms := decimal(broker.runtime.get("bootTimestamp"))) is not None
    }
