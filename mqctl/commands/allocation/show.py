"""`mqctl allocation show`: who consumes which queue."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from mqctl.allocation.choice import strategy_of
from mqctl.allocation.observed import addresses_of, observed_allocation
from mqctl.allocation.rooms import inferred_rule
from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import (
    NoColorOption,
    OutputOption,
    QueuesOption,
    SnapshotOption,
    TopicOption,
)
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.cli.options.room import RoomRuleOption, rule_of
from mqctl.cli.sources.brokers import gaps_of, unregistered_gaps
from mqctl.cli.sources.named import require_group
from mqctl.cli.sources.snapshot_source import LiveOptions, read_snapshot
from mqctl.commands.allocation.view import allocation_document
from mqctl.errors import UsageError
from mqctl.model.command_line import command_line
from mqctl.model.gap import Part
from mqctl.text import sentence

EXAMPLES = (
    "mqctl allocation show -g order-service",
    "mqctl allocation show -g order-service -t orders -q 2",
    "mqctl allocation show -g order-service -t orders --room-rule prefix:-",
    "mqctl allocation show -g order-service --snapshot incident.snap -o json | jq '.queues[] | select(.marks != \"\")'",
)


def command(
    group: Annotated[str | None, typer.Option("-g", "--group", metavar="GROUP", help="Which consumer group.")] = None,
    topic: TopicOption = None,
    queue: QueuesOption = None,
    limit: LimitOption = None,
    room_rule: RoomRuleOption = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            "--strategy",
            metavar="NAME",
            help="Strategy of all instances; inferred from the queues they hold unless given.",
        ),
    ] = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show for every queue its owner, the owner that each instance's own view expects, its machine room and its lag.

    Rooms are read from the names of brokers and members if all names start with one; otherwise give --room-rule. Marks:
    orphan (no consumer), double (two consumers), cross-room, moving (actual and expected owner differ), unknown (an
    instance did not answer), pop (shared by POP: queues have no owners).
    """
    if group is None:
        of_all = command_line("mqctl topic describe {} -q {}", (topic or ["TOPIC"])[0], (queue or [0])[0])
        raise UsageError(
            sentence("allocation-no-group-given", "no group given"),
            remedy=sentence(
                "allocation-add-group-all-groups", "add -g GROUP; of all groups of a topic: {of_all}", of_all=of_all
            ),
        )
    rule = rule_of(room_rule, profile)
    live = LiveOptions(namesrv=namesrv, profile=profile, timeout=timeout, groups=[group], members_only=True)
    state = read_snapshot(store=None, snapshot=snapshot, now=datetime.now().astimezone(), live=live)
    require_group(state, group, live)
    members = {client for membership in state.members_of(group).values() for client in membership.client_ids}
    rule = rule or inferred_rule([broker.name for broker in state.brokers if broker.name], members)
    chosen = strategy_of(strategy, rule) if strategy else None
    topics = observed_allocation(state, group, strategy=chosen, rule=rule)
    gaps = gaps_of(state, (Part.MEMBERS, Part.RUNNING_INFO, Part.ROUTES))
    gaps += unregistered_gaps(state, Part.QUEUES)
    shown = [item for item in topics if not topic or item.topic in topic]
    document = allocation_document(
        group, shown, addresses_of(state, group), queue_ids=queue or (), consume_mode=state.consume_modes().get(group)
    )
    return answer(limited(document, output, limit), gaps, output)
