"""What only a live cluster shows, in English: parallelism, order, movement, routes, the health of brokers."""

from __future__ import annotations

from mqctl.render.messages import Text

_SHOW = "mqctl allocation show {source} -g {group}"
_LAG = "mqctl group lag {source} -g {group}"
_MEMBERS = "mqctl group members {source} -g {group}"
_STACKS = "mqctl stacks dump {source} -g {group} --client {client}"
_BROKER = "mqctl broker stats {source} {broker}"

RULES: dict[str, Text] = {
    "MQ110": Text(
        title="A broker's disk is nearly full",
        what={
            "early": "The disk of {broker} is {disk_used_share} full: files are deleted before their time.",
            "forced": "The disk of {broker} is {disk_used_share} full: files are deleted whatever their age.",
            "refused": "The disk of {broker} is {disk_used_share} full: sends are refused.",
        },
        effect="Messages that nobody has consumed yet are deleted, and beyond 90 % nothing can be sent.",
        advice="Add disk or lower fileReservedTime; look for groups whose backlog is about to expire.",
        explain="A broker deletes at its usual hour, from 75 % on at any hour, from 85 % on regardless of age, and answers sends "
        "with 14 from 90 % on.",
        next_command=_BROKER,
    ),
    "MQ111": Text(
        title="A broker's page cache is busy",
        what={"": "An append on {broker} has held the page cache lock for {lock_ms}."},
        effect="From one second on the broker rejects sends with code 2.",
        advice="Look at disk I/O, swapping and memory pressure of that machine.",
        explain="pageCacheLockTimeMills is the age of the append that is under way; a healthy one takes less than a "
        "millisecond.",
        next_command=_BROKER,
    ),
    "MQ112": Text(
        title="Requests wait in a broker",
        what={
            "send": "Sends wait {wait_ms} on {broker}, {waiting_count} of them.",
            "pull": "Pulls wait {wait_ms} on {broker}, {waiting_count} of them.",
            "query": "Queries wait {wait_ms} on {broker}, {waiting_count} of them.",
        },
        effect="Requests that wait too long are answered with code 2, busy; producers do not retry those.",
        advice="Find out what holds the broker up: disk, flush mode, garbage collection; else spread the load.",
        explain="Looks at the wait of the oldest request in the queues for sends (limit 200 ms), pulls (5 s) and queries.",
        next_command=_BROKER,
    ),
    "MQ113": Text(
        title="Consume queues lag behind the commit log",
        what={"": "{broker} has {behind_bytes} in its commit log that consume queues do not know."},
        effect="Those messages are stored, and no consumer can see them yet.",
        advice="Look at the disk that holds the consume queues; after a start, wait for dispatching to catch up.",
        explain="dispatchBehindBytes is the distance between the end of the commit log and what was dispatched.",
        next_command=_BROKER,
    ),
    "MQ114": Text(
        title="Appends are slow",
        what={"": "One append in a hundred on {broker} takes {append_ms} or more."},
        effect="Producers wait that long, and time out at three seconds.",
        advice="Look at disk latency and at the flush mode.",
        explain="putLatency99 as 5.x tells it; 50 ms is the limit.",
        next_command=_BROKER,
    ),
    "MQ115": Text(
        title="Off-heap buffers are used up",
        what={"": "The transient store pool of {broker} has {buffer_count:buffer} left."},
        effect="Sends are rejected until buffers are written back.",
        advice="Raise transientStorePoolSize, or find out why committing is slow.",
        explain="With transientStorePoolEnable messages go to a pool of buffers first; an empty pool makes the broker answer "
        "code 2.",
        next_command=_BROKER,
    ),
    "MQ116": Text(
        title="A slave is far behind its master",
        what={"": "Slave {broker_id} of {broker} is {behind_bytes} behind its master."},
        effect="A synchronous master answers sends with 11; what the slave lacks is lost if the master dies.",
        advice="Check the network between the two and the slave's disk.",
        explain="Compares the ends of both commit logs; 256 MiB is where a synchronous master gives its slave up.",
        next_command=_BROKER,
    ),
    "MQ302": Text(
        title="More instances than queues",
        what={"": "Group {group} has {member_count:instance} for {queue_count:queue} of {topic}."},
        effect="{idle_count:instance} do nothing for this topic; adding more does not help.",
        advice="Add queues, which helps new messages only, or raise threads instead of instances.",
        explain="A queue has one owner. What exceeds the number of readable queues stays idle, whatever the strategy.",
        next_command=_SHOW,
    ),
    "MQ303": Text(
        title="Queues do not divide among the instances",
        what={"": "Group {group} shares {queue_count:queue} of {topic} among {member_count:instance}."},
        effect="{doubled_count:instance} carry two queues and the others one: the group is as fast as its slowest.",
        advice="Choose the number of queues as a multiple of the instances, at least twice as many.",
        explain="Said when there are more queues than instances, but less than twice as many.",
        next_command=_SHOW,
    ),
    "MQ304": Text(
        title="A thread maximum without effect",
        what={
            "": "{client} of {group} holds {cached_count:message} with {thread_min_count:thread}; its maximum of "
            "{thread_max_count} is never reached."
        },
        effect="The consumer is slower than its settings suggest.",
        advice="Set consumeThreadMin to the number of threads that you want.",
        explain="The queue in front of the pool is unbounded, so a pool never grows beyond its minimum.",
        next_command=_MEMBERS,
    ),
    "MQ305": Text(
        title="More threads than queues in an orderly consumer",
        what={"": "{client} of {group} has {thread_count:thread} for {queue_count:queue}."},
        effect="The surplus never works: an orderly queue is consumed by one thread at a time.",
        advice="More queues, or consumption in order of keys, spread the work; more threads do not.",
        explain="Said only of consumers whose cache is full.",
        next_command=_MEMBERS,
    ),
    "MQ306": Text(
        title="A full cache holds a consumer back",
        what={
            "count": "{client} of {group} holds {cached_count:message} of one queue and pulls no more from {queues}.",
            "size": "{client} of {group} holds {cached_bytes} of one queue and pulls no more from {queues}.",
            "span": "{client} of {group} holds messages {span_count} offsets apart and pulls no more from {queues}.",
        },
        effect="Consumption is as fast as the listener, not as the network; by span, as fast as its slowest message.",
        advice="Look at what the consume threads do.",
        explain="Clients stop pulling a queue at 1,000 messages, 100 MiB, or 2,000 offsets between the first and the last "
        "unfinished one.",
        next_command=_STACKS,
    ),
    "MQ307": Text(
        title="Consumption is blocked",
        what={"": "{client} of {group} holds {cached_count:message} and has finished none for {idle_ms}, in {queues}."},
        effect="The offset stands at {first_offset}; a restart delivers everything above it again.",
        advice="Take the stacks of its consume threads: they wait for something.",
        explain="Messages in the cache and no consumption for a minute. Concurrent consumers commit the smallest unfinished "
        "offset, so one hung message is enough.",
        next_command=_STACKS,
    ),
    "MQ308": Text(
        title="A consumer has stopped pulling",
        what={"": "{client} of {group} has not pulled {queues} for {idle_ms}."},
        effect="Nothing of those queues is consumed, and nobody else may take them.",
        advice="See whether the consumer is suspended; else restart that instance.",
        explain="Two minutes without a pull although no threshold holds the consumer back.",
        next_command=_STACKS,
    ),
    "MQ309": Text(
        title="Queues that no instance consumes",
        what={
            "": "Group {group} leaves {orphan_count} of {queue_count:queue} of {topic} to nobody: {queues}.",
            "topic": "Group {group} leaves {orphan_count} of {queue_count:queue} of {topic} to nobody: {queues}. They fall to "
            "{clients}, which do not subscribe it.",
        },
        effect="{waiting_count:message} wait there, and every new one stays too.",
        advice="Make all members subscribe alike and use one strategy; look for a member that others do not see.",
        explain="Compares the readable queues of the route with what every instance says it holds. Said only when all of them "
        "answered and none has started within two minutes.",
        next_command=_SHOW,
    ),
    "MQ310": Text(
        title="Queues that two instances consume",
        what={"": "{double_count:queue} of {topic} are held twice in group {group}: {queues}, by {clients}."},
        effect="Messages of those queues are consumed twice, and the two overwrite each other's offsets.",
        advice="Look for two strategies in one group, or brokers that disagree about its members.",
        explain="Instances do not negotiate: each computes its share from what it sees. Different lists or strategies overlap.",
        next_command=_SHOW,
    ),
    "MQ410": Text(
        title="An offset stands still",
        what={
            "": "Group {group} stands at {consumer_offset} in queue {queue_id} of {topic} on {broker} while "
            "{arrived_count:message} came in within {window_ms}."
        },
        effect="{lag_count:message} wait there. If one message holds the offset, a restart repeats all after it.",
        advice="Find the owner of the queue and take its stacks.",
        explain="Two looks at least a minute apart: the queue grew, the offset did not, and the group has members.",
        next_command=_LAG,
    ),
    "MQ411": Text(
        title="An offset went back",
        what={
            "": "Group {group} went from {earlier_offset} back to {consumer_offset} in queue {queue_id} of {topic} on "
            "{broker} within {window_ms}."
        },
        effect="{repeated_count:message} are consumed again.",
        advice="If nobody reset it, look for two instances that hold the same queue.",
        explain="Clients only raise offsets; they go back by a reset, a replay or a second owner.",
        next_command=_SHOW,
    ),
    "MQ412": Text(
        title="Consumption fails",
        what={"": "{failed_share} of what group {group} consumes of {topic} fails."},
        effect="Each failure comes back as a retry and adds to the load; after the last one it is a dead letter.",
        advice="Read the listener's errors and the reasons in its retries.",
        explain="Adds the rates that instances report; from 1 % on consumption counts as failing.",
        next_command=_LAG,
    ),
    "MQ413": Text(
        title="Dead letters are growing",
        what={"": "{new_count:message} went to {topic} within {window_ms}."},
        effect="They have failed as often as allowed, and nobody consumes them any more.",
        advice="Stop the cause first, then send them again.",
        explain="Compares the ends of dead-letter queues between two looks.",
        next_command="mqctl dlq show {source} -g {group}",
    ),
    "MQ501": Text(
        title="An orderly consumer waits for queue locks",
        what={"": "{client} of {group} has no lock on {queue_count:queue}: {queues}."},
        effect="Those queues stand still until the former owner's locks run out, a minute at most.",
        advice="Wait 80 s; if it lasts, look for an owner that renews the locks without consuming.",
        explain="The broker locks a queue for one client id for 60 s at a time. An owner that died keeps its locks that long.",
        next_command=_SHOW,
    ),
    "MQ502": Text(
        title="An orderly consumer is hung",
        what={"": "{client} of {group} has not come back from its listener for {idle_ms}: {queues}."},
        effect="{queue_count:queue} stand still; even when another instance owns them, this one does not let go.",
        advice="Take its stacks, then restart that instance.",
        explain="A queue that was given up and cannot be unlocked, or messages handed to the listener a minute ago.",
        next_command=_STACKS,
    ),
    "MQ503": Text(
        title="One message blocks an orderly queue",
        what={"": "{client} of {group} retries the message at {queue_offset} of {queues} again and again."},
        effect="{cached_count:message} and all that follow wait behind it.",
        advice="Fix the listener or give maxReconsumeTimes a bound; then the message becomes a dead letter.",
        explain="An orderly listener that fails is called again with the same message, 2147483647 times by default.",
        next_command=_STACKS,
    ),
    "MQ504": Text(
        title="Queue locks were not renewed",
        what={"": "{client} of {group} renewed its lock on {queues} {idle_ms} ago."},
        effect="After 30 s the consumer itself stops, after 60 s another may take the queues.",
        advice="Check that the client reaches the master of those queues.",
        explain="Locks are renewed every 20 s at the master; a slave gives none.",
        next_command=_SHOW,
    ),
    "MQ505": Text(
        title="An ordered topic is consumed concurrently",
        what={"": "{concurrent_count:instance} of {member_count} in group {group} consume {topic} without order."},
        effect="Messages of one key are handled by several threads at once.",
        advice="Use an orderly listener, or one that keeps the order of keys.",
        explain="The topic is declared as ordered; a concurrent listener takes messages of one queue in parallel.",
        next_command=_MEMBERS,
    ),
    "MQ506": Text(
        title="An ordered topic lost a broker",
        what={"": "The route of {topic} lacks {brokers}, and no order configuration fixes its queues."},
        effect="Senders spread keys over fewer queues now: messages of one key lie in two queues.",
        advice="Bring the broker back; set ORDER_TOPIC_CONFIG so that senders wait rather than move keys.",
        explain="Selectors take the hash of a key modulo the number of queues in the route. An order configuration keeps the "
        "number when a broker is away.",
        next_command="mqctl topic route {source} -t {topic}",
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
    "MQ608": Text(
        title="Name servers disagree",
        what={"": "{name_servers} of {name_server_count:name server} show another route of {topic}."},
        effect="Clients see different queues, depending on which one they ask.",
        advice="Check that every broker reaches every name server.",
        explain="Name servers do not talk to each other; every broker registers with each. A second look tells a fault from a "
        "registration under way.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
    "MQ609": Text(
        title="A master is gone",
        what={"": "{broker} has {slave_count:slave} and no master."},
        effect="Its messages can be read; nothing can be sent or locked, and committed offsets may be overwritten.",
        advice="Bring the master back.",
        explain="Looks for broker names that have addresses but none with id 0.",
        next_command="mqctl broker list {source}",
    ),
    "MQ611": Text(
        title="Names that tell no machine room",
        what={
            "": "Group {group} shares {topic} out by rooms, and no room can be told of {names}: its {queue_count:queue} stay "
            "with whoever has them, {waiting_count:message} waiting."
        },
        effect="The nearby strategy throws for the whole topic on every instance: owners stay as they are, whoever comes or "
        "goes.",
        advice="Name brokers and clients by the rule, or mend the rule.",
        explain="The strategy needs the room of every broker and of every client; one name without is enough. Judged only when "
        "the rule is given (--room-rule, or the profile's).",
        next_command=_SHOW,
    ),
    "MQ612": Text(
        title="A machine room without consumers",
        what={
            "": "Nobody of group {group} is in room {room}, which has {queue_count:queue} of {topic} ({queues}) with "
            "{waiting_count:message} waiting; held by: {holders}."
        },
        effect="With the nearby strategy the other rooms consume them across rooms; with the room strategy nobody does.",
        advice="Bring the room's consumers back, or see whether the others can carry it.",
        explain="Compares the rooms of the topic's brokers with those of the group's members.",
        next_command=_SHOW,
    ),
    "MQ613": Text(
        title="Machine rooms carry unequal loads",
        what={
            "": "Each consumer of {group} in room {room} has {queues_per_client} queues of {topic}, in room {other} "
            "{other_queues_per_client}."
        },
        effect="The room with more queues for each consumer falls behind first.",
        advice="Spread consumers by the queues of their rooms.",
        explain="Said when a room has more than twice the queues for each consumer of another.",
        next_command=_SHOW,
    ),
    "MQ610": Text(
        title="A broker is closed",
        what={"": "The permission of {broker} is {perm}."},
        effect="What it lacks is refused with code 16, whatever the topics allow.",
        advice="Set brokerPermission to 6 when the maintenance is over.",
        explain="brokerPermission overrides every topic: 4 reads, 2 writes, 6 both.",
        next_command="mqctl broker config {source} {broker}",
    ),
}
