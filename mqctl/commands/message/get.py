"""`mqctl message get`: one message by its id."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import BodyOption, NoColorOption, OutputOption
from mqctl.cli.sources.brokers import asking_of
from mqctl.commands.message.searching import check_id, find_by_id
from mqctl.errors import NotFoundError
from mqctl.model.body_form import BodyForm
from mqctl.model.command_line import command_line
from mqctl.model.gap import Gap, Part
from mqctl.render.messages_view import message_document
from mqctl.snapshot.live.messages import broker_names
from mqctl.text import sentence

EXAMPLES = (
    "mqctl message get 7F00000100002A9F0000000000000000",
    "mqctl message get C0000202000018B4AAC27C6D0A4A0001 -t orders --body json",
)


def command(
    message_id: Annotated[str, typer.Argument(metavar="ID", help="Offset id (of a send result) or unique id.")],
    topic: Annotated[
        str | None, typer.Option("-t", "--topic", metavar="TOPIC", help="Topic, which a unique id needs.")
    ] = None,
    body: BodyOption = BodyForm.TEXT,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show a message by its id. Both kinds of id look alike: one that names a broker is looked up there first."""
    target = cluster_target(namesrv, profile, timeout)
    check_id(message_id)
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        messages, errors = find_by_id(asking, message_id, topic)
        names = broker_names(asking) if messages else {}
    if not messages and not errors:
        remedy = sentence(
            "message-expired-or-traced", "it may have expired; mqctl message trace shows what clients traced"
        )
        if topic is None:
            again = command_line("mqctl message get {} -t TOPIC", message_id)
            remedy = sentence(
                "message-again-by-unique-id", "{again}, if it is a unique id; else it may have expired", again=again
            )
        raise NotFoundError(
            sentence("no-message-message-id", "there is no message {message_id}", message_id=message_id), remedy=remedy
        )
    gaps = [Gap.of(Part.MESSAGES, error) for error in errors]
    return answer(message_document(messages, body, schema="message.list/1", brokers=names), gaps, output)
