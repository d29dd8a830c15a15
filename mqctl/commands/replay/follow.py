"""`mqctl replay follow`: move a topic's messages to one with more queues while producers still write."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.changes.plan.follow import KeySelector
from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ExecuteOption, NoColorOption, OutputOption
from mqctl.cli.options.replay import ConfirmTopicOption

EXAMPLES = (
    "mqctl replay follow -t orders --to orders-64",
    "mqctl replay follow -t orders --to orders-64 --from-group order-service --execute --confirm orders-64",
    "mqctl replay follow -t orders --to orders-64 --hold-for order-service --hold-above 50000 --drain --execute "
    "--confirm orders-64",
)


def command(
    topic: Annotated[str, typer.Option("-t", "--topic", metavar="TOPIC", help="The topic with too few queues.")],
    to: Annotated[str, typer.Option("--to", metavar="TOPIC", help="The topic with more; it must exist.")],
    key_selector: Annotated[
        KeySelector,
        typer.Option("--key-selector", help="How producers of the new topic choose a queue.", show_choices=True),
    ] = KeySelector.HASH,
    from_group: Annotated[
        str | None,
        typer.Option("--from-group", metavar="GROUP", help="Begin where this group has got to; it must be offline."),
    ] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", metavar="COUNT", min=0.01, help="Messages a second, at most.")
    ] = None,
    hold_for: Annotated[
        str | None, typer.Option("--hold-for", metavar="GROUP", help="Pause while this group lags on the new topic.")
    ] = None,
    hold_above: Annotated[
        int, typer.Option("--hold-above", metavar="COUNT", min=1, help="The lag above which it pauses.")
    ] = 100_000,
    drain: Annotated[bool, typer.Option("--drain", help="End when everything is copied.")] = False,
    execute: ExecuteOption = False,
    confirm: ConfirmTopicOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to move a topic's messages to one with more queues; with --execute, copy them until interrupted.

    Adding queues to a topic sends keys to other queues and breaks their order. A follower reads the old topic as a
    separate group (MQCTL_FOLLOW_OLD_TO_NEW) and publishes to the new one: each key to one queue, in its old order. The
    key is the sharding key, else a message's first key, else its old queue. The plan lists the steps of the cut-over
    for producers and consumers. The follower pauses while the new topic's brokers reject sends or the --hold-for group
    lags. Run the same command after a stop or a kill: it resumes from its committed offsets and skips messages that are
    already copied. No message is left out; messages copied twice are reported (found by index: messageIndexEnable).
    Exit code 3: some could not be looked up. Each machine runs one follower; several machines share the queues.
    """
    from mqctl.changes.engine.run import Consent
    from mqctl.commands.replay.following import FollowRequest, run_follow

    request = FollowRequest(
        old=topic,
        new=to,
        selector=key_selector,
        from_group=from_group,
        rate_per_s=rate,
        hold_group=hold_for,
        hold_above=hold_above,
        drain=drain,
    )
    target = cluster_target(namesrv, profile, timeout)
    document, code = run_follow(target, request, Consent(execute=execute, confirmed=confirm))
    emit(document, output)
    return code
