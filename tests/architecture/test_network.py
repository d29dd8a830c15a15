"""No address but those of the configured cluster is ever spoken to: not at import, not in a run."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path

from embedded_broker import EmbeddedCluster
from mqctl.cli.catalog import BY_PATH
from tests import network_notes
from tests.conftest import REPOSITORY
from tests.forked_commands import possible
from tests.live.conftest import Run
from tests.live.test_nouns import ASKED
from tests.requires import need_extra

_HOOK = "from tests import network_notes; network_notes.install()\n"


def watched(directory: Path, *words: str, env: dict[str, str] | None = None) -> tuple[int, list[str]]:
    """Runs Python with every use of the network noted; returns the exit code and the notes."""
    (directory / "sitecustomize.py").write_text(_HOOK)
    log = directory / "network.log"
    log.write_text("")
    done = subprocess.run(
        [sys.executable, *words],
        cwd=directory,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(directory),
            "PYTHONPATH": f"{directory}:{REPOSITORY}",
            network_notes.VARIABLE: str(log),
            **(env or {}),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, log.read_text().splitlines()


def test_importing_every_module_touches_no_network(tmp_path: Path) -> None:
    need_extra("spark", "pyspark", "numba")
    probe = (
        "import importlib, pkgutil\n"
        "for root in ('mqctl', 'embedded_broker'):\n"
        "    package = importlib.import_module(root)\n"
        "    for module in pkgutil.walk_packages(package.__path__, root + '.'):\n"
        "        importlib.import_module(module.name)\n"
        "print('imported')\n"
    )
    code, notes = watched(tmp_path, "-c", probe)
    assert (code, notes) == (0, [])


STORE = "STORE"
OFFLINE: tuple[tuple[str, ...], ...] = (
    ("allocation", "simulate", "--queues", "8", "--clients", "3"),
    ("bench", "compare", "none.json", "none.json"),
    ("commands",),
    ("completion", "bash"),
    ("delay", "check", "--store", STORE),
    ("delay", "plan", "--at", "+10m", "--levels", "1s 5s 10s"),
    ("delay", "repair", "--store", STORE),
    ("doctor", "--store", STORE, "-o", "json"),
    ("drill", "check", "none.history"),
    ("filter", "lint", "--bloom", "--groups", "32"),
    ("filter", "lint", "--collisions", "TagA", "TagB"),
    ("filter", "lint", "a > 5"),
    ("filter", "test", "--tags", "TagA || TagB", "--prop", "TAGS=TagA"),
    ("group", "lag", "--store", STORE),
    ("history",),
    ("local", "down", "--all"),
    ("local", "logs"),
    ("local", "scenario", "list"),
    ("local", "start", "broker-a"),
    ("local", "status"),
    ("local", "stop", "broker-a"),
    ("history",),
    ("playbook", "list"),
    ("playbook", "show", "backlog"),
    ("profile", "add", "p", "-n", "192.0.2.9:9876"),
    ("profile", "show"),
    ("profile", "show", "p"),
    ("profile", "use", "p"),
    ("profile", "remove", "p"),
    ("report", "backlog", "--store", STORE, "--no-spark"),
    ("report", "run", "--store", STORE, "--no-spark", "--html", "PAGE"),
    ("report", "diff", "one.parquet", "other.parquet"),
    ("report", "reconcile", "--store", STORE, "-t", "T", "--against", "no-such-store"),
    ("report", "trends", "--no-spark", "--recording", "none"),
    ("timeline", "--recording", "none"),
    ("explain", "rebalance"),
    ("explain", "MQ203"),
    ("rules", "list"),
    ("version",),
    ("snapshot", "save", "SNAPSHOT", "--store", STORE),
    ("snapshot", "show", "SNAPSHOT"),
    ("stacks", "dump", "--file", "none.txt"),
    ("store", "acknowledge", "--store", STORE),
    ("store", "cat", "--store", STORE, "--physical-offset", "0"),
    ("store", "describe", "--store", STORE),
    ("store", "verify", "--store", STORE),
    ("ha", "compare", "--store", STORE, "--store", STORE),
)
LIVE: tuple[tuple[str, ...], ...] = (
    ("acl", "delete", "u"),
    ("acl", "explain", "u", "--resource", "Topic:Pay", "--action", "Pub"),
    ("acl", "grant", "u", "--resource", "Topic:Pay", "--action", "Pub"),
    ("acl", "put", "u", "--kind", "user", "--status", "disable"),
    ("acl", "revoke", "u"),
    ("bench", "clean"),
    ("bench", "consume"),
    ("bench", "latency"),
    ("bench", "produce"),
    ("broker", "write", "broker-a", "on"),
    ("broker", "reach"),
    ("broker", "set", "flushDiskType=ASYNC_FLUSH"),
    ("broker", "write", "broker-a", "off"),
    ("check", "none.yaml"),
    ("cluster", "apply", "none.yaml"),
    ("cluster", "kv", "TOOLS", "--set", "owner=payments"),
    ("drill", "run", "upgrade"),
    ("export", "prometheus", "--once"),
    ("group", "create", "-g", "G"),
    ("group", "delete", "-g", "G"),
    ("group", "members", "--client", "nobody@1", "-g", "G"),
    ("group", "update", "-g", "G", "--retry-max", "3"),
    ("message", "get", "-t", "Pay", "--key", "k"),
    ("message", "get", "7F00000100002A9F0000000000000000"),
    ("message", "recall", "djEgUGF5IGJyb2tlci1hIDQxMDI0NDQ4MDAwMDAgSzE="),
    ("message", "tail", "-t", "Pay"),
    ("message", "trace", "7F00000100002A9F0000000000000000"),
    ("offset", "clone", "--from", "G", "-g", "H", "-t", "Pay"),
    ("offset", "skip", "-g", "G", "-t", "Pay"),
    ("undo", "none"),
    ("playbook", "run", "backlog", "-p", "group=G", "--dry-run"),
    ("replay", "follow", "-t", "Pay", "--to", "Again"),
    ("record", "RECORDING", "--count", "1"),
    ("replay", "group", "-g", "H", "-t", "Pay", "--since", "-1h"),
    ("replay", "resume", "none"),
    ("replay", "status", "none"),
    ("topic", "delete", "-t", "Pay"),
    ("topic", "update", "-t", "Pay", "--no-order"),
    ("transaction", "resume", "-t", "Pay"),
    ("transaction", "show", "7F00000100002A9F0000000000000000"),
)
_PARTS = {
    f"report {name}" for name in ["capacity", "delay", "duplicates", "order", "retries", "skew", "tags", "transactions"]
}
"""Reports that `report run` makes, all in one process."""
CHILDREN = {
    "quickstart": "starts an embedded cluster, which listens on loopback, and runs commands that are here",
    "local up": "the same",
    "local scenario run": "the same",
    "delay relay": "runs until it is ended, with the client of `message consume` and `message send`",
}
"""Commands whose network is that of other processes, or of other commands."""


def _path(words: Sequence[str]) -> str:
    return next(" ".join(words[:count]) for count in (3, 2, 1) if tuple(words[:count]) in BY_PATH)


def test_every_command_is_watched() -> None:
    """Those of ASKED in tests/live/connection/test_secured_cluster.py, all others here."""
    watched_here = {_path(words) for words in (*OFFLINE, *LIVE)}
    watched_there = {_path(words) for words in ASKED.values()}
    assert watched_here | watched_there | _PARTS | CHILDREN.keys() == {" ".join(path) for path in BY_PATH}


def test_commands_without_a_cluster_touch_no_network(
    mqctl: Run, golden_store: Callable[[str], Path], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    names = {STORE: str(golden_store("store-clean")), "PAGE": str(page), "SNAPSHOT": str(tmp_path / "look.snap")}
    log = tmp_path / "network.log"
    env = {**_places(tmp_path), network_notes.VARIABLE: str(log)}
    wrong = {}
    for words in OFFLINE:
        outcome = mqctl(*[names.get(word, word) for word in words], env=env)
        if outcome.exit_code in (64, 70):
            wrong[words] = outcome.stderr
    assert not wrong
    assert network_notes.notes(log) == []
    assert _fetched(page.read_text()) == []


def _places(directory: Path) -> dict[str, str]:
    return {name: str(directory / name.lower()) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}


class _Page(HTMLParser):
    """Collects what a browser would fetch or run."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"script", "link", "iframe", "object", "embed", "base"}:
            self.fetched.append(tag)
        for name, value in attrs:
            text = value or ""
            leads_out = name in {"src", "srcset", "xlink:href", "action", "data", "poster", "background"}
            if (leads_out and not text.startswith(("#", "data:"))) or name.startswith("on"):
                self.fetched.append(f"{tag} {name}={text}")


