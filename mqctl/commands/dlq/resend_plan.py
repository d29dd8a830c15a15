"""What `mqctl dlq resend` does: which letters go where, and sending them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from time import monotonic, sleep

from mqctl.changes.engine.cautions import Touched
from mqctl.changes.engine.journal import Drawer, Journal, new_id
from mqctl.changes.engine.records import CONFIRMED, UNKNOWN, LetterPart, ResendRecord
from mqctl.changes.engine.run import (
    Change,
    Consent,
    Finished,
    Work,
    journal,
    now_ms,
    overtaken,
    run_change,
    shown_before,
)
from mqctl.changes.engine.same_cluster import refuse_other_cluster
from mqctl.changes.messages.read_back import ReadBack, read_back
from mqctl.changes.messages.replay import Pace
from mqctl.changes.messages.resend import Outlet, carry_out
from mqctl.changes.plan.resend import decide
from mqctl.cli.connection.target import ClusterTarget
from mqctl.cli.emit import tell
from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin.cluster import Cluster
from mqctl.client.message.outgoing import SendResult
from mqctl.client.remoting.question import Question
from mqctl.client.routes import publish_queues
from mqctl.commands.dlq.letters import letter_brokers
from mqctl.commands.dlq.resend_view import plan_document, resend_document
from mqctl.commands.dlq.resent import in_doubt, resent_before
from mqctl.errors import ExitCode, NotFoundError, UnreachableError, UsageError
from mqctl.model.command_line import command_line, shell_word
from mqctl.model.dead_letter import LetterChoice
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import Message
from mqctl.model.names import dlq_topic, retry_topic
from mqctl.model.plan import ClusterIdentity
from mqctl.model.queue import MessageQueue
from mqctl.model.resend import Fate, ResendItem, ResendPlan, target_of
from mqctl.protocol.bodies_cluster import TopicRouteData
from mqctl.render.document import Document
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.snapshot.live.dead_letters import dead_letters
from mqctl.snapshot.live.members import members_by_broker
from mqctl.snapshot.live.resent import SentQuery, copy_id, find_copies, masters_in, target_routes
from mqctl.store.exclusive_lock import who
from mqctl.text import sentence

_ON_DAMAGE = sentence(
    "dlq-restore-move-away-letters",
    "restore it; or move it away, and only letters whose copies brokers still hold count as sent by it",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterRequest:
    """What is to be sent again.

    Attributes:
        rate: messages a second.
        limit: most letters of each queue.
        resume: id of the resend to be taken up again.
    """

    group: str
    choice: LetterChoice
    to_topic: str | None
    rate: float
    limit: int | None = None
    resume: str | None = None


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
        return self._request if self._request.resume else _only(self._request, letters)


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


def _only(request: LetterRequest, letters: Iterable[str]) -> LetterRequest:
    # An id that no letter has: nothing was shown, and nothing is chosen.
    ids = frozenset(letters) or frozenset({""})
    return replace(request, choice=LetterChoice(ids=ids, brokers=request.choice.brokers), limit=None)


def make_plan(asking: Asking, request: LetterRequest) -> ResendPlan:
    """Reads the letters and decides about each; asks only.

    Raises:
        NotFoundError: no such group or resend.
        UnreachableError: letters or earlier copies cannot be told for sure.
        BadInputError: the resend to be resumed was made on another cluster.
        UsageError: it was one of another group.
    """
    brokers = letter_brokers(asking, request.group, request.choice.brokers)
    if request.resume:
        request = _resumed(asking, request, journal().resends.read(request.resume))
    _all_told(brokers)
    letters, dead = dead_letters(asking, brokers, request.group, request.choice, request.limit)
    for queue, error in sorted(dead.errors.items()):
        problem = sentence(
            "dlq-broker-did-not-return",
            "broker {broker_name} did not return all its dead letters",
            broker_name=queue.broker_name,
        )
        raise UnreachableError(
            problem,
            reason=str(error),
            remedy=sentence("dlq-nothing-sent-leave-out", "nothing was sent; leave it out with --broker"),
        )
    topics = {topic for letter in letters if (topic := target_of(letter, request.to_topic))}
    routes = target_routes(asking, topics)
    closed = dict.fromkeys(topics - set(routes), sentence("dlq-no-such-topic", "there is no such topic"))
    closed |= {
        name: sentence("dlq-no-queue-written", "no queue of it can be written")
        for name in routes
        if not publish_queues(name, routes[name])
    }
    targets = [(letter, topic) for letter in letters if (topic := target_of(letter, request.to_topic))]
    resent = resent_before(asking, targets, routes)
    doubtful, unreadable = in_doubt(request.group, letters)
    hearers, unheard = _hearers(asking, routes, request.group)
    return ResendPlan(
        identity=ClusterIdentity(
            cluster=brokers[0].address.cluster,
            brokers=tuple(sorted((broker.name, broker.address.address) for broker in brokers)),
        ),
        group=request.group,
        to_topic=request.to_topic,
        rate=request.rate,
        made_at_ms=now_ms(),
        items=decide(letters, request.to_topic, resent=resent, doubtful=doubtful, closed=closed),
        hearers=hearers,
        unheard=unheard,
        is_online=_is_online(asking, brokers, request.group),
        resumes=request.resume,
        unreadable=unreadable,
    )


def _resumed(asking: Asking, request: LetterRequest, record: ResendRecord) -> LetterRequest:
    if record.subject != request.group:
        raise UsageError(
            sentence(
                "dlq-resend-not-group", "resend {record} is not of group {group}", record=record.id, group=request.group
            ),
            remedy=sentence("dlq-add", "add -g {subject}", subject=shell_word(record.subject)),
        )
    otherwise = sentence("dlq-choose-letters-anew-without", "or choose the letters anew without --resume")
    refuse_other_cluster(asking, record.brokers, sentence("dlq-resend", "resend {record}", record=record.id), otherwise)
    left = frozenset(letter.letter_id for letter in record.parts if letter.state != CONFIRMED)
    # An id that no letter has: nothing is left, and nothing is chosen.
    choice = LetterChoice(ids=left or frozenset({""}))
    return replace(request, choice=choice, to_topic=record.to_topic, limit=None)


def _all_told(brokers: list[LiveBroker]) -> None:
    for broker in brokers:
        if broker.gaps:
            remedy, so_far = (
                sentence("leave-out-broker-others", "leave it out with --broker of the others, or wait for it"),
                sentence("nothing-sent", "nothing was sent"),
            )
            raise broker.gaps[0].as_error(
                sentence("broker-did-not-answer", "broker {broker} did not answer", broker=broker.name),
                remedy,
                so_far=so_far,
            )


def _is_online(asking: Asking, brokers: list[LiveBroker], group: str) -> bool | None:
    """Tells whether a member of the group is online; None where a broker did not tell."""
    members = members_by_broker(asking, brokers, group)
    if any(item.client_ids for item in members.values()):
        return True
    return None if any(broker.gaps for broker in brokers) else False


def _hearers(
    asking: Asking, routes: dict[str, TopicRouteData], group: str
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Returns who else consumes each topic, and the topics that nobody does."""
    answers = asking.put(
        ((topic, address), address, ask.topic_groups(topic))
        for topic, where in routes.items()
        for address in masters_in(where)
    )
    hearers: dict[str, set[str]] = {topic: set() for topic in routes}
    for (topic, _), names in answers.values.items():
        # 5.x names the topic itself among them, which is none.
        hearers[topic] |= set(names) - {topic}
    open_topics = {topic for topic, _ in answers.errors} | {retry_topic(group)}
    unheard = tuple(sorted(topic for topic, names in hearers.items() if not names and topic not in open_topics))
    return {topic: tuple(sorted(names - {group})) for topic, names in hearers.items()}, unheard


def _send(cluster: Cluster, target: ClusterTarget, work: Work[ResendPlan, ResendRecord]) -> bool:
    from mqctl.client.producer.packing import ProducerSettings
    from mqctl.client.producer.producer import Producer

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
