"""MQ650: clocks of producers that differ from their brokers', told from the newest messages."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.names import group_of
from mqctl.model.newest import NewestMessage
from mqctl.model.spans import DAY_MS, MINUTE_MS, SECOND_MS
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Verdict, rule

_AHEAD_MS, _BEHIND_MS = 10 * SECOND_MS, MINUTE_MS
# One message may have been under way for long; hardly all of them.
_LEAST = 3


@rule(
    "MQ650",
    Severity.WARNING,
    source="MessageExtBrokerInner.bornTimestamp",
    needs=(Part.NEWEST,),
    playbook="cluster-mixup",
    texts=RuleTexts(
        title="A producer's clock differs",
        speaks="a message was born 45 s after it was stored",
        silent="of three messages two took long, and one 9 s less than none",
        what={
            "": "The clock of producer {host} is {difference_ms} ahead of its broker's: messages of {topics} are born "
            "after they are stored.",
            "behind": "The clock of producer {host} is {difference_ms} behind its broker's, or all its messages take that "
            "long: {sampled_count:message} of {topics} were looked at.",
        },
        effect="Queries by key and by time miss its messages, times of delivery at a given moment are off, and latencies "
        "computed from the time of birth are wrong.",
        advice="Compare `date` on {host} with the broker's, and let both follow the same time server.",
        explain="Compares when messages were born (producer's clock) and stored (broker's clock) in the newest four of up to 32 "
        "topics; delayed and transactional messages are left out. From 10 s ahead, or three messages that are all "
        "a minute behind. What is more than a day old at birth was copied from elsewhere.",
        next_command="mqctl producer list {source}",
    ),
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
