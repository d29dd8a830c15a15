"""Kafka's terms in RocketMQ's, for people who know one and run the other. Kafka as of 3.7, RocketMQ as of 4.9, 5.x."""

from __future__ import annotations

from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One of Kafka's terms.

    Attributes:
        name: Kafka's word, in lower case unless it is a setting.
        rocketmq: what it is called in RocketMQ.
        text: what is the same and what differs.
        command: the command that shows it.
        also: other words of Kafka that are explained by it.
    """

    name: str
    rocketmq: str
    text: str
    command: str
    also: tuple[str, ...] = ()


KAFKA_TERMS = (
    Term(
        name="topic",
        rocketmq=sentence("kafka-topic-in-rocketmq", "topic"),
        text=sentence(
            "kafka-topic-explained",
            "The same idea. A RocketMQ topic has its queues on each broker (4 or 8 each is usual), readable and "
            "writable counts set apart, and all topics of a broker share one commit log: thousands of topics cost "
            "little.",
        ),
        command="mqctl topic describe -t TOPIC",
    ),
    Term(
        name="partition",
        rocketmq=sentence("kafka-partition-in-rocketmq", "message queue"),
        text=sentence(
            "kafka-partition-explained",
            "A queue is named by broker and queue id (broker-a/3), not by one number for the topic. It is an index "
            "into "
            "the broker's commit log, not a log of its own. A broker that is lost takes its queues out of the route; "
            "producers go on with the queues of the other brokers.",
        ),
        command="mqctl topic describe -t TOPIC",
    ),
    Term(
        name="parallelism",
        rocketmq=sentence("kafka-parallelism-in-rocketmq", "threads and queues"),
        text=sentence(
            "kafka-parallelism-explained",
            "Kafka: min(partitions, consumers) work at once, each consumer with one thread. RocketMQ, concurrent: the "
            "consume threads of all clients that own a queue (20 each by default), so that few queues can keep many "
            "threads "
            "busy. RocketMQ, orderly: the sum of min(threads, queues) over the clients. POP: no bound by queues.",
        ),
        command="mqctl group lag -g GROUP --advise",
        also=("concurrency", "max parallelism"),
    ),
    Term(
        name="consumer group",
        rocketmq=sentence("kafka-consumer-group-in-rocketmq", "consumer group"),
        text=sentence(
            "kafka-consumer-group-explained",
            "All members must subscribe to the same topics and tags: RocketMQ's clients share every topic of the group "
            "among all members, also those that do not subscribe to it. Kafka counts only the subscribers of each "
            "topic. "
            "With subscriptions that differ RocketMQ leaves queues without a consumer.",
        ),
        command="mqctl subscription check -g GROUP",
    ),
    Term(
        name="group coordinator",
        rocketmq=sentence("kafka-group-coordinator-in-rocketmq", "the clients themselves"),
        text=sentence(
            "kafka-group-coordinator-explained",
            "There is no coordinator: brokers list the group's members, and each client computes its own share with "
            "the "
            "same strategy. Clients that see different lists own a queue twice, or not at all, for a while. In POP "
            "mode "
            "the broker shares out messages.",
        ),
        command="mqctl allocation show -g GROUP",
        also=("coordinator", "group leader"),
    ),
    Term(
        name="assignor",
        rocketmq=sentence("kafka-assignor-in-rocketmq", "allocation strategy"),
        text=sentence(
            "kafka-assignor-explained",
            "range is AVG for one topic; roundrobin is AVG_BY_CIRCLE for one topic, and continues over all topics, "
            "where RocketMQ starts again with each. sticky has no counterpart: CONSISTENT_HASH moves few queues and "
            "balances worse. MACHINE_ROOM_NEARBY is what Kafka does with racks. Simulated, sticky has Kafka's loads "
            "and as many moves after a rebalance; which of the members with equal load gets a queue can differ.",
        ),
        command="mqctl allocation simulate -g GROUP -t TOPIC --as kafka sticky",
        also=("partition.assignment.strategy", "range", "roundrobin", "sticky", "cooperative-sticky"),
    ),
    Term(
        name="rebalance",
        rocketmq=sentence("kafka-rebalance-in-rocketmq", "rebalance"),
        text=sentence(
            "kafka-rebalance-explained",
            "Every client repeats it each 20 seconds and when a broker says that members changed. There is no barrier: "
            "the old owner may still work on a queue that the new one pulls already, so messages in flight are "
            "consumed "
            "twice. Orderly groups lock the queue at the broker for 60 seconds at a time.",
        ),
        command="mqctl allocation show -g GROUP",
        also=("cooperative rebalance", "static membership", "group.instance.id"),
    ),
    Term(
        name="offset",
        rocketmq=sentence("kafka-offset-in-rocketmq", "consumer offset"),
        text=sentence(
            "kafka-offset-explained",
            "Kept by each broker for its queues, by group, in consumerOffset.json (or RocksDB), not in a topic. "
            "Clients "
            "commit what all threads have finished, every 5 seconds.",
        ),
        command="mqctl group lag -g GROUP",
        also=("__consumer_offsets", "commit", "enable.auto.commit"),
    ),
    Term(
        name="log end offset",
        rocketmq=sentence("kafka-log-end-offset-in-rocketmq", "broker offset"),
        text=sentence(
            "kafka-log-end-offset-explained",
            "The queue's maximum offset: the next message gets it. Lag is broker offset minus consumer offset.",
        ),
        command="mqctl group lag -g GROUP",
        also=("leo", "high watermark", "hw"),
    ),
    Term(
        name="lag",
        rocketmq=sentence("kafka-lag-in-rocketmq", "lag"),
        text=sentence(
            "kafka-lag-explained",
            "The same sum, by queue. Not in it: messages that failed (they wait in the retry topic or behind a delay "
            "level), and messages that are pulled and not finished (in flight).",
        ),
        command="mqctl group lag -g GROUP",
    ),
    Term(
        name="auto.offset.reset",
        rocketmq=sentence("kafka-auto-offset-reset-in-rocketmq", "consumeFromWhere"),
        text=sentence(
            "kafka-auto-offset-reset-explained",
            "It counts only for a group without an offset. CONSUME_FROM_LAST_OFFSET starts at the end, but at the "
            "beginning where the queue has still its first message and the broker its whole log in memory: a new "
            "group on a "
            "young topic reads everything.",
        ),
        command="mqctl offset reset -g GROUP -t TOPIC --to-latest",
        also=("earliest", "latest"),
    ),
    Term(
        name="seek",
        rocketmq=sentence("kafka-seek-in-rocketmq", "offset reset"),
        text=sentence(
            "kafka-seek-explained",
            "For members that are online the broker sends each client its new offset; mqctl plans it, proves it and "
            "keeps the way back. Kafka's tool works only while the group is stopped.",
        ),
        command="mqctl offset reset -g GROUP -t TOPIC --to-time -2h",
        also=("kafka-consumer-groups.sh", "reset-offsets"),
    ),
    Term(
        name="key",
        rocketmq=sentence("kafka-key-in-rocketmq", "sharding key, and keys"),
        text=sentence(
            "kafka-key-explained",
            "Kafka's key chooses the partition. In RocketMQ that is the sharding key (or a queue selector in the "
            "producer's code); KEYS is an index to find a message by, and chooses nothing. Without a selector "
            "messages of "
            "one key go to all queues in turn.",
        ),
        command="mqctl order check -t TOPIC",
        also=("message key", "partitioner"),
    ),
    Term(
        name="ordering",
        rocketmq=sentence("kafka-ordering-in-rocketmq", "orderly consumption"),
        text=sentence(
            "kafka-ordering-explained",
            "Kafka: a partition is read by one thread. RocketMQ: only a listener of the orderly kind "
            "(MessageListenerOrderly) keeps the order of a queue; the concurrent kind hands its messages to 20 "
            "threads. A "
            "message that fails blocks its queue there, and is retried in place.",
        ),
        command="mqctl order check -t TOPIC",
        also=("order", "max.in.flight.requests.per.connection"),
    ),
    Term(
        name="poll",
        rocketmq=sentence("kafka-poll-in-rocketmq", "pull and push"),
        text=sentence(
            "kafka-poll-explained",
            "Clients pull with long polls; the push consumer does it for the application and calls its listener on "
            "consume threads. Flow control pauses a queue at 1,000 cached messages or 100 MiB.",
        ),
        command="mqctl group members -g GROUP -o wide",
        also=("max.poll.records", "fetch"),
    ),
    Term(
        name="max.poll.interval.ms",
        rocketmq=sentence("kafka-max-poll-interval-ms-in-rocketmq", "consumeTimeout"),
        text=sentence(
            "kafka-max-poll-interval-ms-explained",
            "A Kafka member that polls too late loses its partitions. A RocketMQ client keeps them as long as its "
            "heartbeats come, however long its listener hangs; after 15 minutes a message of the concurrent kind is "
            "sent "
            "back for a retry.",
        ),
        command="mqctl stacks dump -g GROUP",
    ),
    Term(
        name="session.timeout.ms",
        rocketmq=sentence("kafka-session-timeout-ms-in-rocketmq", "channel expiry"),
        text=sentence(
            "kafka-session-timeout-ms-explained",
            "Heartbeats every 30 seconds; a broker drops a client whose connection is closed at once, a silent one "
            "after 120 seconds.",
        ),
        command="mqctl group members -g GROUP",
        also=("heartbeat.interval.ms", "heartbeat"),
    ),
    Term(
        name="retry topic",
        rocketmq=sentence("kafka-retry-topic-in-rocketmq", "%RETRY% topic"),
        text=sentence(
            "kafka-retry-topic-explained",
            "Built in: a failed message comes back 16 times, after 10 seconds, 30 seconds, 1 minute and so on up to 2 "
            "hours, from the group's own retry topic. In Kafka it is the application's, or a framework's.",
        ),
        command="mqctl retry list -g GROUP",
        also=("retry", "retries"),
    ),
    Term(
        name="dead letter queue",
        rocketmq=sentence("kafka-dead-letter-queue-in-rocketmq", "%DLQ% topic"),
        text=sentence(
            "kafka-dead-letter-queue-explained",
            "Built in: after the last retry the broker moves the message to the group's dead-letter "
            "topic, which has no consumers by default.",
        ),
        command="mqctl dlq list -g GROUP",
        also=("dlq", "dead letter"),
    ),
    Term(
        name="transaction",
        rocketmq=sentence("kafka-transaction-in-rocketmq", "transactional message"),
        text=sentence(
            "kafka-transaction-explained",
            "Another thing by the same name. Kafka's makes several writes and offsets atomic inside Kafka. RocketMQ's "
            "ties one message to a local transaction of the producer: it is held back until the producer commits, "
            "and the "
            "broker asks back when it hears nothing.",
        ),
        command="mqctl transaction list",
        also=("transactions", "exactly once", "isolation.level"),
    ),
    Term(
        name="idempotent producer",
        rocketmq=sentence("kafka-idempotent-producer-in-rocketmq", "none"),
        text=sentence(
            "kafka-idempotent-producer-explained",
            "A send that timed out may have been stored: repeated, the message exists twice. Consumers "
            "detect it by the unique id or by a key of their own.",
        ),
        command="mqctl report duplicates --store DIR",
        also=(
            "idempotence",
            "enable.idempotence",
        ),
    ),
    Term(
        name="delay",
        rocketmq=sentence("kafka-delay-in-rocketmq", "delay level, or timer message"),
        text=sentence(
            "kafka-delay-explained",
            "Kafka has none. RocketMQ has 18 levels from 1 second to 2 hours in 4.9, and any time up to 3 days in 5.x.",
        ),
        command="mqctl delay levels",
        also=("delayed message", "scheduled message"),
    ),
    Term(
        name="filter",
        rocketmq=sentence("kafka-filter-in-rocketmq", "tag, or SQL92 expression"),
        text=sentence(
            "kafka-filter-explained",
            "Kafka's consumers read everything. RocketMQ's broker filters by the tag's hash, or by an expression over "
            "properties where enablePropertyFilter is on; a filtered message counts as consumed for good.",
        ),
        command="mqctl filter test",
        also=("filtering",),
    ),
    Term(
        name="retention",
        rocketmq=sentence("kafka-retention-in-rocketmq", "fileReservedTime"),
        text=sentence(
            "kafka-retention-explained",
            "For the whole broker, not by topic: files of the commit log older than 72 hours are deleted at 04:00, "
            "sooner "
            "when the disk is 75 % full. Consumed or not does not count.",
        ),
        command="mqctl store describe --store DIR",
        also=("retention.ms", "retention.bytes", "log.retention.hours"),
    ),
    Term(
        name="compaction",
        rocketmq=sentence("kafka-compaction-in-rocketmq", "compaction topic (5.x)"),
        text=sentence(
            "kafka-compaction-explained",
            "cleanup.policy=COMPACTION of 5.1 and later, as a topic's attribute; rarely used.",
        ),
        command="mqctl topic describe -t TOPIC",
        also=("cleanup.policy", "log compaction"),
    ),
    Term(
        name="segment",
        rocketmq=sentence("kafka-segment-in-rocketmq", "mapped file"),
        text=sentence(
            "kafka-segment-explained",
            "The commit log is cut into files of 1 GiB, each consume queue into files of 300,000 entries of 20 bytes.",
        ),
        command="mqctl store describe --store DIR",
        also=("log segment",),
    ),
    Term(
        name="replica",
        rocketmq=sentence("kafka-replica-in-rocketmq", "slave"),
        text=sentence(
            "kafka-replica-explained",
            "A slave copies its master's complete commit log, not partitions. Without a controller "
            "(5.x) it never becomes the master: consumers read from it while the master is away, and "
            "that broker name cannot be written to.",
        ),
        command="mqctl ha status",
        also=("follower", "replication"),
    ),
    Term(
        name="acks",
        rocketmq=sentence("kafka-acks-in-rocketmq", "SYNC_MASTER, SYNC_FLUSH"),
        text=sentence(
            "kafka-acks-explained",
            "Set on the broker, not by the producer: SYNC_MASTER waits for a slave, SYNC_FLUSH for the disk. A send "
            "may "
            "end with FLUSH_SLAVE_TIMEOUT or SLAVE_NOT_AVAILABLE: stored on the master, not confirmed elsewhere.",
        ),
        command="mqctl broker config BROKER",
        also=("min.insync.replicas",),
    ),
    Term(
        name="isr",
        rocketmq=sentence("kafka-isr-in-rocketmq", "SyncStateSet (controller)"),
        text=sentence(
            "kafka-isr-explained",
            "Only with a controller of 5.x. Otherwise a slave is in sync if its log ends near the master's.",
        ),
        command="mqctl ha status",
        also=("in-sync replicas", "leader", "leader election"),
    ),
    Term(
        name="controller",
        rocketmq=sentence("kafka-controller-in-rocketmq", "name server"),
        text=sentence(
            "kafka-controller-explained",
            "Name servers keep routes in memory, which every broker reports every 30 seconds, and do "
            "not talk to each other; they elect no masters. RocketMQ's own controller (5.x) does.",
        ),
        command="mqctl cluster describe",
        also=("zookeeper", "kraft", "bootstrap.servers"),
    ),
    Term(
        name="share group",
        rocketmq=sentence("kafka-share-group-in-rocketmq", "POP consumption"),
        text=sentence(
            "kafka-share-group-explained",
            "KIP-932 and POP have the same idea: the broker hands out single messages, each invisible for a while, and "
            "takes an ack for each; members may outnumber queues. RocketMQ has had it since 5.0.",
        ),
        command="mqctl group describe -g GROUP",
        also=("kip-932", "queues for kafka"),
    ),
    Term(
        name="headers",
        rocketmq=sentence("kafka-headers-in-rocketmq", "user properties"),
        text=sentence(
            "kafka-headers-explained",
            "Text to text, stored with the message beside its system properties; expressions filter by them.",
        ),
        command="mqctl message get ID",
    ),
    Term(
        name="broadcast",
        rocketmq=sentence("kafka-broadcast-in-rocketmq", "MessageModel.BROADCASTING"),
        text=sentence(
            "kafka-broadcast-explained",
            "Kafka needs a group for each consumer. RocketMQ's broadcasting group gives every client all queues and "
            "keeps "
            "offsets in files of the client: the broker knows no lag of it.",
        ),
        command="mqctl group describe -g GROUP",
    ),
    Term(
        name="quota",
        rocketmq=sentence("kafka-quota-in-rocketmq", "none by client"),
        text=sentence(
            "kafka-quota-explained",
            "Brokers reject by load instead: sends that wait over 200 ms in the queue are answered with system busy.",
        ),
        command="mqctl broker describe BROKER --counters",
        also=("throttling",),
    ),
)
"""In the order in which they build on each other."""
