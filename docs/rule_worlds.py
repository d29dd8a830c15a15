"""The two worlds of every rule, a sentence each: one in which it speaks, and the likeliest false alarm, in which it is
silent. `tests/diagnosis/test_worlds.py` builds both and holds that they are told here."""

from __future__ import annotations

_TEXT = """
MQ101: the broker was killed and left its abort marker | the broker stopped cleanly in the middle of a mapped file
MQ102: the checkpoint is missing, empty or damaged | the checkpoint is ten seconds older than the newest message
MQ103: a consume queue lacks a message of the log | a broker that runs dispatches the message before the second look
MQ104: a record of the log contradicts its checksum | a topic was deleted, and the log still holds its messages
MQ105: the log ends in bytes that no consume queue knows | the last record of a log that is being written
MQ106: a configuration file is unreadable and the backup is used | a new broker has no files of offsets yet
MQ107: the broker's clock went back by four seconds | the clock went back by less than a second
MQ108: a recovery moved a part of the log to commitlog.set-aside | what was set aside has been acknowledged
MQ109: a store has nearly as many files as a process may map | a store has three quarters of them
MQ110: the disk is fuller than the level from which old files are deleted early | the disk is just below that level
MQ111: a message waited more than a second for the page cache | the page cache is held for less than that
MQ112: sends wait 250 ms in their queue, longer than sends may | as many sends wait, but only 150 ms
MQ113: dispatching is 100 MiB behind the log | dispatching is 60 MiB behind under load
MQ114: one message in a hundred takes 80 ms to append | it takes 30 ms
MQ115: the transient store pool has no buffer left | the pool is switched off and therefore reports no buffers
MQ116: a slave is 300 MiB behind its master | a slave is 100 MiB behind, within what it may be
MQ117: five writes of a minute took half a second or more | ninety thousand fast writes, and three that took 300 ms
MQ118: seven writes failed between two looks | the count went back, since the broker was started again
MQ119: a broker counts three timer records that it could not read | messages wait for the timer, and none was set aside
MQ121: a broker runs on a store in memory | a copy of a store lies in memory, and no broker runs on it
MQ122: somebody deleted a file of the log while its broker has it open | all files that the broker has open are there
MQ130: a slave has nothing of its master's log | a slave that started a few seconds ago has nothing yet
MQ131: a slave's log ends after its master's | a slave's log ends a block before its master's
MQ132: a slave cannot dispatch the end of its log, look after look | from look to look it has less to dispatch
MQ133: a slave got nothing while its master took messages | a slave got nothing, and its master neither
MQ134: a connection to the replication port never reported | a slave that was just started reported position 0
MQ135: a SYNC_MASTER of 5.x wants one replica, itself | it wants two, and its slave is there
MQ136: a broker with role SLAVE is registered with id 0 | so is one under a controller, whatever its settings say
MQ137: master and slave have log files of different sizes | their queue files have different sizes, which is no matter
MQ138: two name servers list different masters | the master is the same in both looks, the slave has changed
MQ139: a slave lacks a topic and all groups of its master | its master made the topic ten seconds ago
MQ140: a slave has its master's tables and nothing of its log | so has one that started five seconds ago
MQ141: nobody is in sync with a master under a controller | a master under a controller that never had a slave
MQ142: the only controller does not answer | both controllers answer and one of them leads
MQ143: a slave was cut, and its files have older records behind the cut | a slave under a controller that was never cut
MQ201: a group with offsets has no settings | a tool's group has offsets and needs no settings
MQ202: one of two members does not subscribe the topic | both subscribe the same topics, listed in another order
MQ203: members want different tags of one topic | members want the same two tags
MQ204: one member filters by tags and one by SQL92 | all members filter by the same SQL92 expression
MQ205: two connections of one broker bear the same client id | each client has a connection to each broker
MQ206: a broker does not know a member that others know | the same a minute after the members were started
MQ207: broadcasting members whose client ids change with every start | broadcasting members with fixed instance names
MQ208: one member of the group broadcasts | all members broadcast
MQ209: a group has members in Java and C++ | all members are in Java, of two releases
MQ210: members name different name servers | each member names its room's name server; both list the same brokers
MQ211: messages wait on a topic that no member subscribes any more | such a topic was consumed to its end
MQ212: members allocate queues by different strategies | members print the same strategy as different objects
MQ213: a broker without settings of the group does not create groups | the broker creates groups by itself
MQ214: members subscribe by SQL92, and a broker does not filter by properties | members subscribe by tag there
MQ215: a FIFO topic is consumed concurrently | the group is set to consume it in order
MQ216: a message has a tag that no online group of its topic subscribes to | the same, and another group wants *
MQ217: brokers differ in how often a group tries again | no retries are allowed, and all members send their own maximum
MQ218: a group that may not broadcast does | such a group shares its messages
MQ219: a member stays and its connections do not | a member joins the group
MQ221: a machine's members left and came back six times in a day | three deployments restart them three times
MQ301: a queue holds ten times as much as the others | the same on a topic of a few hundred messages
MQ302: three instances share two queues | two instances share two queues
MQ303: two instances share three queues | two instances share four queues
MQ304: a full cache, and a thread maximum that is never reached | the same maximum with a cache that is nearly empty
MQ305: an orderly consumer with a full cache has more threads than queues | the same without a backlog in its cache
MQ306: a full cache holds a concurrent consumer back | an orderly consumer with offsets far apart, which may be
MQ307: messages are cached and none was finished for three minutes | none was finished for 50 seconds
MQ308: a queue was not pulled for three minutes | a full cache is why it was not pulled
MQ309: a queue that no member owns | the same a minute after the members were started: it is not judged yet
MQ310: two members own one queue | the former owner still lists a queue that it has given up
MQ313: one of two members holds all queues, the other none | the same, and members share by consistent hash
MQ311: a second of rest after each pull, and 500 messages wait | the same rest with the messages of one pull waiting
MQ312: members differ in how often they try again | members are set up alike
MQ314: a member sends a heartbeat every five minutes | a member sends one every 100 seconds
MQ315: the only thread finishes a message every two seconds, of other queues | the same, and half the time it is idle
MQ320: threads wait for each other, in two looks | two blocked threads go on before the second look
MQ321: 18 of 20 threads wait for one lock, and messages wait | they wait for a lock while the group keeps up
MQ322: 18 of 20 threads wait for HTTP answers, and messages wait | they wait for HTTP answers while the group keeps up
MQ323: 18 of 20 threads sleep, and messages wait | they sleep while the group keeps up
MQ324: 18 of 20 threads compute, and messages wait | they compute while the group keeps up
MQ325: orderly threads wait for their queue, and messages wait | they wait while the group keeps up
MQ326: 18 of 20 threads stand in the same unknown call, and messages wait | they stand there while the group keeps up
MQ327: all threads are idle although messages wait | all threads are idle and nothing waits
MQ328: one of 20 threads exists although messages are cached | one of 20 threads exists, and no more were needed yet
MQ401: the next message has waited for ten minutes | the next message has waited for four minutes
MQ402: the group stands below the minimum offset | the group stands exactly at the minimum offset
MQ403: the next message expires within two hours | the next message expires in three hours
MQ404: the group stands beyond the maximum offset | the group stands exactly at the maximum offset
MQ405: messages have waited in the retry topic for a minute | they came twenty seconds ago
MQ406: a dead-letter queue holds messages | all messages of a dead-letter queue have expired
MQ407: a dead-letter topic with messages cannot be read | a dead-letter topic without messages cannot be read
MQ408: consumption is switched off for the group | broadcasting is switched off for it, consumption is not
MQ409: the broker corrected the group's offset an hour ago | it corrected the offset of a tool
MQ410: messages arrive and the offset stands still | the offset stands still because all is consumed
MQ411: the offset went back between two looks | the offset went forward between two looks
MQ412: one message in ten fails | one message in two hundred fails
MQ413: four dead letters came between two looks | old dead letters, and none came between two looks
MQ414: more arrives than the group consumes | the group consumes more than arrives
MQ415: a group begins at the end of a queue with messages | the same setting in a group that has its offsets
MQ416: popped messages have been due for a minute | the same within the minute, while they are being revived
MQ417: retries lie under the second name and the broker reads the first | the broker reads the second name
MQ418: messages are popped and nobody is online | an administrator moves the offsets of a group without members
MQ419: a member is ahead of its stored offset a minute after it consumed | the same 20 seconds after it consumed
MQ420: an ordered queue is blocked for a minute and messages wait | a batch of it is consumed for 50 s
MQ421: members take 90 s for what they pop for a minute | they take 50 s of the minute
MQ422: a member pulls the queues of a topic that its group pops | all members pop it, and pull the classic retry topic
MQ426: a group has no retry queue | so has an orderly group, which tries again in place
MQ427: messages that failed four times wait for the next try | messages that failed once wait for the next try
MQ430: the best hour of each day is six hours further behind | it is as far behind by day, and up to date every night
MQ431: a group consumes half as much each week, and as much is sent | half as much is sent each week, too
MQ432: a group had no member and moved no offset for 30 days | a job used it for ten minutes twelve days ago
MQ433: a group consumed a tenth of what is usual in this hour | a tenth of the usual was sent, on a holiday
MQ434: a topic got five messages where a thousand are usual | it gets five at this hour of every Sunday
MQ501: an orderly consumer has a queue without its lock | the same a minute after it was started
MQ502: a listener has had one message for two minutes | a listener has had one message for 50 seconds
MQ503: an orderly queue fails and does not move | an orderly queue has messages in its cache and moves
MQ504: a queue lock was renewed a minute ago | a queue lock was renewed 25 seconds ago
MQ505: an ordered topic is consumed concurrently, or any topic by some members in order only | all members are orderly
MQ506: an ordered topic lost a broker between two looks | a topic without order lost a broker
MQ507: an ordered topic got more queues between two looks | a topic without order got more queues
MQ508: an order configuration counts more queues than the topic has | it lists one of two brokers, as it is
MQ601: producers use queues that nobody reads | a topic was made smaller after its upper queue was consumed
MQ602: consumers read queues that nobody writes | producers use more queues than consumers read
MQ603: a topic cannot be read | a topic has its usual permissions and the bit for inheriting
MQ604: the group has offsets of a topic that is gone | the same of a trace topic and a light queue (LMQ)
MQ605: name servers show a broker as closed for sends, its settings do not | the topic was closed in its settings
MQ606: one of two masters does not have the topic | both have it, with different numbers of queues
MQ607: masters have different numbers of queues | all masters got more queues
MQ608: name servers return different routes | name servers return the same route in another order
MQ609: a broker has a slave and no master | both brokers have a slave beside their master
MQ610: a broker accepts no sends | brokers have the usual permission written out
MQ611: a room strategy meets a client whose room is not known | the same names under a strategy without rooms
MQ612: a room has queues and no consumer, under a room strategy | the same rooms under a strategy without rooms
MQ613: one client of a room carries three times as much as those of the other | both rooms have as many clients
MQ614: a first send created the topic on one of two masters | somebody created it on one broker by hand
MQ615: all producers of a group left between two looks | two of three producers left between two looks
MQ616: a fixed list has queues that are gone | fixed lists that fit the route
MQ617: a broker was seen a minute ago and is gone | the broker that was seen is still there, at another address
MQ618: no name server knows any broker | one of two name servers knows no broker
MQ619: one address is registered under two broker names | a slave has another address under its master's name
MQ620: a registered broker cannot be reached, or answers nothing in time | it answered, and left one question open
MQ621: a broker is registered as 127.0.0.1, and name servers are elsewhere | everything runs on one machine
MQ622: two clusters register one broker name | a slave is registered under its master's name
MQ623: a broker's brokerIP1 is not what it is registered as | its brokerIP2, which is for replication, is another
MQ624: members ask a name server with which no broker registers | they ask that one and the right one
MQ625: members subscribe a topic that no broker has | the topic is there, and nobody has sent to it
MQ626: one of two name servers does not answer | it answers, and refuses one route
MQ627: a topic was deleted on a broker and not at the name servers | the topic is on that broker, closed for sends
MQ629: a topic has no write queue on any broker | it has none on one broker of two
MQ630: one of two masters checks nobody, or has no entries of a user | both have the same entries, in another order
MQ631: an ordinary user on a broker that checks | all ordinary users are disabled
MQ632: a literal Deny beside an Allow of its prefix | the Deny is of another action, or of the other policy
MQ633: a Super user with a password of the examples | a disabled user has it
MQ634: the white list of a 4.9 broker has `*` | accounts sign, and the white list is a network
MQ635: a name server does not list one of two brokers | it registered between two looks
MQ640: timer messages are sent to a broker without timers | a broker without timers has a usual topic
MQ641: retention differs between two masters of a cluster | two masters list the same name servers in another order
MQ642: keys are sent to a broker with access control off | access control is off and no keys are sent
MQ643: a synchronous master has no slave | a synchronous master has one slave
MQ120: a broker refuses a message for its own topic | it takes the message in 60 ms
MQ220: a member is gone at the second look of three and back at the third | one leaves for good, another comes
MQ628: the VIP port is closed and the broker takes messages | the VIP port answers, and an old client is online
MQ644: autoCreateTopicEnable is on and TBW102 is missing | it is off, as in production, and TBW102 is missing
MQ423: three copies of a message came back at the same try | two copies came back at the last try that is allowed
MQ424: a member holds messages below the stored offset | what it holds begins at the stored offset
MQ425: messages have been renewed for five minutes and are not acknowledged | the same after four minutes
MQ650: a message was born 45 s after it was stored | of three messages two took long, and one 9 s less than none
MQ728: a message for a dead-letter topic waits in a delay level | messages for other topics wait there
MQ701: the recorded offset is beyond the messages that were delivered | everything is delivered and the record says so
MQ702: the recorded offset is below the queue's minimum | the recorded offset is the queue's minimum
MQ703: a level has messages and no recorded offset | a running broker delivered its first messages nine seconds ago
MQ704: delayOffset.json is missing and messages are delayed | it is missing and no delay level was ever used
MQ705: messages wait on a level beyond the table | messages wait on level 19 of a table that has 19 levels
MQ706: the recorded offset lags behind deliveries | a running broker delivered since it wrote the file five seconds ago
MQ707: delayed messages are a minute overdue | the next message is due this very moment
MQ708: the head of a delay queue cannot be delivered | the head of a delay queue was due a second ago and is whole
MQ709: a delayed message has no record in the log | records of messages that were delivered are gone by retention
MQ710: messages wait that were delayed by another table | only delivered messages were delayed by another table
MQ711: one delay queue was filled under two tables | one delay queue was filled under one former table
MQ712: a level is longer than retention | the longest level is shorter than retention
MQ713: due times of a delay queue go back | due times go back where the level table was changed
MQ714: the disk is nearly full and delayed messages are overdue | the disk is nearly full, delayed messages come in time
MQ716: the timer is fifteen seconds behind its clock | messages wait for the timer, which is not behind
MQ717: messages before the recorded offset have no copy | messages before the recorded offset have copies
MQ720: a half message waits for its end | half messages that were ended lie in the half topic as ever
MQ721: a transaction was checked twelve times | a transaction was checked nine times
MQ722: the broker gave up on a transaction | the broker is about to ask for the fourteenth time
MQ723: a committed transaction has no op message | a transaction that is pending has none either
MQ724: a transaction was committed twice | a transaction was committed once, and its op message is lost
MQ726: the check loop stands at one offset for two minutes | the check loop has moved on, and messages wait
MQ727: a half message has a delay level | a half message without a delay waits
MQ725: no producer is online to be asked | a producer of the group is online
"""


def _worlds() -> dict[str, tuple[str, str]]:
    found = {}
    for line in _TEXT.strip().splitlines():
        code, _, both = line.partition(": ")
        speaks, _, silent = both.partition(" | ")
        found[code] = (speaks, silent)
    return found


# By code: the world in which the rule speaks, the world in which it is silent.
WORLDS = _worlds()
