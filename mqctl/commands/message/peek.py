"""`mqctl message peek`: look at messages of queues without consuming them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import BodyOption, NoColorOption, OneTopicOption, OutputOption
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.cli.sources.brokers import asking_of, queue_gaps
from mqctl.errors import MqctlError, NotFoundError, UsageError
from mqctl.model.body_form import BodyForm
from mqctl.model.command_line import command_line
from mqctl.model.queue import MessageQueue
from mqctl.render.messages_view import peeked_document
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.messages import ask_bounds, at_time, peek, queue_addresses
from mqctl.text import sentence

EXAMPLES = (
    "mqctl message peek -t orders",
    "mqctl message peek -t orders --since -10m --count 5 --tags 'paid || refunded'",
    "mqctl message peek -t %DLQ%order-service --from-start --body json -o json",
    "mqctl message peek -t orders --broker broker-a -q 2 --offset 4711 --count 1",
)


def command(
    topic: OneTopicOption,
    broker: Annotated[str | None, typer.Option("--broker", metavar="NAME", help="Only this broker's queues.")] = None,
    queue: Annotated[int | None, typer.Option("-q", "--queue", min=0, help="Only queues with this id.")] = None,
    offset: Annotated[int | None, typer.Option("--offset", min=0, help="Begin at this queue offset.")] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Begin at this store time.")] = None,
    from_start: Annotated[bool, typer.Option("--from-start", help="Begin at the oldest message.")] = False,
    tags: Annotated[str, typer.Option("--tags", metavar="EXPRESSION", help="Only these tags, `a || b`.")] = "*",
    count: Annotated[int, typer.Option("--count", min=1, help="How many messages of each queue.")] = 3,
    body: BodyOption = BodyForm.TEXT,
    limit: LimitOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show messages of queues, by default the newest of each. No offset is committed, no group joined.

    Up to three messages are shown in full, more on one line each, with --body json or hex in full again.
    """
    if sum([offset is not None, since is not None, from_start]) > 1:
        raise UsageError(
            sentence("message-offset-since-start-cannot", "--offset, --since and --from-start cannot be combined"),
            remedy=sentence("message-use", "use one of them"),
        )
    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        queues = {
            item: address
            for item, address in queue_addresses(asking, topic, slaves=True).items()
            if broker in (None, item.broker_name) and queue in (None, item.queue_id)
        }
        if not queues:
            raise NotFoundError(
                sentence("no-such-queue", "{topic} has no such queue", topic=topic),
                remedy=command_line("mqctl topic route -t {}", topic),
            )
        starts, lost = _starts(asking, queues, offset, since, newest=0 if from_start else count)
        messages, errors = peek(asking, queues, starts, count, tags)
        names = {address: queue.broker_name for queue, address in queues.items()}
    messages.sort(key=lambda item: (item.message.store_time_ms, item.message.physical_offset))
    newest_first = offset is None and since is None and not from_start
    document = peeked_document(messages, body, names, newest_first=newest_first)
    return answer(limited(document, output, limit), queue_gaps({**lost, **errors}), output)


def _starts(
    asking: Asking, queues: dict[MessageQueue, str], offset: int | None, since: str | None, *, newest: int
) -> tuple[dict[MessageQueue, int], dict[MessageQueue, MqctlError]]:
    """Returns where to begin, and why some queues could not be asked; `newest` counts back, 0: the start."""
    if offset is not None:
        return dict.fromkeys(queues, offset), {}
    ends, lost = ask_bounds(asking, queues)
    if since is not None:
        from mqctl.cli.times import parse_instant

        time_ms = parse_instant(since, datetime.now().astimezone()).epoch_ms
        return at_time(asking, {queue: queues[queue] for queue in ends}, time_ms), lost
    return {queue: max(low, high - newest) if newest else low for queue, (low, high) in ends.items()}, lost
