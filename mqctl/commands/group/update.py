"""`mqctl group update`: other settings of a consumer group."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import (
    ConfirmNameOption,
    ExecuteOption,
    NoColorOption,
    OneGroupOption,
    OnlyBrokersOption,
    OutputOption,
)
from mqctl.commands.group.settings_options import (
    BroadcastOption,
    BrokerIdOption,
    ConsumeOption,
    ConsumeTimeoutOption,
    FromMinOption,
    NotifyOption,
    OrderlyOption,
    RetryMaxOption,
    RetryQueuesOption,
    SlowBrokerIdOption,
    group_settings_given,
)

EXAMPLES = (
    "mqctl group update -g order-service --retry-max 5",
    "mqctl group update -g order-service --no-consume --execute --confirm order-service",
)


def command(
    group: OneGroupOption,
    consume: ConsumeOption = None,
    broadcast: BroadcastOption = None,
    from_min: FromMinOption = None,
    retry_max: RetryMaxOption = None,
    retry_queues: RetryQueuesOption = None,
    broker_id: BrokerIdOption = None,
    slow_broker_id: SlowBrokerIdOption = None,
    notify: NotifyOption = None,
    orderly: OrderlyOption = None,
    consume_timeout: ConsumeTimeoutOption = None,
    broker: OnlyBrokersOption = None,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan other settings of a consumer group, on each broker that has it; with --execute, change and read back.

    Settings not given stay as they are on each broker: brokers replace all of them at once, so mqctl sends the others
    back.
    """
    requested = group_settings_given(
        consume_enable=consume,
        consume_broadcast_enable=broadcast,
        consume_from_min_enable=from_min,
        retry_max_times=retry_max,
        retry_queue_count=retry_queues,
        broker_id=broker_id,
        which_broker_when_consume_slowly=slow_broker_id,
        notify_consumer_ids_changed_enable=notify,
        consume_message_orderly=orderly,
        consume_timeout_minute=consume_timeout,
    )
    from mqctl.changes.settings.change import run_setting_change
    from mqctl.commands.group.plan import plan_update

    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_update(asking, group, requested, broker or ()),
        execute=execute,
        confirmed=confirm,
    )
    emit(document, output)
    return code
