"""Every command that asks a live cluster, against one that wants keys and TLS: signed, secured, and to nobody else."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from embedded_broker import EmbeddedCluster
from embedded_broker.remoting.tls import TlsMode
from mqctl.errors import ExitCode
from tests import network_notes
from tests.conftest import Outcome
from tests.embedded_broker.access import ADMIN, write_list
from tests.embedded_broker.authority import Authority
from tests.forked_commands import possible
from tests.live.conftest import Run
from tests.live.test_nouns import ASKED

_LOCAL = ("stacks.find/1", "stacks.dump.watch/1")


def test_every_command_signs_and_secures_what_it_asks(mqctl: Run, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    places = {name: str(tmp_path / name.lower()) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}
    tls = authority.server(TlsMode.ENFORCING)
    with EmbeddedCluster(brokers=2, acl_file=write_list(tmp_path), tls=tls) as cluster:
        env: Mapping[str, str] = {
            **places,
            "MQCTL_NAMESRV": cluster.namesrv,
            "MQCTL_ACCESS_KEY": ADMIN.access_key,
            "MQCTL_SECRET_KEY": ADMIN.secret_key,
            "MQCTL_TLS_CA": str(authority.file),
            network_notes.VARIABLE: str(tmp_path / "network.log"),
        }

        def asked(words: tuple[str, ...]) -> Outcome:
            return mqctl(*words, env=env)

        for words in (
            ("topic", "create", "-t", "Pay", "--queues", "2", "--execute"),
            ("group", "create", "-g", "G", "--execute"),
            ("message", "send", "-t", "Pay", "--body", "x"),
            ("message", "consume", "-t", "Pay", "-g", "G", "--count", "1", "--commit"),
        ):
            assert asked(words).exit_code == ExitCode.OK, words
        cluster.record_requests()
        wanted = [words for schema, words in sorted(ASKED.items()) if schema not in _LOCAL]
        with ThreadPoolExecutor(2) as pool:
            ends = dict(zip(wanted, pool.map(asked, wanted), strict=True))
        refused = {words: end for words, end in ends.items() if end.exit_code in (ExitCode.PERMISSION, ExitCode.BUG)}
        assert not refused
        assert not [words for words, end in ends.items() if "AclException" in end.stdout + end.stderr]
        fine = [words for words, end in ends.items() if end.exit_code == ExitCode.OK]
        assert len(fine) > len(wanted) * 0.8, {words: end for words, end in ends.items() if end.exit_code != 0}
        assert ASKED["bench.run/1"] in fine, "its sends have connections of their own"
        # It tries ports that are nobody's as well, so it has no place among the others.
        quiet = {name: value for name, value in env.items() if name != network_notes.VARIABLE}
        assert mqctl("broker", "reach", env=quiet).exit_code == ExitCode.OK
        of_brokers = [request for request in cluster.requests() if not request.server.startswith("namesrv")]
        assert len({request.code for request in of_brokers}) > 20
        assert {request.code for request in of_brokers if "Signature" not in request.ext_fields} == set()
        known = network_notes.ports(cluster.namesrv, *[broker.address for broker in cluster.brokers.values()])
        noted = network_notes.notes(tmp_path / "network.log")
        assert len(noted) > len(wanted) or not possible()
        assert network_notes.foreign(noted, known) == []
