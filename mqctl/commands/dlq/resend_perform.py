"""What `mqctl dlq resend --execute` does: letters are sent again one at a time, at a bounded rate.

Each is looked up right before, and read back right after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from time import monotonic, sleep

from mqctl.changes.engine.cautions import Touched
from mqctl.changes.engine.journal import Drawer, Journal, new_id
from mqctl.changes.engine.records import CONFIRMED, NOT_MOVED, SENT, UNKNOWN, LetterPart, ResendRecord
from mqctl.changes.engine.run import (
    Change,
    Consent,
    Finished,
    Work,
    overtaken,
    run_change,
    shown_before,
)
from mqctl.changes.messages.read_back import Found, ReadBack, read_back
from mqctl.changes.messages.replay import Pace
from mqctl.cli.connection.target import ClusterTarget
from mqctl.cli.emit import tell
from mqctl.client.admin.cluster import Cluster
from mqctl.client.message.outgoing import OutgoingMessage, SendResult
from mqctl.client.producer.producer import Producer
from mqctl.client.producer.selectors import by_key
from mqctl.client.remoting.question import Question
from mqctl.client.routes import publish_queues
from mqctl.commands.dlq.resend_plan import LetterRequest, make_plan, only_these
from mqctl.commands.dlq.resend_view import plan_document, resend_document
from mqctl.errors import DeadlineError, ExitCode, MqctlError, NotFoundError, UnreachableError
from mqctl.model.command_line import command_line
from mqctl.model.dead_letter import DeadLetter
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import SHARDING_KEY, Message
from mqctl.model.names import dlq_topic
from mqctl.model.plan import ClusterIdentity
from mqctl.model.queue import MessageQueue
from mqctl.model.resend import Fate, LetterKey, ResendItem, ResendPlan, travelling_properties
from mqctl.render.document import Document
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.resent import SentQuery, copy_id, find_copies, target_routes
from mqctl.store.exclusive_lock import who
from mqctl.text import sentence

_ON_DAMAGE = sentence(
    "dlq-restore-move-away-letters",
    "restore it; or move it away, and only letters whose copies brokers still hold count as sent by it",
)
_LIMIT_MS = 5_000
_FAILURES_IN_A_ROW = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """What of a plan must hold when another process carries it out: topic by letter, other hearers by topic."""

    group: str
    identity: ClusterIdentity
    letters: dict[str, str | None]
    hearers: dict[str, tuple[str, ...]]


class LetterResend(Change[ResendPlan, ResendRecord]):
    """Dead letters of a group sent again."""

    def __init__(self, cluster: Cluster, target: ClusterTarget, request: LetterRequest) -> None:
        self._cluster = cluster
        self._target = target
        self._request = request

    def drawer(self, journal: Journal) -> Drawer[ResendRecord]:
        return journal.resends

    def plan(self) -> ResendPlan:
        return self._plan(self._request)

    def bound(self, plan: ResendPlan, *, execute: bool) -> ResendPlan:
        before = shown_before("plan", _shown(plan), _Shown, execute=execute)
        if before is not None:
            plan = self._plan(self._only(before.letters))
            _must_hold(before, _shown(plan))
        return plan

    def document(self, plan: ResendPlan) -> Document:
        return plan_document(plan)

    def has_work(self, plan: ResendPlan) -> bool:
        return bool(plan.sending or plan.resumes)

    def code_without_work(self, plan: ResendPlan, *, execute: bool) -> int:
        return ExitCode.UNREACHABLE if plan.is_doubtful else ExitCode.OK

    def word(self, plan: ResendPlan) -> str:
        return plan.group

    def asking(self) -> Asking:
        return Asking(self._cluster, self._target.deadline())

    def touched(self, plan: ResendPlan) -> Touched:
        topics = {item.topic for item in plan.sending if item.topic is not None}
        return Touched(topics=topics | {dlq_topic(plan.group)}, groups={plan.group})

    def where(self) -> Sequence[str]:
        return self._cluster.name_servers.addresses()

    def locks(self, plan: ResendPlan) -> str:
        return sentence(
            "dlq-dead-letters", "dead letters of {group} of {cluster}", group=plan.group, cluster=plan.identity.cluster
        )

    def places(self, plan: ResendPlan) -> tuple[str, ...]:
        return plan.identity.addresses

    def again(self, shown: ResendPlan) -> ResendPlan:
        # Somebody may have sent some since. What was not shown is not sent.
        return self._plan(self._only(_letters(shown)))

    def record(self, plan: ResendPlan, drawer: Drawer[ResendRecord]) -> ResendRecord:
        if plan.resumes is None:
            return new_record(plan)
        record = drawer.read(plan.resumes)
        record.ended = False
        return record

    def opened(self, record: ResendRecord) -> str:
        return sentence(
            "dlq-resend-record", "mqctl: resend {record}; {finish}", record=record.id, finish=self.finish(record)
        )

    def carry_out(self, work: Work[ResendPlan, ResendRecord]) -> str | None:
        return (
            None
            if _send(self._cluster, self._target, work)
            else sentence("dlq-three-letters-row-could", "three letters in a row could not be sent")
        )

    def finish(self, record: ResendRecord) -> str:
        return sentence(
            "dlq-resumes",
            "{value} resumes it",
            value=command_line("mqctl dlq resend -g {} --resume {}", record.subject, record.id),
        )

    def report(self, record: ResendRecord) -> Document:
        return resend_document(record)

    def _plan(self, request: LetterRequest) -> ResendPlan:
        return make_plan(self.asking(), request)

    def _only(self, letters: Iterable[str]) -> LetterRequest:
        return self._request if self._request.resume else only_these(self._request, letters)


def run_resend(
    cluster: Cluster, target: ClusterTarget, request: LetterRequest, consent: Consent
) -> Finished[ResendRecord]:
    """Plans, and sends when asked to.

    Raises:
        MqctlError: as `make_plan` and `run_change`.
    """
    doubtful: list[bool] = []

    def planned(plan: ResendPlan, _: Document) -> None:
        doubtful.append(plan.is_doubtful)
        for text in plan.unreadable:
            tell(
                sentence(
                    "dlq-letters-sent-skipped-next",
                    "mqctl: {text}; letters that it may have sent are skipped\n  next: {on_damage}",
                    text=text,
                    on_damage=_ON_DAMAGE,
                )
            )

    done = run_change(LetterResend(cluster, target, request), consent, planned=planned)
    if done.record is not None and done.code == ExitCode.OK and doubtful == [True]:
        return replace(done, code=ExitCode.WARNING)
    return done


def new_record(plan: ResendPlan) -> ResendRecord:
    """Returns the record of what is about to be sent."""
    return ResendRecord(
        id=new_id(),
        kind="dlq-resend",
        subject=plan.group,
        to_topic=plan.to_topic,
        rate=plan.rate,
        who=who(),
        made_at_ms=plan.made_at_ms,
        cluster=plan.identity.cluster,
        brokers=dict(plan.identity.brokers),
        parts=[
            LetterPart(letter_id=item.key.letter_id, unique_key=item.key.unique_key, topic=item.topic or "")
            for item in plan.sending
        ],
    )


def _letters(plan: ResendPlan) -> dict[str, str | None]:
    return {item.key.letter_id: item.topic for item in plan.sending}


def _shown(plan: ResendPlan) -> _Shown:
    topics = {item.topic for item in plan.sending}
    hearers = {topic: names for topic, names in plan.hearers.items() if topic in topics}
    return _Shown(group=plan.group, identity=plan.identity, letters=_letters(plan), hearers=hearers)


def _must_hold(shown: _Shown, now: _Shown) -> None:
    """Fewer letters may go than were shown, since somebody may have sent some; none elsewhere, and to nobody else."""
    if (shown.group, shown.identity) != (now.group, now.identity):
        raise overtaken(sentence("dlq-brokers-came-went-since", "brokers came or went since the plan was shown"))
    if not now.letters.items() <= shown.letters.items():
        raise overtaken(sentence("dlq-letters-send-no-longer", "the letters to send are no longer those shown"))
    for topic, names in now.hearers.items():
        if fresh := sorted(set(names) - set(shown.hearers.get(topic, ()))):
            raise overtaken(
                sentence(
                    "dlq-group-consumes-since-plan",
                    "group {fresh} consumes {topic} since the plan was shown: it would get the messages too",
                    fresh=fresh[0],
                    topic=topic,
                )
            )


def _send(cluster: Cluster, target: ClusterTarget, work: Work[ResendPlan, ResendRecord]) -> bool:
    from mqctl.client.producer.packing import ProducerSettings

    plan, record = work.plan, work.record
    routes = target_routes(Asking(cluster, target.deadline()), {letter.topic for letter in record.parts})
    letters = {item.key: item.letter for item in plan.items}
    born = {key: letter.stored.message.store_time_ms for key, letter in letters.items()}

    def find_copy(letter: LetterPart) -> str | None:
        query = SentQuery(key=letter.key, topic=letter.topic, since_ms=born[letter.key])
        copies = find_copies(Asking(cluster, target.deadline()), [query], routes)
        return copy_id(copies[letter.key, letter.topic]) if copies else None

    def read(result: SendResult) -> ReadBack:
        def put(address: str, question: Question[Message]) -> Message:
            return cluster.ask(address, question, target.deadline())

        return read_back(result, put, lambda ms: sleep(ms / 1000))

    def queues(topic: str) -> Sequence[MessageQueue]:
        writable = publish_queues(topic, routes[topic]) if topic in routes else ()
        if not writable:
            raise NotFoundError(
                sentence("dlq-topic-no-queue-send", "topic {topic} has no queue to send to", topic=topic),
                remedy=sentence("dlq-topic-route", "mqctl topic route; or --to TOPIC"),
            )
        return writable

    with (
        work.drawer.appending(record) as save,
        # One attempt: a second one could store a second copy.
        Producer("MQCTL_PRODUCER", target.sender(), ProducerSettings(retries=0)) as producer,
    ):
        total = len(record.parts)
        outlet = Outlet(
            producer=producer,
            queues=queues,
            find_copy=find_copy,
            read_back=read,
            settled={item.key: _settled(item) for item in plan.items if item.fate in (Fate.RESENT, Fate.DOUBTFUL)},
            pace=Pace(plan.rate, monotonic, lambda ms: sleep(ms / 1000)).wait,
            save=save,
            report=lambda done: work.report("resending", done, total),
        )
        return carry_out(record, letters, outlet)


def _settled(item: ResendItem) -> tuple[str, str]:
    return (CONFIRMED if item.fate is Fate.RESENT else UNKNOWN), sentence("dlq-sent", "sent {note}", note=item.note)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlet:
    """What sending needs.

    Attributes:
        queues: returns the queues of a topic. Raises NotFoundError: a topic that is gone must not be created anew.
        find_copy: returns the offset id of a letter's copy, None when there is none. Raises MqctlError.
        read_back: looks for the copy that a broker answered it stored.
        settled: letters that must not be sent, with state and reason: sent by another resend, or perhaps.
        pace: waits until the next message may go.
        save: writes the state of the letter at an index down, and the end for -1. Raises StorageError.
        report: told how many letters are done.
    """

    producer: Producer
    queues: Callable[[str], Sequence[MessageQueue]]
    find_copy: Callable[[LetterPart], str | None]
    read_back: Callable[[SendResult], ReadBack]
    settled: Mapping[LetterKey, tuple[str, str]]
    pace: Callable[[], None]
    save: Callable[[int], None]
    report: Callable[[int], None]


def carry_out(record: ResendRecord, letters: Mapping[LetterKey, DeadLetter], outlet: Outlet) -> bool:
    """Sends every letter that is not yet sent; returns whether it came to its end.

    A copy that is found is never sent twice. After three failures in a row the rest stays for another time.

    Args:
        letters: by key; one that is missing is no longer stored.
    """
    turns: dict[str, int] = {}
    failures = 0
    for index, state in enumerate(record.parts):
        if state.state == CONFIRMED:
            continue
        letter = letters.get(state.key)
        if letter is None:
            state.state, state.reason = (
                NOT_MOVED,
                sentence("resend-dead-letter-no-longer", "the dead letter is no longer stored"),
            )
        else:
            _resend(record, index, letter, outlet, turns)
            failed = state.state in (NOT_MOVED, UNKNOWN) and state.key not in outlet.settled
            failures = failures + 1 if failed else 0
        outlet.save(index)
        outlet.report(index + 1)
        if failures >= _FAILURES_IN_A_ROW and index + 1 < len(record.parts):
            return False
    outlet.save(-1)
    return True


def _resend(record: ResendRecord, index: int, letter: DeadLetter, outlet: Outlet, turns: dict[str, int]) -> None:
    state = record.parts[index]
    try:
        copy = outlet.find_copy(state)
        if copy is not None:
            state.state, state.found, state.reason = (
                CONFIRMED,
                copy,
                sentence("resend-copy-already-sent", "a copy had already been sent"),
            )
            return
        if state.key in outlet.settled:
            state.state, state.reason = outlet.settled[state.key]
            return
        queue = _queue(outlet.queues(state.topic), letter, turns)
    except MqctlError as error:
        # Unsent as far as this run knows; one in flight from an earlier run keeps its doubt.
        state.fail(UNKNOWN if state.state in (SENT, UNKNOWN) else NOT_MOVED, error)
        return
    outlet.pace()
    state.state, state.reason = SENT, None
    outlet.save(index)
    try:
        result = outlet.producer.send(_copy(record, letter, state.topic), queue=queue, timeout_ms=_LIMIT_MS)
    except (UnreachableError, DeadlineError) as error:
        _settle(state, outlet, error)
    except MqctlError as error:
        state.fail(NOT_MOVED, error)
    else:
        back = outlet.read_back(result)
        if back.found is Found.STORED:
            state.state, state.found, state.reason = CONFIRMED, result.offset_id, _remark(result)
        else:
            state.state, state.reason = NOT_MOVED if back.found is Found.GONE else UNKNOWN, back.reason


def _settle(state: LetterPart, outlet: Outlet, error: MqctlError) -> None:
    """Looks for the copy of a letter whose send had no answer."""
    try:
        copy = outlet.find_copy(state)
    except MqctlError:
        copy = None
    if copy is not None:
        state.state, state.found, state.reason = (
            CONFIRMED,
            copy,
            sentence("resend-no-reply-but-copy", "no reply, but the copy was stored"),
        )
    else:
        state.fail(UNKNOWN, error, sentence("resend-doubt", "in doubt: {error}", error=error))


def _remark(result: SendResult) -> str | None:
    return (
        None
        if result.status == 0
        else sentence(
            "resend-stored-but-broker-says", "stored, but the broker says {status}", status=result.status.name
        )
    )


def _queue(queues: Sequence[MessageQueue], letter: DeadLetter, turns: dict[str, int]) -> MessageQueue:
    """Chooses as producers do: by sharding key where the message has one, else in turns."""
    topic = queues[0].topic
    sharding_key = letter.stored.message.properties.get(SHARDING_KEY)
    if sharding_key is not None:
        return by_key(sharding_key)(queues, OutgoingMessage(topic=topic, body=b""))
    turns[topic] = turns.get(topic, -1) + 1
    return queues[turns[topic] % len(queues)]


def _copy(record: ResendRecord, letter: DeadLetter, topic: str) -> OutgoingMessage:
    return OutgoingMessage(
        topic=topic,
        body=letter.stored.body,
        flag=letter.stored.message.flag,
        properties=travelling_properties(letter, topic, record.id),
    )
