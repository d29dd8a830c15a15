"""`mqctl acl` against 4.9.8 brokers with access files: plans, proof and undo; secret keys are nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from embedded_broker import EmbeddedCluster
from mqctl.errors import ExitCode
from tests.conftest import Outcome
from tests.embedded_broker.access import ADMIN, LIST, write_list
from tests.live.conftest import Run

SECRET = "a-S3cret-of-the-test"
Asked = Callable[..., Outcome]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_list(tmp_path_factory.mktemp("conf"))


@pytest.fixture(scope="module")
def guarded(file: Path) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(acl_file=file) as cluster:
        yield cluster


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def asked(guarded: EmbeddedCluster, mqctl: Run, tmp_path: Path, state: Path) -> Asked:
    env = {
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
    file.write_text(f"{SECRET}\n")
    file.chmod(0o600)
    return str(file)


def accounts_in(file: Path) -> dict[str, dict[str, object]]:
    return {item["accessKey"]: item for item in yaml.safe_load(file.read_text())["accounts"]}


def written(state: Path) -> str:
    return "".join(path.read_text() for path in state.rglob("*") if path.is_file())


def undo_of(outcome: Outcome) -> tuple[str, ...]:
    identifier = outcome.stderr.split("mqctl undo ")[1].split()[0]
    return ("undo", identifier, "--execute")


def test_an_account_is_put_proved_by_its_signature_and_taken_back(
    asked: Asked, file: Path, password_file: str, state: Path
) -> None:
    put = ("acl", "put", "orders-app", "--password-file", password_file, "--topic", "orders=PUB|SUB")
    plan = asked(*put, "-o", "json")
    assert plan.exit_code == ExitCode.OK, plan
    assert plan.json["steps"][0]["old"]["account"] == "none"
    assert "orders-app" not in accounts_in(file), "a plan changes nothing"
    done = asked(*put, "--execute", "--confirm", "orders-app")
    assert done.exit_code == ExitCode.OK, done
    account = accounts_in(file)["orders-app"]
    assert (account["secretKey"], account["topicPerms"]) == (SECRET, ["orders=PUB|SUB"])
    as_it = {"MQCTL_ACCESS_KEY": "orders-app", "MQCTL_SECRET_KEY": SECRET}
    assert asked("topic", "list", **as_it).exit_code == ExitCode.OK
    undone = asked(*undo_of(done), "--confirm", "orders-app")
    assert undone.exit_code == ExitCode.OK, undone
    assert "orders-app" not in accounts_in(file)
    assert asked("topic", "list", **as_it).exit_code == 77
    shown = "".join(item.stdout + item.stderr for item in (plan, done, undone))
    assert SECRET not in shown + written(state)


def test_what_cannot_be_read_is_not_promised_back(asked: Asked, file: Path, password_file: str) -> None:
    put = ("acl", "put", "reader-key", "--password-file", password_file, "--default-topic", "PUB")
    done = asked(*put, "--execute", "--confirm", "reader-key")
    assert (done.exit_code, "settings that are not given stay" in done.stderr) == (ExitCode.OK, True), done
    assert accounts_in(file)["reader-key"]["defaultGroupPerm"] == "SUB"
    undo = asked(*undo_of(done))
    assert (undo.exit_code, "mqctl acl put reader-key" in undo.stderr) == (76, True), undo
    gone = asked("acl", "delete", "reader-key", "--execute", "--confirm", "reader-key")
    assert (gone.exit_code, "reader-key" in accounts_in(file)) == (ExitCode.OK, False), gone
    assert asked("acl", "delete", "reader-key").exit_code == 66


def test_a_white_list_is_replaced_and_brought_back_from_a_copy(asked: Asked, file: Path, tmp_path: Path) -> None:
    def white() -> list[str]:
        return list(yaml.safe_load(file.read_text())["globalWhiteRemoteAddresses"])

    copy, before = tmp_path / "copy.yml", white()
    copy.write_bytes(file.read_bytes())
    words = ("acl", "put", "--white-list", "10.1.2.3", "10.1.3.*", "--known", str(copy))
    done = asked(*words, "--execute", "--confirm", "white-list")
    assert (done.exit_code, white()) == (ExitCode.OK, ["10.1.2.3", "10.1.3.*"]), done
    stale = asked(*words)
    assert (stale.exit_code, "copy it again" in stale.stderr) == (65, True), stale
    undone = asked(*undo_of(done), "--confirm", "white-list")
    assert (undone.exit_code, white()) == (ExitCode.OK, before), undone
    unknown = asked("acl", "put", "--white-list", "--nobody", "--execute", "--confirm", "white-list")
    assert unknown.exit_code == ExitCode.OK, unknown
    refused = asked(*undo_of(unknown))
    assert (refused.exit_code, "--known" in unknown.stderr) == (76, True), refused


@pytest.mark.parametrize(
    "words",
    [
        (
            "put",
            "--white-list",
        ),
        ("put", "--white-list", "10.1.2"),
        ("put", "--white-list", "10.1.2.300"),
        ("put", "--white-list", "*.1.2.3"),
        ("put", "--white-list", "10.1.2.3", "--admin"),
        ("put", "orders-app", "--status", "disable"),
        ("put", "orders-app", "--topic", "orders"),
        ("put", "orders-app", "--default-group", "READ"),
        ("put", "short"),
    ],
    ids=" ".join,
)
def test_what_a_broker_would_not_read_is_refused_before_it_is_asked(
    asked: Asked, words: tuple[str, ...], password_file: str
) -> None:
    keys = ("--password-file", password_file) if "--white-list" not in words else ()
    assert asked("acl", *words, *keys).exit_code == ExitCode.USAGE


def test_doctor_judges_the_access_files_of_this_host(asked: Asked, file: Path, tmp_path: Path) -> None:
    only = [word for code in ("MQ631", "MQ633", "MQ634") for word in ("--only", code)]
    weak = tmp_path / "weak.pw"
    weak.write_text("rocketmq\n")
    weak.chmod(0o600)
    before = asked("doctor", *only, "-o", "json").json["findings"]
    assert [(item["code"], "user-key" in item["what"]) for item in before] == [("MQ631", True)]
    for words in (
        ("put", "weak-app", "--password-file", str(weak), "--execute", "--confirm", "weak-app"),
        ("put", "--white-list", "*", "--execute", "--confirm", "white-list"),
    ):
        assert asked("acl", *words).exit_code == ExitCode.OK
    end = asked("doctor", *only, "-o", "json")
    assert sorted(item["code"] for item in end.json["findings"]) == ["MQ631", "MQ633", "MQ634"], end
    assert str(file) in end.stdout
    assert SECRET not in end.stdout


def test_doctor_judges_the_access_files_in_the_directory_of_a_dead_broker(mqctl: Run, tmp_path: Path) -> None:
    with EmbeddedCluster(data_dir=tmp_path / "home"):
        pass
    store, conf = tmp_path / "home" / "broker-a", tmp_path / "home" / "broker-a" / "conf"
    rules = ("--only", "MQ632", "--only", "MQ633", "--only", "MQ634")
    without = mqctl("doctor", "--store", store, *rules, "-o", "json")
    assert without.exit_code == 3
    assert {gap["code"] for gap in without.json["not_judged"]} == {"MQ632", "MQ633", "MQ634"}
    assert all("plain_acl.yml" in gap["reason"] for gap in without.json["not_judged"])
    assert mqctl("doctor", "--store", store).exit_code == 0, "no broker must have an access list"
    (conf / "acl").mkdir(parents=True)
    accounts = [{"accessKey": "weak-app", "secretKey": "rocketmq"}, {"accessKey": "sure-app", "secretKey": SECRET}]
    (conf / "acl" / "more.yml").write_text(yaml.safe_dump({"accounts": accounts}))
    (conf / "plain_acl.yml").write_text(yaml.safe_dump({"globalWhiteRemoteAddresses": ["*"]}))
    for place in (conf, store.parent / "conf"):  # in the directory, or beside it: a copied home has both
        if place != conf:
            conf.rename(place)
        end = mqctl("doctor", "--store", store, "-o", "json")
        what = {item["code"]: item["what"] for item in end.json["findings"]}
        assert what.keys() == {"MQ633", "MQ634"}, end.stdout
        assert ("weak-app" in what["MQ633"], "sure-app" in what["MQ633"]) == (True, False)
        assert str(place / "plain_acl.yml") in what["MQ634"]
        assert SECRET not in end.stdout
    (store.parent / "conf" / "plain_acl.yml").write_text("accounts: [")
    broken = mqctl("doctor", "--store", store, "-o", "json")
    assert {gap["code"] for gap in broken.json["not_judged"]} == {"MQ632", "MQ633", "MQ634", "MQ647"}
    assert "plain_acl.yml: it is not YAML" in broken.stdout


def test_who_is_refused_by_an_access_list_is_explained(
    asked: Asked, guarded: EmbeddedCluster, file: Path, tmp_path: Path
) -> None:
    def decided(user: str, resource: str, action: str, *more: object) -> tuple[object, object]:
        answer = asked("acl", "explain", user, "--resource", resource, "--action", action, *more, "-o", "json")
        assert answer.exit_code == ExitCode.OK, answer
        return answer.json["brokers"][0]["decision"], answer.json["brokers"][0]["reason"]

    assert decided("user-key", "Topic:Out", "Sub")[0] == "Allow"
    copy = tmp_path / "copy.yml"
    copy.write_text(LIST)
    denied = decided("user-key", "Group:Barred", "Sub", "--acl-rules", copy)
    assert denied == ("Deny", "No default permission for group:Barred")
    denied = decided("user-key", "Topic:Out", "Pub", "--acl-rules", copy)
    assert denied == ("Deny", "No default permission for topic:Out")
    copy.write_text(LIST.replace("Barred=DENY", "Barred=SUB"))
    assert decided("user-key", "Group:Barred", "Sub", "--acl-rules", copy)[0] == "Allow"
    allowed = decided("user-key", "Topic:Out", "Pub", "--acl-rules", copy, "--from", "10.10.103.9")
    assert allowed == ("Allow", "10.10.103.9 is on a white list: nothing of it is checked")
    nobody = asked("acl", "explain", "no-such-key", "--resource", "Group:G", "--action", "Sub")
    assert nobody.exit_code == 66
    group = asked("doctor", "-g", "Barred")
    assert (group.exit_code, "mqctl acl explain KEY --resource Group:Barred --action Sub" in group.stderr) == (66, True)


def test_an_access_list_that_cannot_be_read_is_no_missing_user(
    asked: Asked, guarded: EmbeddedCluster, file: Path
) -> None:
    """As on another host: the file that the broker names is not the one that is there."""
    before = file.read_bytes()
    counted = before + b"\ndataVersion:\n  - counter: 77\n    timestamp: 5\n"
    file.write_bytes(counted)
    try:
        answer = asked("acl", "explain", "user-key", "--resource", "Group:G", "--action", "Sub", "-o", "json")
    finally:
        file.write_bytes(before)
    assert (answer.exit_code, answer.json["brokers"]) == (76, []), answer
    assert "--acl-rules" in answer.stderr
