"""`mqctl store cat`: stored messages, read without a broker."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.options.common import NoColorOption, OutputOption, StoreOption
from mqctl.errors import ExitCode, UsageError
from mqctl.model.body_form import BodyForm
from mqctl.render.messages_view import message_document
from mqctl.snapshot.store.message_finder import FoundMessages, MessageFinder
from mqctl.text import composed, sentence

EXAMPLES = (
    "mqctl store cat --store /backup/store -t orders -q 2 --offset 100 --count 10",
    "mqctl store cat --store /backup/store --physical-offset 4711000",
    "mqctl store cat --store /backup/store -t orders --key order-4711 --body text",
    "mqctl store cat --store /backup/store --id 7F00000100002A9F0000000000000000 --body json -o json",
)


def command(
    store: StoreOption,
    topic: Annotated[
        str | None, typer.Option("-t", "--topic", metavar="TOPIC", help="Topic of --queue or --key.")
    ] = None,
    queue: Annotated[int | None, typer.Option("-q", "--queue", min=0, help="Queue id within the topic.")] = None,
    offset: Annotated[
        int | None, typer.Option("--offset", min=0, help="Queue offset to start at. Default: the queue's minimum.")
    ] = None,
    physical_offset: Annotated[
        int | None, typer.Option("--physical-offset", min=0, help="Byte offset of one record in the commit log.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="Message key or unique key, through the index files.")
    ] = None,
    message_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Offset message id (of a send result) or unique id.")
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="How many messages at most.")] = 32,
    body: Annotated[BodyForm, typer.Option("--body", help="How bodies are shown; compressed ones are unpacked.")] = (
        BodyForm.TEXT
    ),
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Print stored messages by queue, physical offset, key or id.

    With --key and --id several messages may be found: a retried message keeps its unique id.
    """
    finder = MessageFinder.open(store)
    choices = [queue is not None, physical_offset is not None, key is not None, message_id is not None]
    if sum(choices) != 1:
        raise UsageError(
            sentence("say-messages", "say which messages"),
            remedy=sentence(
                "store-use-topic-queue-physical",
                "use one of: -t TOPIC -q QUEUE, --physical-offset, -t TOPIC --key, --id",
            ),
        )
    if (queue is not None or key is not None) and topic is None:
        raise UsageError(
            sentence("store-queue-key-need-topic", "--queue and --key need --topic"),
            remedy=sentence("add-topic", "add -t TOPIC"),
        )
    if queue is not None and topic is not None:
        result: FoundMessages = finder.by_queue(topic, queue, offset, count)
    elif physical_offset is not None:
        result = finder.by_physical_offset(physical_offset)
    elif key is not None and topic is not None:
        result = finder.by_key(topic, key, count)
    else:
        result = finder.by_id(str(message_id), topic, count)
    emit(message_document(result.messages, body), output)
    for problem in result.unreadable:
        tell(composed("mqctl: {problem}", problem=problem))
    return ExitCode.IO if result.unreadable else ExitCode.OK
