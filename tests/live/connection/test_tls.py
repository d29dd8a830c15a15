"""Commands over TLS: the modes of the server, who is trusted, and what is said when it does not work."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.remoting.tls import ClientAuth, TlsMode
from tests.conftest import REPOSITORY, Outcome
from tests.embedded_broker.authority import Authority, Pair

Asked = Callable[..., Outcome]
Started = Callable[..., EmbeddedCluster]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def ours(authority: Authority) -> Pair:
    return authority.issue("ops@example.com")


@pytest.fixture
def start(authority: Authority) -> Iterator[Started]:
    """Starts a cluster with TLS."""
    with ExitStack() as stack:

        def started(
            mode: TlsMode, *, pair: Pair | None = None, auth: ClientAuth = ClientAuth.NONE, version: str = "4.9.8"
        ) -> EmbeddedCluster:
            tls = authority.server(mode, pair=pair, auth=auth)
            return stack.enter_context(EmbeddedCluster(tls=tls, version=version))

        yield started


@pytest.fixture
def asked(mqctl: Asked, tmp_path: Path) -> Asked:
    places = {name: str(tmp_path / name.lower()) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}

    def run(cluster: EmbeddedCluster, *words: object, env: Mapping[str, str] | None = None) -> Outcome:
        return mqctl(*words, env={**places, "MQCTL_NAMESRV": cluster.namesrv, **(env or {})})

    return run


LIST = ("broker", "list", "-o", "json")


@pytest.mark.parametrize("version", ["4.9.8", "5.3.3"])
def test_enforcing_takes_secured_connections_only(
    start: Started, asked: Asked, authority: Authority, version: str
) -> None:
    cluster = start(TlsMode.ENFORCING, version=version)
    secured = asked(cluster, *LIST, "--tls-ca", authority.file)
    assert (secured.exit_code, len(secured.json["brokers"])) == (0, 1), secured
    plain = asked(cluster, *LIST)
    assert (plain.exit_code, "--tls" in plain.stderr) == (69, True), plain
    assert "closed by the other side" in plain.stderr


def test_permissive_takes_both_on_one_port(start: Started, asked: Asked, authority: Authority) -> None:
    cluster = start(TlsMode.PERMISSIVE)
    assert asked(cluster, *LIST).exit_code == 0
    assert asked(cluster, *LIST, "--tls-ca", authority.file).exit_code == 0


def test_a_server_that_speaks_no_tls_is_told_from_a_dead_one(
    start: Started, asked: Asked, authority: Authority
) -> None:
    with EmbeddedCluster() as without:
        for cluster in (without, start(TlsMode.DISABLED)):
            assert asked(cluster, *LIST).exit_code == 0
            refused = asked(cluster, *LIST, "--tls-ca", authority.file)
            assert (refused.exit_code, "when TLS was proposed" in refused.stderr) == (69, True), refused
            assert "leave --tls out" in refused.stderr


def test_everything_works_over_tls(start: Started, asked: Asked, authority: Authority) -> None:
    """Sends, long polling, callbacks of the broker, bodies of megabytes: the frames are the same inside TLS."""
    cluster = start(TlsMode.ENFORCING)
    env = {"MQCTL_TLS_CA": str(authority.file)}
    large = "x" * 3_000_000
    file = authority.file.with_name("large.txt")
    file.write_text(large)
    assert asked(cluster, "topic", "create", "-t", "Pay", "--queues", "2", "--execute", env=env).exit_code == 0
    sent = asked(cluster, "message", "send", "-t", "Pay", "--body-file", file, "--key", "k", env=env)
    assert sent.exit_code == 0, sent
    consumed = asked(cluster, "message", "consume", "-t", "Pay", "--from-start", "--count", "1", "-o", "json", env=env)
    assert (consumed.exit_code, large in consumed.stdout) == (0, True)
    assert asked(cluster, "doctor", env=env).exit_code in (0, 1)


def test_nobody_but_the_authority_is_trusted(
    start: Started, asked: Asked, authority: Authority, tmp_path: Path
) -> None:
    cluster = start(TlsMode.ENFORCING)
    for words in (("--tls",), ("--tls-ca", Authority(tmp_path, "other").file)):
        refused = asked(cluster, *LIST, *words)
        assert (refused.exit_code, "not signed by a trusted authority" in refused.stderr) == (69, True), refused
        assert "--tls-ca" in refused.stderr
    assert asked(cluster, *LIST, "--tls-ca", "none").exit_code == 0


def test_an_expired_certificate_is_named(start: Started, asked: Asked, authority: Authority) -> None:
    cluster = start(TlsMode.ENFORCING, pair=authority.issue("127.0.0.1", expired=True))
    refused = asked(cluster, *LIST, "--tls-ca", authority.file)
    assert (refused.exit_code, "its certificate has expired" in refused.stderr) == (69, True), refused


def test_a_certificate_for_another_name_is_refused_unless_that_name_is_given(
    start: Started, asked: Asked, authority: Authority
) -> None:
    cluster = start(TlsMode.ENFORCING, pair=authority.issue("mq.example.com"))
    trust = ("--tls-ca", authority.file)
    refused = asked(cluster, *LIST, *trust)
    assert (refused.exit_code, "is not for 127.0.0.1" in refused.stderr) == (69, True), refused
    assert "--tls-server-name" in refused.stderr
    for name, code in (("mq.example.com", 0), ("any", 0), ("other.example.com", 69)):
        assert asked(cluster, *LIST, *trust, "--tls-server-name", name).exit_code == code
    assert asked(cluster, *LIST, "--tls", "--tls-server-name", "any").exit_code == 69, "the authority still counts"


@pytest.mark.parametrize("auth", list(ClientAuth))
def test_client_certificates(
    start: Started, asked: Asked, authority: Authority, ours: Pair, tmp_path: Path, auth: ClientAuth
) -> None:
    cluster = start(TlsMode.ENFORCING, auth=auth)
    trust = ("--tls-ca", authority.file)
    shown = asked(cluster, *LIST, *trust, "--tls-cert", ours.cert, "--tls-key", ours.key)
    assert shown.exit_code == 0, shown
    without = asked(cluster, *LIST, *trust)
    if auth is ClientAuth.REQUIRE:
        assert (without.exit_code, "requires a client certificate" in without.stderr) == (69, True), without
        assert "--tls-cert" in without.stderr
    else:
        assert without.exit_code == 0, without
    if auth is not ClientAuth.NONE:
        other = Authority(tmp_path, "other").issue("ops@example.com")
        strange = asked(cluster, *LIST, *trust, "--tls-cert", other.cert, "--tls-key", other.key)
        assert (strange.exit_code, "does not accept our certificate" in strange.stderr) == (69, True), strange


def test_files_that_cannot_be_used_end_before_anybody_is_asked(
    start: Started, asked: Asked, authority: Authority, ours: Pair, tmp_path: Path
) -> None:
    cluster = start(TlsMode.ENFORCING)
    other = authority.issue("else@example.com")
    no_pem = tmp_path / "no.pem"
    no_pem.write_text("nothing of that kind")
    for words, part in (
        (("--tls-ca", "/nowhere/ca.pem"), "No such file"),
        (("--tls-ca", no_pem), "not in PEM form"),
        (("--tls-cert", ours.cert, "--tls-key", other.key), "another certificate's"),
        (("--tls-key", ours.key), "needs its certificate"),
        (("--tls-cert", ours.cert), "add --tls-key"),
    ):
        outcome = asked(cluster, *LIST, *words)
        assert (outcome.exit_code, part in outcome.stderr) == (78, True), outcome
    assert asked(cluster, *LIST, env={"MQCTL_TLS": "perhaps"}).exit_code == 78


def test_a_profile_keeps_how_to_connect(start: Started, asked: Asked, authority: Authority, ours: Pair) -> None:
    cluster = start(TlsMode.ENFORCING, auth=ClientAuth.REQUIRE)
    words = ("--tls-ca", authority.file, "--tls-cert", ours.cert, "--tls-key", ours.key)
    assert asked(cluster, "profile", "add", "safe", "-n", cluster.namesrv, *words).exit_code == 0
    bare = {"MQCTL_NAMESRV": ""}
    assert asked(cluster, *LIST, "--profile", "safe", env=bare).exit_code == 0
    listed = asked(cluster, "profile", "show", "-o", "json").json["profiles"][0]
    assert listed["tls"] == str(authority.file)
    assert asked(cluster, *LIST, "--profile", "safe", env={**bare, "MQCTL_TLS": "false"}).exit_code == 69


def test_ssl_is_imported_only_where_it_is_spoken() -> None:
    modules = "mqctl.cli.connection.target, mqctl.client.admin.cluster, mqctl.client.remoting.link"
    probe = f"import sys, {modules}; sys.exit('ssl' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], cwd=REPOSITORY, check=False)
    assert done.returncode == 0


def test_a_local_cluster_enforces_tls(mqctl: Asked, authority: Authority, tmp_path: Path) -> None:
    places = {name: str(tmp_path / name.lower()) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}
    pair = authority.issue("127.0.0.1")
    words = ("--tls-mode", "enforcing", "--tls-cert", pair.cert, "--tls-key", pair.key)
    up = mqctl("local", "up", "--memory", *words, env=places)
    assert up.exit_code == 0, up
    try:
        assert mqctl(*LIST, env=places).exit_code == 69
        assert mqctl(*LIST, "--tls-ca", authority.file, env=places).exit_code == 0
    finally:
        assert mqctl("local", "down", env=places).exit_code == 0
