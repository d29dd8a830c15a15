"""`mqctl allocation simulate`: what would change if."""

from __future__ import annotations

from pathlib import Path

from mqctl.allocation.rooms import RoomRule
from mqctl.allocation.simulation import (
    Change,
    Layout,
    Result,
    changed_layout,
    moves,
    room_loads,
    sending_sides,
    simulate,
)
from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output, emit
from mqctl.cli.options import simulation as options
from mqctl.cli.options.common import NoColorOption, OutputOption, SnapshotOption
from mqctl.cli.options.room import RoomRuleOption, rule_of
from mqctl.errors import UsageError
from mqctl.operations.allocation.what_if import (
    Beginning,
    Numbers,
    Strategies,
    fixed_lists,
    names_in,
    new_broker,
    new_room,
    numbers_of,
    observed,
)
from mqctl.render.allocation import ResultRow, result_row
from mqctl.render.simulation import RoomRow, SendingRow, room_rows, sending_rows, simulation_document

EXAMPLES = (
    "mqctl allocation simulate --queues 8 --clients 3 --compare",
    "mqctl allocation simulate --queues 8 --clients 6 --rooms HT,CP --strategy nearby --lose-room HT",
    "mqctl allocation simulate --queues 8 --clients 4 --rooms HT,CP --rate 900 --capacity 300 --lose-room HT",
    "mqctl allocation simulate -g order-service -t orders --add-clients 2",
    "mqctl allocation simulate -g order-service -t orders --room-rule prefix:- --lose-room HT --window 30s",
    "mqctl allocation simulate -g order-service -t orders --add-broker broker-c --snapshot now.snap",
)


def command(
    group: options.BeginGroup = None,
    topic: options.BeginTopic = None,
    queues: options.Queues = None,
    clients: options.Clients = None,
    client: options.ClientIds = None,
    brokers: options.Brokers = 1,
    rooms: options.Rooms = None,
    rate: options.Rate = None,
    capacity: options.Capacity = None,
    window: options.Window = None,
    strategy: options.StrategyName = "avg",
    to_strategy: options.ToStrategy = None,
    add_clients: options.AddClients = 0,
    remove_clients: options.RemoveClients = 0,
    add_client: options.AddClient = None,
    remove_client: options.RemoveClient = None,
    queues_each: options.QueuesEach = None,
    lose_room: options.LoseRoom = None,
    with_brokers: options.WithBrokers = False,
    lose_broker: options.LoseBroker = None,
    add_broker: options.AddBroker = None,
    add_room: options.AddRoom = None,
    serve_rooms: options.ServeRooms = None,
    config: options.ConfigFile = None,
    room_rule: RoomRuleOption = None,
    compare: options.Compare = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Simulate who would own which queue: another strategy, other clients, queues or brokers, a room lost or added.

    Begins with a live group, a snapshot, or numbers alone; all clients are taken to see the same. With rooms, shows
    what each has to carry against what its clients can pass, and which queues producers of each room use.
    """
    numbers = numbers_of(queues, client or clients, brokers=brokers, rooms=rooms, rate=rate, capacity=capacity)
    rule = rule_of(room_rule, profile) or (rule_of("prefix:-") if numbers and numbers.rooms else None)
    start = _begin(numbers, group, topic, (namesrv, profile, timeout, window), snapshot)
    change = Change(
        add_clients=add_clients,
        remove_clients=remove_clients,
        join=tuple(add_client or ()),
        leave=tuple(remove_client or ()),
        queues_each=queues_each,
        lose_room=lose_room,
        with_brokers=with_brokers,
        lose_brokers=tuple(lose_broker or ()),
        add_brokers=tuple(new_broker(text, start.usual_queue_count) for text in add_broker or ()),
        add_rooms=tuple(map(new_room, add_room or ())),
    )
    known = Strategies(rule=rule, served=names_in(serve_rooms), fixed=fixed_lists(config, start.topic))
    _show(start, change, known, (strategy, to_strategy), output, compare=compare)


def _begin(
    numbers: Numbers | None,
    group: str | None,
    topic: str | None,
    source: tuple[str | None, str | None, str | None, str | None],
    snapshot: Path | None,
) -> Beginning:
    if numbers is not None:
        return numbers.begin(topic or "topic")
    if group is None or topic is None:
        raise UsageError("a simulation begins somewhere", remedy="use -g GROUP -t TOPIC, or --queues N --clients N")
    from mqctl.cli.sources.snapshot_source import LiveWish
    from mqctl.cli.times import parse_span_ms

    namesrv, profile, timeout, window = source
    wish = LiveWish(
        namesrv=namesrv,
        profile=profile,
        timeout=timeout,
        groups=[group],
        topics=[topic],
        window_ms=parse_span_ms(window) if window else 0,
    )
    return observed(wish, snapshot, group, topic)


def _show(
    start: Beginning, change: Change, known: Strategies, names: tuple[str, str | None], output: Output, *, compare: bool
) -> None:
    later = changed_layout(start.layout, known.rule, change)
    before = simulate(start.layout, known.named(names[0]), known.rule)
    changes = later != start.layout or names[1] is not None
    after = simulate(later, known.named(names[1] or names[0]), known.rule) if changes else None
    moved = moves(before.owners, after.owners) if after else []
    rows: list[ResultRow] = [result_row("before", before, None)]
    rows += [result_row("after", after, len(moved))] if after else []
    for other in known.comparable(later) if compare else ():
        result = simulate(later, other, known.rule)
        rows.append(result_row("compare", result, len(moves(before.owners, result.owners))))
    rooms = _rooms("before", before, start, known.rule) + (_rooms("after", after, start, known.rule) if after else [])
    sending = (
        sending_rows("before", sending_sides(start.open_for_sends(start.layout), known.rule)) if known.rule else []
    )
    sending += (
        sending_rows("after", sending_sides(start.open_for_sends(later), known.rule)) if known.rule and after else []
    )
    emit(simulation_document(rows, before, after, moved, rooms=rooms, sending=sending), output)


def _rooms(layout: str, result: Result, start: Beginning, rule: RoomRule | None) -> list[RoomRow]:
    return room_rows(layout, room_loads(result, rule, start.arriving, start.capacity, start.usual_tps))


def _sending(name: str, layout: Layout, start: Beginning, rule: RoomRule | None) -> list[SendingRow]:
    return sending_rows(name, sending_sides(start.open_for_sends(layout), rule)) if rule is not None else []
