"""`mqctl message get`: one message by its id."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption, connection
from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.live_brokers import asking_of
from mqctl.cli.options import BodyOption, NoColorOption, OutputOption
from mqctl.errors import ExitCode, MqctlError, NotFoundError
from mqctl.model.body_form import BodyForm
from mqctl.protocol.message_id import MessageIdError
from mqctl.render.messages_view import message_document
from mqctl.snapshot.live_messages import KeyQuery, by_offset_id, by_unique_key

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
    chosen = connection(namesrv, profile, timeout)
    errors: list[MqctlError] = []
    with chosen.open() as cluster:
        asking = asking_of(cluster, chosen)
        try:
            found = by_offset_id(asking, message_id, cluster.brokers(asking.deadline))
        except (MessageIdError, NotFoundError) as error:
            if topic is None:
                raise
            tell(f"mqctl: taken as a unique id: {error}")
            found = []
        if not found and topic is not None:
            found, errors = by_unique_key(asking, KeyQuery(topic=topic, key=message_id))
    for failure in errors:
        tell(f"mqctl: {failure}")
    if not found and not errors:
        remedy = "add -t TOPIC for a unique id; it may have expired"
        raise NotFoundError(f"there is no message {message_id}", remedy=remedy)
    emit(message_document(found, body, schema="message.list/1"), output)
    return ExitCode.UNREACHABLE if errors else ExitCode.OK