def _fetched(html: str) -> list[str]:
    page = _Page()
    page.feed(html)
    return page.fetched + re.findall(r"@import|url\((?!['\"]?(?:#|data:))[^)]*\)", html)


def test_commands_speak_to_the_cluster_only(mqctl: Run, tmp_path: Path) -> None:
    log = tmp_path / "network.log"
    with EmbeddedCluster(brokers=2, name_servers=2) as cluster:
        brokers = network_notes.ports(*[broker.address for broker in cluster.brokers.values()])
        # VIP and HA ports lie beside a broker's own.
        beside = {str(int(port) + step) for port in brokers for step in (-2, 1)}
        ours = network_notes.ports(cluster.namesrv) | brokers | beside
        env = {**_places(tmp_path), "MQCTL_NAMESRV": cluster.namesrv, network_notes.VARIABLE: str(log)}
        wrong = {}
        for words in (
            ("topic", "create", "-t", "Pay", "--queues", "2", "--execute"),
            ("message", "send", "-t", "Pay", "--body", "x"),
            ("message", "consume", "-t", "Pay", "--from-start", "--count", "1"),
            ("doctor", "-o", "json"),
            ("snapshot", "save", str(tmp_path / "look.snap")),
            *LIVE,
        ):
            outcome = mqctl(*words, env=env)
            if outcome.exit_code in (64, 70):
                wrong[words] = outcome.stderr
    assert not wrong
    noted = network_notes.notes(log)
    assert len(noted) > len(LIVE) or not possible()
    assert network_notes.foreign(noted, ours) == []


def test_a_whole_process_speaks_to_the_cluster_only(tmp_path: Path) -> None:
    """From the start of the interpreter to its end."""
    with EmbeddedCluster() as cluster:
        ours = network_notes.ports(cluster.namesrv, cluster.broker().address)
        code, noted = watched(tmp_path, "-m", "mqctl", "doctor", env={"MQCTL_NAMESRV": cluster.namesrv})
    assert code in (0, 1)
    assert noted
    assert network_notes.foreign(noted, ours) == []
