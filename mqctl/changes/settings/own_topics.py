"""Makes a topic and a group for traffic of our own: at once on a local cluster, elsewhere by plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from mqctl.changes.engine.run import now_ms
from mqctl.changes.plan.topic_changes import TopicRequest, first_config
from mqctl.changes.settings.change import identity_of, run_setting_change, touched_masters
from mqctl.cli.connection.target import ClusterTarget
from mqctl.cli.emit import note
from mqctl.cli.places import state_dir
from mqctl.errors import NotFoundError, RefusedError, UsageError
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import is_system_topic
from mqctl.model.own_names import Purpose, is_own
from mqctl.model.setting_plan import SettingKind, SettingPlan, SettingStep, fields_of
from mqctl.render.document import Document
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, ask_groups, ask_topics
from mqctl.snapshot.live.topic_use import all_told
from mqctl.text import sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """What a run may do at most; it ends when the first of them is used up."""

    messages: int
    size_bytes: int
    time_ms: int

    def sentence(self) -> str:
        """Announces it."""
        return sentence(
            "own-topics-most-bodies",
            "at most {messages}, {size_bytes} of bodies, {duration_ms}",
            messages=counted(self.messages, "message"),
            size_bytes=self.size_bytes,
            duration_ms=self.time_ms,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPlace:
    """Where traffic of our own goes.

    Attributes:
        queues: of the topic on each broker, where it has to be made.
        groups: consumer groups that the run needs.
        brokers: only these; none means every master.
        foreign: whether the topic is somebody else's, allowed by a flag of its own: it is never made, nor removed.
    """

    purpose: Purpose
    topic: str
    queues: int = 4
    groups: Sequence[str] = ()
    brokers: Sequence[str] = field(default=())
    foreign: bool = False


def is_local(target: ClusterTarget) -> bool:
    """Tells whether the target is a cluster that `mqctl local up` started for this user."""
    directory = state_dir() / "local"
    if not directory.is_dir():
        return False
    from mqctl.local.state import LocalStates

    return any(state.alive and state.ready.namesrv == target.namesrv for state in LocalStates(directory).all())


def provide(
    target: ClusterTarget, place: OwnPlace, announced: Sequence[str], *, execute: bool
) -> tuple[Document, int] | None:
    """Makes what is missing of a place, and says what is about to happen.

    Args:
        announced: sentences of the plan: what the run does, and its quota.

    Returns:
        None when the run may begin; else the document and exit code with which the command ends: a plan that nobody
        has asked to carry out, or a change that did not succeed.

    Raises:
        UsageError, NotFoundError, RefusedError: the place cannot be used.
    """
    allowed = execute or is_local(target)
    warnings = () if allowed else tuple(announced)
    document, code = run_setting_change(
        target, lambda asking: plan_place(asking, place, warnings), execute=allowed, confirmed=None
    )
    if not allowed:
        note(sentence("own-topics-nothing-sent-execute-carries", "nothing was sent; --execute carries the plan out"))
    if not allowed or code:
        return document, code
    for line in announced:
        note(line)
    return None


def plan_place(asking: Asking, place: OwnPlace, warnings: Sequence[str] = ()) -> SettingPlan:
    """Plans what a place lacks; what is there stays as it is."""
    masters = touched_masters(asking, tuple(place.brokers))
    ask_topics(asking, masters)
    ask_groups(asking, masters, Scope(groups=frozenset(place.groups)))
    all_told(masters)
    _check_usable(place, masters)
    steps = []
    wanted = first_config(place.topic, TopicRequest(queues=place.queues))
    for broker in masters:
        if not place.foreign and place.topic not in broker.topics:
            steps.append(_step(broker, SettingKind.TOPIC, place.topic, wanted))
        steps += [
            _step(broker, SettingKind.GROUP, name, SubscriptionGroupConfig(name=name))
            for name in place.groups
            if name not in broker.groups
        ]
    return SettingPlan(
        kind="own-topic",
        noun="topic",
        subject=place.topic,
        identity=identity_of(masters),
        made_at_ms=now_ms(),
        steps=tuple(steps),
        warnings=tuple(warnings),
        severe=False,
    )


def _step(
    broker: LiveBroker, kind: SettingKind, name: str, config: TopicConfig | SubscriptionGroupConfig
) -> SettingStep:
    return SettingStep(
        kind=kind,
        place=broker.name,
        address=broker.address.address,
        subject=name,
        old=None,
        new=fields_of(config),
    )


def _check_usable(place: OwnPlace, masters: Sequence[LiveBroker]) -> None:
    if is_system_topic(place.topic):
        raise RefusedError(
            sentence("topic-belongs-brokers", "topic {topic} belongs to the brokers", topic=place.topic),
            remedy=sentence("own-topics-leave-topic-out", "leave --topic out"),
        )
    if is_own(place.topic, [place.purpose]):
        return
    if not place.foreign:
        raise UsageError(
            sentence(
                "own-topics-topic-not-created", "topic {topic} was not created by mqctl for this", topic=place.topic
            ),
            reason=sentence("own-topics-whoever-consumes-get-messages", "whoever consumes it would get the messages"),
            remedy=sentence(
                "own-topics-leave-topic-out-use", "leave --topic out to use a topic of its own; --foreign-topic insists"
            ),
        )
    if not any(place.topic in broker.topics for broker in masters):
        raise NotFoundError(
            sentence("no-topic", "there is no topic {topic}", topic=place.topic),
            remedy=sentence("own-topics-topic-list-not-created", "mqctl topic list; it is not created here"),
        )
