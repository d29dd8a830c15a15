"""Options of `allocation simulate`: what it begins with, and what changes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqctl.allocation.carrying import Mode

BeginGroup = Annotated[str | None, typer.Option("-g", "--group", metavar="GROUP", help="Begin with this live group.")]
BeginTopic = Annotated[str | None, typer.Option("-t", "--topic", metavar="TOPIC", help="Its topic.")]
Queues = Annotated[int | None, typer.Option("--queues", min=1, help="Instead of a group: queues on each broker.")]
Clients = Annotated[int | None, typer.Option("--clients", min=1, help="Instead of a group: number of clients.")]
ClientIds = Annotated[
    list[str] | None, typer.Option("--client", metavar="ID", help="Instead of a group: a client by name; repeatable.")
]
Brokers = Annotated[int, typer.Option("--brokers", min=1, help="Brokers (in each room), with --queues.")]
Rooms = Annotated[str | None, typer.Option("--rooms", metavar="NAMES", help="Rooms with commas, with --queues.")]
Rate = Annotated[float | None, typer.Option("--rate", min=0, help="Messages a second in all, with --queues.")]
Capacity = Annotated[
    float | None, typer.Option("--capacity", min=0, help="Messages a second that a client can pass, with --queues.")
]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="Consume threads of a client, with --queues.")]
ModeName = Annotated[
    Mode | None,
    typer.Option(
        "--mode",
        case_sensitive=False,
        help="Scope of order, one thread at a time: nothing, each queue, or each key.",
    ),
]
Orderly = Annotated[bool, typer.Option("--orderly", help="The same as --mode orderly.")]
HotKey = Annotated[
    float,
    typer.Option(
        "--hot-key", min=0, max=1, metavar="SHARE", help="Share of messages with one and the same key: 0.2 for 20 %."
    ),
]
SelectorName = Annotated[
    str | None,
    typer.Option(
        "--selector",
        metavar="NAME",
        help="How producers choose queues: turn, hash, random (on average), room[:ROOM]; shows each queue's share.",
    ),
]
Keys = Annotated[
    str | None,
    typer.Option(
        "--keys",
        metavar="COUNT|FILE",
        help="Keys of messages: as many, equally often but for --hot-key; or KEY or KEY,COUNT on each line of a file.",
    ),
]
Window = Annotated[
    str | None, typer.Option("--window", metavar="SPAN", help="Look twice, this far apart, to measure what arrives.")
]
StrategyName = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        metavar="NAME",
        help="avg, circle, hash, nearby[:INNER], room, config; default: the live group's, else avg.",
    ),
]
ToStrategy = Annotated[str | None, typer.Option("--to-strategy", metavar="NAME", help="Change to this one.")]
AddClients = Annotated[int, typer.Option("--add-clients", min=0, help="So many clients more.")]
RemoveClients = Annotated[int, typer.Option("--remove-clients", min=0, help="So many clients less.")]
AddClient = Annotated[
    list[str] | None, typer.Option("--add-client", metavar="ID", help="This client joins; may be repeated.")
]
RemoveClient = Annotated[
    list[str] | None, typer.Option("--remove-client", metavar="ID", help="This client leaves; may be repeated.")
]
QueuesEach = Annotated[int | None, typer.Option("--queues-each", min=1, help="So many queues on each broker then.")]
LoseRoom = Annotated[str | None, typer.Option("--lose-room", metavar="ROOM", help="The clients of a room are gone.")]
WithBrokers = Annotated[bool, typer.Option("--with-brokers", help="With --lose-room: its brokers are gone as well.")]
LoseBroker = Annotated[list[str] | None, typer.Option("--lose-broker", metavar="NAME", help="A broker is gone.")]
AddBroker = Annotated[
    list[str] | None,
    typer.Option("--add-broker", metavar="NAME[=QUEUES]", help="One more broker, with as many queues as others have."),
]
AddRoom = Annotated[
    list[str] | None,
    typer.Option("--add-room", metavar="ROOM=BxQ+C", help="One more room: B brokers of Q queues each, and C clients."),
]
ServeRooms = Annotated[
    str | None, typer.Option("--serve-rooms", metavar="NAMES", help="Rooms of the strategy room, with commas.")
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Lists of the strategy config: YAML, `client: [broker-a/0, ...]`."),
]
Compare = Annotated[bool, typer.Option("--compare", help="All strategies side by side.")]
Subscribes = Annotated[
    list[str] | None,
    typer.Option(
        "--subscribes",
        metavar="CLIENT=TOPICS",
        help="Instead of --client: a client and its topics, with commas; once for each client, with --queues.",
    ),
]
AsKafka = Annotated[
    tuple[str, str] | None,
    typer.Option("--as", metavar="kafka ASSIGNOR", help="Beside it what Kafka would do: range, roundrobin or sticky."),
]
