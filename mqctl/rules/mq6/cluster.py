"""MQ6 as far as name servers show it: routes that differ, brokers without a master, topics on some brokers only."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.config import PERM_WRITE, perm_text
from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind, Value
from mqctl.model.gap import Part
from mqctl.model.numbers import decimal
from mqctl.model.route import NameServerView, RouteQueues, TopicRoute
from mqctl.model.snapshot import BrokerSnapshot
from mqctl.rules.engine.audience import APPLICATION, EVERY_TOPIC
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Verdict, rule
from mqctl.rules.mq6.listings import may_have

_ROUTES = (Part.ROUTES,)
# DefaultMQProducer.defaultTopicQueueNums: a producer asks for so many when a topic is created by its first message.
_PRODUCER_QUEUES = 4


def _masters(case: ClusterCase) -> dict[str, set[str]]:
    """Returns the names of brokers with a master, by cluster; of names with one address the first."""
    masters: dict[str, set[str]] = {}
    known = _names_by_address(case)
    for view in case.snapshot.name_servers:
        for endpoint in view.endpoints:
            if endpoint.master is not None and endpoint.name == min(known[endpoint.master]):
                masters.setdefault(endpoint.cluster, set()).add(endpoint.name)
    return masters


@rule(
    "MQ618",
    Severity.FATAL,
    source="RouteInfoManager.registerBroker",
    needs=_ROUTES,
    playbook="broker-down",
    texts=RuleTexts(
        title="No broker is registered",
        speaks="no name server knows any broker",
        silent="one of two name servers knows no broker",
        what={"": "The name servers answer ({name_servers}), but no broker is registered with any of them."},
        effect="Clients find no route: nothing can be sent or consumed. No topic or group could be judged.",
        advice="Check that the brokers run, and that their namesrvAddr lists these name servers. A name server that has just started "
        "lists them within 30 s. If this is the wrong cluster, name the right one.",
        explain="Name servers keep what brokers register in memory, and drop a broker whose connection breaks or that is silent for "
        "120 s. Brokers register again every 30 s.",
        next_command="mqctl broker list {source}",
    ),
)
def no_broker(case: ClusterCase) -> Iterator[Verdict]:
    """Name servers that answer and know no broker at all: nothing can be sent, consumed or judged."""
    if case.snapshot.without_brokers:
        servers = [view.address for view in case.snapshot.name_servers]
        yield Verdict(
            subject=Subject(kind=SubjectKind.CLUSTER),
            params={"name_servers": ", ".join(servers)},
            evidence={"name_server_count": len(servers), "seen_count": len(case.snapshot.seen_brokers)},
        )


@rule(
    "MQ619",
    Severity.ERROR,
    source="RouteInfoManager.registerBroker",
    needs=_ROUTES,
    playbook="broker-down",
    texts=RuleTexts(
        title="One broker under two names",
        speaks="one address is registered under two broker names",
        silent="a slave has another address under its master's name",
        what={
            "": "{address} is registered as {names}: one process, or one address that was copied into two configurations."
        },
        effect="Clients take it for several brokers: queues are counted twice, and messages of one name are looked for in the store of another.",
        advice="Give each broker an address of its own (brokerIP1, listenPort), or restart the one that was renamed; the old name goes "
        "120 s after it stops.",
        explain="Compares the addresses of all broker names. A broker that was renamed stays registered under its old name until the "
        "name server drops it.",
        next_command="mqctl broker list {source}",
    ),
)
def one_broker_twice(case: ClusterCase) -> Iterator[Verdict]:
    """One address under several broker names: a broker that was renamed, or a configuration that was copied."""
    for address, names in sorted(_names_by_address(case).items()):
        if len(names) > 1:
            yield Verdict(
                subject=Subject(kind=SubjectKind.BROKER, broker=min(names)),
                params={"address": address, "names": ", ".join(sorted(names))},
                evidence={"name_count": len(names)},
            )


def _names_by_address(case: ClusterCase) -> dict[str, set[str]]:
    names: dict[str, set[str]] = {}
    for view in case.snapshot.name_servers:
        for endpoint in view.endpoints:
            for address in endpoint.addresses.values():
                names.setdefault(address, set()).add(endpoint.name)
    return names


@rule(
    "MQ605",
    Severity.WARNING,
    source="RouteInfoManager.wipeWritePermOfBrokerByLock",
    needs=(Part.ROUTES, Part.TOPICS),
    playbook="broker-down",
    texts=RuleTexts(
        title="Write permission was wiped",
        speaks="name servers show a broker as closed for sends, its settings do not",
        silent="the topic was closed in its settings",
        what={"": "{name_server} shows {topic_count:topic} of {broker} as closed for writing, {topic} among them."},
        effect="Producers that ask this name server send nothing to that broker.",
        advice="If maintenance is over, give it back (mqadmin addWritePerm).",
        explain="The mark lives in the memory of one name server only and goes with its restart or the next change of topics.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
)
def wiped_write_permission(case: ClusterCase) -> Iterator[Verdict]:
    """A broker whose topics name servers show as closed for writing although its own settings say otherwise."""
    own = {(broker.name, config.name): config.perm for broker in case.snapshot.brokers for config in broker.topics}
    for view in case.snapshot.name_servers:
        wiped: dict[str, list[str]] = {}
        for route in view.routes:
            for queues in route.queues:
                perm = own.get((queues.broker_name, route.topic), 0)
                if perm & PERM_WRITE and not queues.perm & PERM_WRITE:
                    wiped.setdefault(queues.broker_name, []).append(route.topic)
        for broker, topics in sorted(wiped.items()):
            yield Verdict(
                subject=Subject(kind=SubjectKind.BROKER, broker=broker),
                params={"broker": broker, "name_server": view.address, "topic": min(topics)},
                evidence={"topic_count": len(topics)},
            )


@rule(
    "MQ606",
    Severity.WARNING,
    source="TopicConfigManager",
    needs=_ROUTES,
    playbook="scale-out",
    topics=APPLICATION,
    texts=RuleTexts(
        title="A topic on some brokers only",
        speaks="one of two masters does not have the topic",
        silent="both have it, with different numbers of queues",
        what={"": "{topic} is missing on {missing_count} of {broker_count:broker} of {cluster}: {brokers}."},
        effect="Those brokers carry none of its load; automatic creation leaves topics like this.",
        advice="Create it on all brokers of the cluster.",
        explain="Compares the route, and the topic tables of masters that are not in it, with the masters of the cluster.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
)
def topic_on_some_brokers(case: ClusterCase) -> Iterator[Verdict]:
    """A topic that only some of a cluster's masters serve: the others carry nothing of it."""
    masters = _masters(case)
    clusters = {name: cluster for cluster, names in masters.items() for name in names}
    by_sends = _by_sends(case)
    for route in case.user_routes:
        if route.topic in by_sends:
            continue
        serving = {queues.broker_name for queues in route.queues}
        for cluster in sorted({clusters[name] for name in serving if name in clusters}):
            missing = sorted(name for name in masters[cluster] - serving if not may_have(case, name, route.topic))
            if missing:
                yield Verdict(
                    subject=Subject(kind=SubjectKind.TOPIC, topic=route.topic),
                    params={"topic": route.topic, "cluster": cluster, "brokers": ", ".join(missing)},
                    evidence={"broker_count": len(masters[cluster]), "missing_count": len(missing)},
                )


