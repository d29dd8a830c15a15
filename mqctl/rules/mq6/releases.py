"""MQ651: brokers of different releases in one cluster."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.release import Release, release_of, release_text
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Verdict, rule


@rule(
    "MQ651",
    Severity.INFO,
    source="MQVersion",
    needs=(Part.RUNTIME,),
    playbook="broker-down",
    texts=RuleTexts(
        title="Brokers of different releases",
        speaks="one broker runs 5.5.0, the other 4.9.7",
        silent="brokers run 5.3.2 and 5.3.3",
        what={
            "": "Brokers of cluster {cluster} run {release_count:release}: {releases}. Of the oldest: {brokers}.",
        },
        effect="What only the newer release knows works on some queues of a topic and not on the others: timers, POP, types of "
        "topics, settings with new names, limits of names. Some of it fails without an error.",
        advice="Finish the upgrade, and use nothing new until every broker runs the newer release.",
        explain="Compares the first two numbers of the releases that brokers name. During a rolling upgrade this is expected. "
        "MQ730 tells of delayed messages that older brokers deliver at once, MQ422 of POP that is set on some brokers only.",
        next_command="mqctl broker list {source} -o wide",
    ),
)
def mixed_releases(case: ClusterCase) -> Iterator[Verdict]:
    """Processes of one cluster whose releases differ by more than a patch."""
    clusters: dict[str, dict[Release, set[str]]] = {}
    for broker in case.snapshot.brokers:
        release = release_of(broker.version or "")
        if release is not None:
            clusters.setdefault(broker.cluster or "", {}).setdefault(release, set()).add(broker.name or "")
    for cluster, releases in sorted(clusters.items()):
        if len({release[:2] for release in releases}) > 1:
            yield Verdict(
                subject=Subject(kind=SubjectKind.CLUSTER),
                params={
                    "cluster": cluster,
                    "releases": ", ".join(release_text(item) for item in sorted(releases)),
                    "brokers": ", ".join(sorted(releases[min(releases)])),
                },
                evidence={"release_count": len(releases)},
            )
