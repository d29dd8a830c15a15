"""`mqctl topic update`: other settings of a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import (
    ConfirmNameOption,
    ExecuteOption,
    NoColorOption,
    OneTopicOption,
    OnlyBrokersOption,
    OutputOption,
)
from mqctl.commands.topic.settings_options import (
    AttributeOption,
    PermOption,
    QueuesOption,
    ReadQueuesOption,
    WriteQueuesOption,
    topic_request,
)
from mqctl.errors import UsageError
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.model.setting_plan import SettingPlan
    from mqctl.snapshot.live.asking import Asking

EXAMPLES = (
    "mqctl topic update -t orders --queues 16",
    "mqctl topic update -t orders --queues 4 --execute --confirm orders",
    "mqctl topic update -t orders --order 'broker-a:4;broker-b:4'",
    "mqctl topic update -t %DLQ%order-service --perm RW --execute --confirm %DLQ%order-service",
)


def command(
    topic: OneTopicOption,
    queues: QueuesOption = None,
    read_queues: ReadQueuesOption = None,
    write_queues: WriteQueuesOption = None,
    perm: PermOption = None,
    attributes: AttributeOption = None,
    broker: OnlyBrokersOption = None,
    order: Annotated[
        str | None,
        typer.Option("--order", "--set", metavar="BROKER:QUEUES;...", help="The only queues for producers to use."),
    ] = None,
    no_order: Annotated[bool, typer.Option("--no-order", "--remove", help="Let producers use every queue.")] = False,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan other queue numbers, permissions or attributes of a topic; with --execute, change and read back.

    Fewer queues take two runs: the first stops producers from writing to the others; the second, refused while any
    group has messages there, stops consumers from reading them. The plan estimates from a sample of stored messages
    what share of keys would move to another queue.

    --order and --no-order change the order configuration, in every name server and apart from other settings. An
    ordered topic keeps its queues when a broker is down: producers then fail instead of using others.
    """
    request = topic_request(queues, read_queues, write_queues, perm, attributes)
    ordering = [name for name, given in (("--order", order), ("--no-order", no_order)) if given]
    if ordering and (len(ordering) > 1 or broker or not request.empty):
        raise UsageError(
            sentence("topic-order-plan-own", "the order configuration has a plan of its own"),
            remedy=sentence("topic-give-order-alone", "give {ordering:or} alone", ordering=ordering),
        )
    if request.empty and not ordering:
        raise UsageError(
            sentence("no-change-given", "no change given"),
            remedy=sentence(
                "topic-give-queues-read",
                "give --queues, --read-queues, --write-queues, --perm, --attribute, --order or --no-order",
            ),
        )
    from mqctl.changes.settings.change import run_setting_change
    from mqctl.changes.settings.topics import late_messages, plan_order, plan_update

    plans: list[SettingPlan] = []

    def make(asking: Asking) -> SettingPlan:
        update = plan_order(asking, topic, order) if ordering else plan_update(asking, topic, request, broker or ())
        plans.append(update)
        return plans[-1]

    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        make,
        execute=execute,
        confirmed=confirm,
        after=lambda asking: late_messages(asking, topic, plans),
    )
    emit(document, output)
    return code
