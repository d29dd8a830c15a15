"""What `mqctl dlq resend` would do: which letters go where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mqctl.changes.engine.records import CONFIRMED, ResendRecord
from mqctl.changes.engine.run import (
    journal,
    now_ms,
)
from mqctl.changes.engine.same_cluster import refuse_other_cluster
from mqctl.changes.plan.resend import decide
from mqctl.client.admin import broker_queries as ask
from mqctl.client.routes import publish_queues
from mqctl.commands.dlq.letters import letter_brokers
from mqctl.commands.dlq.resent import in_doubt, resent_before
from mqctl.errors import UnreachableError, UsageError
from mqctl.model.command_line import shell_word
from mqctl.model.dead_letter import LetterChoice
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import retry_topic
from mqctl.model.plan import ClusterIdentity
from mqctl.model.resend import ResendPlan, target_of
from mqctl.protocol.bodies_cluster import TopicRouteData
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.snapshot.live.dead_letters import dead_letters
from mqctl.snapshot.live.members import members_by_broker
from mqctl.snapshot.live.resent import masters_in, target_routes
from mqctl.text import sentence


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


def only_these(request: LetterRequest, letters: Iterable[str]) -> LetterRequest:
    """Returns the request for the letters with these ids, whatever was chosen before."""
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
