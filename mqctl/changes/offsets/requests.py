"""Requests that rest on something else: a change to take back or to finish, another group, a file."""

from __future__ import annotations

from pathlib import Path

from mqctl.changes.engine.records import DONE, NOT_MOVED, PLANNED, OffsetRecord, QueuePart
from mqctl.changes.offsets.planning import OffsetRequest, all_answered
from mqctl.changes.plan.offsets import ToGiven
from mqctl.changes.plan.plan_file import PlanFile, read_plan
from mqctl.cli.sources.brokers import open_brokers
from mqctl.errors import BadInputError, NotFoundError, RefusedError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.plan import PlanKind
from mqctl.model.queue import MessageQueue
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import ask_offsets, masters_of
from mqctl.store.plain_files import read_named, refused
from mqctl.text import sentence


def undo_request(record: OffsetRecord) -> OffsetRequest:
    """Returns the request to stand where a group stood before a change.

    Raises:
        RefusedError: nothing of the change can be taken back.
    """
    # What was never sent did not move; a queue without an offset cannot lose the one it got.
    sent = [queue for queue in record.parts if queue.state not in (PLANNED, NOT_MOVED)]
    old = {queue.queue: queue.old for queue in sent if queue.old is not None}
    if not old:
        reason = sentence("offset-no-queue-moved-none", "no queue of it moved, or none had an offset before")
        raise RefusedError(
            sentence("change-cannot-undone", "change {change_id} cannot be undone", change_id=record.id), reason=reason
        )
    left_out = [
        sentence(
            "no-offset-before-change",
            "{name} had no offset before change {record}, and brokers forget none: it keeps {new}",
            name=_name(queue),
            record=record.id,
            new=queue.new,
        )
        for queue in sent
        if queue.old is None
    ]
    left_out += [
        sentence(
            "offset-not-moved-change", "{name} was not moved by change {record}", name=_name(queue), record=record.id
        )
        for queue in record.parts
        if queue not in sent
    ]
    return OffsetRequest(
        group=record.subject,
        topics=tuple(sorted({queue.topic for queue in old})),
        target=ToGiven(old, sentence("offset-before-change", "before change {record}", record=record.id)),
        brokers=frozenset(queue.broker_name for queue in old),
        clamp=True,
        kind=PlanKind.UNDO,
        undoes=record.id,
        skipped={queue.queue: (queue.old, queue.new) for queue in sent if queue.old is not None},
        identity=record.brokers,
        origin=sentence("common-change", "change {record}", record=record.id),
        left_out=tuple(left_out),
    )


def resume_request(record: OffsetRecord) -> OffsetRequest:
    """Returns the request to finish a change that was stopped, or that could not be confirmed.

    Raises:
        RefusedError: there is nothing to finish.
    """
    rest = [queue for queue in record.parts if queue.state not in DONE]
    if not rest:
        raise RefusedError(
            sentence("offset-change-complete", "change {record} is complete", record=record.id),
            reason=sentence("offset-every-queue-confirmed", "every queue of it is confirmed"),
        )
    places = {(queue.topic, queue.broker_name) for queue in rest}
    return OffsetRequest(
        group=record.subject,
        topics=tuple(sorted({queue.topic for queue in rest})),
        target=ToGiven(
            {queue.queue: queue.new for queue in rest}, sentence("common-change", "change {record}", record=record.id)
        ),
        brokers=frozenset(queue.broker_name for queue in rest),
        kind=PlanKind(record.kind),
        undoes=record.undoes,
        resumes=record.id,
        expected={queue.queue: frozenset((queue.old, queue.new)) for queue in rest},
        identity=record.brokers,
        origin=sentence("common-change", "change {record}", record=record.id),
        callbacks=tuple(item for item in record.callbacks if (item.topic, item.broker_name) in places),
        creates=record.kind == PlanKind.REPLAY_GROUP,
    )


