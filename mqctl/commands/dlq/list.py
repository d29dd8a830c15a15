"""`mqctl dlq list`: the dead letters of each group, and those of one in full."""

from __future__ import annotations

from time import time

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import BodyOption, GroupOption, NoColorOption, OutputOption
from mqctl.cli.options.limit import LimitOption, limited, most_of
from mqctl.cli.sources.brokers import asking_of, broker_gaps, open_brokers, queue_gaps
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
from mqctl.errors import UsageError
from mqctl.model.body_form import BodyForm
from mqctl.model.dead_letter import LetterChoice
from mqctl.model.gap import Gap, GapSubject, Part
from mqctl.render.dead_letters import group_row, groups_document, letters_document
from mqctl.snapshot.live.brokers import ask_settings, ask_topics, masters_of
from mqctl.snapshot.live.dead_letters import dead_letter_topics, dead_letters
from mqctl.snapshot.live.members import declared_modes
from mqctl.snapshot.live.retry_limits import member_limits
from mqctl.text import sentence

EXAMPLES = (
    "mqctl dlq list",
    "mqctl dlq list -o json | jq -r '.groups[] | select(.letter_count > 0) | .group'",
    "mqctl dlq list -g order-service",
    "mqctl dlq list -g order-service --since -1d --key order-4711 --body json -o json",
)
_LETTERS = 100


def command(
    group: GroupOption = None,
    key: KeyOption = None,
    message_id: IdOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    broker: BrokersOption = None,
    body: BodyOption = BodyForm.TEXT,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    limit: LimitOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """List how many dead letters each consumer group has on each broker, how old they are, and who may read them.

    A dead letter is a message that a group failed to consume more often than allowed; it stays until its file expires.

    With one group, also lists its letters, the oldest first, up to --limit for each queue (100 unless given): failed
    deliveries against the group's limit, the latest time of each failure (from the waits between retries), the reason
    it was given up, the original topic and message id, and whether it was sent again, from here or, while brokers still
    hold the copy, from elsewhere. Brokers keep no error text. A resend restarts the retries; their ladder is shown
    below. Letters are read without joining a group, even where the topic's permission keeps consumers out.
    """
    choice = letter_choice(key, message_id, since, until, broker)
    (one,) = group if group and len(group) == 1 else (None,)
    if one is None and choice != LetterChoice():
        raise UsageError(
            sentence("dlq-letters-of-one-group", "letters are chosen of one group"),
            remedy=sentence("dlq-add-one-group", "name one group: -g GROUP"),
        )
    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        if one is None:
            brokers = masters_of(open_brokers(asking))
            ask_topics(asking, brokers)
        else:
            brokers = letter_brokers(asking, one, choice.brokers)
        topics = dead_letter_topics(asking, brokers, frozenset(group or ()))
        modes = declared_modes(asking, brokers) if topics else {}
        now_ms = round(time() * 1000)
        topics.sort(key=lambda item: (item.group, item.broker_name))
        rows = [group_row(item, now_ms, modes.get(item.group, ())) for item in topics]
        if one is None:
            return answer(limited(groups_document(rows), output, limit), broker_gaps(brokers), output)
        ask_settings(asking, brokers)
        letters, dead = dead_letters(asking, brokers, one, choice, most_of(limit, _LETTERS))
        resent = resent_letters(asking, one, letters)
        limits, limit_gaps = member_limits(asking, brokers, {one} if letters else set())
    gaps = [*broker_gaps(brokers), *queue_gaps(dead.errors)]
    if resent.error is not None:
        copies = GapSubject(place=sentence("gap-copies-of-letters", "copies of letters that were sent again"))
        gaps.append(Gap.of(Part.MESSAGES, resent.error, copies))
    document = letters_document(
        one,
        letters,
        body,
        rows=rows,
        more=dead.more,
        now_ms=now_ms,
        resent=resent.was_resent,
        limit=limits.get(one),
    )
    return answer(document, gaps, output, minor=limit_gaps)
