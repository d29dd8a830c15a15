"""MQ116, MQ130 to MQ138, replication: the words of `mqctl.diagnosis.mq1_replication` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

_STATUS = "mqctl ha status {source} {broker}"
_CONFIG = "mqctl broker config {source} {broker}"

RULES: dict[str, Text] = {
    "MQ116": Text(
        title="A slave is far behind its master",
        what={"": "Slave {broker_id} of {broker} is {behind_bytes} behind its master."},
        effect="A SYNC_MASTER of 4.9 answers sends with SLAVE_NOT_AVAILABLE (11); what the slave has not copied is "
        "lost if the master dies.",
        advice="Check the network between the two and the slave's disk.",
        explain="Compares the ends of both commit logs; beyond 256 MiB a SYNC_MASTER no longer waits for its slave.",
        next_command=_STATUS,
    ),
    "MQ130": Text(
        title="A slave does not have its master's whole log",
        what={
            "": "Slave {broker_id} of {broker} is empty; its master has {missing_bytes}.",
            "partial": "The log of slave {broker_id} of {broker} begins {missing_bytes} after its master's.",
        },
        effect="What is missing cannot be read from it and is lost if the master dies; broker lists show it as "
        "healthy.",
        advice="Empty: check that the slave reaches haServerAddr (brokerIP2:haListenPort) of its master. Begins later: a new slave only "
        "gets the master's last file, or its retention is shorter; copy the master's store if you need all of it.",
        explain="Topics and offsets come through another port, so an empty slave may look complete. A slave that "
        "started in the last 60 s is not judged.",
        next_command=_STATUS,
    ),
    "MQ131": Text(
        title="A slave is ahead of its master",
        what={"": "The log of slave {broker_id} of {broker} ends {ahead_bytes} after its master's."},
        effect="The master lost these messages (power failure, an older disk), and consumers may have read them. As soon as the master "
        "has written as much, replication goes on in the middle of a record: the logs differ from there on.",
        advice="Stop the slave before the master catches up with it. Compare both stores (`mqctl ha compare`), save "
        "what only the slave has, then rebuild the slave.",
        explain="Neither release truncates a slave in plain mode. 4.9 closes the connection every 10 s; 5.x keeps it and says that it is in sync.",
        next_command=_STATUS,
    ),
    "MQ132": Text(
        title="A slave's log differs from its master's",
        what={
            "": "Slave {broker_id} of {broker} cannot read the last {undispatched_bytes} of its own log, and this is "
            "not shrinking.",
            "once": "Slave {broker_id} of {broker} has not dispatched the last {undispatched_bytes} of its log, though it has as much as its master.",
        },
        effect="New messages do not appear in the slave's queues. If the master dies, they are lost, although both logs end at the same offset.",
        advice="Seen once, look again with --window 10s: a busy slave catches up. Otherwise compare both stores and rebuild the slave.",
        explain="A slave that was ahead of its master keeps its own tail when the master overtakes it; the next "
        "block is appended in the middle of a record. Both logs end at the same offset and haStatus says in "
        "sync; only the slave's dispatchBehindBytes grows.",
        next_command=_STATUS,
    ),
    "MQ133": Text(
        title="Replication stands still",
        what={
            "": "Slave {broker_id} of {broker} got nothing for {window_ms}, and is {behind_bytes} behind.",
            "silent": "Slave {broker_id} of {broker} has not reported to its master for {silent_ms}.",
        },
        effect="Messages that the master takes from now on have no second copy.",
        advice="Check the connection to the master's haServerAddr, the slave's disk, and its log for `master pushed offset` or `appendToPhyQueue`.",
        explain="A slave reports at least every 5 s. The master's address in the slave's runtime information proves "
        "nothing: it stays there when the connection is gone.",
        next_command=_STATUS,
    ),
    "MQ134": Text(
        title="Connections to the replication port that are not slaves",
        what={
            "": "{mute_count:connection} to the replication port of {broker} never reported anything ({addresses}); {slave_count:slave is/are} registered.",
            "impossible": "{address} reported offset {reported_offset} to the replication port of {broker}, which is beyond the end of its log.",
        },
        effect="Each counts as a slave: synchronous sends wait for it, or are confirmed although no slave has the message. Connections of health "
        "checks that are not closed pile up and fill the heap.",
        advice="Find out who connects (a port scan, a health check of a load balancer or of Kubernetes) and keep it "
        "away from haListenPort. A slave that has just connected reports within 5 s. On 4.9, restart a "
        "master that received data from such a probe.",
        explain="There is no handshake: whoever connects is a slave, and the last eight bytes that it sent are an offset. An HTTP request "
        "reads as 6075407785597603082.",
        next_command=_STATUS,
    ),
    "MQ135": Text(
        title="A SYNC_MASTER that waits for no slave",
        what={"": "{broker} is a SYNC_MASTER with inSyncReplicas={in_sync_replicas}: its sends wait for no slave."},
        effect="A send that succeeded may be lost with the master.",
        advice="Set inSyncReplicas=2 if a second copy is wanted before a send succeeds; otherwise say so with "
        "brokerRole=ASYNC_MASTER.",
        explain="4.9 waits for one slave; 5.x counts the master itself, so that its default of 1 waits for nobody.",
        next_command=_CONFIG,
    ),
    "MQ136": Text(
        title="Role and id of a broker contradict each other",
        what={
            "": "{address} is set to {role} and registered as {broker} with id {broker_id}, the id of a slave.",
            "slave": "{address} is set to SLAVE and registered as {broker} with id 0, the id of the master.",
        },
        effect="A slave with id 0 receives all sends and refuses them. A master with another id gets no traffic: no "
        "route leads to it.",
        advice="Set brokerId=0 for the master and above 0 for slaves, with brokerRole to match, and restart the broker.",
        explain="Neither brokers nor name servers check that brokerRole and brokerId match.",
        next_command=_CONFIG,
    ),
    "MQ137": Text(
        title="Log files of master and slave differ in size",
        what={
            "": "Slave {broker_id} of {broker} has mappedFileSizeCommitLog {slave_file_bytes}, its master has {master_file_bytes}.",
        },
        effect="The slave stops at the first block that does not fit its file, reconnects, and stops again.",
        advice="Give the slave its master's mappedFileSizeCommitLog and an empty store.",
        explain="Blocks end where the master's files end, and must lie in one file of the slave's.",
        next_command=_CONFIG,
    ),
    "MQ138": Text(
        title="Two masters under one broker name",
        what={"": "{broker} has {master_count:master}: {addresses}."},
        effect="Clients reach one or the other by turns: messages seem to vanish, and offsets go back.",
        advice="If both run, stop one of them, or give it a name of its own. If the master moved on purpose, name "
        "servers that still have the old address drop it within 120 s.",
        explain="Name servers keep one address for an id, that of the last registration; brokers register every 30 "
        "s, so two masters take turns. Several name servers, or two looks with --window, show both.",
        next_command="mqctl broker list {source}",
    ),
}
