"""Users and ACLs of 5.x brokers; passwords are judged where they come in, and dropped."""

from __future__ import annotations

from collections.abc import Iterable

from mqctl.client.admin import access as ask
from mqctl.model.access import AccessState, is_well_known
from mqctl.model.gap import Part
from mqctl.protocol.bodies_access import UserInfo
from mqctl.protocol.codes import ResponseCode
from mqctl.snapshot.live.asking import Asking, refused_with
from mqctl.snapshot.live.brokers import LiveBroker, ask_settings

# 3: before 5.3, where there are no users; 1: nothing is switched on, so that nothing is kept.
_NO_USERS = frozenset({ResponseCode.SYSTEM_ERROR, ResponseCode.REQUEST_CODE_NOT_SUPPORTED})
_SWITCHES = ("authenticationEnabled", "authorizationEnabled")


def ask_checked_access(asking: Asking, brokers: list[LiveBroker]) -> None:
    """Asks those that say of themselves that they check who asks (5.x)."""
    ask_access(asking, [item for item in brokers if any(item.config.get(name) == "true" for name in _SWITCHES)])


def ask_access(asking: Asking, brokers: list[LiveBroker]) -> None:
    """Asks for users and their entries; a broker that has none keeps `access` None, without a gap."""
    users = asking.put((number, item.address.address, ask.all_users()) for number, item in enumerate(brokers))
    entries = asking.put((number, item.address.address, ask.all_entries()) for number, item in enumerate(brokers))
    for number, broker in enumerate(brokers):
        error = users.errors.get(number) or entries.errors.get(number)
        if error is None:
            users_of_broker = users.values[number]
            broker.access = AccessState(
                users=tuple(item.user() for item in users_of_broker),
                entries=entries.values[number],
                well_known=tuple(_well_known(users_of_broker)),
            )
        elif not refused_with(error, _NO_USERS):
            broker.miss(Part.ACCESS, error)


def ask_access_files(asking: Asking, brokers: list[LiveBroker]) -> None:
    """Asks those of 4.9 that control access for the files of their access list; others never answer that."""
    ask_settings(asking, [item for item in brokers if not item.config])
    listed = [item for item in brokers if item.config.get("aclEnable") == "true"]
    answers = asking.put((number, item.address.address, ask.access_files()) for number, item in enumerate(listed))
    for number, broker in enumerate(listed):
        if number in answers.values:
            broker.access_files = answers.values[number]
        else:
            broker.miss(Part.ACCESS, answers.errors[number])


def _well_known(users: Iterable[UserInfo]) -> Iterable[str]:
    for item in users:
        if is_well_known(item.username or "", item.password or ""):
            yield item.username or ""
