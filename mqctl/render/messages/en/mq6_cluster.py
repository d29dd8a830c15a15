"""MQ6, cluster: the words of `mqctl.diagnosis.mq6_cluster` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ618": Text(
        title="No broker is registered",
        what={"": "The name servers answer ({name_servers}), but no broker is registered with any of them."},
        effect="Clients find no route: nothing can be sent or consumed. No topic or group could be judged.",
        advice="Check that the brokers run, and that their namesrvAddr lists these name servers. A name server that has just started "
        "lists them within 30 s. If this is the wrong cluster, name the right one.",
        explain="Name servers keep what brokers register in memory, and drop a broker whose connection breaks or that is silent for "
        "120 s. Brokers register again every 30 s.",
        next_command="mqctl broker list {source}",
    ),
    "MQ619": Text(
        title="One broker under two names",
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
    "MQ605": Text(
        title="Write permission was wiped",
        what={"": "{name_server} shows {topic_count:topic} of {broker} as closed for writing, {topic} among them."},
        effect="Producers that ask this name server send nothing to that broker.",
        advice="If maintenance is over, give it back (mqadmin addWritePerm).",
        explain="The mark lives in the memory of one name server only and goes with its restart or the next change of topics.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
    "MQ606": Text(
        title="A topic on some brokers only",
        what={"": "{topic} is missing on {missing_count} of {broker_count:broker} of {cluster}: {brokers}."},
        effect="Those brokers carry none of its load; automatic creation leaves topics like this.",
        advice="Create it on all brokers of the cluster.",
        explain="Compares the route with the masters of the cluster.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
    "MQ607": Text(
        title="Brokers have different numbers of queues",
        what={"": "{topic} has between {least_queue_count} and {most_queue_count:queue} on its brokers ({counts})."},
        effect="Load follows the number of queues.",
        advice="Give all brokers the same number unless it is meant so.",
        explain="Senders take queues in turn, so a broker with twice the queues gets twice the messages.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
    "MQ635": Text(
        title="A name server does not list all brokers",
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
    "MQ629": Text(
        title="A topic without write queues",
        what={
            "": "{topic} has {read_queue_count:read queue} and no write queues on {broker_count:broker}.",
            "none": "{topic} has neither read nor write queues on {broker_count:broker}.",
        },
        effect="Every send fails in the producer, which says that the topic has no route.",
        advice="Give it write queues again unless it is being drained before it is deleted.",
        explain="Producers take their queues from writeQueueNums of all brokers in the route. Zero is how a topic is drained, and looks like a topic that does not exist.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
    "MQ608": Text(
        title="Name servers disagree",
        what={"": "{name_servers} of {name_server_count:name server} show another route of {topic}."},
        effect="Clients see different queues, depending on which one they ask.",
        advice="Look again in a minute: brokers register with each name server every 30 s. If it stays, a broker does not reach that name server, "
        "or its namesrvAddr leaves it out (`mqctl broker config`).",
        explain="Name servers do not talk to each other; every broker registers with each. A second look distinguishes a fault from a "
        "registration under way.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
    "MQ609": Text(
        title="A master is gone",
        what={"": "{broker} has {slave_count:slave} and no master."},
        effect="Its messages can be read; nothing can be sent or locked, and offsets committed meanwhile are overwritten when the master returns.",
        advice="Start the master. If there never was one of that name, the slave has a wrong brokerName: it must be its master's.",
        explain="Looks for broker names that have addresses but none with id 0. The entry of a master that stops or dies goes at once, "
        "that of a frozen host after 120 s; in plain mode nobody takes over.",
        next_command="mqctl broker list {source}",
    ),
    "MQ610": Text(
        title="A broker is closed",
        what={"": "The permission of {broker} is {perm}."},
        effect="What it lacks is refused with code 16, whatever the topics allow.",
        advice="Set brokerPermission to 6 when the maintenance is over.",
        explain="brokerPermission overrides every topic: 4 reads, 2 writes, 6 both.",
        next_command="mqctl broker config {source} {broker}",
    ),
    "MQ614": Text(
        title="A topic created by its first message, on one broker only",
        what={
            "": "Topic {topic} lives on {broker} only, of {broker_count:master}, with {queue_count:queue}: a first send created "
            "it there."
        },
        effect="One broker carries all of the topic; without it the topic is gone.",
        advice="Create the topic on all brokers, and set autoCreateTopicEnable=false.",
        explain="With autoCreateTopicEnable a broker creates what is sent to it, with the number of queues that the producer asks "
        "for; the others hear nothing of it while producers keep to the route they have.",
        next_command="mqctl topic describe {source} -t {topic}",
    ),
}
