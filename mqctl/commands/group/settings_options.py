"""Options of the commands that create and change consumer groups."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.changes.plan.topic_changes import MAX_QUEUES

_INT32, _INT64 = (1 << 31) - 1, (1 << 63) - 1  # what the fields of `SubscriptionGroupConfig` hold

ConsumeOption = Annotated[
    bool | None, typer.Option("--consume/--no-consume", help="Whether brokers deliver to it at all.")
]
BroadcastOption = Annotated[
    bool | None, typer.Option("--broadcast/--no-broadcast", help="Whether it may consume by broadcasting.")
]
FromMinOption = Annotated[
    bool | None, typer.Option("--from-min/--no-from-min", help="Whether it may start at the first message.")
]
RetryMaxOption = Annotated[
    int | None, typer.Option("--retry-max", metavar="NUMBER", min=0, max=_INT32, help="Retries before a dead letter.")
]
RetryQueuesOption = Annotated[
    int | None,
    typer.Option("--retry-queues", metavar="NUMBER", min=0, max=MAX_QUEUES, help="Queues of its retry topic."),
]
BrokerIdOption = Annotated[
    int | None,
    typer.Option("--broker-id", metavar="ID", min=0, max=_INT64, help="Which process it consumes from; 0 the master."),
]
SlowBrokerIdOption = Annotated[
    int | None,
    typer.Option("--slow-broker-id", metavar="ID", min=0, max=_INT64, help="Which one when it reads from disk."),
]
NotifyOption = Annotated[
    bool | None, typer.Option("--notify/--no-notify", help="Whether members hear at once who comes and goes.")
]
OrderlyOption = Annotated[
    bool | None, typer.Option("--orderly/--no-orderly", help="Of 5.x brokers: whether pops keep the order.")
]
ConsumeTimeoutOption = Annotated[
    int | None,
    typer.Option(
        "--consume-timeout", metavar="MINUTES", min=1, max=_INT32, help="Of 5.x brokers: limit of a listener."
    ),
]


def group_settings_given(**given: bool | int | None) -> dict[str, str]:
    """Returns the settings that were given, as text by their name in `SubscriptionGroupConfig`."""
    return {name: str(value).lower() for name, value in given.items() if value is not None}
