"""`mqctl acl` against 5.3.3 brokers that check who asks: plans, proof, undo, decisions; passwords are nowhere."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.errors import ExitCode
from mqctl.model.access import AccessEntry, AccessUser
from mqctl.protocol.acl import Credentials
from mqctl.protocol.requests_v5 import GetUser
from mqctl.snapshot.store.gatherer import gather_store
from tests.conftest import Outcome
from tests.embedded_broker.access import SigningPeer
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run
from tests.live.test_bad_clusters import register

PASSWORD = "a-S3cret-of-the-test"
ADMIN = Credentials("admin", "adm12345")
SETTINGS = {
    "authenticationEnabled": "true",
    "authorizationEnabled": "true",
    "initAuthenticationUser": '{"username":"admin","password":"adm12345"}',
}
Asked = Callable[..., Outcome]


@pytest.fixture(scope="module")
def guarded() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, version="5.3.3", settings=SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def asked(guarded: EmbeddedCluster, mqctl: Run, tmp_path: Path, state: Path) -> Asked:
    env: Mapping[str, str] = {
        "MQCTL_STATE_DIR": str(state),
        "MQCTL_CACHE_DIR": str(tmp_path / "cache"),
        "MQCTL_NAMESRV": guarded.namesrv,
        "MQCTL_ACCESS_KEY": ADMIN.access_key,
        "MQCTL_SECRET_KEY": ADMIN.secret_key,
    }
    return lambda *words, **more: mqctl(*words, env={**env, **more})


@pytest.fixture
def password_file(tmp_path: Path) -> str:
    file = tmp_path / "new.pw"
    file.write_text(f"{PASSWORD}\n")
    file.chmod(0o600)
    return str(file)


def _password_of(cluster: EmbeddedCluster, user: str) -> list[str | None]:
    passwords = []
    for broker in cluster.brokers.values():
        with SigningPeer(broker.address, ADMIN) as peer:
            body = peer.call(GetUser(username=user)).body
            passwords.append(json.loads(body)["password"] if body else None)
    return passwords


def test_a_user_is_made_allowed_explained_and_taken_back(
    guarded: EmbeddedCluster, asked: Asked, password_file: str, state: Path
) -> None:
    make = ("acl", "put", "orders-app", "--password-file", password_file)
    ends = [asked(*make)]
    assert ends[0].exit_code == ExitCode.OK
    assert _password_of(guarded, "orders-app") == [None, None], "a plan changes nothing"
    ends.append(asked(*make, "--execute"))
    assert ends[1].exit_code == ExitCode.OK, ends[1].stderr
    assert _password_of(guarded, "orders-app") == [PASSWORD, PASSWORD]
    grant = ("acl", "grant", "orders-app", "--resource", "Topic:or*", "--action", "Pub", "--action", "Sub")
    ends.append(asked(*grant, "--execute", "--confirm", "orders-app"))
    assert ends[2].exit_code == ExitCode.OK, ends[2].stderr
    deny = ("acl", "grant", "orders-app", "--resource", "Topic:orders", "--action", "Pub", "--deny")
    assert "the order in which they were added decides" in asked(*deny).stdout
    ends.append(asked(*deny, "--execute", "--confirm", "orders-app", "-o", "json"))
    rows = json.loads(asked("acl", "list", "--user", "orders-app", "-o", "json").stdout)["entries"]
    assert [(row["resource"], row["decision"], row["actions"]) for row in rows] == [
        ("Topic:or*", "Allow", "Pub, Sub"),
        ("Topic:orders", "Deny", "Pub"),
    ]
    explain = ("acl", "explain", "orders-app", "--resource", "Topic:orders", "-o", "json", "--action")
    explained = [json.loads(asked(*explain, action).stdout)["brokers"] for action in ("Pub", "Sub", "Delete")]
    assert [[(row["decision"], row["resource"], row["against"]) for row in rows] for rows in explained] == [
        [("Deny", "Topic:orders", "Topic:or*")] * 2,
        [("Allow", "Topic:or*", None)] * 2,
        [("Deny", None, None)] * 2,
    ]
    ends.append(asked("undo", "--last", "--execute", "--confirm", "orders-app"))
    assert ends[-1].exit_code == ExitCode.OK, ends[-1].stderr
    assert "Topic:orders" not in asked("acl", "list").stdout
    assert PASSWORD not in "".join(end.stdout + end.stderr for end in ends)
    written = [path for path in state.rglob("*") if path.is_file()]
    assert written
    assert not [path for path in written if PASSWORD.encode() in path.read_bytes()]


def test_a_password_is_proved_and_no_undo_brings_the_former_one_back(
    guarded: EmbeddedCluster, asked: Asked, password_file: str, tmp_path: Path
) -> None:
    assert asked("acl", "put", "bob", "--new", "--password-file", password_file, "--execute").exit_code == ExitCode.OK
    other = tmp_path / "other.pw"
    other.write_text("another-one")
    other.chmod(0o600)
    update = ("acl", "put", "bob", "--status", "disable", "--password-file", str(other))
    planned = asked(*update)
    assert "another" in planned.stdout
    assert "another-one" not in planned.stdout + planned.stderr
    assert asked(*update, "--execute", "--confirm", "bob").exit_code == ExitCode.OK
    assert _password_of(guarded, "bob") == ["another-one"] * 2
    back = asked("undo", "--last", "--execute", "--confirm", "bob")
    assert back.exit_code == ExitCode.OK, back.stderr
    assert "cannot be restored" in back.stdout + back.stderr
    assert _password_of(guarded, "bob") == ["another-one"] * 2
    assert "enable" in asked("acl", "list", "--user", "bob").stdout
    gone = asked("acl", "delete", "bob", "--execute", "--confirm", "bob")
    assert gone.exit_code == ExitCode.OK, gone.stderr
    refused = asked("undo", "--last", "--execute", "--confirm", "bob")
    assert refused.exit_code == ExitCode.REFUSED
    assert "its password is not recorded" in refused.stderr


def test_put_makes_or_changes_and_options_say_which(asked: Asked, password_file: str) -> None:
    missing = asked("acl", "put", "dan", "--status", "disable")
    assert (missing.exit_code, "--password-file" in missing.stderr) == (ExitCode.USAGE, True)
    assert asked("acl", "put", "dan", "--status", "disable", "--existing").exit_code == ExitCode.NOT_FOUND
    new = ("acl", "put", "dan", "--new", "--password-file", password_file)
    assert asked(*new, "--broker", "broker-a", "--execute").exit_code == ExitCode.OK
    refused = asked(*new, "--type", "Super")
    assert (refused.exit_code, "with other settings on broker-a" in refused.stderr) == (ExitCode.REFUSED, True)
    assert asked(*new, "--execute").exit_code == ExitCode.OK, "it is made where it is missing"
    assert asked("acl", "put", "dan", "--type", "Super", "--execute").exit_code == ExitCode.REFUSED, "not confirmed"
    changed = asked("acl", "put", "dan", "--type", "Super", "--execute", "--confirm", "dan", "-o", "json")
    assert (changed.exit_code, [step["new"]["user_type"] for step in changed.json["steps"]]) == (0, ["Super"] * 2)
    for words in (("--admin",), ("--topic", "T=PUB"), ("--nobody",), ("eve",)):
        assert asked("acl", "put", "dan", "--type", "Super", *words).exit_code == ExitCode.USAGE, words
    assert asked("acl", "delete-user", "dan", "--execute", "--confirm", "dan").exit_code == ExitCode.OK


def test_brokers_of_both_kinds_need_a_word(mqctl: Run, password_file: str) -> None:
    with (
        EmbeddedCluster(version="5.3.3", settings=SETTINGS) as users,
        EmbeddedCluster(brokers=["broker-o"]) as accounts,
        Peer(users.namesrv) as server,
    ):
        register(server, "broker-o", 0, accounts.broker("broker-o").address)
        env = {"MQCTL_NAMESRV": users.namesrv, "MQCTL_ACCESS_KEY": "admin", "MQCTL_SECRET_KEY": "adm12345"}
        for words in (("put", "eve", "--password-file", password_file), ("delete", "eve")):
            both = mqctl("acl", *words, env=env)
            assert (both.exit_code, "users: broker-a; accounts: broker-o" in both.stderr) == (ExitCode.USAGE, True), (
                both
            )
        plan = mqctl("acl", "put", "eve", "--kind", "user", "--password-file", password_file, "-o", "json", env=env)
        assert (plan.exit_code, [step["place"] for step in plan.json["steps"]]) == (0, ["broker-a"]), plan.stderr
        listed = mqctl("acl", "put", "eve-account", "--kind", "account", "--password-file", password_file, env=env)
        assert (listed.exit_code, "there is no access list of 4.9 here" in listed.stderr) == (ExitCode.REFUSED, True)


def test_a_file_that_others_may_read_and_words_that_cannot_be_are_refused(asked: Asked, password_file: str) -> None:
    Path(password_file).chmod(0o644)
    open_file = asked("acl", "put", "eve", "--password-file", password_file)
    assert open_file.exit_code == ExitCode.PERMISSION
    assert "chmod 600" in open_file.stderr
    for words in (
        ("acl", "grant", "admin", "--resource", "Queue:x", "--action", "Pub"),
        ("acl", "grant", "admin", "--resource", "Topic:x", "--action", "Fly"),
        ("acl", "grant", "admin", "--resource", "Topic:x", "--action", "Pub", "--source", "nowhere"),
        ("acl", "explain", "admin", "--resource", "Topic:*", "--action", "Pub"),
        ("acl", "put", "admin"),
    ):
        assert asked(*words).exit_code == ExitCode.USAGE, words
    assert asked("acl", "revoke", "nobody").exit_code == ExitCode.NOT_FOUND


def test_who_may_not_list_users_is_told_so(asked: Asked, password_file: str) -> None:
    assert asked("acl", "put", "small", "--password-file", password_file, "--execute").exit_code == ExitCode.OK
    end = asked("acl", "list", MQCTL_ACCESS_KEY="small", MQCTL_SECRET_KEY=PASSWORD)
    assert end.exit_code == ExitCode.PERMISSION
    assert "Cluster:DefaultCluster" in end.stderr


def test_doctor_names_what_is_dangerous(asked: Asked, tmp_path: Path) -> None:
    weak = tmp_path / "weak.pw"
    weak.write_text("12345678\n")
    weak.chmod(0o600)
    on_one = ("--broker", "broker-a", "--execute", "--confirm", "weak-app")
    for words in (
        ("put", "weak-app", "--password-file", str(weak)),
        ("grant", "weak-app", "--resource", "Topic:Pop*", "--action", "Pub"),
        ("grant", "weak-app", "--resource", "Topic:PopA", "--action", "Pub", "--deny"),
    ):
        assert asked("acl", *words, *on_one).exit_code == ExitCode.OK
    only = [word for code in ("MQ630", "MQ631", "MQ632", "MQ633") for word in ("--only", code)]
    end = asked("doctor", *only, "-o", "json")
    findings = json.loads(end.stdout)["findings"]
    assert {item["code"] for item in findings} == {"MQ630", "MQ631", "MQ632", "MQ633"}
    assert ["broker-a" in item["subject"] for item in findings if item["code"] == "MQ633"] == [True]
    assert "12345678" not in end.stdout + end.stderr
    assert ADMIN.secret_key not in end.stdout + end.stderr


def test_doctor_judges_users_in_the_directory_of_a_dead_broker(mqctl: Run, tmp_path: Path) -> None:
    first = {"initAuthenticationUser": '{"username":"admin","password":"12345678"}'}
    with EmbeddedCluster(data_dir=tmp_path, version="5.3.3", settings={**SETTINGS, **first}):
        pass
    end = mqctl("doctor", "--store", tmp_path / "broker-a", "-o", "json")
    assert [(item["code"], "admin" in item["what"]) for item in end.json["findings"]] == [("MQ633", True)], end.stdout
    assert "12345678" not in end.stdout + end.stderr


def test_doctor_judges_the_databases_of_a_real_broker(
    mqctl: Run, golden_store: Callable[[str], Path], tmp_path: Path
) -> None:
    store = golden_store("store-5.3.3-rocksdb-auth")
    findings = mqctl("doctor", "--store", store, "--only", "MQ63*", "-o", "json").json["findings"]
    assert [(item["code"], "rocketmq" in item["what"], item["evidence"]) for item in findings] == [
        ("MQ633", True, {"user_count": 1})
    ]
    assert "bobpw1234" not in str(findings)
    (access,) = (broker.access for broker in gather_store(store).brokers)
    assert access is not None
    assert access.users == (AccessUser("bob"), AccessUser("rocketmq", "Super"))
    assert access.entries == {"bob": (AccessEntry("Topic:RT", ("Pub", "Sub", "Get")),)}
    torn = Path(shutil.copytree(store, tmp_path / "torn"))
    (torn / "config" / "users" / "CURRENT").write_text("MANIFEST-000404\n")
    unread = mqctl("doctor", "--store", torn, "-o", "json")
    assert {"MQ632", "MQ633", "MQ634"} <= {gap["code"] for gap in unread.json["not_judged"]}
