"""MQ221: members that come and go over a day."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.allocation.group_view import named_clients
from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.past import MemberReturns
from mqctl.model.spans import DAY_MS, HOUR_MS
from mqctl.rules.engine.audience import EVERY
from mqctl.rules.engine.past_view import too_short
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Unknown, Verdict, rule

# Three deployments of a day each restart every member once.
_LEAST_RETURNS = 4
_OFTEN = 12


@rule(
    "MQ221",
    Severity.WARNING,
    source="ConsumerManager.doChannelCloseEvent",
    needs=(Part.PAST,),
    playbook="subscription-change",
    groups=EVERY,
    texts=RuleTexts(
        title="Members that come and go all day",
        speaks="a machine's members left and came back six times in a day",
        silent="three deployments restart them three times",
        what={
            "": "{host_count:machine} of group {group} left and came back {return_count:time} within a day, last at {last_time_ms} ({hosts}).",
            "over": "{host_count:machine} of group {group} left and came back {return_count:time} between {first_time_ms} and {last_time_ms} ({hosts}); it has been quiet since.",
        },
        effect="Each time the group rebalances: consumption pauses, and messages in flight are delivered again.",
        advice="Look at what restarts or cuts off these machines: crash loops and probes that kill the process, memory limits, pauses of the JVM, the network.",
        explain="Counts, over the last day of a recording, how often a machine had no member of the group in one sample and had one in a later sample. A deployment takes each machine away once; four returns are more than three deployments. A stretch that was not recorded counts as no return.",
        next_command="mqctl group members {source} -g {group}",
    ),
)
def flapping_for_a_day(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """Machines whose members of a group were gone and back again and again within the last day."""
    past = case.snapshot.past
    if past is None:
        return
    by_group: dict[str, list[MemberReturns]] = {}
    for item in past.returns:
        if item.return_count >= _LEAST_RETURNS:
            by_group.setdefault(item.group, []).append(item)
    for group, hosts in sorted(by_group.items()):
        count = sum(item.return_count for item in hosts)
        first_ms, last_ms = min(item.first_ms for item in hosts), max(item.last_ms for item in hosts)
        yield Verdict(
            subject=Subject(kind=SubjectKind.GROUP, group=group),
            params={"group": group, "hosts": named_clients({item.host for item in hosts})},
            evidence={
                "return_count": count,
                "host_count": len(hosts),
                "first_time_ms": first_ms,
                "last_time_ms": last_ms,
            },
            confidence=Confidence.HIGH if count >= _OFTEN else Confidence.MEDIUM,
            variant=None if past.until_ms - last_ms < HOUR_MS else "over",
        )
    if not by_group:
        yield from too_short(case, DAY_MS)
