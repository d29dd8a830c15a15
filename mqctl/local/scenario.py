"""Scenarios: faults declared as data.

A file says what is there, who consumes how, what breaks, and what `doctor` finds. What nobody knows in it is a mistake.

Everything of a scenario shares one time scale: periods of clients and brokers and the windows of the rules are those of
RocketMQ divided by it, so that what takes a minute elsewhere takes a second at 60. Instants stay those of the machine.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from mqctl.local.faults import Fault, When


class ClusterDeclared(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Brokers of one release that share a process.

    Attributes:
        slaves: how many slaves each broker has: `NAME-s`, `NAME-s2` and so on.
        rooms: machine rooms; broker names begin with one of them and `-`.
        joins: brokers register with the name servers of the first cluster of the scenario.
        grpc: gRPC clients are served, too (5.3.3).
        settings: properties of its brokers, by RocketMQ's names.
    """

    name: str = "DefaultCluster"
    brokers: tuple[str, ...] = ("broker-a",)
    slaves: int = 0
    rooms: tuple[str, ...] = ()
    isolated_rooms: bool = False
    name_servers: int = 1
    version: str = "4.9.8"
    joins: bool = False
    grpc: bool = False
    settings: dict[str, str] = {}

    @property
    def slave_names(self) -> tuple[str, ...]:
        """What its slaves are called."""
        ends = ["-s" if number == 1 else f"-s{number}" for number in range(1, self.slaves + 1)]
        return tuple(broker + end for broker in self.brokers for end in ends)


