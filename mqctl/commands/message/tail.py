"""`mqctl message tail`: the newest messages of a topic, and those that follow."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output
from mqctl.cli.options.common import BodyOption, NoColorOption, OneTopicOption, OutputOption
from mqctl.cli.times import parse_span_ms
from mqctl.commands.message.subscribing import SqlOption, TagsOption, chosen_filter
from mqctl.errors import UsageError
from mqctl.model.body_form import BodyForm
from mqctl.snapshot.live.tail import TailRequest
from mqctl.text import sentence

EXAMPLES = (
    "mqctl message tail -t orders",
    "mqctl message tail -t orders --follow --tags 'paid || refunded'",
    'mqctl message tail -t orders --follow --sql "amount > 100" -o ndjson | jq .body',
    "mqctl message tail -t orders --follow --lines 0 --count 1 --timeout 1m",
)


def command(
    topic: OneTopicOption,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on with messages as they come.")] = False,
    lines: Annotated[int, typer.Option("--lines", min=0, help="How many of the newest messages to show first.")] = 10,
    tags: TagsOption = None,
    sql: SqlOption = None,
    count: Annotated[int | None, typer.Option("--count", min=1, help="Stop after this many messages.")] = None,
    every: Annotated[
        str, typer.Option("--every", metavar="SPAN", help="Pause between looks when nothing arrived.")
    ] = "500ms",
    body: BodyOption = BodyForm.TEXT,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show the newest messages of a topic, one a line, and with --follow new ones as they arrive. Commits no offset.

    Brokers filter: --tags takes `a || b`, --sql an SQL92 condition (brokers need enablePropertyFilter). The newest
    messages are chosen before the filter is applied. --follow continues until Ctrl-C or --timeout.
    """
    expression, kind = chosen_filter(tags, sql)
    if follow and output not in (Output.TABLE, Output.WIDE, Output.NDJSON):
        raise UsageError(
            sentence("message-follow-no-form", "--follow has no {output} form", output=output),
            remedy=sentence("use-ndjson-message-line", "use -o ndjson: one message a line"),
        )
    if count is not None and not follow:
        raise UsageError(
            sentence("message-count-needs-follow", "--count needs --follow"),
            remedy=sentence("message-use-lines", "use --lines"),
        )
    from mqctl.commands.message.tailing import Following, tail_topic

    following = Following(
        lines=lines,
        follow=follow,
        count=count,
        every_ms=parse_span_ms(every),
        limited=timeout is not None,
        body=body,
        output=output,
    )
    request = TailRequest(topic=topic, expression=expression, kind=kind)
    return tail_topic(cluster_target(namesrv, profile, timeout), request, following)
