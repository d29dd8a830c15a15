"""MQ62x, addresses: the words of `mqctl.diagnosis.mq6_addresses` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

_BROKERS = "mqctl broker list {source}"

RULES: dict[str, Text] = {
    "MQ620": Text(
        title="A registered broker that cannot be reached",
        what={
            "": "{broker} (id {broker_id}) is registered as {address}, and cannot be reached there: {reason}.",
            "silent": "{broker} (id {broker_id}) is registered as {address}, and did not answer in time: {reason}.",
        },
        effect="Clients on the same network as this machine get timeouts from it; nothing on it could be judged.",
        advice="Run `mqctl broker reach` to see which ports answer. A port that accepts connections and answers nothing belongs to "
        "a broker that hangs or is overloaded: look at its process, its log and its disk. A port that does not even accept is "
        "blocked on the way, or nobody is there. An answer that comes with a longer --timeout is a slow one. A broker in a container or behind NAT must register an "
        "address that clients reach: set brokerIP1 (and listenPort). If only this machine cannot reach it, look from another.",
        explain="Name servers hand out the registered address without checking it. Something else may answer there: "
        "an HTTP port, a proxy, a port that requires TLS.",
        next_command=_BROKERS,
        live_command="mqctl broker reach {source} {broker}",
    ),
    "MQ621": Text(
        title="An address that no client can use",
        what={
            "malformed": "{broker} (id {broker_id}) is registered as '{address}', which is not an address.",
            "wildcard": "{broker} (id {broker_id}) is registered as {address}, which clients cannot connect to.",
            "loopback": "{broker} (id {broker_id}) is registered as {address}: each client looks for it on its own machine.",
        },
        effect="Clients find the broker in their routes and cannot connect to it.",
        advice="Set brokerIP1 to an address that clients reach, without blanks or comments behind it, and restart the broker.",
        explain="A broker takes the address of a network interface when brokerIP1 is not set; in a container that may be the loopback. "
        "Loopback addresses are judged only where a name server is asked at another address.",
        next_command=_BROKERS,
    ),
    "MQ622": Text(
        title="Two brokers share one name",
        what={
            "": "{broker} belongs to {cluster_count:cluster} on these name servers: {clusters}.",
            "other": "The broker at {address}, registered as {broker} of {cluster}, says it is {own_name} of "
            "{own_cluster}.",
        },
        effect="The brokers overwrite each other's registration: clients reach one or the other by turns, and "
        "messages seem to be lost.",
        advice="Give every broker name to one broker only, or every cluster name servers of its own; restart what was changed.",
        explain="Name servers keep one entry for a broker name, whichever cluster it says it is of: the last registration wins, every "
        "30 s. An address that was given to another machine shows as well: it answers with a name of its own.",
        next_command=_BROKERS,
    ),
    "MQ623": Text(
        title="A broker is registered under another address than its own",
        what={"": "{broker} is registered as {address}; its own settings say {own_address}."},
        effect="Clients go to the registered address; which of the two is right, only the network knows.",
        advice="If brokerIP1 or listenPort was changed, restart the broker; if another process answers at the address, stop it.",
        explain="A broker registers brokerIP1:listenPort as they were when it started.",
        next_command="mqctl broker config {source} {broker}",
    ),
    "MQ624": Text(
        title="Members use other name servers than the brokers",
        what={
            "": "In group {group}, {lost_count:member asks/ask} {asked} for routes ({clients}); brokers register with {registered}."
        },
        effect="They learn of no change (new topics, queues, brokers), and after a restart they may find nothing at "
        "all.",
        advice="Correct the name server address of these clients and restart them. A client that was given a domain name asks for it "
        "again every two minutes; one with fixed addresses keeps them.",
        explain="Compares the list that members report with the brokers' namesrvAddr. Lists with names instead of addresses are left "
        "alone: they may lead to the same servers.",
        next_command="mqctl group members {source} -g {group}",
    ),
    "MQ625": Text(
        title="A subscribed topic that this cluster does not have",
        what={
            "": "{member_count:member} of group {group} {member_count:/subscribes/subscribe} {topic}, and no broker of this cluster has it."
        },
        effect="It is not consumed, and the only sign is a warning in the members' logs.",
        advice="Check the name of the topic, its namespace, and the cluster: consumers of two clusters in one process go to one of them "
        "unless each has an instance name of its own. A topic that its first message creates appears with it.",
        explain="Compares what members subscribe with the topic tables of all masters. Consumers start although a topic has no route, "
        "and ask for it again every 30 s.",
        next_command="mqctl topic list {source}",
    ),
    "MQ626": Text(
        title="A name server does not answer",
        what={"": "Name server {address} does not answer: {reason}. {answering_count:other does/do}."},
        effect="Clients that list it use another one after a timeout. What only this one knows was not judged, and "
        "there is less redundancy left.",
        advice="Restart it, or take it out of the lists of brokers and clients if it is gone for good. If only this machine cannot reach it, look from another.",
        explain="Name servers do not know of each other, so nobody but clients and brokers notices. One that hangs and one behind a firewall look the "
        "same from here: the brokers' logs distinguish them.",
        next_command=_BROKERS,
    ),
    "MQ627": Text(
        title="A route to a broker that does not have the topic",
        what={"": "Name servers list {topic} on {brokers}, where it does not exist."},
        effect="Messages sent there are refused, or create the topic with default settings; pulls are refused with code 17. Consumers own its queues all the same.",
        advice="If the topic should be gone, delete it at the name servers as well (mqctl topic delete does both). "
        "Otherwise create it on that broker again.",
        explain="A broker that loses a topic registers the others, and name servers keep what they had (4.9.x). A topic that was deleted on the broker only "
        "and a broker that came back without its topics.json look the same: the second lacks all its topics.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
}