def clone_request(asking: Asking, source: str, group: str, topic: str) -> OffsetRequest:
    """Returns the request to stand where another group stands.

    Raises:
        NotFoundError: the source has no offset on the topic.
        UnreachableError: a broker does not tell.
    """
    brokers = masters_of(open_brokers(asking))
    ask_offsets(asking, brokers, Scope(groups=frozenset({source}), topics=frozenset({topic})))
    all_answered(brokers)
    offsets = {
        MessageQueue(name, broker.name, queue_id): offset
        for broker in brokers
        for (_, name, queue_id), offset in broker.offsets.items()
        if name == topic
    }
    if not offsets:
        raise NotFoundError(
            sentence("group-no-offset", "group {source} has no offset on {topic}", source=source, topic=topic),
            remedy=command_line("mqctl group lag -g {}", source),
        )
    return OffsetRequest(
        group=group,
        topics=(topic,),
        target=ToGiven(offsets, sentence("group-name", "group {name}", name=source)),
        brokers=frozenset(queue.broker_name for queue in offsets),
        clamp=True,
        kind=PlanKind.OFFSET_CLONE,
    )


def file_request(path: Path, group: str | None, topic: str | None, *, clamp: bool) -> OffsetRequest:
    """Returns the request to do what a plan file says.

    Raises:
        NotFoundError: there is no such file.
        BadInputError: it is no plan.
        UsageError: it is about another group, or about none.
    """
    plan = load_plan(path)
    if group and plan.group and group != plan.group:
        raise UsageError(
            sentence("offset-plan-group", "{path} is a plan for group {group}", path=path, group=plan.group),
            reason=sentence("offset-says", "-g says {group}", group=group),
        )
    about = plan.group or group
    if not about:
        raise UsageError(
            sentence("offset-names-no-group", "{path} names no group", path=path),
            remedy=sentence("offset-add-group", "add -g GROUP"),
        )
    rows = [row for row in plan.queues if topic in (None, row.topic)]
    if not rows:
        raise UsageError(
            sentence("offset-no-queue-topic", "{path} has no queue of topic {topic}", path=path, topic=topic)
        )
    places = {MessageQueue(row.topic, row.broker_name, row.queue_id): row for row in rows}
    return OffsetRequest(
        group=about,
        topics=tuple(sorted({row.topic for row in rows})),
        target=ToGiven({place: row.new for place, row in places.items()}, path.name),
        brokers=frozenset(row.broker_name for row in rows),
        clamp=clamp,
        expected={place: frozenset((row.old,)) for place, row in places.items() if row.knows_old},
        identity={row.broker_name: row.broker_address for row in rows if row.broker_address},
        origin=sentence("offset-plan", "the plan in {path}", path=path.name),
    )


def load_plan(path: Path) -> PlanFile:
    """Reads a plan that `--export` wrote, or a list of queues as CSV.

    Raises:
        NotFoundError, PermissionDeniedError, StorageError: there is no such file, or it cannot be read.
        BadInputError: it is no plan.
    """
    if not path.is_file():
        raise NotFoundError(
            sentence("no-file", "there is no file {file}", file=path),
            remedy=sentence("offset-export-writes", "--export writes one"),
        )
    try:
        return read_plan(read_named(path), is_csv=path.suffix == ".csv")
    except OSError as error:
        raise refused(sentence("could-not-read", "could not read {file}", file=path), error) from error
    except ValueError as error:
        remedy = sentence(
            "offset-export-plan-json",
            "--export plan.json or plan.csv writes one; a CSV needs the columns topic, broker_name, queue_id, new",
        )
        raise BadInputError(
            sentence("offset-not-plan", "{path} is not a plan", path=path), reason=str(error), remedy=remedy
        ) from error


def _name(queue: QueuePart) -> str:
    return sentence(
        "offset-queue",
        "queue {queue_id} of {topic} on {broker_name}",
        queue_id=queue.queue_id,
        topic=queue.topic,
        broker_name=queue.broker_name,
    )
