"""`mqctl message consume`: consume as a member of a group, to try things."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output
from mqctl.cli.options.common import BodyOption, NoColorOption, OneTopicOption, OutputOption
from mqctl.cli.times import parse_instant, parse_span_ms
from mqctl.commands.message.subscribing import SqlOption, TagsOption, chosen_filter
from mqctl.errors import ExitCode, UsageError
from mqctl.model.body_form import BodyForm
from mqctl.model.dedup_options import IN_MEMORY, DedupOptions
from mqctl.text import sentence

EXAMPLES = (
    "mqctl message consume -t orders",
    "mqctl message consume -t orders --from-start --tags paid --count 5 -o json",
    "mqctl message consume -t orders -g order-service --count 1 --commit",
    "mqctl message consume -t orders --from-start --count 1000 --dedup-by key --dedup-states seen.db",
    "mqctl message consume -t orders -g order-service --pop --invisible 30s --count 1 --commit",
)


_Group = Annotated[
    str | None,
    typer.Option("-g", "--group", metavar="GROUP", help="Consume as this group; else as a temporary one."),
]
_Commit = Annotated[
    bool,
    typer.Option("--commit", help="With -g: commit (with --pop: acknowledge) what was shown; members will not get it."),
]
_Pop = Annotated[bool, typer.Option("--pop", help="Pop as groups of 5.x do: messages are shared instead of queues.")]
_Invisible = Annotated[
    str | None,
    typer.Option(
        "--invisible",
        metavar="SPAN",
        help="With --pop: time a message stays invisible to others. Default: 60s.",
    ),
]
_Since = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="Temporary group: start at this store time.")
]
_DedupBy = Annotated[
    str | None,
    typer.Option("--dedup-by", metavar="WHAT", help="Measure repetitions by key, id, or the name of a property."),
]
_DedupStates = Annotated[
    str | None,
    typer.Option("--dedup-states", metavar="FILE", help="Where states live on: an SQLite file or redis:// URL."),
]


def command(
    topic: OneTopicOption,
    group: _Group = None,
    commit: _Commit = False,
    tags: TagsOption = None,
    sql: SqlOption = None,
    since: _Since = None,
    from_start: Annotated[
        bool, typer.Option("--from-start", help="Temporary group: start at the oldest message.")
    ] = False,
    count: Annotated[int, typer.Option("--count", min=1, help="Stop after this many messages.")] = 10,
    wait: Annotated[str, typer.Option("--wait", metavar="SPAN", help="How long to wait for them.")] = "10s",
    pop: _Pop = False,
    invisible: _Invisible = None,
    dedup_by: _DedupBy = None,
    dedup_states: _DedupStates = None,
    body: BodyOption = BodyForm.TEXT,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Consume messages as a real member of a group, which takes its share of the queues while it runs.

    Without -g it uses a temporary group, which starts with new messages (or where you choose) and is removed at the
    end. With -g the group rebalances twice, when this member joins and when it leaves, and nothing is committed without
    --commit. With --pop no queue changes its owner: messages are popped from all brokers, whatever mode the group is
    set to, and those that --commit does not acknowledge are redelivered once --invisible is over. Use `message peek` or
    `tail` to read without any of that. Ends with 0 also when fewer messages arrived, 3 when a commit could not be
    confirmed.
    """
    expression, kind = chosen_filter(tags, sql)
    if group is not None and (since is not None or from_start):
        raise UsageError(
            sentence("message-group-begins-where-stands", "a group begins where it stands"),
            remedy=sentence("message-offset-reset-moves-leave", "mqctl offset reset moves it; leave -g out otherwise"),
        )
    if since is not None and from_start:
        raise UsageError(
            sentence("message-since-start-cannot-combined", "--since and --from-start cannot be combined"),
            remedy=sentence("message-use", "use one of them"),
        )
    if commit and group is None:
        raise UsageError(
            sentence("message-commit-needs", "--commit needs -g"),
            reason=sentence("message-temporary-group-removed-offsets", "a temporary group is removed with its offsets"),
        )
    if dedup_states is not None and dedup_by is None:
        raise UsageError(
            sentence("message-dedup-states-needs", "--dedup-states needs --dedup-by"),
            remedy=sentence("message-add-dedup-key", "add --dedup-by key"),
        )
    if invisible is not None and not pop:
        raise UsageError(
            sentence("message-invisible-needs-pop", "--invisible needs --pop"),
            reason=sentence("pulled-messages-not-become", "pulled messages do not become invisible"),
        )
    since_ms = 0 if from_start else None
    if since is not None:
        since_ms = parse_instant(since, datetime.now().astimezone()).epoch_ms
    from mqctl.commands.message.consuming import ConsumeOptions, consume

    options = ConsumeOptions(
        topic=topic,
        expression=expression,
        kind=kind,
        group=group,
        count=count,
        wait_ms=parse_span_ms(wait),
        since_ms=since_ms,
        commit=commit,
        invisible_ms=parse_span_ms(invisible or "60s") if pop else None,
        dedup=DedupOptions(by=dedup_by, states=dedup_states or IN_MEMORY) if dedup_by is not None else None,
    )
    unconfirmed = consume(cluster_target(namesrv, profile, timeout), options, body, output)
    return ExitCode.UNKNOWN if unconfirmed else ExitCode.OK
