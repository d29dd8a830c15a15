"""`mqctl message trace`: what became of one message."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import BodyOption, NoColorOption, OutputOption
from mqctl.cli.sources.brokers import asking_of
from mqctl.commands.message.searching import check_id, id_of
from mqctl.commands.message.trace_view import trace_document
from mqctl.commands.message.tracing import trace_message
from mqctl.model.body_form import BodyForm
from mqctl.model.names import TRACE_TOPIC

EXAMPLES = (
    "mqctl message trace 7F00000100002A9F0000000000000000",
    "mqctl message trace C0000202000018B4AAC27C6D0A4A0001 -t orders",
    "mqctl message trace order-4711 -t orders",
    "mqctl message trace C0000202000018B4AAC27C6D0A4A0001 --trace-topic my-traces -o json | jq .consumptions",
)


def command(
    message_id: Annotated[
        str, typer.Argument(metavar="ID", help="Offset id (of a send result) or unique id; with -t a key, too.")
    ],
    topic: Annotated[
        str | None,
        typer.Option("-t", "--topic", metavar="TOPIC", help="Topic of a unique id without a trace, or of a key."),
    ] = None,
    trace_topic: Annotated[
        str, typer.Option("--trace-topic", metavar="TOPIC", help="Where clients write their traces.")
    ] = TRACE_TOPIC,
    body: BodyOption = BodyForm.TEXT,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show who sent a message, who consumed it and when (from traces), and which groups have passed it.

    Groups are judged by their offsets on the message's queue. `consumed`: the group is online, has passed it and
    subscribes to it. `filtered`: it has passed it, and its broker or the owner of the queue filters the tag out.
    `passed`: it has passed it, and no more is known because the group is offline or its members differ. `popped`:
    delivered to a group that pops (5.x), acknowledged or not; `mqctl group lag` counts the unacknowledged ones.
    """
    if topic is None:
        check_id(message_id)
    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        one = message_id if topic is None else id_of(asking, message_id, topic)
        report, gaps = trace_message(asking, one, topic, trace_topic, body)
    return answer(trace_document(report), gaps, output)
