"""`mqctl dlq resend`: send dead letters again."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ConfirmOption, ExecuteOption, NoColorOption, OneGroupOption, OutputOption
from mqctl.commands.dlq.letters import (
    BrokersOption,
    IdOption,
    KeyOption,
    SinceOption,
    UntilOption,
    letter_choice,
)
from mqctl.errors import UsageError
from mqctl.text import sentence

EXAMPLES = (
    "mqctl dlq resend -g order-service --since 'yesterday 10:00'",
    "mqctl dlq resend -g order-service --key order-4711 --execute --confirm order-service",
    "mqctl dlq resend -g order-service --to '%RETRY%order-service' --rate 20 --execute --confirm order-service",
    "mqctl dlq resend -g order-service --resume 20261121-091500-3fa2 --execute --confirm order-service",
)


def command(
    group: OneGroupOption,
    to_topic: Annotated[
        str | None, typer.Option("--to", metavar="TOPIC", help="Where to; without it each letter's first topic.")
    ] = None,
    key: KeyOption = None,
    message_id: IdOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    broker: BrokersOption = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Most letters of each queue, the oldest first.")
    ] = None,
    rate: Annotated[float, typer.Option("--rate", metavar="NUMBER", help="Most messages a second.")] = 50,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="ID", help="Continue a resend that was interrupted.")
    ] = None,
    execute: ExecuteOption = False,
    confirm: ConfirmOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan which dead letters of a group go to which topic; with --execute, send each of them once.

    A letter that was resent before is skipped, even if another machine did it: copies carry their letter's id
    (MQCTL_RESENT_FROM) and are looked up before each send. If the local record of a letter is damaged and brokers have
    no copy, it may already have been sent: it is skipped and reported (exit code 69 for a plan, 1 for a resend). The
    letters stay where they are. Every group of the target topic receives them; --to '%RETRY%GROUP' reaches one group
    only. --timeout limits the plan and each look-up, not the sending.
    """
    if not rate > 0:
        raise UsageError(
            sentence("dlq-rate-must-greater", "--rate must be greater than 0"),
            remedy=sentence("dlq-use-instance-rate", "use for instance --rate 50"),
        )
    choosing = (to_topic, key, message_id, since, until, broker, limit)
    if resume is not None and any(item is not None for item in choosing):
        raise UsageError(
            sentence("dlq-resume-takes-up-letters", "--resume takes up the letters of a resend"),
            remedy=sentence("dlq-leave-out-chooses-letters", "leave out --to and what chooses letters"),
        )
    if to_topic is not None:
        from mqctl.client.message.outgoing import check_topic

        check_topic(to_topic)
    from mqctl.changes.engine.run import Consent
    from mqctl.commands.dlq.resend_perform import run_resend
    from mqctl.commands.dlq.resend_plan import LetterRequest

    choice = letter_choice(key, message_id, since, until, broker)
    request = LetterRequest(group=group, choice=choice, to_topic=to_topic, rate=rate, limit=limit, resume=resume)
    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        done = run_resend(cluster, target, request, Consent(execute=execute, confirmed=confirm))
    emit(done.document, output)
    return done.code
