"""Profiles: which cluster a command speaks to, and with which keys."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from tests.live.conftest import Run


@pytest.fixture
def bare(live: Run) -> Run:
    """mqctl without an address in the environment."""
    return lambda *words, env=None: live(*words, env={"MQCTL_NAMESRV": "", **(env or {})})


def test_profiles_are_added_used_and_removed(bare: Run, cluster: EmbeddedCluster) -> None:
    assert bare("profile", "show", "-o", "json").json["profiles"] == []
    assert bare("profile", "add", "one", "--namesrv", cluster.namesrv, "--timeout", "5s").exit_code == 0
    assert bare("profile", "add", "two", "-n", "127.0.0.1:1").exit_code == 0
    listed = {row["name"]: row for row in bare("profile", "show", "-o", "json").json["profiles"]}
    assert (listed["one"]["current"], listed["two"]["current"], listed["one"]["timeout_ms"]) == (True, False, 5_000)
    assert bare("group", "lag").exit_code == 0
    assert bare("group", "lag", "--profile", "two").exit_code == 69
    assert bare("group", "lag", env={"MQCTL_PROFILE": "two"}).exit_code == 69
    assert bare("group", "lag", "--namesrv", "127.0.0.1:1").exit_code == 69
    assert bare("profile", "use", "two").exit_code == 0
    assert bare("group", "lag").exit_code == 69
    assert bare("profile", "remove", "two").exit_code == 0
    assert bare("profile", "show", "two").exit_code == 66
    assert bare("group", "lag").exit_code == 78


def test_keys_come_from_a_private_file_or_the_environment_and_never_show(bare: Run, tmp_path: Path) -> None:
    keys = tmp_path / "keys.yaml"
    keys.write_text("accessKey: me\nsecretKey: 's3cret-word'\n")
    keys.chmod(0o644)
    refused = bare("profile", "add", "p", "--namesrv", "127.0.0.1:1", "--acl-file", keys)
    assert (refused.exit_code, "chmod 600" in refused.stderr) == (77, True)
    keys.chmod(0o600)
    assert bare("profile", "add", "p", "--namesrv", "127.0.0.1:1", "--acl-file", keys).exit_code == 0
    for words in (("profile", "show", "p"), ("profile", "show", "-o", "json"), ("group", "lag")):
        outcome = bare(*words)
        assert "s3cret-word" not in outcome.stdout + outcome.stderr
    added = bare(
        "profile", "add", "q", "-n", "127.0.0.1:1", "--access-key-env", "MY_KEY", "--secret-key-env", "MY_SECRET"
    )
    assert added.exit_code == 0
    missing = bare("group", "lag", "--profile", "q")
    assert (missing.exit_code, "MY_KEY" in missing.stderr) == (78, True)
    assert bare("group", "lag", "--profile", "q", env={"MY_KEY": "a", "MY_SECRET": "b"}).exit_code == 69


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("add", "a b", "-n", "127.0.0.1:1"), 64),
        (("add", "p", "-n", "nowhere"), 64),
        (("add", "p", "-n", "127.0.0.1:1", "--room-rule", "hash:x"), 64),
        (("add", "p", "-n", "127.0.0.1:1", "--acl-file", "/nowhere"), 78),
        (("add", "p", "-n", "127.0.0.1:1", "--access-key-env", "A"), 64),
        (("use", "nobody"), 66),
        (("remove", "nobody"), 66),
        (("show", "nobody"), 66),
    ],
)
def test_what_cannot_be(bare: Run, words: tuple[str, ...], code: int) -> None:
    assert bare("profile", *words).exit_code == code


def test_a_profile_is_not_replaced_by_accident_and_a_broken_file_is_named(bare: Run, tmp_path: Path) -> None:
    assert bare("profile", "add", "p", "-n", "127.0.0.1:1").exit_code == 0
    assert bare("profile", "add", "p", "-n", "127.0.0.1:2").exit_code == 64
    assert bare("profile", "add", "p", "-n", "127.0.0.1:2", "--replace").exit_code == 0
    file = tmp_path / "mqctl_config_dir" / "profiles.yaml"
    file.write_text(file.read_text() + "colour: red\n")
    outcome = bare("profile", "show")
    assert (outcome.exit_code, "profiles.yaml" in outcome.stderr, "colour" in outcome.stderr) == (78, True, True)


def test_two_commands_at_once_lose_nothing(bare: Run) -> None:
    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(lambda n: bare("profile", "add", f"p{n}", "-n", "127.0.0.1:1").exit_code, range(4)))
    assert ends == [0, 0, 0, 0]
    assert len(bare("profile", "show", "-o", "json").json["profiles"]) == 4
