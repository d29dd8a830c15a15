"""MQ650: clocks of producers that differ from their brokers', told from the newest messages."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.diagnosis.rule import ClusterCase, Verdict, cluster_rule
from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.names import group_of
from mqctl.model.newest import NewestMessage
from mqctl.model.spans import DAY_MS, MINUTE_MS, SECOND_MS

_AHEAD_MS, _BEHIND_MS = 10 * SECOND_MS, MINUTE_MS
# One message may have been under way for long; hardly all of them.
_LEAST = 3


@cluster_rule(
    "MQ650",
    Severity.WARNING,
    source="MessageExtBrokerInner.bornTimestamp",
    needs=(Part.NEWEST,),
    playbook="cluster-mixup",
)
def clocks_differ(case: ClusterCase) -> Iterator[Verdict]:
    """Producers whose messages are born after they are stored, or all of them long before."""
    sent: dict[str, list[NewestMessage]] = {}
    for broker in case.snapshot.brokers:
        for message in broker.newest:
            if group_of(message.topic) is None and message.direct:
                sent.setdefault(message.born_host.rpartition(":")[0], []).append(message)
    for host, messages in sorted(sent.items()):
        leads_ms = [item.born_time_ms - item.store_time_ms for item in messages]
        lead_ms = max(leads_ms)
        # Whoever copies messages from elsewhere may keep the day of their birth.
        behind = len(messages) >= _LEAST and min(leads_ms) > -DAY_MS and lead_ms < -_BEHIND_MS
        if lead_ms > _AHEAD_MS or behind:
            yield Verdict(
                subject=Subject(kind=SubjectKind.CLUSTER),
                params={"host": host, "topics": ", ".join(sorted({item.topic for item in messages}))},
                evidence={"difference_ms": abs(lead_ms), "sampled_count": len(messages)},
                variant="behind" if behind else None,
            )
