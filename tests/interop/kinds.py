"""Kinds of use, each once for all clients: what a user does with a client, and what must come of it.

A kind is a function of a `Cell`. It returns when the client does what the kind is named after, and raises where not.

Programs speak these words, those that their client has an interface for. A program is given its settings as JSON in its
argument (`namesrv` or `endpoints`; `access_key`, `secret_key`, `tls`), reports `ready`, and does what each line of JSON
on its standard input says (`do`, with fields), each answered by a report (`event`, with fields). What a client or its
server refuses is `failed` with the words of the refusal as `reason`; after `stop` the program ends with code 0.

producer: group, topics, trace, check (what it answers when transactions are checked) -> ready
push: name, group, topic, expression, sql, orderly, broadcast, pop, trace, retries, reply (answer requests with "re: "
    and their body), failing (the body that is never consumed), failures (so many first messages are not) -> ready
simple: name, group, topic, expression, sql -> ready
receive: name, most, invisible_s -> received with messages
ack: name -> acked; all that were received last
invisible: name, seconds -> changed; for all that were received last
pull: group, topic, count -> pulled with bodies
send: topic, body or bodies (a batch), tag, keys, properties, message_group, delay_level, delay_ms, transaction (commit,
    rollback or leave) -> sent with message_id, handle
request: topic, body -> replied with body
recall: topic, handle -> recalled with message_id

Reports that nobody asked for: `message` with name, topic, body, tag, keys, properties, message_id and attempt (from 1);
`checked` with body, where "rollback" is rolled back whatever `check` says; `unanswered` with the reason why a request
could not be replied to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Any

from mqctl.protocol.trace_records import TraceKind, decode_traces
from tests.client.consuming import wait_until
from tests.interop.clients import Client, ClientFailed, Event
from tests.interop.places import TLS, USERS, Place
from tests.interop.programs import Program

_TRACES = "RMQ_SYS_TRACE_TOPIC"
_RECEIVES = 12
_POLL_S = 0.1


class Refused(AssertionError):
    """What a client or its server answered instead of doing what it was told to."""


@dataclass(kw_only=True)
class Cell:
    """One client at one place, for one kind of use; its processes end with it.

    Attributes:
        suffix: makes names of topics and groups its own.
        directory: for logs, and the home of its processes.
        place: guarded by what the kind is about, if it is about that.
    """

    program: Program
    suffix: str
    directory: Path
    place: Place
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Cell:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @cached_property
    def client(self) -> Client:
        """The process of a client that is given addresses only."""
        return self.start("client")

    def start(self, name: str, **settings: object) -> Client:
        """Starts a process of the client; `settings` are further ones."""
        home = self.directory / name
        home.mkdir()
        addresses = {"namesrv": self.place.namesrv, "endpoints": self.place.grpc}
        environment = {"rocketmq.client.logRoot": str(home)}  # Go's gRPC client logs to the root directory without it
        if self.place.authority is not None:
            trusted = str(self.place.authority.file)
            environment |= {"NODE_EXTRA_CA_CERTS": trusted, "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": trusted}
        command = self.program.command(home)
        client = self._stack.enter_context(Client(name, command, {**addresses, **settings}, home, environment))
        client.wait("ready")
        return client

    def topic(self, kind: str = "NORMAL", queues: int = 2) -> str:
        """Makes the topic of the cell, of a `message.type`."""
        name = f"T_{self.suffix}"
        self.place.make_topic(name, kind, queues)
        return name

    def group(self, **settings: object) -> str:
        """Makes the group of the cell."""
        name = f"G_{self.suffix}"
        self.place.make_group(name, settings)
        return name


def tell(client: Client, word: str, **values: object) -> Event:
    """Has a client do something, and returns its report.

    Raises:
        Refused: the client said that it failed.
    """
    event = client.ask(word, **values)
    if event["event"] == "failed":
        raise Refused(event["reason"])
    return event


def produce(client: Client, topic: str, **options: object) -> None:
    """Starts a producer for a topic."""
    tell(client, "producer", group=f"P_{topic}", topics=[topic], **options)


def consume(client: Client, topic: str, group: str, name: str = "push", **options: object) -> None:
    """Starts a push consumer."""
    tell(client, "push", name=name, group=group, topic=topic, **options)


def messages(client: Client, count: int, name: str = "push") -> list[Event]:
    """Waits for the first `count` messages of a push consumer."""
    while len(heard := [event for event in client.of("message") if event["name"] == name]) < count:
        client.wait("message")
    return heard


def bodies(events: list[Event]) -> list[str]:
    return [event["body"] for event in events]


def received(client: Client, count: int, **options: object) -> list[Event]:
    """Receives as a simple consumer until there are so many messages."""
    events: list[Event] = []
    for _ in range(_RECEIVES):
        events += tell(client, "receive", name="simple", **options)["messages"]
        if len(events) >= count:
            return events
    raise ClientFailed(f"{client.name} received {bodies(events)} in {_RECEIVES} calls")


# The kinds


def normal(cell: Cell) -> None:
    topic, group = cell.topic(), cell.group()
    produce(cell.client, topic)
    sent = {
        body: tell(cell.client, "send", topic=topic, body=body, tag="TagA", keys=["k1", "k2"], properties={"p": "v"})
        for body in ("one", "two", "订单" * 3000)
    }
    consume(cell.client, topic, group)
    heard = {event["body"]: event for event in messages(cell.client, 3)}
    assert heard.keys() == sent.keys()
    for body, event in heard.items():
        assert (event["tag"], event["keys"], event["attempt"]) == ("TagA", ["k1", "k2"], 1), event
        assert event["properties"]["p"] == "v", event
        assert event["message_id"] == sent[body]["message_id"], (event, sent[body])


def simple(cell: Cell) -> None:
    topic, group = cell.topic(), cell.group()
    produce(cell.client, topic)
    tell(cell.client, "simple", name="simple", group=group, topic=topic)
    for body in ("one", "two"):
        tell(cell.client, "send", topic=topic, body=body)
        assert bodies(received(cell.client, 1)) == [body]
        tell(cell.client, "ack", name="simple")


def invisible(cell: Cell) -> None:
    topic, group = cell.topic(), cell.group()
    produce(cell.client, topic)
    tell(cell.client, "simple", name="simple", group=group, topic=topic)
    tell(cell.client, "send", topic=topic, body="again")
    (first,) = received(cell.client, 1, invisible_s=300)
    tell(cell.client, "invisible", name="simple", seconds=10)
    changed = monotonic()
    (second,) = received(cell.client, 1)
    assert (first["attempt"], second["attempt"], second["body"]) == (1, 2, "again")
    assert 8 < monotonic() - changed < 60


def ordered(cell: Cell) -> None:
    topic, group = cell.topic("FIFO", 4), cell.group(consumeMessageOrderly=True)
    produce(cell.client, topic)
    for number in range(8):
        key = "odd" if number % 2 else "even"
        tell(cell.client, "send", topic=topic, body=f"{key} {number}", message_group=key)
    consume(cell.client, topic, group, orderly=True)
    heard = bodies(messages(cell.client, 8))
    for key, numbers in (("even", "0246"), ("odd", "1357")):
        assert [body for body in heard if body.startswith(key)] == [f"{key} {number}" for number in numbers]


def delay_level(cell: Cell) -> None:
    _late(cell, {"delay_level": 2}, {"delay_level": 1}, seconds=2)


def timer(cell: Cell) -> None:
    _late(cell, {"delay_ms": 3_000}, {"delay_ms": 1_000}, seconds=3)


def _late(cell: Cell, late: Mapping[str, int], prompt: Mapping[str, int], *, seconds: float) -> None:
    """What is sent first and is to come in so many seconds does so, and what is sent next overtakes it."""
    topic, group = cell.topic("DELAY"), cell.group()
    produce(cell.client, topic)
    consume(cell.client, topic, group)
    tell(cell.client, "send", topic=topic, body="late", **late)
    sent = monotonic()
    tell(cell.client, "send", topic=topic, body="prompt", **prompt)
    assert bodies(messages(cell.client, 2)) == ["prompt", "late"]
    # gRPC clients for Python and Rust give the time in whole seconds.
    assert monotonic() - sent > seconds - 1.2


def transaction(cell: Cell) -> None:
    topic, group = cell.topic("TRANSACTION"), cell.group()
    produce(cell.client, topic, check="COMMIT")
    for how in ("rollback", "commit", "leave"):
        tell(cell.client, "send", topic=topic, body=how, transaction=how)
    cell.client.wait("checked", lambda event: event["body"] == "leave")
    consume(cell.client, topic, group)
    heard = bodies(messages(cell.client, 2))
    assert sorted(heard) == ["commit", "leave"]


def pull(cell: Cell) -> None:
    topic, group = cell.topic(), cell.group()
    produce(cell.client, topic)
    sent = {f"body {number}" for number in range(5)}
    for body in sent:
        tell(cell.client, "send", topic=topic, body=body)
    assert set(tell(cell.client, "pull", group=group, topic=topic, count=5)["bodies"]) == sent


def broadcast(cell: Cell) -> None:
    topic, group = cell.topic(), cell.group()
    produce(cell.client, topic)
    for body in ("one", "two", "three"):
        tell(cell.client, "send", topic=topic, body=body)
    for name in ("left", "right"):
        consume(cell.client, topic, group, name, broadcast=True)
    for name in ("left", "right"):
        assert sorted(bodies(messages(cell.client, 3, name))) == ["one", "three", "two"]


def tags(cell: Cell) -> None:
    _filtered(cell, expression="TagA || TagC", tagged=("TagA", "TagB", "TagC", "TagA"), wanted=[0, 2, 3])


def sql(cell: Cell) -> None:
    _filtered(cell, sql=True, expression="size > 2 AND TAGS = 'TagA'", tagged=("TagA",) * 4, wanted=[3])


def _filtered(cell: Cell, *, tagged: tuple[str, ...], wanted: list[int], **subscription: Any) -> None:
    topic, group = cell.topic(queues=1), cell.group()
    produce(cell.client, topic)
    for number, tag in enumerate(tagged):
        tell(cell.client, "send", topic=topic, body=str(number), tag=tag, properties={"size": str(number)})
    consume(cell.client, topic, group, **subscription)
    assert sorted(map(int, bodies(messages(cell.client, len(wanted))))) == wanted


def dead_letter(cell: Cell) -> None:
    policy = {"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": [1000]}}
    topic, group = cell.topic(), cell.group(retryMaxTimes=1, groupRetryPolicy=policy)
    produce(cell.client, topic)
    for body in ("dead", "alive"):
        tell(cell.client, "send", topic=topic, body=body)
    consume(cell.client, topic, group, failing="dead", retries=1)
    dead = f"%DLQ%{group}"
    wait_until(lambda: b"dead" in cell.place.bodies(dead), f"a dead letter in {dead}", every_s=_POLL_S)
    heard = messages(cell.client, 3)
    assert sorted(bodies(heard))[:2] == ["alive", "dead"], heard
    assert max(event["attempt"] for event in heard if event["body"] == "dead") >= 2, heard
    assert cell.place.bodies(dead) == [b"dead"]


def batch(cell: Cell) -> None:
    topic, group = cell.topic(), cell.group()
    produce(cell.client, topic)
    sent = [f"body {number}" for number in range(4)]
    tell(cell.client, "send", topic=topic, bodies=sent)
    consume(cell.client, topic, group)
    assert sorted(bodies(messages(cell.client, 4))) == sent


def request_reply(cell: Cell) -> None:
    topic, group = cell.topic(), cell.group()
    produce(cell.client, topic)
    consume(cell.client, topic, group, reply=True)
    assert tell(cell.client, "request", topic=topic, body="what")["body"] == "re: what"


def trace(cell: Cell) -> None:
    topic, group = cell.topic(), cell.group()
    produce(cell.client, topic, trace=True)
    sent = tell(cell.client, "send", topic=topic, body="traced", keys=["k1"])
    consume(cell.client, topic, group, trace=True)
    messages(cell.client, 1)

    def kinds() -> set[TraceKind]:
        records = [record for body in cell.place.bodies(_TRACES) for record in decode_traces(body)[0]]
        return {record.kind for record in records if record.message_id == sent["message_id"]}

    wanted = {TraceKind.SENT, TraceKind.BEFORE_CONSUMING, TraceKind.AFTER_CONSUMING}
    wait_until(lambda: kinds() >= wanted, "traces of a message", every_s=_POLL_S)


def pop(cell: Cell) -> None:
    topic, group = cell.topic(), cell.group()
    cell.place.use_pop(topic, group)
    produce(cell.client, topic)
    for body in ("one", "two"):
        tell(cell.client, "send", topic=topic, body=body)
    consume(cell.client, topic, group, pop=True)
    heard = messages(cell.client, 2)
    assert sorted(bodies(heard)) == ["one", "two"]
    assert all("POP_CK" in event["properties"] for event in heard), "it pulled"


def recall(cell: Cell) -> None:
    topic, group = cell.topic("DELAY"), cell.group()
    produce(cell.client, topic)
    handle = tell(cell.client, "send", topic=topic, body="recalled", delay_ms=3_000)["handle"]
    tell(cell.client, "send", topic=topic, body="late", delay_ms=4_000)
    tell(cell.client, "recall", topic=topic, handle=handle)
    consume(cell.client, topic, group)
    assert bodies(messages(cell.client, 1)) == ["late"]


def lmq(cell: Cell) -> None:
    topic, light = cell.topic(), f"%LMQ%{cell.suffix}"
    produce(cell.client, topic)
    tell(cell.client, "send", topic=topic, body="light", properties={"INNER_MULTI_DISPATCH": light})
    wait_until(lambda: cell.place.bodies(light) == [b"light"], f"the message is in {light}", every_s=_POLL_S)


def access(cell: Cell) -> None:
    """The right keys let it in; a wrong secret and no keys are refused, not merely unheard."""
    topic, group = cell.topic(), cell.group()
    admin = cell.place.credentials
    assert admin is not None
    right = {"access_key": admin.access_key, "secret_key": admin.secret_key}
    _sends_and_hears(cell.start("right", **right), topic, group)
    for name, keys in (("wrong", {**right, "secret_key": "wrong123"}), ("none", {})):
        client = cell.start(name, **keys)
        try:
            produce(client, topic)
            tell(client, "send", topic=topic, body="never")
        except Refused:
            continue
        raise AssertionError(f"sent with {name} keys")


def tls(cell: Cell) -> None:
    topic, group = cell.topic(), cell.group()
    admin = cell.place.credentials
    assert admin is not None
    keys = {"access_key": admin.access_key, "secret_key": admin.secret_key}
    _sends_and_hears(cell.start("secured", tls=True, **keys), topic, group)


def _sends_and_hears(client: Client, topic: str, group: str) -> None:
    produce(client, topic)
    tell(client, "send", topic=topic, body="let in")
    tell(client, "push", name="push", group=group, topic=topic)
    assert bodies(messages(client, 1)) == ["let in"]


KINDS: Mapping[str, Callable[[Cell], None]] = {
    "normal": normal,
    "pull": pull,
    "simple consumer": simple,
    "invisible time": invisible,
    "ordered": ordered,
    "delay level": delay_level,
    "timer": timer,
    "transaction": transaction,
    "broadcast": broadcast,
    "tags": tags,
    "SQL92": sql,
    "dead letter": dead_letter,
    "batch": batch,
    "request-reply": request_reply,
    "trace": trace,
    "POP": pop,
    "recall": recall,
    "LMQ": lmq,
    USERS: access,
    TLS: tls,
}
"""By the names that they have in the table, in its order."""
