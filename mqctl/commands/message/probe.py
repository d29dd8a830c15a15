"""`mqctl message probe`: how long sends take, queue by queue."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.bench.probe_view import probe_document
from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.gaps import tell_remedies
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.errors import NotFoundError
from mqctl.model.command_line import command_line
from mqctl.model.gap import exit_code_of
from mqctl.text import sentence

EXAMPLES = (
    "mqctl message probe",
    "mqctl message probe -t orders --count 20 --size 1024",
    "mqctl message probe --broker broker-a -o json | jq '.queues[].median_ms'",
)


def command(
    topic: Annotated[
        str | None, typer.Option("-t", "--topic", metavar="TOPIC", help="Its queues; else each broker's own topic.")
    ] = None,
    broker: Annotated[str | None, typer.Option("--broker", metavar="NAME", help="Only this broker's queues.")] = None,
    count: Annotated[int, typer.Option("--count", min=1, max=10_000, help="How many messages for each queue.")] = 5,
    size: Annotated[int, typer.Option("--size", min=1, max=4_000_000, metavar="BYTES", help="Size of a body.")] = 128,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Send small messages to each queue, one after the other, and show the response times of the brokers.

    The messages stay in the topic. Without --topic they go to the topic that each broker keeps under its own name,
    which has no consumers. Nothing is retried: each failure is shown.
    """
    from mqctl.bench.probe import own_queues, probe, topic_queues
    from mqctl.client.producer.producer import Producer

    target = cluster_target(namesrv, profile, timeout)
    with Producer("MQCTL_PRODUCER", target.sender()) as producer:
        queues = topic_queues(producer, topic) if topic else own_queues(producer, target)
        wanted = [queue for queue in queues if broker in (None, queue.broker_name)]
        if not wanted:
            raise NotFoundError(
                sentence(
                    "message-nothing-send",
                    "nothing to send to{broker}",
                    broker=sentence("common-broker", " on {broker}", broker=broker) if broker else "",
                ),
                remedy=command_line("mqctl topic route -t {}", topic) if topic else command_line("mqctl broker list"),
            )
        probes = [probe(producer, queue, count, size, target.timeout_ms) for queue in wanted]
    gaps = [gap for _, result in probes for gap in result]
    emit(probe_document(size, [row for row, _ in probes]), output)
    tell_remedies(gaps)
    return exit_code_of(gaps)
