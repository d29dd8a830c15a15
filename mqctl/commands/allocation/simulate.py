"""`mqctl allocation simulate`: what would change if."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from mqctl.allocation.choice import strategy_of
from mqctl.allocation.rooms import RoomRule
from mqctl.allocation.simulation import Layout, changed_layout, moves, numbered_layout, simulate
from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output, emit
from mqctl.cli.options import NoColorOption, OutputOption, SnapshotOption
from mqctl.cli.room_option import RoomRuleOption, rule_of
from mqctl.errors import NotFoundError, UsageError
from mqctl.render.allocation import ResultRow, result_row, simulation_document

EXAMPLES = (
    "mqctl allocation simulate --queues 8 --clients 3 --compare",
    "mqctl allocation simulate --queues 8 --clients 6 --rooms HT,CP --strategy nearby --lose-room HT",
    "mqctl allocation simulate -g order-service -t orders --add-clients 2",
    "mqctl allocation simulate -g order-service -t orders --queues-each 12 --snapshot now.snap",
)
_COMPARED = ("avg", "circle", "hash", "nearby")


def command(
    group: Annotated[
        str | None, typer.Option("-g", "--group", metavar="GROUP", help="Begin with this live group.")
    ] = None,
    topic: Annotated[str | None, typer.Option("-t", "--topic", metavar="TOPIC", help="Its topic.")] = None,
    queues: Annotated[
        int | None, typer.Option("--queues", min=1, help="Instead: so many queues on each broker.")
    ] = None,
    clients: Annotated[int | None, typer.Option("--clients", min=1, help="Instead: so many clients.")] = None,
    brokers: Annotated[int, typer.Option("--brokers", min=1, help="Brokers (in each room), with --queues.")] = 1,
    rooms: Annotated[
        str | None, typer.Option("--rooms", metavar="NAMES", help="Rooms with commas, with --queues.")
    ] = None,
    strategy: Annotated[
        str, typer.Option("--strategy", metavar="NAME", help="avg, circle, hash, nearby[:INNER], room.")
    ] = "avg",
    to_strategy: Annotated[
        str | None, typer.Option("--to-strategy", metavar="NAME", help="Change to this one.")
    ] = None,
    add_clients: Annotated[int, typer.Option("--add-clients", min=0, help="So many clients more.")] = 0,
    remove_clients: Annotated[int, typer.Option("--remove-clients", min=0, help="So many clients less.")] = 0,
    queues_each: Annotated[
        int | None, typer.Option("--queues-each", min=1, help="So many queues on each broker then.")
    ] = None,
    lose_room: Annotated[
        str | None, typer.Option("--lose-room", metavar="ROOM", help="The clients of a room are gone.")
    ] = None,
    lose_broker: Annotated[
        list[str] | None, typer.Option("--lose-broker", metavar="NAME", help="A broker is gone.")
    ] = None,
    serve_rooms: Annotated[
        str | None, typer.Option("--serve-rooms", metavar="NAMES", help="Rooms of the strategy room.")
    ] = None,
    room_rule: RoomRuleOption = None,
    compare: Annotated[bool, typer.Option("--compare", help="All strategies side by side.")] = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Simulate who would own which queue: another strategy, other clients, queues or brokers, a room lost.

    Begins with a live group, a snapshot, or numbers alone. All clients are taken to see the same.
    """
    rule = rule_of(room_rule, profile)
    if queues is not None and clients is not None:
        names = tuple(filter(None, (rooms or "").split(",")))
        layout = numbered_layout(topic or "topic", queues, clients, broker_count=brokers, rooms=names)
        rule = rule or (rule_of("prefix:-") if names else None)
    elif group is not None and topic is not None:
        from mqctl.cli.sources import LiveWish, read_snapshot

        wish = LiveWish(namesrv=namesrv, profile=profile, timeout=timeout, groups=[group], topics=[topic])
        state = read_snapshot(store=None, snapshot=snapshot, now=datetime.now().astimezone(), live=wish)
        ids = {client for held in state.members_of(group).values() for client in held.client_ids}
        route = state.routes().get(topic)
        if not ids or route is None:
            raise NotFoundError(f"nobody of {group} is online, or there is no topic {topic}", remedy="mqctl group list")
        layout = Layout(queues=route.readable_queues(), clients=tuple(sorted(ids)))
    else:
        raise UsageError("a simulation begins somewhere", remedy="use -g GROUP -t TOPIC, or --queues N --clients N")
    served = frozenset(filter(None, (serve_rooms or "").split(",")))
    later = changed_layout(
        layout,
        rule,
        add_clients=add_clients,
        remove_clients=remove_clients,
        queues_each=queues_each,
        lose_room=lose_room,
        lose_brokers=tuple(lose_broker or ()),
    )
    before = simulate(layout, strategy_of(strategy, rule, served), rule)
    changes = later != layout or to_strategy is not None
    after = simulate(later, strategy_of(to_strategy or strategy, rule, served), rule) if changes else None
    moved = moves(before.owners, after.owners) if after else []
    rows = [result_row("before", before, None)]
    rows += [result_row("after", after, len(moved))] if after else []
    rows += _compared(later, rule, served) if compare else []
    emit(simulation_document(rows, before, after, moved), output)


def _compared(layout: Layout, rule: RoomRule | None, served: frozenset[str]) -> list[ResultRow]:
    names = [name for name in _COMPARED if name != "nearby" or rule is not None] + (["room"] if served else [])
    return [result_row("compare", simulate(layout, strategy_of(name, rule, served), rule), None) for name in names]
