"""Commands against a broker that controls access: who may, who may not, and what is said then."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from tests.conftest import Outcome
from tests.embedded_broker.access import ADMIN, READER, USER, write_list
from tests.live.conftest import Run


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, acl_file=write_list(tmp_path_factory.mktemp("conf"))) as cluster:
        yield cluster


@pytest.fixture
def asked(mqctl: Run, guarded: EmbeddedCluster, tmp_path: Path) -> Run:
    places = {name: str(tmp_path / name.lower()) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}

    def run(*words: object, env: Mapping[str, str] | None = None) -> Outcome:
        return mqctl(*words, env={**places, "MQCTL_NAMESRV": guarded.namesrv, **(env or {})})

    return run


def keys(access: str, secret: str) -> dict[str, str]:
    return {"MQCTL_ACCESS_KEY": access, "MQCTL_SECRET_KEY": secret}


AS_ADMIN = keys(ADMIN.access_key, ADMIN.secret_key)
AS_USER = keys(USER.access_key, USER.secret_key)
AS_READER = keys(READER.access_key, READER.secret_key)


@pytest.mark.parametrize(
    ("env", "words", "reason", "remedy"),
    [
        ({}, ("topic", "list"), "No accessKey is configured", "MQCTL_ACCESS_KEY"),
        (keys("nobody", "whatever"), ("topic", "list"), "No acl config for nobody", "access key"),
        (keys("user-key", "guessed"), ("topic", "list"), "Check signature failed for accessKey=user-key", "secret key"),
        (AS_READER, ("message", "send", "-t", "Both", "--body", "x"), "No default permission for topic:Both", "added"),
    ],
)
def test_a_refusal_ends_with_77_says_why_and_what_to_do(
    asked: Run, env: dict[str, str], words: tuple[str, ...], reason: str, remedy: str
) -> None:
    made = asked("topic", "create", "-t", "Both", "--queues", "1", "--execute", env=AS_ADMIN)
    assert made.exit_code == 0 or "exists" in made.stderr
    outcome = asked(*words, env=env)
    assert outcome.exit_code == 77, outcome
    assert reason in outcome.stderr
    assert remedy in outcome.stderr
    assert ".java:" not in outcome.stderr
    assert not any(secret in outcome.stdout + outcome.stderr for secret in ("guessed", "12345678"))


def test_reading_changing_sending_and_consuming_with_keys(asked: Run, guarded: EmbeddedCluster) -> None:
    """Every request of the client is signed: producer, consumer, admin; none of it is refused."""
    create = asked("topic", "create", "-t", "Other", "--queues", "1", "--execute", "-o", "json", env=AS_USER)
    assert (create.exit_code, "Need admin permission" in create.stdout) == (1, True), create
    made = asked("topic", "create", "-t", "Both", "--queues", "1", "--execute", env=AS_ADMIN)
    assert made.exit_code == 0 or "exists" in made.stderr
    assert asked("group", "create", "-g", "G", "--execute", env=AS_ADMIN).exit_code == 0
    guarded.record_requests()
    assert asked("message", "send", "-t", "Both", "--body", "hello", "--key", "k1", env=AS_USER).exit_code == 0
    consumed = asked(
        "message", "consume", "-t", "Both", "-g", "G", "--count", "1", "--commit", "-o", "json", env=AS_USER
    )
    assert (consumed.exit_code, "hello" in consumed.stdout) == (0, True), consumed
    as_temporary = asked("message", "consume", "-t", "Both", "--from-start", "--count", "1", env=AS_ADMIN)
    assert (as_temporary.exit_code, "hello" in as_temporary.stdout) == (0, True), as_temporary
    assert asked("message", "get", "-t", "Both", "--key", "k1", env=AS_USER).exit_code == 0
    assert asked("group", "lag", "-g", "G", env=AS_USER).exit_code == 0
    doctor = asked("doctor", "-o", "json", env=AS_ADMIN)
    assert (doctor.exit_code, "MQ633" in doctor.stdout) == (2, True), "reader-key has a secret key of the examples"
    assert "AclException" not in json.dumps(doctor.json)
    asked_brokers = [request for request in guarded.requests() if request.server != "namesrv"]
    assert {10, 11, 14, 15, 34, 310} & {request.code for request in asked_brokers}
    unsigned = [request for request in asked_brokers if "Signature" not in request.ext_fields]
    assert not unsigned


@pytest.mark.parametrize(
    ("words", "never"),
    [
        (("topic", "describe", "-t", "Both"), "nothing to show"),
        (("topic", "list"), "nothing to show"),
        (("topic", "describe", "-t", "Both"), "no group"),
        (("topic", "entries", "-t", "Both", "-q", "0"), "no entry"),
        (("group", "lag"), "no group has"),
        (("group", "members", "-g", "G"), "nobody"),
        (("group", "describe", "-g", "G"), "nobody"),
        (("allocation", "show", "-g", "G"), "nobody"),
        (("lock", "show", "-g", "G"), "no member"),
        (("producer", "list", "--all"), "no producer"),
        (("dlq", "list"), "no group"),
        (("retry", "list"), "nothing waits"),
        (("delay", "levels"), "nothing to show"),
        (("transaction", "list"), "no transaction"),
        (("message", "peek", "-t", "Both"), "nothing to show"),
        (("message", "get", "-t", "Both", "--key", "k"), "nothing to show"),
    ],
    ids=lambda words: " ".join(words[:2]) if isinstance(words, tuple) else "",
)
def test_what_was_refused_is_not_called_absent(asked: Run, words: tuple[str, ...], never: str) -> None:
    """What goes into a ticket, or through `jq`, says that it lacks something; the exit code alone gets lost there."""
    asked("topic", "create", "-t", "Both", "--queues", "1", "--execute", env=AS_ADMIN)
    for_people = asked(*words)
    assert (for_people.exit_code, for_people.stderr.count("MQCTL_ACCESS_KEY")) == (77, 1), for_people
    assert for_people.stdout.startswith("incomplete, not read: ")
    assert never not in for_people.stdout
    for_programs = asked(*words, "-o", "json").json
    assert "No accessKey is configured" in for_programs["unavailable"][0]["reason"]
    whole = asked(*words, env=AS_ADMIN).stdout
    assert "incomplete" not in whole


@pytest.mark.parametrize(
    "words",
    [
        ("topic", "create", "-t", "New"),
        ("topic", "update", "-t", "Both", "--perm", "R"),
        ("group", "create", "-g", "New"),
        ("broker", "set", "fileReservedTime=48", "--broker", "broker-a"),
        ("offset", "reset", "-g", "G", "-t", "Both", "--to-latest"),
        ("dlq", "resend", "-g", "G"),
        ("stacks", "dump", "-g", "G"),
        ("message", "probe", "--count", "1"),
        ("replay", "publish", "-t", "Both", "--to", "Both", "--since", "-1h"),
        ("top", "--count", "1"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_nobody_is_told_to_wait_for_a_broker_that_refuses(asked: Run, words: tuple[str, ...]) -> None:
    asked("topic", "create", "-t", "Both", "--queues", "1", "--execute", env=AS_ADMIN)
    outcome = asked(*words)
    assert (outcome.exit_code, "wait for" in outcome.stderr) == (77, False), outcome
    assert "set MQCTL_ACCESS_KEY" in outcome.stderr


def test_doctor_without_keys_says_once_what_to_do(asked: Run) -> None:
    outcome = asked("doctor")
    assert (outcome.exit_code, outcome.stderr.count("set MQCTL_ACCESS_KEY")) == (3, 1), outcome
    assert len(outcome.stdout.splitlines()) < 30


def test_a_snapshot_of_a_cluster_that_refuses_says_what_it_lacks(asked: Run, tmp_path: Path) -> None:
    file = tmp_path / "refused.snap"
    outcome = asked("snapshot", "save", file)
    assert (outcome.exit_code, file.exists()) == (77, True)
    assert "topics (broker-a) not read: " in outcome.stderr
    assert f"mqctl snapshot show {file}" in outcome.stderr
    whole = asked("snapshot", "save", tmp_path / "whole.snap", env=AS_ADMIN)
    assert (whole.exit_code, "not read" in whole.stderr) == (0, False)


def test_a_change_that_was_refused_says_that_nothing_happened_and_whose_keys_it_takes(asked: Run) -> None:
    asked("topic", "create", "-t", "Both", "--queues", "1", "--execute", env=AS_ADMIN)
    words = ("topic", "update", "-t", "Both", "--perm", "R", "--execute", "--confirm", "Both", "-o", "json")
    outcome = asked(*words, env=AS_READER)
    assert (outcome.exit_code, outcome.json["state"]) == (1, "not-moved"), outcome
    assert f"nothing of change {outcome.json['id']} was done" in outcome.stderr
    assert "use the keys of an account with `admin: true`" in outcome.stderr
    assert "can no longer send" not in outcome.stderr
    (entry,) = [row for row in asked("history", "-o", "json").json["changes"] if row["id"] == outcome.json["id"]]
    assert entry["back"] is None
    done = asked(*words, env=AS_ADMIN)
    assert (done.exit_code, "can no longer send" in done.stderr) == (0, True), done


def test_a_broker_that_refuses_is_not_down(asked: Run, tmp_path: Path) -> None:
    """Keys that were changed do not wake anybody with `broker down`."""
    file = tmp_path / "checks.yaml"
    file.write_text("brokers: [broker-a]\n")
    checked = asked("check", file)
    assert (checked.exit_code, "broker-down" in checked.stdout) == (3, False), checked
    assert "set MQCTL_ACCESS_KEY" in checked.stderr
    metrics = asked("export", "prometheus", "--once").stdout
    assert {line.split()[-1] for line in metrics.splitlines() if line.startswith("mqctl_broker_up{")} == {"1.0"}
    frame = asked("top", "--count", "1").stdout
    assert ("lag not known" in frame, "no group" in frame, "no topics" in frame) == (True, False, False), frame


def test_the_files_of_an_access_list_are_listed_where_accounts_cannot_be(asked: Run, guarded: EmbeddedCluster) -> None:
    outcome = asked("acl", "list", "-o", "json", env=AS_ADMIN)
    assert outcome.exit_code == 0, outcome.stderr
    files = outcome.json["files"]
    assert [(row["broker"], Path(row["path"]).suffix, row["change_count"]) for row in files] == [
        ("broker-a", ".yml", 0), ("broker-b", ".yml", 0),
    ]  # fmt: skip
    shown = asked("acl", "list", env=AS_ADMIN)
    assert ("CHANGES BY REQUEST" in shown.stdout, "without users" in shown.stderr) == (True, False)
    secrets = [account.secret_key for account in (ADMIN, USER, READER)]
    assert not [secret for secret in secrets if secret in outcome.stdout + shown.stdout]
