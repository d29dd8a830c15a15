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
    assert asked("message", "find", "-t", "Both", "--key", "k1", env=AS_USER).exit_code == 0
    assert asked("group", "lag", "-g", "G", env=AS_USER).exit_code == 0
    doctor = asked("doctor", "-o", "json", env=AS_ADMIN)
    assert doctor.exit_code in (0, 1), doctor
    assert "AclException" not in json.dumps(doctor.json)
    asked_brokers = [request for request in guarded.requests() if request.server != "namesrv"]
    assert {10, 11, 14, 15, 34, 310} & {request.code for request in asked_brokers}
    unsigned = [request for request in asked_brokers if "Signature" not in request.ext_fields]
    assert not unsigned
