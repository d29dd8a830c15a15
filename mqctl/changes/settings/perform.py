"""Carries out changes of settings: each place is read, changed and read back; what fails is named, and what follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mqctl.changes.engine.records import CONFIRMED, NOT_MOVED, UNKNOWN, SettingPart, SettingRecord
from mqctl.changes.settings.access_file_places import is_counted, readable
from mqctl.changes.settings.places import Place, read_setting, write_setting
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import DeadlineError, MqctlError, NotAskedError, UnreachableError
from mqctl.model.setting_plan import SettingKind
from mqctl.text import Word, sentence

_NO_SECRETS: Mapping[str, str] = {}


def carry_out(
    cluster: Cluster,
    deadline: Deadline,
    record: SettingRecord,
    save: Callable[[], None],
    secrets: Mapping[str, str] = _NO_SECRETS,
) -> None:
    """Makes every step; those of a stage are not tried when one of an earlier stage is not confirmed.

    Args:
        save: writes the record, after each step.
        secrets: passwords by user, which no record has.
    """
    for step in record.parts:
        missing = next(
            (item for item in record.parts if item.stage < step.stage and item.state != CONFIRMED),
            None,
        )
        if missing is not None:
            step.state = NOT_MOVED
            step.reason = sentence(
                "settings-not-tried-comes-first",
                "not tried: the {kind} at {place} comes first, and is {state}",
                kind=Word(missing.kind),
                place=missing.place,
                state=Word(missing.state),
            )
        else:
            _change(cluster, deadline, step, secrets.get(step.subject))
        save()


def _change(cluster: Cluster, deadline: Deadline, step: SettingPart, secret: str | None) -> None:
    place = Place(SettingKind(step.kind), step.address, step.subject, secret)
    try:
        before = read_setting(cluster, place, deadline)
        counted = is_counted(place.kind)  # an equal count only says that somebody else made a change
        if before == step.new and not counted:
            step.state, step.found = CONFIRMED, step.new
            return
        if before != (readable(step.old) if counted else step.old):
            step.found = None if before is None else dict(before)
            step.state, step.reason = (
                NOT_MOVED,
                sentence("settings-somebody-else-changed-since", "it was changed since the plan was made"),
            )
            return
    except MqctlError as error:
        step.fail(NOT_MOVED, error, sentence("not-tried", "not tried: {reason}", reason=error))
        return
    try:
        write_setting(cluster, place, (step.old, step.new), deadline)
    except NotAskedError as error:
        step.fail(NOT_MOVED, error, sentence("not-tried", "not tried: {reason}", reason=error.reason))
    except (UnreachableError, DeadlineError) as error:
        # The request may have arrived: what is there now tells.
        _read_back(cluster, deadline, step, place, error)
    except MqctlError as error:
        step.fail(NOT_MOVED, error)
    else:
        _read_back(cluster, deadline, step, place, None)


def _read_back(cluster: Cluster, deadline: Deadline, step: SettingPart, place: Place, error: MqctlError | None) -> None:
    try:
        current = read_setting(cluster, place, deadline)
    except MqctlError as unread:
        step.fail(
            UNKNOWN,
            error or unread,
            sentence("could-not-read-back", "could not be read back: {error}", error=error or unread),
        )
        return
    step.found = None if current is None else dict(current)
    if current == (readable(step.new) if is_counted(place.kind) else step.new):
        step.state = CONFIRMED
    elif error is not None and current == step.old:
        # It may still arrive.
        step.fail(UNKNOWN, error, sentence("settings-unchanged-far", "unchanged so far: {error}", error=error))
    elif current == step.old:
        step.state, step.reason = (
            NOT_MOVED,
            sentence("settings-broker-accepted-change-but", "the broker accepted the change, but nothing changed"),
        )
    else:
        step.state, step.reason = (
            NOT_MOVED,
            sentence("now-other-settings-requested", "it now has other settings than requested"),
        )


def untouched(step: SettingPart) -> bool:
    """Tells whether a step is known to have changed nothing, so that there is nothing to take back."""
    return step.state == NOT_MOVED and (step.found is None or step.found == step.old)
