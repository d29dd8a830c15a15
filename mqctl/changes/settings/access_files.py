"""Plans that change the access files of 4.9 brokers: accounts and white lists.

Each broker has files of its own: a plan goes to all masters with an access list, or to those that are named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mqctl.changes.engine.records import SettingPart
from mqctl.changes.engine.run import now_ms
from mqctl.changes.settings.access_file_places import ABSENT, ACCOUNT, CHANGES, SIGNS, UNTESTED
from mqctl.changes.settings.change import identity_of, touched_masters
from mqctl.changes.settings.places import Place, read_setting
from mqctl.errors import BadInputError, NotFoundError, RefusedError, UsageError
from mqctl.model.access import AccessFile, is_well_known
from mqctl.model.access_list import EVERYBODY
from mqctl.model.command_line import command_line
from mqctl.model.numbers import decimal
from mqctl.model.setting_plan import Fields, SettingKind, SettingPlan, SettingStep
from mqctl.snapshot.live.access import ask_access_files
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.store.access_file import read_access_file
from mqctl.text import sentence

SHORTEST_KEY = 7
_PERMISSIONS = ("DENY", "PUB", "SUB", "PUB|SUB", "SUB|PUB")
_NAMED_PERMISSION = re.compile(r"[^=,\s]+=(.*)", re.DOTALL)
_ADDRESS = re.compile(r"(\d+|\*|\d+-\d+)(\.(\d+|\*|\d+-\d+)){3}")
_WHITE = "addresses"


def plan_account(
    asking: Asking, access_key: str, settings: Mapping[str, str], secret: str, brokers: Sequence[str]
) -> SettingPlan:
    """Plans a new account, or other settings of one.

    Args:
        settings: by their names in the file, those that are given.

    Raises:
        UsageError: a key, a permission or an address cannot be.
        RefusedError: no broker has an access list.
    """
    _check_account(access_key, secret, settings)
    masters = _with_files(asking, brokers)
    steps, warnings = [], _of_account(access_key, secret, settings)
    for broker in masters:
        old = _read(asking, broker, SettingKind.ACCOUNT, access_key, secret)
        state = UNTESTED if old[ACCOUNT] == UNTESTED else SIGNS
        if old[ACCOUNT] not in (ABSENT, UNTESTED):
            warnings.append(
                sentence(
                    "acl-account-exists-settings-not",
                    "the account exists: settings that are not given stay, and what it has now cannot be read",
                )
            )
        steps.append(_step(broker, SettingKind.ACCOUNT, access_key, (old, {**settings, **_next(old), ACCOUNT: state})))
    return _plan("acl-account-put", (access_key, masters), steps, warnings)


def plan_account_deletion(asking: Asking, access_key: str, brokers: Sequence[str]) -> SettingPlan:
    """Plans to delete an account. Raises NotFoundError when no broker has it, RefusedError without access lists."""
    masters = _with_files(asking, brokers)
    steps = []
    for broker in masters:
        old = _read(asking, broker, SettingKind.ACCOUNT, access_key, None)
        if old[ACCOUNT] != ABSENT:
            state = UNTESTED if old[ACCOUNT] == UNTESTED else ABSENT
            steps.append(_step(broker, SettingKind.ACCOUNT, access_key, (old, {**_next(old), ACCOUNT: state})))
    if any(step.new is not None and step.new[ACCOUNT] == UNTESTED for step in steps):
        raise RefusedError(
            sentence("acl-account-not-deleted", "account {access_key} was not deleted", access_key=access_key),
            reason=sentence(
                "acl-host-white-listed-whether",
                "this host is white-listed, so whether the account exists cannot be tested",
            ),
            remedy=sentence("acl-run-host-whose-requests", "run it from a host whose requests are checked"),
        )
    if not steps:
        raise NotFoundError(
            sentence("acl-no-account", "there is no account {access_key}", access_key=access_key),
            remedy=sentence("acl-check-spelling-access-key", "check the spelling of the access key"),
        )
    warnings = [
        sentence("acl-clients-account-refused", "clients of this account are refused from then on"),
        sentence(
            "acl-undo-cannot-bring-back",
            "undo cannot bring it back: neither its secret key nor its permissions can be read",
        ),
    ]
    return _plan("acl-account-delete", (access_key, masters), steps, warnings)


def plan_white_list(
    asking: Asking, addresses: Sequence[str], path: str | None, known: Path | None, brokers: Sequence[str]
) -> SettingPlan:
    """Plans the white list of an access file: who comes from there needs no keys.

    Args:
        path: which of the broker's files; None for its `plain_acl.yml`.
        known: a copy of that file, from which undo knows the present list; for one broker.

    Raises:
        UsageError: an address cannot be.
        NotFoundError: a broker has no such file.
        BadInputError: the copy is not of the file as it is now.
    """
    for address in addresses:
        check_address(address)
    masters = _with_files(asking, brokers)
    if known is not None and len(masters) > 1:
        raise UsageError(
            sentence("acl-copy-broker-file", "a copy is of one broker's file"),
            remedy=sentence("acl-name-broker", "name the broker with --broker"),
        )
    steps = []
    for broker in masters:
        file = _file_of(broker, path)
        old = _read(asking, broker, SettingKind.WHITE_LIST, file.path, None)
        before = {} if known is None else {_WHITE: _white_list_of(known, file)}
        change = ({**old, **before}, {**_next(old), _WHITE: ",".join(addresses)})
        steps.append(_step(broker, SettingKind.WHITE_LIST, file.path, change))
    warnings = [
        sentence("acl-requests-these-addresses-not", "requests from these addresses are not checked at all"),
        sentence("acl-counts-within-five-seconds", "it counts within five seconds"),
    ]
    if any(item in EVERYBODY for item in addresses):
        warnings.insert(
            0, sentence("acl-switches-access-control-off", "this switches access control off for all clients")
        )
    if known is None:
        warnings.append(
            sentence(
                "acl-undo-needs-present-list",
                "undo needs the present list, which cannot be read from a broker: give a copy of the file with --known",
            )
        )
    return _plan("acl-white-list", ("white-list", masters), steps, warnings)


def file_undo(asking: Asking, step: SettingPart) -> SettingStep:
    """Plans to take back one change of access files. Raises RefusedError when what was before is not known."""
    kind, old = SettingKind(step.kind), step.old or {}
    now = read_setting(asking.cluster, Place(kind, step.address, step.subject), asking.deadline) or {}
    if kind is SettingKind.ACCOUNT and old[ACCOUNT] != ABSENT:
        put = command_line("mqctl acl put {} --password-file FILE", step.subject)
        raise RefusedError(
            sentence("acl-account-cannot-restored", "account {subject} cannot be restored", subject=step.subject),
            reason=sentence(
                "acl-before-cannot-read-broker-secret",
                "what it had before cannot be read from a 4.9 broker, and its secret key is not recorded",
            ),
            remedy=sentence("acl-former-permissions", "{put}, with its former permissions", put=put),
        )
    if kind is SettingKind.WHITE_LIST and _WHITE not in old:
        raise RefusedError(
            sentence(
                "acl-white-list-cannot-restored", "the white list of {subject} cannot be restored", subject=step.subject
            ),
            reason=sentence(
                "acl-before-cannot-read-broker",
                "what it had before cannot be read from a 4.9 broker, and no copy was given",
            ),
            remedy=sentence(
                "acl-white-list-address", "mqctl acl put --white-list ADDRESS ..., with the former addresses"
            ),
        )
    if now.get(ACCOUNT) == ABSENT:
        return _step_of(step, (now, now))
    before = {name: value for name, value in old.items() if name != CHANGES}
    others = now.get(CHANGES) != (step.new or {}).get(CHANGES)
    note = sentence("acl-access-files-changed-again", "the access files were changed again since") if others else None
    return _step_of(step, (now, {**before, **_next(now)}), note)


def check_address(text: str) -> None:
    """Passes when a 4.9 broker can read an address; with one it cannot read it does not start. Raises UsageError."""
    if text in EVERYBODY:
        return
    parts = text.split(".")
    numbers = [decimal(item) or 0 for part in parts for item in part.split("-")]
    ranges = [not part.isdigit() for part in parts]
    if not _ADDRESS.fullmatch(text) or any(number > 255 for number in numbers) or ranges != sorted(ranges) or ranges[0]:
        raise UsageError(
            sentence("acl-no-address-access-list", "{text!r} is not an address of an access list", text=text),
            remedy=sentence("acl-write", "write 10.1.2.3, 10.1.2.1-9 or 10.1.*.*"),
        )


def _check_account(access_key: str, secret: str, settings: Mapping[str, str]) -> None:
    if min(len(access_key), len(secret)) < SHORTEST_KEY or any(sign.isspace() for sign in access_key):
        raise UsageError(
            sentence("acl-brokers-take-no-such", "4.9 brokers take no such keys"),
            remedy=sentence(
                "acl-use-keys-characters-more",
                "use keys of {shortest_key} characters or more, without blanks",
                shortest_key=SHORTEST_KEY,
            ),
        )
    for name in ("defaultTopicPerm", "defaultGroupPerm"):
        _check_permission(settings.get(name, _PERMISSIONS[0]))
    for name in ("topicPerms", "groupPerms"):
        for item in settings[name].split(",") if name in settings else ():
            match = _NAMED_PERMISSION.fullmatch(item)
            if match is None:
                raise UsageError(
                    sentence("acl-no-permission", "{item!r} is not a permission", item=item),
                    remedy=sentence("acl-write-name-pub-sub", "write NAME=PUB|SUB, NAME=SUB or NAME=DENY"),
                )
            _check_permission(match[1])
    if settings.get("whiteRemoteAddress"):
        check_address(settings["whiteRemoteAddress"])


def _check_permission(word: str) -> None:
    if word not in _PERMISSIONS:
        raise UsageError(
            sentence("acl-no-permission", "{item!r} is not a permission", item=word),
            remedy=sentence("acl-choose-pub-sub", "choose of PUB, SUB, PUB|SUB and DENY"),
        )


def _of_account(access_key: str, secret: str, settings: Mapping[str, str]) -> list[str]:
    warnings = []
    if settings["admin"] == "true":
        warnings.append(
            sentence(
                "acl-admin-account-everything-whatever",
                "an admin account may do everything, whatever its permissions say",
            )
        )
    if settings.get("whiteRemoteAddress"):
        warnings.append(
            sentence(
                "acl-requests-account-own-address",
                "requests of this account from its own address need no signature",
            )
        )
    if is_well_known(access_key, secret):
        warnings.append(sentence("acl-secret-key-everybody-tries", "the secret key is one that attackers try first"))
    return warnings


def _with_files(asking: Asking, names: Sequence[str]) -> list[LiveBroker]:
    masters = touched_masters(asking, names)
    ask_access_files(asking, masters)
    listed = [item for item in masters if item.access_files]
    silent = next((gap for item in masters for gap in item.gaps), None)
    if silent is not None:
        raise RefusedError(
            sentence("acl-not-all-brokers-named", "not all brokers named their access files"),
            reason=silent.reason,
            remedy=sentence("acl-try-again", "try again"),
        )
    if not listed or (names and len(listed) < len(masters)):
        raise RefusedError(
            sentence("acl-no-access-list-here", "there is no access list of 4.9 here"),
            reason=sentence("acl-broker-aclenable-true", "a broker has one with aclEnable=true"),
            remedy=sentence("acl-users-of-five", "for 5.x: mqctl acl put --kind user, mqctl acl grant"),
        )
    return listed


def _file_of(broker: LiveBroker, path: str | None) -> AccessFile:
    fitting = [item for item in broker.access_files if path in (None, item.path)]
    if path is None and len(fitting) > 1:
        fitting = [item for item in fitting if Path(item.path).name == "plain_acl.yml"]
    if len(fitting) != 1:
        raise NotFoundError(
            sentence("acl-broker-no-such-access", "broker {broker} has no such access file", broker=broker.name),
            remedy=sentence("acl-list-shows-files", "mqctl acl list shows them; name one with --file"),
        )
    return fitting[0]


def _white_list_of(known: Path, file: AccessFile) -> str:
    content = read_access_file(known)
    if content.change_count != file.change_count:
        raise BadInputError(
            sentence("acl-no-copy-broker", "{known} is not a copy of the broker's {path}", known=known, path=file.path),
            reason=sentence(
                "acl-changes-request-broker-copy",
                "changes by request: {change_count} of the broker's, {change_count_2} of the copy",
                change_count=file.change_count,
                change_count_2=content.change_count,
            ),
            remedy=sentence("copy-again", "copy it again"),
        )
    return ",".join(content.white)


def _next(old: Fields) -> dict[str, str]:
    return {CHANGES: str((decimal(old[CHANGES]) or 0) + 1)}


def _read(asking: Asking, broker: LiveBroker, kind: SettingKind, subject: str, secret: str | None) -> Fields:
    return read_setting(asking.cluster, Place(kind, broker.address.address, subject, secret), asking.deadline) or {}


def _step_of(step: SettingPart, change: tuple[Fields, Fields], note: str | None = None) -> SettingStep:
    kind, (old, new) = SettingKind(step.kind), change
    return SettingStep(
        kind=kind, place=step.place, address=step.address, subject=step.subject, old=old, new=new, note=note
    )


def _step(broker: LiveBroker, kind: SettingKind, subject: str, change: tuple[Fields, Fields]) -> SettingStep:
    old, new = change
    return SettingStep(kind=kind, place=broker.name, address=broker.address.address, subject=subject, old=old, new=new)


def _plan(
    kind: str, of: tuple[str, list[LiveBroker]], steps: Iterable[SettingStep], warnings: Iterable[str]
) -> SettingPlan:
    subject, masters = of
    return SettingPlan(
        kind=kind,
        noun=sentence("acl-access-list", "access list"),
        subject=subject,
        identity=identity_of(masters),
        made_at_ms=now_ms(),
        steps=tuple(steps),
        warnings=tuple(dict.fromkeys(warnings)),
    )
