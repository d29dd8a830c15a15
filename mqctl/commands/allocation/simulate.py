"""`mqctl allocation simulate`: what would change if."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from mqctl.allocation.carrying import Capacity, Load, Mode, client_loads, room_loads
from mqctl.allocation.kafka import KafkaAssignor
from mqctl.allocation.simulation import (
    LayoutChange,
    StrategyResult,
    changed_layout,
    moves,
    sending_sides,
    simulate,
    simulate_kafka,
)
from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options import simulation as options
from mqctl.cli.options.common import NoColorOption, OutputOption, SnapshotOption
from mqctl.cli.options.room import RoomRuleOption, rule_of
from mqctl.commands.allocation.sends import Sends, sampled_keys, sends_of
from mqctl.commands.allocation.sends_view import sending_rows, share_rows
from mqctl.commands.allocation.simulate_view import (
    ResultRow,
    load_rows,
    orphan_rows,
    owner_rows,
    result_row,
    room_rows,
    simulation_document,
)
from mqctl.commands.allocation.what_if import (
    Beginning,
    Shape,
    Strategies,
    assignor_of,
    fixed_lists,
    named_change,
    names_in,
    numbers_of,
    observed,
    room_change,
    subscriptions_of,
)
from mqctl.errors import UsageError
from mqctl.model.room_rule import RoomRule
from mqctl.text import sentence

EXAMPLES = (
    "mqctl allocation simulate --queues 8 --clients 3 --compare",
    "mqctl allocation simulate --queues 8 --clients 6 --rooms HT,CP --strategy nearby --lose-room HT",
    "mqctl allocation simulate --queues 8 --clients 4 --rooms HT,CP --rate 900 --capacity 300 --lose-room HT",
    "mqctl allocation simulate --queues 4 --subscribes c1=orders --subscribes c2=orders,trades",
    "mqctl allocation simulate --queues 8 --clients 3 --add-clients 1 --as kafka sticky",
    "mqctl allocation simulate --queues 8 --clients 2 --rate 900 --capacity 1000 --threads 20 --mode key-ordered",
    "mqctl allocation simulate --queues 4 --clients 2 --selector hash --keys 100 --hot-key 0.3",
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
    subscribes: options.Subscribes = None,
    brokers: options.Brokers = 1,
    rooms: options.Rooms = None,
    rate: options.Rate = None,
    capacity: options.Capacity = None,
    threads: options.Threads = None,
    mode: options.ModeName = None,
    orderly: options.Orderly = False,
    hot_key: options.HotKey = 0.0,
    selector: options.SelectorName = None,
    keys: options.Keys = None,
    window: options.Window = None,
    strategy: options.StrategyName = None,
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
    as_kafka: options.AsKafka = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Simulate who would own which queue: another strategy, other clients, queues or brokers, a room lost or added.

    Starts from a live group, a snapshot, or numbers; all clients see the same. Says what clients carry and queues get.
    """
    chosen = Mode.ORDERLY if orderly else mode
    power = Capacity(tps=capacity, thread_count=threads, mode=chosen or Mode.CONCURRENT)
    wants = subscriptions_of(subscribes or ())
    shape = Shape(topic=topic, wants=wants, brokers=brokers, rooms=rooms, rate=rate, hot_share=hot_key, capacity=power)
    numbers = numbers_of(queues, client or clients, shape)
    rule = rule_of(room_rule, profile) or (rule_of("prefix:-") if numbers and rooms else None)
    start = numbers.begin() if numbers else _begin(group, topic, (namesrv, profile, timeout, window), snapshot, rule)
    sends = sends_of(selector, keys, hot_key, start)
    change = LayoutChange(add_clients=add_clients, remove_clients=remove_clients, queues_each=queues_each)
    change = named_change(change, clients=(add_client, remove_client), brokers=(add_broker, lose_broker), start=start)
    change = room_change(change, add_room, lose_room, with_brokers=with_brokers)
    known = Strategies(rule=rule or start.rule, served=names_in(serve_rooms), fixed=fixed_lists(config, start.topic))
    names = (strategy, to_strategy)
    _show(start.consuming(chosen), change, known, names, sends, output, compare=compare, assignor=assignor_of(as_kafka))


def _begin(
    group: str | None,
    topic: str | None,
    source: tuple[str | None, str | None, str | None, str | None],
    snapshot: Path | None,
    rule: RoomRule | None,
) -> Beginning:
    if group is None or topic is None:
        raise UsageError(
            sentence("allocation-simulation-begins-somewhere", "a simulation begins somewhere"),
            remedy=sentence("allocation-use-group-topic-queues", "use -g GROUP -t TOPIC, or --queues N --clients N"),
        )
    from mqctl.cli.sources.snapshot_source import LiveOptions
    from mqctl.cli.times import parse_span_ms

    namesrv, profile, timeout, window = source
    options = LiveOptions(
        namesrv=namesrv,
        profile=profile,
        timeout=timeout,
        groups=[group],
        topics=[topic],
        window_ms=parse_span_ms(window) if window else 0,
    )
    start = observed(options, snapshot, group, topic, rule)
    sample = partial(sampled_keys, cluster_target(namesrv, profile, timeout), topic) if snapshot is None else None
    return replace(start, sample=sample)


def _show(
    start: Beginning,
    change: LayoutChange,
    known: Strategies,
    names: tuple[str | None, str | None],
    sends: Sends,
    output: Output,
    *,
    compare: bool,
    assignor: KafkaAssignor | None,
) -> None:
    rule = known.rule
    later = changed_layout(start.layout, rule, change)
    begins = names[0] or start.strategy
    before = simulate(start.layout, known.named(begins), rule)
    changes = later != start.layout or names[1] is not None
    after = simulate(later, known.named(names[1] or begins), rule) if changes else None
    layouts = {"before": (start.layout, before)} | ({"after": (later, after)} if after else {})
    moved = moves(before.owners, after.owners) if after else []
    arriving = {name: sends.arriving(start, layout, rule) for name, (layout, _) in layouts.items()}
    loads = {name: _loads(arriving[name], result) for name, (_, result) in layouts.items()}
    latest = arriving["after" if after else "before"]
    rows: list[ResultRow] = [
        result_row(name, result, loads[name], len(moved) if name == "after" else None)
        for name, (_, result) in layouts.items()
    ]
    for other in known.comparable(later) if compare else ():
        result = simulate(later, other, rule)
        rows.append(result_row("compare", result, _loads(latest, result), len(moves(before.owners, result.owners))))
    kafka = None
    if assignor is not None:
        kept = simulate_kafka(start.layout, assignor, rule=rule)
        kafka = simulate_kafka(later, assignor, kept, rule) if after else kept
        count = len(moves(kept.owners, kafka.owners)) if after else None
        rows.append(result_row("kafka", kafka, _loads(latest, kafka), count))
    document = simulation_document(
        rows,
        load_rows(before, after, loads["after" if after else "before"], kafka),
        owner_rows(before, after, kafka),
        moved,
        orphans=orphan_rows(after or before),
        rooms=[row for name in layouts for row in room_rows(name, room_loads(loads[name], rule))],
        sending=[
            row
            for name, (layout, _) in layouts.items()
            for row in (sending_rows(name, sending_sides(start.open_for_sends(layout), rule)) if rule else ())
        ],
        shares=[
            row
            for name, (layout, _) in layouts.items()
            for row in share_rows(name, sends.selector, sends.shares(start, layout, rule), start.total_tps)
        ],
    )
    emit(document, output)


def _loads(start: Beginning, result: StrategyResult) -> list[Load]:
    return client_loads(result, start.arriving, start.capacities, start.usual, start.keys)
