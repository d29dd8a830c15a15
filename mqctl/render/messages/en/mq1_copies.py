"""MQ139 to MQ141: the words of `mqctl.diagnosis.mq1_copies` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

_STATUS = "mqctl ha status {source} {broker}"

RULES: dict[str, Text] = {
    "MQ139": Text(
        title="A slave's tables differ from its master's",
        what={
            "": "Slave {broker_id} of {broker} lacks {topic_count:topic} and {group_count:group} of its master: {names}.",
            "none": "Slave {broker_id} of {broker} knows none of its master's {topic_count:topic}.",
            "alone": "Slave {broker_id} of {broker} has {log_bytes} of log and knows no topic in it; its master is gone.",
            "other": "The tables of slave {broker_id} of {broker} are not its master's, which changed last {age_ms} ago.",
            "offsets": "Slave {broker_id} of {broker} has no consumer offsets; its master has {offset_count}.",
        },
        effect="If the master dies, consumers cannot read there what the slave's log has (code 17, 22 or 26), or begin again from elsewhere.",
        advice="Check that the slave reaches both ports of its master: topics come from listenPort - 2, groups and offsets from listenPort. "
        "Topics created on the slave are lost at the next copy.",
        explain="4.9 copies every 10 s, 5.x for the first time 60 s after its start and then every 60 s; until then a slave has the whole log and "
        "knows no topic.",
        next_command=_STATUS,
    ),
    "MQ140": Text(
        title="A slave does not reach its master's replication port",
        what={
            "": "Slave {broker_id} of {broker} has its master's topics and groups, and none of its {missing_bytes}.",
            "connection": "Nobody is connected to the replication port of {broker}, whose slave {broker_id} is registered.",
        },
        effect="Nothing is replicated. A SYNC_MASTER of 4.9 answers sends with SLAVE_NOT_AVAILABLE, one of 5.x with inSyncReplicas=2 with FLUSH_SLAVE_TIMEOUT.",
        advice="Open haListenPort (listenPort + 1 by default), and set brokerIP2 to an address that the slave reaches: NAT and containers register others.",
        explain="Tables come through the port of requests, the log through haServerAddr, which is brokerIP2:haListenPort. A slave in the first minute "
        "after its start or its master's is left alone. 4.9 does not tell who is connected; there the empty log tells.",
        next_command="mqctl broker list {source}",
        live_command="mqctl broker reach {source} {broker}",
    ),
    "MQ141": Text(
        title="A master is alone in its sync state set",
        what={
            "": "{broker} runs under a controller and nobody is in sync with it; {slave_count:slave is/slaves are} registered."
        },
        effect="If it fails now, no master can be elected, or, with enableElectUncleanMaster, one that lacks messages.",
        advice="Check that the slaves run, that their heartbeats reach the leader of the controllers, and that they catch up. `mqadmin getSyncStateSet` shows the "
        "controller's view.",
        explain="A slave leaves the set when its connection closes, or after 15 s behind; it comes back when it has caught up. The master tells who is in "
        "sync in its haStatus.",
        next_command=_STATUS,
    ),
}
