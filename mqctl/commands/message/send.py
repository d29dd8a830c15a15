"""`mqctl message send`: send a message, to try things."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mqctl.cli.connection.target import ClusterTarget, NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.options.common import NoColorOption, OneTopicOption, OutputOption
from mqctl.commands.message.send_view import SentMessage, sent_document
from mqctl.errors import DeadlineError, ExitCode, NotFoundError, UsageError
from mqctl.model.command_line import command_line
from mqctl.text import composed, sentence

if TYPE_CHECKING:
    from mqctl.changes.messages.read_back import ReadBack
    from mqctl.client.message.outgoing import OutgoingMessage, SendResult

EXAMPLES = (
    "mqctl message send -t orders --body 'hello'",
    "mqctl message send -t orders --tag paid --key order-4711 --property region=eu --body-file order.json",
    "mqctl message send -t orders --body 'wake up' --deliver-at +90min",
    "mqctl message send -t orders --body 'paid' --select hash:order-4711",
    "mqctl message send -t new-topic --create --body 'the first'",
    "mqctl message send -t orders --body 'is it stored?' --verify",
    "echo hello | mqctl message send -t orders --body-file -",
)


_BodyFile = Annotated[
    str | None, typer.Option("--body-file", metavar="FILE", help="The body from a file; - reads standard input.")
]
_Properties = Annotated[
    list[str] | None, typer.Option("--property", metavar="NAME=VALUE", help="A property; may be repeated.")
]
_DelayLevel = Annotated[
    int | None,
    typer.Option("--delay-level", metavar="LEVEL", min=1, max=(1 << 31) - 1, help="Deliver later, by delay level."),
]
_Select = Annotated[
    str | None,
    typer.Option(
        "--select", metavar="SELECTOR", help="Queue: hash:KEY, random, room:ROOM (all rooms without it); else in turn."
    ),
]
_DeliverAt = Annotated[
    str | None, typer.Option("--deliver-at", metavar="TIME", help="Deliver at this time: by timer, or by a relay.")
]


def command(
    topic: OneTopicOption,
    body: Annotated[str | None, typer.Option("--body", metavar="TEXT", help="The body, as text.")] = None,
    body_file: _BodyFile = None,
    tag: Annotated[str | None, typer.Option("--tag", help="Its tag.")] = None,
    key: Annotated[list[str] | None, typer.Option("--key", help="A key; may be repeated.")] = None,
    properties: _Properties = None,
    delay_level: _DelayLevel = None,
    deliver_at: _DeliverAt = None,
    select: _Select = None,
    create: Annotated[
        bool, typer.Option("--create", help="Create the topic, where brokers allow that (autoCreateTopicEnable).")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read it back from its broker; SEND_OK alone is not proof.")
    ] = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> ExitCode:
    """Send one message as a producer would, and show where it went.

    --deliver-at uses the timers of 5.x brokers; where there are none, or they do not reach so far, the message goes to
    a running `mqctl delay relay`, which delivers it by delay levels. A missing topic is not created without --create,
    even where brokers would create it. With --verify it exits with 2 for a message that its broker does not have, and
    with 3 for one that could not be read back.
    """
    if (body is None) == (body_file is None):
        raise UsageError(
            sentence("message-needs-body", "the message needs one body"),
            remedy=sentence("message-use-body-file", "use one of --body and --body-file"),
        )
    if delay_level is not None and deliver_at is not None:
        raise UsageError(
            sentence("message-delay-level-deliver-cannot", "--delay-level and --deliver-at cannot be combined"),
            remedy=sentence("message-use", "use one of them"),
        )
    extra = dict(_pair(item) for item in properties or ())
    for option, texts in (("--tag", [tag or ""]), ("--key", key or ())):
        for text in texts:
            _check_typed(option, text)
    # An argument that is no UTF-8 comes with its bytes escaped: they are sent as they were typed.
    content = os.fsencode(body) if body is not None else _read(body_file or "-")
    from mqctl.client.message.outgoing import OutgoingMessage, check_topic

    target = cluster_target(namesrv, profile, timeout)
    message = OutgoingMessage(
        topic=topic, body=content, tags=tag, keys=tuple(key or ()), properties=extra, delay_level=delay_level or 0
    )
    check_topic(topic)
    if not create:
        _must_be_there(topic, target)
    way = None
    if deliver_at is not None:
        from mqctl.commands.message.deliver_at import at_moment

        message, way = at_moment(message, deliver_at, target)
    result = _sent(message, target, select)
    if delay_level is not None:
        from mqctl.cli.sources.delay_ways import level_taken

        way = level_taken(delay_level, result.queue.broker_name, target)
    back = _read_back(result, target) if verify else None
    emit(sent_document(_row(result, way, back)), output)
    return _CODES[back.found.name] if back is not None else ExitCode.OK


_CODES = {"STORED": ExitCode.OK, "NOT_READ_BACK": ExitCode.UNKNOWN, "GONE": ExitCode.ERROR}


def _read_back(result: SendResult, target: ClusterTarget) -> ReadBack:
    from time import sleep

    from mqctl.changes.messages.read_back import read_back

    with target.open() as cluster:
        deadline = target.deadline()
        return read_back(
            result, lambda address, question: cluster.ask(address, question, deadline), lambda ms: sleep(ms / 1000)
        )


def _row(result: SendResult, way: str | None, back: ReadBack | None) -> SentMessage:
    return SentMessage(
        status=result.status.name,
        message_id=result.message_id,
        offset_message_id=result.offset_id,
        broker_name=result.queue.broker_name,
        queue_id=result.queue.queue_id,
        queue_offset=result.queue_offset,
        way=way,
        recall_handle=result.recall_handle,
        read_back=back.found.name.lower().replace("_", "-") if back is not None else None,
        reason=back.reason if back is not None else None,
    )


def _sent(message: OutgoingMessage, target: ClusterTarget, select: str | None) -> SendResult:
    from mqctl.client.producer.producer import Producer
    from mqctl.client.producer.selectors import selector_of

    selector = selector_of(select) if select is not None else None
    doubt = sentence(
        "message-may-be-stored",
        "it may have been stored all the same: {peek}",
        peek=command_line("mqctl message peek -t {}", message.topic),
    )
    with Producer("MQCTL_PRODUCER", target.sender()) as producer:
        try:
            return producer.send(message, select=selector, timeout_ms=target.timeout_ms)
        except KeyboardInterrupt:
            tell(composed("mqctl: {doubt}", doubt=doubt))
            raise
        except DeadlineError as error:
            remedy = sentence("message-before-sent-again", "{doubt}, before it is sent again", doubt=doubt)
            raise DeadlineError(error.problem, reason=error.reason, remedy=remedy) from error


def _must_be_there(topic: str, target: ClusterTarget) -> None:
    """Raises NotFoundError when no name server knows the topic: a misspelt one would be there for ever."""
    from mqctl.client.admin.nameserver import route, topic_names

    with target.open() as cluster:
        deadline = target.deadline()
        try:
            cluster.name_servers.ask(route(topic), deadline)
        except NotFoundError as error:
            from mqctl.model.names_alike import meant

            names = cluster.name_servers.ask(topic_names(), deadline)
            remedy = meant(
                topic,
                names,
                sentence("message-create-lets", "--create lets brokers with autoCreateTopicEnable create it"),
            )
            raise NotFoundError(
                sentence("no-topic", "there is no topic {topic}", topic=topic),
                reason=sentence("nothing-sent", "nothing was sent"),
                remedy=remedy,
            ) from error


def _read(name: str) -> bytes:
    """Reads the body, no more than one byte over the limit: what never ends is refused like what is too long."""
    from mqctl.client.message.outgoing import MAX_MESSAGE_BYTES

    if name == "-":
        content = sys.stdin.buffer.read(MAX_MESSAGE_BYTES + 1)
    else:
        with Path(name).open("rb") as stream:
            content = stream.read(MAX_MESSAGE_BYTES + 1)
    if len(content) > MAX_MESSAGE_BYTES:
        raise UsageError(
            sentence(
                "message-body-too-long",
                "the body in {name} is too long",
                name=sentence("common-standard-input", "standard input") if name == "-" else name,
            ),
            reason=sentence(
                "message-more-bytes-limit-rocketmq",
                "it has more than {max_message_bytes:byte}, the limit of RocketMQ's clients",
                max_message_bytes=MAX_MESSAGE_BYTES,
            ),
            remedy=sentence("message-nothing-sent-send-parts", "nothing was sent; send it in parts"),
        )
    return content


def _pair(text: str) -> tuple[str, str]:
    _check_typed("--property", text)
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise UsageError(
            sentence("message-cannot-read-property", "cannot read --property {text!r}", text=text),
            reason=""
            if not equals or not name
            else sentence("message-property-without-value-not", "a property without a value is not stored"),
            remedy=sentence("write-name-value", "write NAME=VALUE"),
        )
    return name, value


def _check_typed(option: str, text: str) -> None:
    """Raises UsageError for what brokers would store as something else than was typed."""
    from mqctl.protocol.properties import unwritable_characters

    if unwritable := unwritable_characters(text):
        raise UsageError(
            sentence(
                "message-holds-property-cannot-hold",
                "{option} holds {unwritable}, which a property cannot hold",
                option=option,
                unwritable=unwritable,
            ),
            reason=sentence(
                "message-rocketmq-parts-properties-stores",
                "RocketMQ parts properties by \\x01 and \\x02 and stores UTF-8 only",
            ),
            remedy=sentence("message-nothing-sent-put-such", "nothing was sent; put such bytes into the body"),
        )
