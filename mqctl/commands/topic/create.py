"""`mqctl topic create`: a new topic."""

from __future__ import annotations

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

EXAMPLES = (
    "mqctl topic create -t orders --queues 8",
    "mqctl topic create -t orders --queues 8 --execute",
    "mqctl topic create -t orders --queues 4 --attribute message.type=FIFO --broker broker-a --execute",
)


def command(
    topic: OneTopicOption,
    queues: QueuesOption = None,
    read_queues: ReadQueuesOption = None,
    write_queues: WriteQueuesOption = None,
    perm: PermOption = None,
    attributes: AttributeOption = None,
    broker: OnlyBrokersOption = None,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan a new topic on every master, or on those named; with --execute, create it and read it back.

    Without numbers it gets 8 queues on each broker. A broker that has it with the same settings is left alone; where
    settings differ, the plan is refused.
    """
    request = topic_request(queues, read_queues, write_queues, perm, attributes)
    from mqctl.changes.settings.change import run_setting_change
    from mqctl.changes.settings.topics import plan_creation

    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_creation(asking, topic, request, broker or ()),
        execute=execute,
        confirmed=confirm,
    )
    emit(document, output)
    return code
