"""The way back from changes of settings."""

from __future__ import annotations

from mqctl.changes.engine.records import SettingPart, SettingRecord
from mqctl.changes.engine.run import now_ms
from mqctl.changes.engine.same_cluster import refuse_other_cluster
from mqctl.changes.settings.access_file_places import is_counted
from mqctl.changes.settings.access_files import file_undo
from mqctl.changes.settings.change import identity_of, touched_masters
from mqctl.changes.settings.groups import refuse_with_members
from mqctl.changes.settings.perform import untouched
from mqctl.changes.settings.places import Place, read_setting
from mqctl.changes.settings.topics import refuse_while_used, route_steps, still_readable
from mqctl.errors import RefusedError
from mqctl.model.command_line import command_line
from mqctl.model.setting_plan import Fields, SettingKind, SettingPlan, SettingStep
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, ask_groups, ask_topics
from mqctl.snapshot.live.topic_use import all_told, topic_use
from mqctl.text import sentence


def plan_undo(asking: Asking, record: SettingRecord) -> SettingPlan:
    """Plans to bring back what was before a change, an interrupted one too.

    What is there now is asked anew: a step whose request was cut off is undone when it came through, and left alone
    when it did not.

    Raises:
        BadInputError: this is another cluster.
        RefusedError: nothing of it can be taken back; or what it created is used by now.
    """
    otherwise = "mqctl history -o json has the old settings"
    refuse_other_cluster(
        asking, record.brokers, sentence("common-change", "change {record}", record=record.id), otherwise
    )
    brokers = touched_masters(asking, record.brokers)
    steps: list[SettingStep] = []
    for step in reversed(record.parts):
        # A deleted route comes back by itself, with the next registration of the topic.
        if untouched(step) or step.kind == SettingKind.ROUTE:
            continue
        if is_counted(SettingKind(step.kind)):
            steps.append(file_undo(asking, step))
            continue
        now = read_setting(asking.cluster, _place(step), asking.deadline)
        old = _without_password(step.old)
        others = now not in (old, _without_password(step.new), _without_password(step.found))
        if step.kind == SettingKind.USER and now is None and old is not None:
            create = command_line("mqctl acl put {} --new --password-file FILE", step.subject)
            raise RefusedError(
                sentence("settings-user-cannot-restored", "user {subject} cannot be restored", subject=step.subject),
                reason=sentence("settings-password-not-recorded", "its password is not recorded"),
                remedy=sentence("settings-again-entries", "{create}; then this again, for its entries", create=create),
            )
        steps.append(
            SettingStep(
                kind=SettingKind(step.kind),
                place=step.place,
                address=step.address,
                subject=step.subject,
                old=now,
                new=old,
                note=sentence(
                    "settings-changed-again-since-change", "it was changed again since, and that change is lost"
                )
                if others
                else None,
            )
        )
    if not steps:
        raise RefusedError(
            sentence("change-cannot-undone", "change {change_id} cannot be undone", change_id=record.id),
            reason=sentence("none-applied", "none of it was applied"),
        )
    steps = still_readable(asking, steps, brokers)
    steps += _of_what_was_created(asking, steps, brokers)
    return SettingPlan(
        kind="undo",
        noun=record.noun,
        subject=record.subject,
        identity=identity_of(brokers),
        made_at_ms=now_ms(),
        steps=tuple(steps),
        warnings=_warnings(record),
        undoes=record.id,
    )


def _of_what_was_created(asking: Asking, steps: list[SettingStep], brokers: list[LiveBroker]) -> list[SettingStep]:
    """Checks that what is to be deleted is not in use; returns what else goes with it."""
    going = {(step.kind, step.subject) for step in steps if step.new is None and step.moves}
    more: list[SettingStep] = []
    for kind, subject in sorted(going):
        if kind is SettingKind.TOPIC:
            ask_topics(asking, brokers)
            all_told(brokers)
            refuse_while_used(topic_use(asking, brokers, subject), drop_unread=False)
            more += route_steps(asking, subject)
        if kind is SettingKind.GROUP:
            ask_groups(asking, brokers, Scope(groups=frozenset({subject})))
            refuse_with_members(asking, brokers, subject)
    return more


def _place(step: SettingPart) -> Place:
    return Place(SettingKind(step.kind), step.address, step.subject)


def _without_password(settings: Fields | None) -> Fields | None:
    """Returns settings without what a record says of a password: a former one is known to nobody here."""
    return None if settings is None else {name: value for name, value in settings.items() if name != "password"}


def _warnings(record: SettingRecord) -> tuple[str, ...]:
    if any("password" in (part.old or {}) for part in record.parts):
        return (
            sentence("settings-old-password-not-recorded", "the old password is not recorded and cannot be restored"),
        )
    if record.kind == "topic-delete":
        return (
            sentence(
                "settings-topic-restored-messages", "the settings of the topic are restored; its messages are gone"
            ),
        )
    return ()