class TopicDeclared(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A topic, with `queues` queues on each of its brokers (all, unless it names some)."""

    name: str
    queues: int = 4
    read_queues: int | None = None
    perm: int = 6
    order: bool = False
    brokers: tuple[str, ...] = ()
    cluster: int = 0


class GroupDeclared(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a consumer group on every broker."""

    name: str
    retry_max_times: int = 16
    consume_enable: bool = True


class PopsDeclared(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A group is set to pop a topic (401) on every broker of it."""

    group: str
    topic: str
    cluster: int = 0


class MessagesDeclared(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Messages that a producer sends at once.

    Attributes:
        tags: taken in turn.
        keys: key of each message; `{n}` is its number.
        sharding_keys: key -> how many of so many messages in turn have it; it chooses the queue as Java's hash does.
        queue: `broker/id` where all of them go; None for all queues in turn.
        transaction: half messages whose local transaction ends so; `pending` ones are left to the broker's checks, and
            nobody of their producer group is online.
        producer: producer group.
    """

    topic: str
    count: int = 1
    tags: tuple[str, ...] = ()
    keys: str | None = None
    sharding_keys: dict[str, int] = {}
    queue: str | None = None
    delay_level: int = 0
    body_bytes: int = 64
    producer: str = "planter"
    transaction: Literal["commit", "rollback", "pending"] | None = None
    cluster: int = 0
    when: When = "first"


class StreamDeclared(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A producer process that sends as long as the scenario runs; real milliseconds between two messages.

    Attributes:
        room: it asks the address service of this room, and sends to the room's queues, to all when there are none.
    """

    topic: str
    every_ms: int
    room: str | None = None
    tags: tuple[str, ...] = ()
    sharding_keys: dict[str, int] = {}
    producer: str = "stream"
    cluster: int = 0


Behaviour = Literal[
    "healthy", "slow", "failing", "waits-downstream", "waits-for-lock", "deadlock", "computes", "sleeps"
]


class ConsumerDeclared(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A consumer process.

    Attributes:
        name: instance name; its client id is `127.0.0.1@name`, with the room before it where it has one.
        instance: another instance name than its own; processes that share one have one client id.
        client: `grpc` is the push consumer of `rocketmq-python-client`, in a cluster that serves gRPC; its client id is
            its own, and it heeds `group`, `topics`, `does`, `slow_ms` and `threads`.
        topics: topic -> expression (tags, `*`).
        does: what its listener does with a message.
        slow_ms: how long a slow listener takes for one message; real milliseconds.
        strategy: which queues are its own: `avg`, `circle`, `hash`, `nearby`.
        room: it asks the address service of this room, where the cluster has rooms.
        cluster: number of the cluster whose name servers it asks.
        max_reconsume_times: failed deliveries after which a message is a dead letter; -1 is Java's 16.
        consume_timeout_min: RocketMQ's minutes after which a message that is with the listener is sent back.
        invisible_s: it asks brokers for its queues and pops for so many of RocketMQ's seconds; None computes and pulls.
    """

    name: str
    group: str
    topics: dict[str, str]
    instance: str | None = None
    client: Literal["remoting", "grpc"] = "remoting"
    does: Behaviour = "healthy"
    slow_ms: int = 20
    threads: int = 4
    mode: Literal["concurrent", "orderly", "key-ordered"] = "concurrent"
    model: Literal["clustering", "broadcasting"] = "clustering"
    strategy: str = "avg"
    room: str | None = None
    cluster: int = 0
    max_reconsume_times: int = -1
    pull_threshold: int = 1_000
    consume_timeout_min: int = 15
    invisible_s: int | None = None
    when: When = "first"


class OffsetDeclared(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a group is made to stand, on every queue of a topic or on one (`broker/id`).

    Attributes:
        at: `begin`, `end` or an offset.
    """

    group: str
    topic: str
    at: int | Literal["begin", "end"]
    queue: str | None = None
    cluster: int = 0
    when: When = "first"


class Expected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A finding that `doctor` shows.

    Attributes:
        group, topic: names that its subject or parameters carry, where they matter.
    """

    code: str
    playbook: str | None = None
    group: str | None = None
    topic: str | None = None


class DoctorRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of `doctor` and all that it finds.

    Attributes:
        store: judge the store directory of this broker; None for the live cluster.
        window_ms: look twice, so far apart, for rules about movement; real milliseconds.
        room: whose name server is asked, where the cluster has rooms; None for those of all.
        when: `last`, with the faults, or `back`, when they have ended.
        finds: what it shows, each at least once.
        also: codes that may show as well, with the reason why they come and go in the file's comments.
    """

    store: str | None = None
    window_ms: int = 0
    room: str | None = None
    when: Literal["last", "back"] = "last"
    stacks: bool = False
    room_rule: str | None = None
    cluster: int = 0
    groups: tuple[str, ...] = ()
    finds: tuple[Expected, ...] = ()
    also: tuple[str, ...] = ()


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One scenario.

    Attributes:
        name: that of its file.
        title: one line for lists.
        planted: what is wrong, told to the reader, one line each.
        playbook: slug of the playbook that it is for.
        time_scale: see the module.
        downstream_ms: how long the server that listeners of `waits-downstream` ask takes to answer; real milliseconds.
        settle_s: how long it may take until `doctor` shows what is declared; real seconds.
        looks: what `doctor` shows, once everything has settled.
        next_commands: what to type, without the option that names the cluster.
    """

    name: str = ""
    title: str
    planted: tuple[str, ...]
    playbook: str | None = None
    time_scale: float = 60.0
    downstream_ms: int = 600_000
    clusters: tuple[ClusterDeclared, ...] = (ClusterDeclared(),)
    topics: tuple[TopicDeclared, ...] = ()
    groups: tuple[GroupDeclared, ...] = ()
    pops: tuple[PopsDeclared, ...] = ()
    messages: tuple[MessagesDeclared, ...] = ()
    streams: tuple[StreamDeclared, ...] = ()
    consumers: tuple[ConsumerDeclared, ...] = ()
    offsets: tuple[OffsetDeclared, ...] = ()
    faults: tuple[Fault, ...] = ()
    settle_s: float = 60.0
    looks: tuple[DoctorRun, ...] = ()
    next_commands: tuple[str, ...] = ()

    @property
    def ends_well(self) -> bool:
        """Whether it is a drill: something of it happens once the faults have been looked at."""
        parts = (*self.faults, *self.messages, *self.consumers, *self.offsets)
        return any(part.when == "back" for part in parts)
