"""What `transaction resume` does: discarded transactions go back to the half topic, to be checked again."""

from __future__ import annotations

from mqctl.changes.engine.cautions import Touched
from mqctl.changes.engine.records import CONFIRMED, NOT_MOVED, UNKNOWN, StepPart, StepRecord
from mqctl.changes.engine.run import Consent, now_ms
from mqctl.changes.steps.change import Save, StepChange, run_steps
from mqctl.cli.connection.target import ClusterTarget
from mqctl.cli.gaps import tell_gaps
from mqctl.cli.sources.brokers import asking_of, broker_gaps
from mqctl.client.admin.broker_changes import check_half_message_again
from mqctl.errors import DeadlineError, MqctlError, NotFoundError, UnreachableError
from mqctl.model.command_line import command_line
from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import DISCARD_TOPIC
from mqctl.model.step_plan import Step, StepPlan
from mqctl.model.transaction_state import DiscardedTransaction
from mqctl.protocol.message_id import OffsetId
from mqctl.render.document import Document
from mqctl.snapshot.half_messages import check_count
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.snapshot.live.transactions import gather_live_transactions
from mqctl.snapshot.transaction_stories import live_story
from mqctl.text import composed, sentence

KIND = "transaction-resume"
SCHEMA = "transaction.resume/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRequest:
    """Which discarded transactions; empty means any.

    Attributes:
        unique_keys: their unique ids.
        groups, topics: their producer groups, and the topics they were for.
    """

    unique_keys: frozenset[str]
    groups: frozenset[str]
    topics: frozenset[str]
    brokers: frozenset[str]
    execute: bool
    confirmed: str | None

    def takes(self, item: DiscardedTransaction) -> bool:
        return (
            (not self.unique_keys or item.unique_key in self.unique_keys)
            and (not self.groups or item.producer_group in self.groups)
            and (not self.topics or item.topic in self.topics)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resume:
    broker: LiveBroker
    item: DiscardedTransaction
    step: Step


def resume(request: ResumeRequest, target: ClusterTarget) -> tuple[Document, int]:
    """Plans, and resumes when asked to.

    Raises:
        NotFoundError: no such transaction was discarded.
        MqctlError: the cluster cannot be asked.
    """
    with target.open() as cluster:
        planned: list[_Resume] = []

        def make() -> StepPlan:
            planned[:], plan = _planned(asking_of(cluster, target), request)
            return plan

        def perform(record: StepRecord, save: Save) -> None:
            asking = asking_of(cluster, target)
            going = (item for item in planned if item.step.moves)
            for item, part in zip(going, record.parts, strict=True):
                _resume_one(asking, item, part)
                save()

        def rests_on() -> Touched:
            topics = {topic for each in planned if (topic := each.item.topic) is not None}
            return Touched(topics=topics, brokers={each.broker.name for each in planned})

        change = StepChange(
            kind=KIND,
            schema=SCHEMA,
            make=make,
            perform=perform,
            ask=lambda: asking_of(cluster, target),
            rests_on=rests_on,
        )
        return run_steps(change, Consent(execute=request.execute, confirmed=request.confirmed))


def _planned(asking: Asking, request: ResumeRequest) -> tuple[list[_Resume], StepPlan]:
    state, brokers = gather_live_transactions(asking, Scope(brokers=request.brokers), now_ms=now_ms())
    resumes: list[_Resume] = []
    for broker, snapshot in zip(brokers, state.brokers, strict=True):
        tell_gaps(broker_gaps([broker]))
        transactions = snapshot.transactions
        for item in transactions.discarded if transactions else ():
            if request.takes(item):
                online = (transactions.online or {}).get(item.producer_group or "") if transactions else None
                resumes.append(_Resume(broker=broker, item=item, step=_step(asking, broker, item, online)))
    if not resumes:
        raise NotFoundError(
            sentence("no-such-transaction-discarded", "no such transaction was discarded"),
            remedy=command_line("mqctl transaction list"),
        )
    cluster = brokers[0].address.cluster
    steps = tuple(item.step for item in resumes)
    observed_at_ms = state.origin.observed_at_ms
    return resumes, StepPlan(kind=KIND, target=cluster, confirm=cluster, made_at_ms=observed_at_ms, steps=steps)


def _step(asking: Asking, broker: LiveBroker, item: DiscardedTransaction, online: int | None) -> Step:
    subject = composed(
        "{broker}: {unique_key}",
        broker=broker.name,
        unique_key=item.unique_key
        or sentence(
            "transaction-physical-offset", "physical offset {physical_offset}", physical_offset=item.physical_offset
        ),
    )
    problem = None
    try:
        problem = _why_not(asking, broker, item)
    except MqctlError as error:
        problem = str(error)
    answers = {
        None: sentence("transaction-unknown-who-could-answer", "it is unknown who could answer"),
        0: sentence("transaction-no-member-group-online", "no member of the group is online to answer"),
    }
    return Step(
        subject=subject,
        old=sentence(
            "transaction-given-up-after",
            "given up at {discarded_time_ms} after {check_count}",
            discarded_time_ms=item.discarded_time_ms,
            check_count=counted(item.check_count or 0, "check"),
        ),
        new=sentence("transaction-half-message-again-checked", "half message again, checked from the first time on"),
        effect=sentence(
            "transaction-producer-group",
            "producer group {producer_group}: {answers}",
            producer_group=item.producer_group,
            answers=answers.get(
                online, sentence("transaction-online-answer", "{online} online to answer", online=online)
            ),
        ),
        problem=problem,
    )


def _why_not(asking: Asking, broker: LiveBroker, item: DiscardedTransaction) -> str | None:
    if item.unique_key is None:
        return None
    story = live_story(asking, broker, item.unique_key)
    if story is None:
        return None
    if story.committed:
        return sentence(
            "transaction-committed-resumed-could-delivered", "it was committed: resumed, it could be delivered twice"
        )
    latest = max(copy.message.physical_offset for copy in story.discarded) if story.discarded else -1
    if item.physical_offset is not None and item.physical_offset < latest:
        return sentence(
            "transaction-given-up-once-more", "it was given up once more later; that copy is the one to resume"
        )
    if any(copy.message.physical_offset > latest for copy in story.halves):
        return sentence(
            "transaction-resumed-already-waits-answered", "it was resumed already, and waits or was answered since"
        )
    return None


def _resume_one(asking: Asking, wanted: _Resume, part: StepPart) -> None:
    """Sends request 323 and looks for the new half message."""
    address, item = wanted.broker.address.address, wanted.item
    message_id = str(OffsetId(address, item.physical_offset or 0))
    try:
        asking.cluster.ask(address, check_half_message_again(message_id, DISCARD_TOPIC), asking.deadline)
        story = live_story(asking, wanted.broker, item.unique_key) if item.unique_key else None
    except (UnreachableError, DeadlineError) as error:
        part.fail(UNKNOWN, error)
        return
    except MqctlError as error:
        part.fail(NOT_MOVED, error)
        return
    fresh = [
        copy for copy in (story.halves if story else ()) if copy.message.physical_offset > (item.physical_offset or 0)
    ]
    if fresh:
        part.state = CONFIRMED
        part.found = sentence(
            "transaction-half-offset",
            "half offset {queue_offset}, {check_count}",
            queue_offset=fresh[-1].message.queue_offset,
            check_count=counted(check_count(fresh[-1].message), "check"),
        )
    else:
        part.state, part.reason = (
            UNKNOWN,
            sentence(
                "transaction-accepted-but-no-new", "accepted, but no new half message was found by its unique id yet"
            ),
        )
