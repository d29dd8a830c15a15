"""What `mqctl dlq resend` does: which letters go where, and sending them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from time import monotonic, sleep, time

from mqctl.cli.connection.target import Connection
from mqctl.cli.emit import note, tell
from mqctl.cli.places import state_dir
from mqctl.cli.terminal.confirmation import confirm
from mqctl.cli.terminal.interrupts import terminable
from mqctl.cli.terminal.progress import step_progress
from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.answers import not_told
from mqctl.client.routes import publish_queues
from mqctl.errors import BadInputError, ExitCode, NotFoundError, StorageError, UnreachableError, UsageError
from mqctl.execute.journal import Journal
from mqctl.execute.replay import Pace
from mqctl.execute.resend import Outlet, carry_out
from mqctl.execute.resend_journal import FAILED, SENT, UNKNOWN, WAITING, LetterRecord, ResendJournal, ResendRecord
from mqctl.model.dead_letter import DeadLetter, LetterChoice
from mqctl.model.plan import ClusterIdentity
from mqctl.model.queue import MessageQueue
from mqctl.model.resend import RESENT_BY, Fate, LetterKey, ResendItem, ResendPlan, letter_key, target_of
from mqctl.operations.dlq.letters import letter_brokers
from mqctl.operations.plans.shown_plan import overtaken, shown_before
from mqctl.plan.resend import decide
from mqctl.protocol.bodies_cluster import TopicRouteData
from mqctl.render.document import Document
from mqctl.render.resend import plan_document, resend_document
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.snapshot.live.dead_letters import dead_letters
from mqctl.snapshot.live.resent import SentQuery, copy_id, find_copies, masters_in, target_routes

_ON_DAMAGE = "restore it; or move it away, and only letters whose copies brokers still hold count as sent by it"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResendWish:
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


def journal() -> ResendJournal:
    """Returns the journal of this user."""
    return ResendJournal(state_dir() / "journal" / "resends")


def run(
    cluster: Cluster, chosen: Connection, wish: ResendWish, *, execute: bool, confirmed: str | None
) -> tuple[Document, int]:
    """Plans, and sends when asked to; returns what to show and the exit code.

    Raises:
        MqctlError: as `make_plan`, `confirm` and the journal.
    """
    plan = make_plan(Asking(cluster, chosen.deadline()), wish)
    before = shown_before("plan", _shown(plan), _Shown, execute=execute)
    if before is not None:
        plan = make_plan(Asking(cluster, chosen.deadline()), wish if wish.resume else _only(wish, before.letters))
        _must_hold(before, _shown(plan))
    for text in plan.unreadable:
        tell(f"mqctl: {text}; letters that it may have sent are left alone\n  next: {_ON_DAMAGE}")
    if not execute or not (plan.sending or wish.resume):
        return plan_document(plan), ExitCode.UNREACHABLE if plan.is_doubtful else ExitCode.OK
    confirm(wish.group, confirmed, plan_document(plan), where=cluster.name_servers.addresses())
    what = f"dead letters of {wish.group} of {plan.identity.cluster}"
    with Journal(state_dir() / "journal").alone(what, note), terminable():
        # Planned again: somebody may have sent some since. What was not shown is not sent.
        doubtful = plan.is_doubtful
        plan = make_plan(Asking(cluster, chosen.deadline()), wish if wish.resume else _only(wish, _letters(plan)))
        record = journal().read(wish.resume) if wish.resume else journal().begin(plan)
        tell(f"mqctl: resend {record.id}; mqctl dlq resend -g {record.group} --resume {record.id} takes it up again")
        try:
            whole = _send(cluster, chosen, plan, record)
        except KeyboardInterrupt:
            whole = False
            tell("mqctl: interrupted")
        except StorageError as error:
            whole = False
            tell(f"mqctl: stopped: {error}; {error.remedy}")
    return resend_document(record), _exit_code(record, whole=whole, doubtful=doubtful)


def _letters(plan: ResendPlan) -> dict[str, str | None]:
    return {item.key.letter_id: item.topic for item in plan.sending}


def _shown(plan: ResendPlan) -> _Shown:
    topics = {item.topic for item in plan.sending}
    hearers = {topic: names for topic, names in plan.hearers.items() if topic in topics}
    return _Shown(group=plan.group, identity=plan.identity, letters=_letters(plan), hearers=hearers)


def _must_hold(shown: _Shown, now: _Shown) -> None:
    """Fewer letters may go than were shown, since somebody may have sent some; none elsewhere, and to nobody else."""
    if (shown.group, shown.identity) != (now.group, now.identity):
        raise overtaken("brokers came or went since the plan was shown")
    if not now.letters.items() <= shown.letters.items():
        raise overtaken("other letters would be sent than were shown")
    for topic, names in now.hearers.items():
        if fresh := sorted(set(names) - set(shown.hearers.get(topic, ()))):
            raise overtaken(
                f"group {fresh[0]} consumes {topic} since the plan was shown: it would get the messages too"
            )


def _only(wish: ResendWish, letters: Iterable[str]) -> ResendWish:
    # An id that no letter has: nothing was shown, and nothing is chosen.
    ids = frozenset(letters) or frozenset({""})
    return replace(wish, choice=LetterChoice(ids=ids, brokers=wish.choice.brokers), limit=None)


def make_plan(asking: Asking, wish: ResendWish) -> ResendPlan:
    """Reads the letters and decides about each; asks only.

    Raises:
        NotFoundError: no such group or resend.
        UnreachableError: letters or earlier copies cannot be told for sure.
        BadInputError: the resend to be resumed was made on another cluster.
        UsageError: it was one of another group.
    """
    brokers = letter_brokers(asking, wish.group, wish.choice.brokers)
    if wish.resume:
        wish = _resumed(wish, journal().read(wish.resume), brokers)
    _all_told(brokers)
    letters, found = dead_letters(asking, brokers, wish.group, wish.choice, wish.limit)
    for queue, error in sorted(found.errors.items()):
        problem = f"broker {queue.broker_name} does not tell all its dead letters"
        raise UnreachableError(problem, reason=str(error), remedy="nothing was sent; leave it out with --broker")
    topics = {topic for letter in letters if (topic := target_of(letter, wish.to_topic))}
    routes = target_routes(asking, topics)
    closed = dict.fromkeys(topics - set(routes), "there is no such topic")
    closed |= {name: "no queue of it can be written" for name in routes if not publish_queues(name, routes[name])}
    resent = _resent_before(asking, wish, letters, routes)
    doubtful, unreadable = _in_doubt(wish.group, letters)
    return ResendPlan(
        identity=ClusterIdentity(
            cluster=brokers[0].address.cluster,
            brokers=tuple(sorted((broker.name, broker.address.address) for broker in brokers)),
        ),
        group=wish.group,
        to_topic=wish.to_topic,
        rate=wish.rate,
        made_at_ms=round(time() * 1000),
        items=decide(letters, wish.to_topic, resent=resent, doubtful=doubtful, closed=closed),
        hearers=_hearers(asking, routes, wish.group),
        resumes=wish.resume,
        unreadable=unreadable,
    )


def _resumed(wish: ResendWish, record: ResendRecord, brokers: list[LiveBroker]) -> ResendWish:
    if record.group != wish.group:
        raise UsageError(f"resend {record.id} is not of group {wish.group}", remedy=f"add -g {record.group}")
    here = {(item.name, item.address.address) for item in brokers}
    for name, address in sorted(record.brokers.items()):
        if (name, address) not in here:
            raise BadInputError(
                f"resend {record.id} was made on another cluster",
                reason=f"it was made on {name} of {record.cluster} at {address}",
                remedy="name that cluster with --namesrv or --profile; or choose the letters anew without --resume",
            )
    left = frozenset(letter.letter_id for letter in record.letters if letter.state != SENT)
    # An id that no letter has: nothing is left, and nothing is chosen.
    choice = LetterChoice(ids=left or frozenset({""}))
    return ResendWish(group=wish.group, choice=choice, to_topic=record.to_topic, rate=wish.rate, resume=wish.resume)


def _all_told(brokers: list[LiveBroker]) -> None:
    for broker in brokers:
        if broker.gaps:
            remedy, so_far = "leave it out with --broker of the others, or wait for it", "nothing was sent"
            raise not_told(f"broker {broker.name} did not answer", broker.gaps[0].reason, remedy, so_far=so_far)


def _resent_before(
    asking: Asking, wish: ResendWish, letters: Sequence[DeadLetter], routes: dict[str, TopicRouteData]
) -> dict[tuple[LetterKey, str], str]:
    """Asks the journal, and then the brokers: somebody may have resent letters from another machine."""
    resent = {
        (letter.key, letter.topic): f"by {record.id}"
        for record in journal().all(unreadable=lambda _: None)  # `_in_doubt` tells of these
        for letter in record.letters
        if letter.state == SENT
    }
    queries = [
        SentQuery(key=letter_key(letter), topic=topic, since_ms=letter.stored.message.store_time_ms)
        for letter in letters
        if (topic := target_of(letter, wish.to_topic)) and (letter_key(letter), topic) not in resent
    ]
    for key, message in find_copies(asking, queries, routes).items():
        resent[key] = f"by {message.properties.get(RESENT_BY, 'somebody')}"
    return resent


def _in_doubt(group: str, letters: Sequence[DeadLetter]) -> tuple[dict[LetterKey, str], tuple[str, ...]]:
    """Returns the letters that resends may have sent whose records are damaged, and why these cannot be read.

    What brokers hold no copy of was not sent, or its copy is older than what they keep: only the record could tell.
    """
    doubtful: dict[LetterKey, str] = {}
    unreadable = []
    for record in journal().damaged():
        mine = [item for item in letters if record.may_have_sent(group, item.stored.message.store_time_ms)]
        if mine:
            unreadable.append(str(record.error))
        doubtful |= {letter_key(letter): f"perhaps by {record.id}, whose record is damaged" for letter in mine}
    return doubtful, tuple(unreadable)


def _hearers(asking: Asking, routes: dict[str, TopicRouteData], group: str) -> dict[str, tuple[str, ...]]:
    answers = asking.put(
        ((topic, address), address, ask.topic_groups(topic))
        for topic, where in routes.items()
        for address in masters_in(where)
    )
    found: dict[str, set[str]] = {topic: set() for topic in routes}
    for (topic, _), names in answers.values.items():
        # 5.x names the topic itself among them, which is none.
        found[topic] |= set(names) - {topic, group}
    return {topic: tuple(sorted(names)) for topic, names in found.items()}


def _send(cluster: Cluster, chosen: Connection, plan: ResendPlan, record: ResendRecord) -> bool:
    from mqctl.client.producer.packing import ProducerSettings
    from mqctl.client.producer.producer import Producer

    routes = target_routes(Asking(cluster, chosen.deadline()), {letter.topic for letter in record.letters})
    letters = {item.key: item.letter for item in plan.items}
    born = {key: letter.stored.message.store_time_ms for key, letter in letters.items()}

    def find_copy(letter: LetterRecord) -> str | None:
        query = SentQuery(key=letter.key, topic=letter.topic, since_ms=born[letter.key])
        copies = find_copies(Asking(cluster, chosen.deadline()), [query], routes)
        return copy_id(copies[letter.key, letter.topic]) if copies else None

    def queues(topic: str) -> Sequence[MessageQueue]:
        found = publish_queues(topic, routes[topic]) if topic in routes else ()
        if not found:
            raise NotFoundError(f"topic {topic} has no queue to send to", remedy="mqctl topic route; or --to TOPIC")
        return found

    with (
        step_progress() as report,
        journal().appending(record) as save,
        # One attempt: a second one could store a second copy.
        Producer("MQCTL_PRODUCER", chosen.sender(), ProducerSettings(retries=0)) as producer,
    ):
        total = len(record.letters)
        outlet = Outlet(
            producer=producer,
            queues=queues,
            find_copy=find_copy,
            settled={item.key: _settled(item) for item in plan.items if item.fate in (Fate.RESENT, Fate.DOUBTFUL)},
            pace=Pace(plan.rate, monotonic, lambda ms: sleep(ms / 1000)).wait,
            save=save,
            report=lambda done: report("resending", done, total) if report else None,
        )
        return carry_out(record, letters, outlet)


def _settled(item: ResendItem) -> tuple[str, str]:
    return (SENT if item.fate is Fate.RESENT else UNKNOWN), f"sent {item.note}"


def _exit_code(record: ResendRecord, *, whole: bool, doubtful: bool) -> ExitCode:
    if not whole:
        return ExitCode.CRITICAL
    states = {letter.state for letter in record.letters} - {SENT}
    if not states:
        return ExitCode.WARNING if doubtful else ExitCode.OK
    return ExitCode.WARNING if states <= {FAILED, WAITING} else ExitCode.UNKNOWN
