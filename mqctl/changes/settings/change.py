"""Changes of topics, groups and brokers: a plan of settings, carried out if it still holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from mqctl.changes.engine.cautions import Touched
from mqctl.changes.engine.journal import Drawer, Journal, new_id
from mqctl.changes.engine.records import NOT_MOVED, SettingPart, SettingRecord, way_back
from mqctl.changes.engine.run import Change, Consent, Work, must_be_shown, run_change
from mqctl.changes.settings.perform import carry_out
from mqctl.changes.settings.view import change_document, plan_document
from mqctl.cli.connection.target import ClusterTarget
from mqctl.cli.emit import tell
from mqctl.cli.sources.brokers import open_brokers
from mqctl.client.admin.cluster import Cluster
from mqctl.errors import BadInputError, UsageError
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.plan import ClusterIdentity
from mqctl.model.setting_plan import SettingKind, SettingPlan, config_of
from mqctl.render.document import Document
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.brokers import LiveBroker, masters_of
from mqctl.store.exclusive_lock import who
from mqctl.text import Word, composed, sentence

Make = Callable[[Asking], SettingPlan]
_NO_SECRETS: Mapping[str, str] = {}


class SettingChange(Change[SettingPlan, SettingRecord]):
    """A change of settings.

    Args:
        make: computes the plan; asks only.
        after: tells what came between plan and change, one sentence each.
        secrets: passwords by user.
    """

    def __init__(
        self,
        cluster: Cluster,
        target: ClusterTarget,
        make: Make,
        after: Callable[[Asking], list[str]] = lambda _: [],
        secrets: Mapping[str, str] = _NO_SECRETS,
    ) -> None:
        self._secrets = secrets
        self._cluster = cluster
        self._target = target
        self._make = make
        self._after = after

    def drawer(self, journal: Journal) -> Drawer[SettingRecord]:
        return journal.settings

    def plan(self) -> SettingPlan:
        return self._make(self.asking())

    def bound(self, plan: SettingPlan, *, execute: bool) -> SettingPlan:
        must_be_shown((plan.kind, plan.subject, plan.identity, plan.moving), execute=execute)
        return plan

    def touched(self, plan: SettingPlan) -> Touched:
        entries: list[TopicConfig | SubscriptionGroupConfig] = []
        for step in plan.moving:
            if step.old is not None and step.kind is SettingKind.TOPIC:
                entries.append(config_of(TopicConfig, step.subject, step.old))
            elif step.old is not None and step.kind is SettingKind.GROUP:
                entries.append(config_of(SubscriptionGroupConfig, step.subject, step.old))
        kept = (SettingKind.TOPIC, SettingKind.GROUP, SettingKind.BROKER)
        return Touched(entries=tuple(entries), brokers={step.place for step in plan.moving if step.kind in kept})

    def document(self, plan: SettingPlan) -> Document:
        return plan_document(plan)

    def has_work(self, plan: SettingPlan) -> bool:
        return bool(plan.moving)

    def word(self, plan: SettingPlan) -> str | None:
        return plan.subject if plan.severe else None

    def asking(self) -> Asking:
        return Asking(self._cluster, self._target.deadline())

    def where(self) -> Sequence[str]:
        return self._cluster.name_servers.addresses()

    def locks(self, plan: SettingPlan) -> str:
        return sentence(
            "lock-of-subject",
            "{noun} {subject} of {cluster}",
            noun=Word(plan.noun),
            subject=plan.subject,
            cluster=plan.identity.cluster,
        )

    def places(self, plan: SettingPlan) -> tuple[str, ...]:
        return plan.identity.addresses

    def again(self, shown: SettingPlan) -> SettingPlan:
        now = self.plan()
        if now.steps != shown.steps:
            raise BadInputError(
                sentence("nothing-changed", "nothing was changed"),
                reason=sentence("settings-somebody-else-changed-since", "it was changed since the plan was made"),
                remedy=sentence("look-new-plan-run", "look at the new plan and run it again"),
            )
        return now

    def record(self, plan: SettingPlan, drawer: Drawer[SettingRecord]) -> SettingRecord:
        return new_record(plan)

    def opened(self, record: SettingRecord) -> str:
        return sentence(
            "change-record", "mqctl: change {record}; {way_back}", record=record.id, way_back=way_back(record.id)
        )

    def carry_out(self, work: Work[SettingPlan, SettingRecord]) -> None:
        carry_out(self._cluster, self._target.deadline(), work.record, work.save, self._secrets)
        if any(part.state != NOT_MOVED for part in work.record.parts):
            for warning in work.plan.warnings:
                tell(sentence("settings-note-warning", "mqctl: note: {warning}", warning=warning))
            for step in work.plan.moving:
                if step.note is not None:
                    tell(composed("mqctl: {place}: {note}", place=step.place, note=step.note))

    def ended(self, work: Work[SettingPlan, SettingRecord]) -> list[str]:
        return self._after(self.asking())

    def finish(self, record: SettingRecord) -> str:
        return sentence(
            "settings-run-same-command-again",
            "run the same command again: finished steps are skipped; {way_back}",
            way_back=way_back(record.id),
        )

    def report(self, record: SettingRecord) -> Document:
        return change_document(record)


def run_setting_change(
    target: ClusterTarget,
    make: Make,
    *,
    execute: bool,
    confirmed: str | None,
    after: Callable[[Asking], list[str]] = lambda _: [],
    secrets: Mapping[str, str] = _NO_SECRETS,
) -> tuple[Document, int]:
    """Plans on the target, and carries the plan out when asked to; returns what to show and the exit code.

    Raises:
        MqctlError: as `make` and `run_change`.
    """
    with target.open() as cluster:
        change = SettingChange(cluster, target, make, after, secrets)
        done = run_change(change, Consent(execute=execute, confirmed=confirmed))
    return done.document, done.code


def new_record(plan: SettingPlan) -> SettingRecord:
    """Returns the record of what is about to happen."""
    return SettingRecord(
        id=new_id(),
        kind=plan.kind,
        noun=plan.noun,
        subject=plan.subject,
        who=who(),
        made_at_ms=plan.made_at_ms,
        cluster=plan.identity.cluster,
        brokers=dict(plan.identity.brokers),
        parts=[
            SettingPart(
                kind=step.kind.value,
                place=step.place,
                address=step.address,
                subject=step.subject,
                old=None if step.old is None else dict(step.old),
                new=None if step.new is None else dict(step.new),
                stage=step.stage,
            )
            for step in plan.moving
        ],
        undoes=plan.undoes,
    )


def touched_masters(asking: Asking, names: Iterable[str]) -> list[LiveBroker]:
    """Returns the masters, or those named.

    Raises:
        NotFoundError: there is no such broker.
        UsageError: nothing is named, and the name servers know several clusters.
    """
    named = tuple(names)
    brokers = masters_of(open_brokers(asking, named))
    clusters = sorted({broker.address.cluster for broker in brokers})
    if len(clusters) > 1 and not named:
        raise UsageError(
            sentence("settings-name-servers-know-several", "the name servers know several clusters"),
            reason=", ".join(clusters),
            remedy=sentence("settings-name-brokers-broker", "name brokers with --broker"),
        )
    if not brokers:
        raise UsageError(
            sentence("settings-no-master-among-brokers", "no master is among the brokers named"),
            remedy=sentence("settings-broker-list-shows-masters", "mqctl broker list shows which are masters"),
        )
    return brokers


def identity_of(brokers: Iterable[LiveBroker]) -> ClusterIdentity:
    """Returns which cluster a plan is made on."""
    listed = list(brokers)
    return ClusterIdentity(
        cluster=listed[0].address.cluster,
        brokers=tuple(sorted((broker.name, broker.address.address) for broker in listed)),
    )