@rule(
    "MQ607",
    Severity.INFO,
    source="TopicConfigManager",
    needs=_ROUTES,
    playbook="scale-out",
    topics=APPLICATION,
    texts=RuleTexts(
        title="Brokers have different numbers of queues",
        speaks="masters have different numbers of queues",
        silent="all masters got more queues",
        what={"": "{topic} has between {least_queue_count} and {most_queue_count:queue} on its brokers ({counts})."},
        effect="Load follows the number of queues.",
        advice="Give all brokers the same number unless it is meant so.",
        explain="Senders take queues in turn, so a broker with twice the queues gets twice the messages.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
)
def uneven_queue_counts(case: ClusterCase) -> Iterator[Verdict]:
    """A topic with different numbers of queues on its brokers: load follows the numbers."""
    for route in case.user_routes:
        counts = {queues.broker_name: queues.write_queue_count for queues in route.queues}
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{name}: {count}" for name, count in sorted(counts.items()))
            yield Verdict(
                subject=Subject(kind=SubjectKind.TOPIC, topic=route.topic),
                params={"topic": route.topic, "counts": listed},
                evidence={"most_queue_count": max(counts.values()), "least_queue_count": min(counts.values())},
            )


@rule(
    "MQ629",
    Severity.WARNING,
    source="MQClientInstance.topicRouteData2TopicPublishInfo",
    needs=_ROUTES,
    playbook="broker-down",
    topics=APPLICATION,
    texts=RuleTexts(
        title="A topic without write queues",
        speaks="a topic has no write queue on any broker",
        silent="it has none on one broker of two",
        what={
            "": "{topic} has {read_queue_count:read queue} and no write queues on {broker_count:broker}.",
            "none": "{topic} has neither read nor write queues on {broker_count:broker}.",
        },
        effect="Every send fails in the producer, which says that the topic has no route.",
        advice="Give it write queues again unless it is being drained before it is deleted.",
        explain="Producers take their queues from writeQueueNums of all brokers in the route. Zero is how a topic is drained, and looks like a topic that does not exist.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
)
def nowhere_to_send(case: ClusterCase) -> Iterator[Verdict]:
    """A topic that may be written and has no write queue on any broker: producers see no route.

    Where permissions close it, MQ603, MQ605 and MQ610 say so.
    """
    for route in case.user_routes:
        permitted = all(queues.perm & PERM_WRITE for queues in route.queues)
        if not permitted or any(queues.write_queue_count for queues in route.queues):
            continue
        read = sum(queues.read_queue_count for queues in route.queues)
        yield Verdict(
            subject=Subject(kind=SubjectKind.TOPIC, topic=route.topic),
            params={"topic": route.topic},
            evidence={"read_queue_count": read, "broker_count": len(route.queues)},
            variant=None if read else "none",
        )


@rule(
    "MQ608",
    Severity.ERROR,
    source="RouteInfoManager.registerBroker",
    needs=_ROUTES,
    playbook="broker-down",
    topics=EVERY_TOPIC,
    texts=RuleTexts(
        title="Name servers disagree",
        speaks="name servers return different routes",
        silent="name servers return the same route in another order",
        what={"": "{name_servers} of {name_server_count:name server} show another route of {topic}."},
        effect="Clients see different queues, depending on which one they ask.",
        advice="Look again in a minute: brokers register with each name server every 30 s. If it stays, a broker does not reach that name server, "
        "or its namesrvAddr leaves it out (`mqctl broker config`).",
        explain="Name servers do not talk to each other; every broker registers with each. A second look distinguishes a fault from a "
        "registration under way.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
)
def name_servers_differ(case: ClusterCase) -> Iterator[Verdict]:
    """Name servers that give different routes for a topic; a second look tells a fault from a registration."""
    now, before = _differing(case.snapshot.name_servers), None
    if case.snapshot.earlier is not None:
        before = _differing(case.snapshot.earlier.name_servers)
        now = {topic: servers for topic, servers in now.items() if topic in before}
    for topic, servers in sorted(now.items()):
        yield Verdict(
            subject=Subject(kind=SubjectKind.TOPIC, topic=topic),
            params={"topic": topic, "name_servers": ", ".join(servers)},
            evidence={"name_server_count": len(case.snapshot.name_servers)},
            severity=Severity.WARNING if before is None else None,
            confidence=Confidence.LOW if before is None else Confidence.HIGH,
        )


@rule(
    "MQ635",
    Severity.ERROR,
    source="RouteInfoManager.registerBroker",
    needs=_ROUTES,
    playbook="broker-down",
    texts=RuleTexts(
        title="A name server does not list all brokers",
        speaks="a name server does not list one of two brokers",
        silent="it registered between two samples",
        what={
            "": "Name server {name_server} does not list {missing_count} of {broker_count:broker} that others list: {brokers}."
        },
        effect="Clients that ask it find no route to what these brokers hold, and go on with what they knew before, or with nothing.",
        advice="Look again in a minute: brokers register with each name server every 30 s, and one that was just started knows nobody. "
        "If it stays, these brokers do not reach it, or their namesrvAddr leaves it out (`mqctl broker config`).",
        explain="Name servers do not talk to each other; each lists the brokers that register with it. A second look distinguishes a fault from a "
        "registration under way.",
        next_command="mqctl broker list {source}",
    ),
)
def name_server_without_brokers(case: ClusterCase) -> Iterator[Verdict]:
    """A name server that does not list brokers of another one; a second look tells a fault from a registration."""
    now, before = _lacking(case.snapshot.name_servers), None
    if case.snapshot.earlier is not None:
        before = _lacking(case.snapshot.earlier.name_servers)
        now = {address: names & before.get(address, set()) for address, names in now.items()}
    everyone = set().union(*map(_listed, case.snapshot.name_servers))
    for address, names in sorted(now.items()):
        if names:
            yield Verdict(
                subject=Subject(kind=SubjectKind.CLUSTER),
                params={"name_server": address, "brokers": ", ".join(sorted(names))},
                evidence={"missing_count": len(names), "broker_count": len(everyone)},
                severity=Severity.WARNING if before is None else None,
                confidence=Confidence.LOW if before is None else Confidence.HIGH,
            )


def _listed(view: NameServerView) -> set[str]:
    return {endpoint.name for endpoint in view.endpoints if endpoint.addresses}


def _lacking(views: tuple[NameServerView, ...]) -> dict[str, set[str]]:
    """Returns the brokers that a name server does not list and another one does, by its address."""
    everyone = set().union(*map(_listed, views))
    return {view.address: everyone - _listed(view) for view in views}


def _differing(views: tuple[NameServerView, ...]) -> dict[str, list[str]]:
    """Returns the name servers that differ from the first, by topic, as far as they list the same brokers (MQ635)."""
    if len(views) < 2:
        return {}
    common = set.intersection(*map(_listed, views))
    tables = [{route.topic: shape for route in view.routes if (shape := _shape(route, common))} for view in views]
    differing: dict[str, list[str]] = {}
    for topic in sorted({topic for table in tables for topic in table}):
        first = tables[0].get(topic)
        others = [view.address for view, table in zip(views, tables, strict=True) if table.get(topic) != first]
        if others:
            differing[topic] = others
    return differing


def _shape(route: TopicRoute, brokers: set[str]) -> tuple[object, ...] | None:
    """What a route says of these brokers; None where it has nothing of them."""
    queues = sorted(
        (item.broker_name, item.read_queue_count, item.write_queue_count, item.perm)
        for item in route.queues
        if item.broker_name in brokers
    )
    addresses = sorted(
        (item.name, tuple(sorted(item.addresses.items()))) for item in route.endpoints if item.name in brokers
    )
    return (tuple(queues), tuple(addresses), route.order_conf) if queues else None


@rule(
    "MQ609",
    Severity.ERROR,
    source="RouteInfoManager",
    needs=_ROUTES,
    playbook="master-lost",
    texts=RuleTexts(
        title="A master is gone",
        speaks="a broker has a slave and no master",
        silent="both brokers have a slave beside their master",
        what={
            "": "{broker} has {slave_count:slave} and no master.",
            "minority": "{broker} is a DLedger group without a leader: {slave_count} of its {peer_count:node} {slave_count:/is/are} registered, and an election takes "
            "{majority_count}.",
            "dledger": "{broker} is a DLedger group without a leader, though {slave_count} of its {peer_count:node} {slave_count:/is/are} registered, and an "
            "election takes {majority_count}.",
            "leaderless": "{broker} is a DLedger group without a leader; {slave_count:node is/are} registered.",
            "controller": "{broker} runs under a controller, which has elected no master among its {slave_count:registered broker}.",
        },
        effect="Its messages can be read; nothing can be sent or locked, and offsets committed meanwhile are overwritten when the master returns.",
        advice="Start the master. If there never was one of that name, the slave has a wrong brokerName: it must be its master's.",
        explain="Looks for broker names that have addresses but none with id 0. The entry of a master that stops or dies goes at once, "
        "that of a frozen host after 120 s; in plain mode nobody takes over. With enableDLegerCommitLog the nodes of dLegerPeers elect a leader, which becomes id 0; "
        "with enableControllerMode a controller does.",
        other_advice={
            "minority": "Start the nodes that are missing (dLegerPeers names them). One that runs and is not registered has another reason: its namesrvAddr, its log.",
            "leaderless": "Nodes elect over the ports in dLegerPeers, which are not those of clients: try them from each node's machine. Each node's log says whom it "
            "does not reach.",
            "dledger": "Nodes elect over the ports in dLegerPeers, which are not those of clients: try them from each node's machine. Nodes with "
            "tls.server.mode=enforcing cannot elect, as DLedger's own clients speak plain. Each node's log says whom it does not reach.",
            "controller": "Look at the controllers first: `mqctl ha status -o wide` shows whether they have a leader, and who is in the sync state set. If all members of the set "
            "are down, start one of them; an election outside the set (enableElectUncleanMaster) loses messages.",
        },
        next_command="mqctl broker list {source}",
    ),
)
def master_gone(case: ClusterCase) -> Iterator[Verdict]:
    """A broker name with slaves only: no sends, no queue locks, and offsets that the next master overwrites."""
    known: dict[str, set[int]] = {}
    for view in case.snapshot.name_servers:
        for endpoint in view.endpoints:
            known.setdefault(endpoint.name, set()).update(endpoint.addresses)
    for name, ids in sorted(known.items()):
        if ids and 0 not in ids:
            elected, evidence = _election(name, len(ids), case)
            yield Verdict(
                subject=Subject(kind=SubjectKind.BROKER, broker=name),
                params={"broker": name},
                evidence={"slave_count": len(ids), **evidence},
                variant=elected,
            )


def _election(name: str, registered: int, case: ClusterCase) -> tuple[str | None, dict[str, Value]]:
    """Tells who elects the master of a broker name, by the settings of its slaves, and among how many."""
    configs = [broker.config for broker in case.snapshot.brokers if broker.name == name]
    if any(config.get("enableControllerMode") == "true" for config in configs):
        return "controller", {}
    elect = [config for config in configs if config.get("enableDLegerCommitLog") == "true"]
    if not elect:
        return None, {}
    peers = max(len([item for item in config.get("dLegerPeers", "").split(";") if item.strip()]) for config in elect)
    if not peers:
        return "leaderless", {}
    majority = peers // 2 + 1
    evidence: dict[str, Value] = {"peer_count": peers, "majority_count": majority}
    return "minority" if registered < majority else "dledger", evidence


@rule(
    "MQ610",
    Severity.ERROR,
    source="BrokerConfig.brokerPermission",
    needs=(Part.CONFIG,),
    playbook="broker-down",
    texts=RuleTexts(
        title="A broker is closed",
        speaks="a broker accepts no sends",
        silent="brokers have the usual permission written out",
        what={"": "The permission of {broker} is {perm}."},
        effect="What it lacks is refused with code 16, whatever the topics allow.",
        advice="Set brokerPermission to 6 when the maintenance is over.",
        explain="brokerPermission overrides every topic: 4 reads, 2 writes, 6 both.",
        next_command="mqctl broker config {source} {broker}",
    ),
)
def closed_broker(case: ClusterCase) -> Iterator[Verdict]:
    """A broker whose own permission closes it for reading or writing."""
    for broker in case.snapshot.brokers:
        perm = decimal(broker.config.get("brokerPermission"))
        if perm is not None and perm & 6 != 6:
            yield Verdict(
                subject=Subject(kind=SubjectKind.BROKER, broker=broker.name),
                params={"broker": broker.name, "perm": perm_text(perm)},
            )


@rule(
    "MQ614",
    Severity.WARNING,
    source="TopicConfigManager.createTopicInSendMessageMethod",
    needs=(Part.ROUTES, Part.CONFIG),
    playbook="scale-out",
    topics=APPLICATION,
    texts=RuleTexts(
        title="A topic created by its first message, on one broker only",
        speaks="a first send created the topic on one of two masters",
        silent="it was created on one broker by hand",
        what={
            "": "Topic {topic} lives on {broker} only, of {broker_count:master}, with {queue_count:queue}: as a first send "
            "creates topics."
        },
        effect="One broker carries all of the topic; without it the topic is gone.",
        advice="Create the topic on all brokers, and set autoCreateTopicEnable=false.",
        explain="With autoCreateTopicEnable a broker creates what is sent to it, with the number of queues that the producer asks "
        "for; the others hear nothing of it while producers keep to the route they have. A topic that was created on all brokers, one of "
        "which was replaced since, looks the same.",
        next_command="mqctl topic describe {source} -t {topic}",
    ),
)
def created_by_a_send(case: ClusterCase) -> Iterator[Verdict]:
    """A topic on one of several masters, as a producer asks for it, where brokers create topics by themselves."""
    count = max((len(names) for names in _masters(case).values()), default=0)
    for topic, only in sorted(_by_sends(case).items()):
        yield Verdict(
            subject=Subject(kind=SubjectKind.TOPIC, topic=topic),
            params={"topic": topic, "broker": only.broker_name},
            evidence={"broker_count": count, "queue_count": only.write_queue_count},
            confidence=Confidence.MEDIUM,
        )


def _by_sends(case: ClusterCase) -> dict[str, RouteQueues]:
    """Returns the topics that look created by their first message, with the broker that has them."""
    creating = {broker.name: broker for broker in case.snapshot.brokers if _creates(broker)}
    masters = _masters(case)
    if all(len(names) < 2 for names in masters.values()):
        return {}
    routes = {}
    for route in case.user_routes:
        only = route.queues[0] if len(route.queues) == 1 else None
        broker = creating.get(only.broker_name) if only is not None else None
        if only is None or broker is None or only.read_queue_count != only.write_queue_count:
            continue
        others = {
            name for names in masters.values() if only.broker_name in names for name in names - {only.broker_name}
        }
        if any(may_have(case, name, route.topic) for name in others):
            continue  # MQ636: it lives there as well, and is not listed
        if only.write_queue_count in _usual(broker):
            routes[route.topic] = only
    return routes


def _creates(broker: BrokerSnapshot) -> bool:
    return broker.config.get("autoCreateTopicEnable", "").lower() == "true"


def _usual(broker: BrokerSnapshot) -> set[int]:
    own = decimal(broker.config.get("defaultTopicQueueNums"))
    return {_PRODUCER_QUEUES, own} if own is not None else {_PRODUCER_QUEUES}
