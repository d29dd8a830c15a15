"""Keys come from a file, the environment or the keyring, and appear in nothing that a command writes."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from embedded_broker import Answer, EmbeddedCluster
from mqctl.cli.catalog import ENTRIES, options_of
from mqctl.client.remoting.link import LinkSettings
from mqctl.client.remoting.tls import TlsSettings
from mqctl.protocol.acl import Credentials
from tests.conftest import REPOSITORY
from tests.live.conftest import Run
from tests.live.connection.ops_account import KEYS, OURS, SECRET, asked, guarded, key_file_of

__all__ = ["asked", "guarded"]
GET_BROKER_CONFIG, GET_ROUTE = 26, 105


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    return key_file_of(tmp_path, f"accessKey: ops-account\nsecretKey: {SECRET}\n")


@pytest.fixture
def ring(tmp_path: Path) -> dict[str, str]:
    file = tmp_path / "ring"
    file.write_text(f"mqctl/ops-account={SECRET}\n")
    return {"PYTHON_KEYRING_BACKEND": "tests.live.connection.ring.FileRing", "TEST_RING": str(file)}


def test_keys_from_everywhere(asked: Run, key_file: Path, ring: dict[str, str], guarded: EmbeddedCluster) -> None:
    words = ("broker", "config", "-o", "json")
    assert asked(*words).exit_code == 77
    assert asked(*words, env=KEYS).exit_code == 0
    assert asked(*words, "--acl-file", key_file).exit_code == 0
    assert asked(*words, env={"MQCTL_ACL_FILE": str(key_file)}).exit_code == 0
    assert asked(*words, env={**ring, "MQCTL_KEYRING": "ops-account"}).exit_code == 0
    added = asked("profile", "add", "ring", "-n", guarded.namesrv, "--keyring", "ops-account")
    assert added.exit_code == 0
    assert asked(*words, "--profile", "ring", env={**ring, "MQCTL_NAMESRV": ""}).exit_code == 0
    assert "keyring: ops-account" in asked("profile", "show").stdout


def test_a_keyring_that_has_no_answer_says_why(asked: Run, ring: dict[str, str], tmp_path: Path) -> None:
    words = ("broker", "config")
    unknown = asked(*words, env={**ring, "MQCTL_KEYRING": "nobody"})
    assert (unknown.exit_code, "keyring set mqctl nobody" in unknown.stderr) == (78, True), unknown
    locked = asked(*words, env={**ring, "TEST_RING": str(tmp_path / "none"), "MQCTL_KEYRING": "ops-account"})
    assert (locked.exit_code, "the ring is locked" in locked.stderr) == (78, True), locked
    hidden = tmp_path / "hidden" / "keyring"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError('not here')\n")
    path = {"PYTHONPATH": f"{hidden.parent}:{REPOSITORY}", "MQCTL_KEYRING": "ops-account"}
    missing = asked(*words, env=path)
    assert (missing.exit_code, "mqctl[keyring]" in missing.stderr) == (78, True), missing


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_file_that_others_may_read_is_refused(asked: Run, key_file: Path, mode: int) -> None:
    key_file.chmod(mode)
    outcome = asked("broker", "config", "--acl-file", key_file)
    assert (outcome.exit_code, "chmod 600" in outcome.stderr) == (77, True), outcome


def test_the_secret_is_in_nothing_that_commands_write(
    asked: Run, key_file: Path, guarded: EmbeddedCluster, tmp_path: Path
) -> None:
    keys = {"MQCTL_ACL_FILE": str(key_file)}
    snapshot = tmp_path / OURS / "look.snap"
    for words in (
        ("profile", "add", "p", "-n", guarded.namesrv, "--acl-file", key_file),
        ("profile", "show", "p", "-o", "json"),
        ("topic", "create", "-t", "Pay", "--queues", "2", "--execute"),
        ("topic", "update", "-t", "Pay", "--queues", "4", "--execute"),
        ("group", "create", "-g", "G", "--execute"),
        ("message", "send", "-t", "Pay", "--body", "x"),
        ("message", "consume", "-t", "Pay", "--from-start", "--count", "1"),
        ("message", "consume", "-t", "Pay", "-g", "G", "--count", "1", "--commit"),
        ("offset", "reset", "-g", "G", "-t", "Pay", "--to-earliest", "--execute", "--confirm", "G"),
        ("history", "-o", "json"),
        ("broker", "config", "-o", "json"),
        ("doctor", "-o", "json"),
        ("topic", "list", "--profile", "p", "-o", "wide"),
        ("snapshot", "save", snapshot),
        ("snapshot", "show", snapshot),
        ("topic", "describe", "-t", "Nothing"),
        ("topic", "list", "--namesrv", "127.0.0.1:1"),
        ("topic", "list", "--no-such-option"),
    ):
        outcome = asked(*words, env=keys)
        assert outcome.exit_code not in (70, 77), outcome
    bad = Path(tmp_path / "bad.yaml")
    bad.write_text(f"accessKey:\nsecretKey: {SECRET}\n")
    bad.chmod(0o600)
    assert asked("topic", "list", "--acl-file", bad).exit_code == 78
    assert "snapshot/2" in gzip.decompress(snapshot.read_bytes()).decode()
    written = [file for file in (tmp_path / OURS).rglob("*") if file.is_file()]
    assert {"profiles.yaml", "look.snap"} <= {file.name for file in written}
    assert any("journal" in file.parts for file in written)
    for file in written:
        content = file.read_bytes()
        content = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
        assert SECRET.encode() not in content, file


def test_a_traceback_does_not_show_it(guarded: EmbeddedCluster) -> None:
    """The worst case: a bug whose message holds the settings, with the traceback that MQCTL_DEBUG lets through."""
    probe = (
        "import sys, mqctl.client.remoting.link as link\n"
        "def broken(self, *_, **__): raise RuntimeError(f'{self._settings!r} {vars(self)!r}')\n"
        "link.Link._frame = broken\n"
        "from mqctl.__main__ import run\n"
        "sys.argv = ['mqctl', 'topic', 'list']\n"
        "sys.exit(run())\n"
    )
    for debug in ("", "1"):
        env = {
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(REPOSITORY),
            "MQCTL_NAMESRV": guarded.namesrv,
            **KEYS,
            "MQCTL_DEBUG": debug,
        }
        done = subprocess.run([sys.executable, "-c", probe], env=env, capture_output=True, text=True, check=False)
        assert "ops-account" in done.stderr
        assert SECRET not in done.stdout + done.stderr


def test_a_local_cluster_does_not_inherit_them(asked: Run) -> None:
    """It outlives the command, and its environment can be read as long as it runs."""
    keys = {"MQCTL_ACCESS_KEY": "ops", "MQCTL_SECRET_KEY": SECRET, "MQCTL_TLS_KEY_PASSWORD": SECRET}
    up = asked("local", "up", "--memory", "-o", "json", env=keys)
    assert up.exit_code == 0, up
    try:
        environment = Path("/proc", str(up.json["clusters"][0]["pid"]), "environ").read_bytes()
        assert b"MQCTL_STATE_DIR" in environment
        assert SECRET.encode() not in environment
    finally:
        assert asked("local", "down").exit_code == 0


def test_what_holds_secrets_does_not_represent_them() -> None:
    holders = [Credentials("key", SECRET, SECRET), TlsSettings(key_password=SECRET)]
    settings = LinkSettings(credentials=Credentials("key", SECRET, SECRET), tls=TlsSettings(key_password=SECRET))
    assert not any(SECRET in text for value in [*holders, settings] for text in (repr(value), str(value), f"{value}"))


def test_no_option_takes_a_secret() -> None:
    """Process lists and shell histories show what options were given."""
    words = {option for entry in ENTRIES for option in options_of(entry.path)}
    of_secrets = {word for word in words if any(part in word for part in ("secret", "password", "token"))}
    # The name of a variable, the name of a file, and a wish to be asked.
    assert of_secrets == {"--secret-key-env", "--password-file", "--ask-password"}


def test_credentials_in_a_brokers_configuration_stay_there(
    asked: Run, key_file: Path, guarded: EmbeddedCluster, tmp_path: Path
) -> None:
    """A 5.x broker tells its own credentials to whoever may read its configuration."""
    properties = (
        f'innerClientAuthenticationCredentials={{"accessKey":"inner","secretKey":"{SECRET}"}}\nflushDiskType=ASYNC\n'
    )
    guarded.fault(GET_BROKER_CONFIG, Answer(0, ext_fields={"version": "{}"}, body=properties.encode()))
    try:
        keys = {"MQCTL_ACL_FILE": str(key_file)}
        config = asked("broker", "config", "-o", "json", env=keys)
        assert (config.exit_code, "***" in config.stdout, SECRET in config.stdout) == (0, True, False), config
        file = tmp_path / "look.snap"
        assert asked("snapshot", "save", file, env=keys).exit_code == 0
        assert SECRET.encode() not in gzip.decompress(file.read_bytes())
        change = asked("broker", "set", "innerClientAuthenticationCredentials=x", "--execute", env=keys)
        assert (change.exit_code, "it is a secret" in change.stderr) == (76, True), change
    finally:
        guarded.clear_faults()
