"""What access files of 4.9 allow, against the embedded broker, which was held against recordings of a real one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embedded_broker.acl.addresses import AddressPatternError, address_pattern
from embedded_broker.acl.file import account_of
from embedded_broker.acl.rules import PUB, SUB, AccessDenied, retry_name
from mqctl.model.access_list import decide_listed, lets_in, reads_in_vain
from mqctl.protocol.codes import RequestCode
from mqctl.store.access_file import access_of_files, read_access_file

_NAMES = st.sampled_from(["pay", "pay-eu", "refund", "x"])
_WORDS = st.sampled_from(["PUB", "SUB", "PUB|SUB", "SUB|PUB", "DENY", "sub", " SUB ", "ANY"])
_PERMS = st.dictionaries(_NAMES, _WORDS, max_size=3)
_OCTET = st.integers(0, 12).map(str)


def _account(
    topics: dict[str, str], groups: dict[str, str], defaults: tuple[str | None, str | None], *, admin: bool
) -> dict[str, object]:
    named = {"topicPerms": topics, "groupPerms": groups}
    return {
        "accessKey": "orders-app",
        "secretKey": "a-secret-key",
        "admin": admin,
        **{name: [f"{key}={word}" for key, word in own.items()] for name, own in named.items() if own},
        **{name: word for name, word in zip(("defaultTopicPerm", "defaultGroupPerm"), defaults, strict=True) if word},
    }


def _written(file: Path, account: dict[str, object], white: list[str]) -> Path:
    lines = ["globalWhiteRemoteAddresses:", *(f"  - '{item}'" for item in white), "accounts:"]
    for number, (name, value) in enumerate(account.items()):
        lines.append(f"  {'- ' if number == 0 else '  '}{name}:" + ("" if isinstance(value, list) else f" '{value}'"))
        lines += [f"      - '{item}'" for item in value] if isinstance(value, list) else []
    file.write_text("\n".join(lines) + "\n")
    return file


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    topics=_PERMS,
    groups=_PERMS,
    defaults=st.tuples(st.none() | _WORDS, st.none() | _WORDS),
    admin=st.booleans(),
    name=_NAMES,
    need=st.sampled_from([("Topic", "Pub"), ("Topic", "Sub"), ("Group", "Sub")]),
)
def test_a_decision_is_the_brokers(
    tmp_path: Path,
    topics: dict[str, str],
    groups: dict[str, str],
    defaults: tuple[str | None, str | None],
    admin: bool,
    name: str,
    need: tuple[str, str],
) -> None:
    account = _account(topics, groups, defaults, admin=admin)
    state = access_of_files({"f": read_access_file(_written(tmp_path / "plain_acl.yml", account, []))})
    (user,) = state.users
    kind, action = need
    decision = decide_listed(state, user, f"{kind}:{name}", action, "192.0.2.1")
    needs = {name if kind == "Topic" else retry_name(name): PUB if action == "Pub" else SUB}
    try:
        account_of(account).check(RequestCode.PULL_MESSAGE, needs)
        refused = ""
    except AccessDenied as error:
        refused = error.remark
    assert (decision.allowed, decision.reason in refused) == (not refused, True)
    mayread = {
        kind: any(
            decide_listed(state, user, f"{kind}:{one}", "Sub", "192.0.2.1").allowed
            for one in (*topics, *groups, "else")
        )
        for kind in ("Topic", "Group")
    }
    assert bool(reads_in_vain(state)) == (not admin and mayread["Topic"] and not mayread["Group"])


@given(
    parts=st.lists(
        st.one_of(_OCTET, st.just("*"), st.tuples(_OCTET, _OCTET).map("-".join)),
        min_size=3,
        max_size=5,
    ),
    braces=st.lists(_OCTET, max_size=3),
    address=st.tuples(_OCTET, _OCTET, _OCTET, _OCTET).map(".".join),
)
def test_an_address_pattern_matches_as_the_brokers_do(parts: list[str], braces: list[str], address: str) -> None:
    text = ".".join(parts) if not braces else ".".join([*parts[:3], "{" + ",".join(braces) + "}"])
    try:
        matches = address_pattern(text)
    except AddressPatternError:
        return  # with such a list a broker does not start
    assert lets_in(text, address) == matches(address)


@pytest.mark.parametrize("action", ["Create", "Update", "Delete"])
def test_changes_need_an_admin(tmp_path: Path, action: str) -> None:
    for admin in (False, True):
        account = _account({"pay": "PUB|SUB"}, {}, ("PUB|SUB", "SUB"), admin=admin)
        state = access_of_files({"f": read_access_file(_written(tmp_path / "plain_acl.yml", account, ["10.1.*.*"]))})
        assert decide_listed(state, state.users[0], "Topic:pay", action, "192.0.2.1").allowed == admin
        assert decide_listed(state, state.users[0], "Topic:pay", action, "10.1.7.7").allowed
