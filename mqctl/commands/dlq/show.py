"""`mqctl dlq show`: the dead letters of one group."""

from __future__ import annotations

from time import time
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import BodyOption, NoColorOption, OneGroupOption, OutputOption
from mqctl.cli.sources.brokers import asking_of, broker_gaps, queue_gaps
from mqctl.commands.dlq.letters import (
    BrokersOption,
    IdOption,
    KeyOption,
    SinceOption,
    UntilOption,
    letter_brokers,
    letter_choice,
)
from mqctl.commands.dlq.resent import resent_letters
from mqctl.model.body_form import BodyForm
from mqctl.model.gap import Gap, GapSubject, Part
from mqctl.render.dead_letters import letters_document
from mqctl.snapshot.live.brokers import ask_settings
from mqctl.snapshot.live.dead_letters import dead_letters
from mqctl.snapshot.live.retry_limits import member_limits
from mqctl.text import sentence

EXAMPLES = (
    "mqctl dlq show -g order-service",
    "mqctl dlq show -g order-service --since -1d --key order-4711 --body json -o json",
)


def command(
    group: OneGroupOption,
    key: KeyOption = None,
    message_id: IdOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    broker: BrokersOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most letters of each queue, the oldest first.")] = 100,
    body: BodyOption = BodyForm.TEXT,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show the dead letters of a group: how often each failed, why it was given up, and where it came from.

    Brokers keep no error text. What is known: how many deliveries failed, against the group's limit; by when each had
    failed (from the waits between retries); the original topic and message id; whether it was sent again, from here or,
    as far as brokers still hold the copy, from elsewhere. A resend starts the retries again; their
    ladder is shown below. Letters are read without joining a group, also where the topic's permission keeps consumers
    out.
    """
    choice = letter_choice(key, message_id, since, until, broker)
    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        brokers = letter_brokers(asking, group, choice.brokers)
        ask_settings(asking, brokers)
        letters, dead = dead_letters(asking, brokers, group, choice, limit)
        resent = resent_letters(asking, group, letters)
        limits, limit_gaps = member_limits(asking, brokers, {group} if letters else set())
    gaps = [*broker_gaps(brokers), *queue_gaps(dead.errors)]
    if resent.error is not None:
        gaps.append(
            Gap.of(
                Part.MESSAGES,
                resent.error,
                GapSubject(place=sentence("gap-copies-of-letters", "copies of letters that were sent again")),
            )
        )
    document = letters_document(
        group,
        letters,
        body,
        more=dead.more,
        now_ms=round(time() * 1000),
        resent=resent.was_resent,
        limit=limits.get(group),
    )
    return answer(document, gaps, output, minor=limit_gaps)
