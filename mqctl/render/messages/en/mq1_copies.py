"""MQ139, MQ140: the words of `mqctl.diagnosis.mq1_copies` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

_STATUS = "mqctl ha status {source} {broker}"

RULES: dict[str, Text] = {
    "MQ139": Text(
        title="A slave's tables differ from its master's",
        what={
            "": "Slave {broker_id} of {broker} is missing {topic_count:topic} and {group_count:group} that its "
            "master has: {names}.",
            "none": "Slave {broker_id} of {broker} knows none of its master's {topic_count:topic}.",
            "alone": "Slave {broker_id} of {broker} has a log of {log_bytes} but no topics; its master is gone.",
            "other": "Slave {broker_id} of {broker} has other settings than its master for {names}; the master's tables "
            "last changed {age_ms} ago.",
            "offsets": "Slave {broker_id} of {broker} has no consumer offsets; its master has {offset_count}.",
            "defect": "Slave {broker_id} of {broker} has no consumer offsets; its master has {offset_count}. It is a defect of "
            "RocketMQ 5.5.0, not of this cluster: the slave cannot read the table of offsets (apache/rocketmq#10284).",
        },
        effect="If the master dies, consumers cannot read this slave although its log has the messages (code 17, 22 "
        "or 26), or they start from a wrong offset.",
        advice="Check that the slave reaches both ports of its master: topics come from listenPort - 2, groups and offsets from listenPort. "
        "Topics created on the slave are lost at the next copy. Where RocketMQ 5.5.0 cannot read the offsets, update the "
        "slave to a release with the fix (apache/rocketmq#10287); until then copy the master's config/consumerOffset.json "
        "before a failover.",
        explain="4.9 copies the tables every 10 s; 5.x copies them 60 s after its start and then every 60 s. Until "
        "the first copy a slave has the log but no topics. Contents are compared: slaves of 5.3.3 count versions of their own. "
        "The sign of the defect of 5.5.0 in the slave's broker.log is SyncConsumerOffset Exception with JSONException, "
        "every 10 s.",
        next_command=_STATUS,
    ),
    "MQ140": Text(
        title="A slave does not reach its master's replication port",
        what={
            "": "Slave {broker_id} of {broker} has its master's topics and groups, but none of its {missing_bytes} "
            "of log.",
            "connection": "Nobody is connected to the replication port of {broker}, whose slave {broker_id} is registered.",
        },
        effect="Nothing is replicated. A SYNC_MASTER of 4.9 answers sends with SLAVE_NOT_AVAILABLE, one of 5.x with inSyncReplicas=2 with FLUSH_SLAVE_TIMEOUT.",
        advice="Open haListenPort (listenPort + 1 by default), and set brokerIP2 to an address that the slave can "
        "reach; behind NAT or in a container the default is often wrong.",
        explain="The tables are copied through the request port, the log through haServerAddr, which is "
        "brokerIP2:haListenPort. A slave in the first minute after its start or its master's is not judged. "
        "4.9 does not report who is connected; there an empty log is the evidence.",
        next_command="mqctl broker list {source}",
        live_command="mqctl broker reach {source} {broker}",
    ),
}
