"""`mqctl topic entries`: the raw entries of a consume queue, as the broker holds them."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OneTopicOption, OutputOption
from mqctl.cli.sources.brokers import asking_of, queue_gaps
from mqctl.client.admin.broker_queries import queue_entries
from mqctl.commands.topic.entries_view import entries_document
from mqctl.errors import NotFoundError
from mqctl.model.command_line import command_line
from mqctl.model.queue import MessageQueue
from mqctl.snapshot.live.messages import queue_addresses
from mqctl.text import sentence

EXAMPLES = (
    "mqctl topic entries -t orders -q 0",
    "mqctl topic entries -t orders -q 2 --broker broker-a --offset 4711 --count 32",
    "mqctl topic entries -t orders -q 0 -g order-service -o json",
)


def command(
    topic: OneTopicOption,
    queue: Annotated[int, typer.Option("-q", "--queue", min=0, help="Id of the queue.")],
    broker: Annotated[str | None, typer.Option("--broker", metavar="NAME", help="Only this broker's queue.")] = None,
    offset: Annotated[int, typer.Option("--offset", min=0, help="Begin at this queue offset.")] = 0,
    count: Annotated[int, typer.Option("--count", min=1, max=1000, help="How many entries.")] = 10,
    group: Annotated[
        str | None, typer.Option("-g", "--group", metavar="GROUP", help="Tell which entries pass this group's filter.")
    ] = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show entries of a consume queue: physical offset, size, tags code, and whether a group's filter lets them pass.

    Brokers filter by the entry before they read the message. With --group, the verdict is the broker's own, for the
    subscription that the group has there now.
    """
    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        addresses = queue_addresses(asking, topic)
        queues = {
            item: address
            for item, address in addresses.items()
            if item.queue_id == queue and broker in (None, item.broker_name)
        }
        if not queues:
            raise NotFoundError(
                sentence("no-such-queue", "{topic} has no such queue", topic=topic),
                remedy=command_line("mqctl topic route -t {}", topic),
            )
        question = queue_entries(topic, queue, offset, count, group=group)
        answers = asking.put((item.broker_name, address, question) for item, address in queues.items())
    errors = {MessageQueue(topic, name, queue): error for name, error in answers.errors.items()}
    document = entries_document(answers.values, topic=topic, queue_id=queue, offset=offset, group=group)
    return answer(document, queue_gaps(errors), output)
