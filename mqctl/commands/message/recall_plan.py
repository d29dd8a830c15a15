"""What `message recall` does: timer messages of 5.x that wait are taken back (370)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mqctl.changes.engine.cautions import Touched
from mqctl.changes.engine.records import CONFIRMED, NOT_MOVED, UNKNOWN, StepPart, StepRecord
from mqctl.changes.engine.run import Consent, now_ms
from mqctl.changes.steps.change import Save, StepChange, run_steps
from mqctl.cli.connection.target import ClusterTarget
from mqctl.cli.sources.brokers import asking_of, open_brokers
from mqctl.client.admin.broker_changes import recall_message
from mqctl.errors import DeadlineError, MqctlError, UnreachableError, UsageError
from mqctl.model.step_plan import Step, StepPlan
from mqctl.protocol.recall_handle import RecallHandle
from mqctl.render.document import Document
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.brokers import LiveBroker, ask_runtime, ask_settings, masters_of
from mqctl.text import sentence

KIND = "message-recall"
SCHEMA = "message.recall/1"


def recall(
    handles: Sequence[str], target: ClusterTarget, *, execute: bool, confirmed: str | None
) -> tuple[Document, int]:
    """Plans, and recalls when asked to.

    Raises:
        UsageError: a handle is none, or the handles are of several topics.
        MqctlError: the cluster cannot be asked.
    """
    wanted = {RecallHandle.parse(text): text for text in handles}
    topics = {handle.topic for handle in wanted}
    if len(topics) > 1:
        raise UsageError(
            sentence(
                "message-handles-several-topics",
                "the handles are of several topics: {topics}",
                topics=sorted(topics),
            ),
            remedy=sentence("message-recall", "recall one by one"),
        )
    (topic,) = topics
    with target.open() as cluster:
        masters: dict[str, LiveBroker] = {}

        def make() -> StepPlan:
            masters.update(_masters(asking_of(cluster, target)))
            steps = tuple(_step(handle, masters) for handle in wanted)
            return StepPlan(kind=KIND, target=topic, confirm=topic, made_at_ms=now_ms(), steps=steps)

        def perform(record: StepRecord, save: Save) -> None:
            asking = asking_of(cluster, target)
            by_subject = {_subject(handle): handle for handle in wanted}
            for part in record.parts:
                handle = by_subject[part.subject]
                _recall_one(asking, masters[handle.broker_name], (handle, wanted[handle]), part)
                save()

        change = StepChange(
            kind=KIND,
            schema=SCHEMA,
            make=make,
            perform=perform,
            ask=lambda: asking_of(cluster, target),
            rests_on=lambda: Touched(topics={topic}, brokers={handle.broker_name for handle in wanted}),
        )
        return run_steps(change, Consent(execute=execute, confirmed=confirmed))


def _masters(asking: Asking) -> dict[str, LiveBroker]:
    masters = masters_of(open_brokers(asking))
    ask_settings(asking, masters)
    ask_runtime(asking, masters)
    return {broker.name: broker for broker in masters}


def _subject(handle: RecallHandle) -> str:
    return f"{handle.broker_name}: {handle.unique_key}"


def _step(handle: RecallHandle, masters: Mapping[str, LiveBroker]) -> Step:
    return Step(
        subject=_subject(handle),
        old=sentence("message-delivered", "delivered at {deliver_time_ms}", deliver_time_ms=handle.deliver_ms),
        new=sentence("not-delivered", "not delivered"),
        effect=sentence("message-consumers-never-see", "consumers never see it"),
        problem=_why_not(handle, masters.get(handle.broker_name)),
    )


def _why_not(handle: RecallHandle, broker: LiveBroker | None) -> str | None:
    """Returns what the broker would refuse it for, as far as that can be told (`RecallMessageProcessor`)."""
    if broker is None:
        return sentence("message-broker-no-master-registered", "its broker has no master that is registered")
    if broker.gaps:
        return broker.gaps[0].reason
    switch = broker.config.get("recallMessageEnable")
    if switch is None:
        return sentence(
            "recalls-no-messages-newer",
            "{runtime} recalls no messages; 5.3.2 and newer do",
            runtime=broker.runtime.get("brokerVersionDesc", "?"),
        )
    if switch != "true":
        return sentence(
            "broker-recalls-no-messages",
            "its broker recalls no messages: recallMessageEnable=false",
        )
    if handle.deliver_ms <= now_ms():
        return sentence("message-moment-over-delivered-just", "its moment is over: it was delivered, or is just now")
    return None


def _recall_one(asking: Asking, broker: LiveBroker, wanted: tuple[RecallHandle, str], part: StepPart) -> None:
    """Sends request 370. A broker that answers has stored what takes the message away; nothing reads that back."""
    handle, text = wanted
    try:
        unique_key = asking.cluster.ask(broker.address.address, recall_message(handle.topic, text), asking.deadline)
    except (UnreachableError, DeadlineError) as error:
        part.fail(UNKNOWN, error)
    except MqctlError as error:
        part.fail(NOT_MOVED, error)
    else:
        part.state, part.found = (
            CONFIRMED,
            sentence("message-broker-took-back", "the broker took {unique_key} back", unique_key=unique_key),
        )
