"""The changing commands of mqctl for rounds of kills and failing disks: what each changes, and the ways on and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from embedded_broker import EmbeddedCluster
from mqctl.changes.steps.delay_files import FILES
from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin import nameserver as ns
from mqctl.client.admin.broker_changes import commit_offset, put_group, put_topic
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.client.remoting.question import Question
from mqctl.errors import NotFoundError
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_client import PullMessageReply
from tests.conftest import extract_store
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer
from tests.live.failing import fail
from tests.snapshot.test_delay_faults import GOOD, RECOVERED, record

BROKERS = ("broker-a", "broker-b")
_TOPICS = ("Pay", "Again", "Idle", "New")
_GROUPS = ("G", "H", "Idle", "New")
_LIMIT_MS = 60_000
State = dict[str, object]


def prepare(cluster: EmbeddedCluster) -> None:
    """Empties a cluster of two brokers and gives it topics, messages, groups, offsets and dead letters."""
    cluster.reset()
    with closing(Links()) as links:
        for name in BROKERS:
            address = cluster.broker(name).address

            def put(question: Question[None], address: str = address) -> None:
                links.ask(address, question, Deadline(_LIMIT_MS))

            for topic in ("Pay", "Again", "Idle"):
                put(put_topic(TopicConfig(name=topic, read_queue_count=2, write_queue_count=2)))
            with Peer(address) as peer:
                for number in range(5):
                    properties = {"TAGS": "A", "KEYS": f"{name}-{number}"}
                    assert peer.call(send("Pay", properties=properties), b"x").code == 0
            for group, offset in (("G", 3), ("H", 1), ("Idle", None)):
                put(put_group(SubscriptionGroupConfig(name=group)))
                if offset is not None:
                    put(commit_offset(group, "Pay", 0, offset))
                    put(commit_offset(group, "Pay", 1, 0))
            fail(cluster, name, 0, level=-1)
            fail(cluster, name, 1, level=-1)


def state_of(cluster: EmbeddedCluster) -> State:
    """Returns all of a cluster that the commands change."""
    state: State = {}
    with closing(Links()) as links:
        for name in BROKERS:
            address = cluster.broker(name).address
            topics = links.ask(address, ask.topic_configs(), Deadline(_LIMIT_MS))
            groups = links.ask(address, ask.group_configs(), Deadline(_LIMIT_MS))
            offsets = links.ask(address, ask.all_consumer_offsets(), Deadline(_LIMIT_MS)).offset_table
            state[f"{name} topics"] = {topic: topics.get(topic) for topic in _TOPICS}
            state[f"{name} groups"] = {group: groups.get(group) for group in _GROUPS}
            state[f"{name} offsets"] = {group: dict(offsets.get(f"Pay@{group}", {})) for group in ("G", "H")}
            settings = links.ask(address, ask.broker_settings(), Deadline(_LIMIT_MS))
            state[f"{name} settings"] = settings.get("fileReservedTime")
            state[f"{name} sent"] = _sent(address)
        first = cluster.namesrv.split(";")[0]
        where = links.ask(first, ns.route("Pay"), Deadline(_LIMIT_MS))
        state["perms"] = {data.broker_name: data.perm for data in where.queue_datas}
        try:
            state["order"] = links.ask(first, ns.kv_value("ORDER_TOPIC_CONFIG", "Pay"), Deadline(_LIMIT_MS))
        except NotFoundError:
            state["order"] = None
    sent: Counter[str] = Counter()
    for name in BROKERS:
        counted = state.pop(f"{name} sent")
        assert isinstance(counted, Counter)
        sent += counted
    state["sent"] = dict(sorted(sent.items()))
    return state


def _sent(address: str) -> Counter[str]:
    """Counts the messages that came by replays and resends, wherever a command chose to put them."""
    counts: Counter[str] = Counter()
    with Peer(address) as peer:
        for topic in ("Again", "Pay"):
            for queue_id in range(2):
                offset = 0
                while (answer := peer.call(pull(topic, offset, queue_id=queue_id))).code == 0:
                    for message in decode_messages(answer.body):
                        if topic == "Again" or "MQCTL_RESENT_FROM" in message.properties:
                            counts[f"{topic} {message.properties['KEYS'].split(' ')[0]}"] += 1
                    offset = PullMessageReply.from_ext(answer.ext_fields).next_begin_offset
    return counts


@dataclass(frozen=True, slots=True)
class ClusterKind:
    """A command that changes a cluster.

    Attributes:
        forward: finishes the change of an id; None where running the command again does.
        back: takes the change of an id back; None where it stays.
        again: whether running it once more finishes it.
    """

    words: tuple[str, ...]
    forward: tuple[str, ...] | None = None
    back: tuple[str, ...] | None = None
    again: bool = False


def _offsets(group: str, *words: str) -> ClusterKind:
    sure = ("--execute", "--confirm", group)
    return ClusterKind(
        (*words, *sure),
        forward=("offset", "reset", "--resume", "ID", *sure),
        back=("undo", "ID", *sure),
    )


def _settings(subject: str, *words: str, again: bool = True) -> ClusterKind:
    sure = ("--execute", "--confirm", subject)
    return ClusterKind((*words, *sure), back=("undo", "ID", *sure), again=again)


CLUSTER_KINDS: dict[str, ClusterKind] = {
    "offset reset": _offsets("G", "offset", "reset", "-g", "G", "-t", "Pay", "--to-latest"),
    "offset skip": _offsets("G", "offset", "skip", "-g", "G", "-t", "Pay"),
    "offset clone": _offsets("H", "offset", "clone", "--from", "G", "-g", "H", "-t", "Pay"),
    "replay group": _offsets("H", "replay", "group", "-g", "H", "-t", "Pay", "--from-offset", "0"),
    "replay publish": ClusterKind(
        ("replay", "publish", "-t", "Pay", "--from-offset", "0", "--to", "Again", "--rate", "10000",
         "--execute", "--confirm", "Again"),
        forward=("replay", "resume", "ID", "--execute", "--confirm", "Again"),
    ),
    "dlq resend": ClusterKind(
        ("dlq", "resend", "-g", "G", "--rate", "10000", "--execute", "--confirm", "G"),
        forward=("dlq", "resend", "-g", "G", "--resume", "ID", "--execute", "--confirm", "G"),
    ),
    "topic create": _settings("New", "topic", "create", "-t", "New", "--queues", "3"),
    "topic update": _settings("Pay", "topic", "update", "-t", "Pay", "--queues", "4"),
    "topic update, order": _settings("Pay", "topic", "update", "-t", "Pay", "--order", "broker-a:2;broker-b:2"),
    "cluster kv": _settings("TOOLS", "cluster", "kv", "TOOLS", "--set", "owner=payments"),
    "topic delete": _settings("Idle", "topic", "delete", "-t", "Idle", again=False),
    "group create": _settings("New", "group", "create", "-g", "New"),
    "group update": _settings("G", "group", "update", "-g", "G", "--retry-max", "3"),
    "group delete": _settings("Idle", "group", "delete", "-g", "Idle", again=False),
    "broker set": _settings("broker-a", "broker", "set", "fileReservedTime=48", "--broker", "broker-a"),
    "broker write": _settings("broker-a", "broker", "write", "broker-a", "off"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileKind:
    """A command that changes files only.

    Attributes:
        begin: makes the files as they are before.
        look: what a reader sees; must be as before or as after.
        undo: what follows the way back of `history` for a change that was cut off; without it, nothing in between may
            be seen.
    """

    words: Callable[[Path, EmbeddedCluster], tuple[str, ...]]
    begin: Callable[[Path], None]
    look: Callable[[Path], object]
    reader: Callable[[Path], tuple[str, ...]] | None = None
    undo: tuple[str, ...] | None = None


def _profiles(home: Path) -> None:
    (home / "config").mkdir(exist_ok=True)
    text = "current: one\nprofiles:\n  one: {namesrv: '127.0.0.1:1'}\n  two: {namesrv: '127.0.0.1:2'}\n"
    (home / "config" / "profiles.yaml").write_text(text, encoding="utf-8")


def _profile(*words: str) -> FileKind:
    return FileKind(
        words=lambda _home, _cluster: ("profile", *words),
        begin=_profiles,
        look=lambda home: _read(home / "config" / "profiles.yaml"),
        reader=lambda _: ("profile", "show"),
    )


def _read(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


_DELAYS = tuple(f"files/store/{name}" for name in FILES)


def _stopped_store(home: Path) -> None:
    store = home / "files" / "store"
    if not store.exists():
        extract_store(RECOVERED, home / "files" / "unpacked").rename(store)
        (home / "files" / "unpacked").rmdir()
    record(store, GOOD | {1: 9})


def _forget(file: str) -> Callable[[Path], None]:
    return lambda home: (home / file).unlink(missing_ok=True)


FILE_KINDS: dict[str, FileKind] = {
    "profile add": _profile("add", "three", "-n", "127.0.0.1:3"),
    "profile use": _profile("use", "two"),
    "profile remove": _profile("remove", "two"),
    "names for the Tab": FileKind(
        words=lambda home, cluster: ("__names", str(home / "cache" / "names" / "0000abcd"), "-n", cluster.namesrv),
        begin=_forget("cache/names/0000abcd"),
        look=lambda home: _read(home / "cache" / "names" / "0000abcd"),
    ),
    "delay repair": FileKind(
        words=lambda home, _: (
            "delay",
            "repair",
            "--store",
            str(home / "files" / "store"),
            "--execute",
            "--confirm",
            "store",
        ),
        begin=_stopped_store,
        look=lambda home: tuple(_read(home / name) for name in _DELAYS),
        undo=("--execute", "--confirm", "store"),
    ),
    "snapshot save": FileKind(
        words=lambda home, _: ("snapshot", "save", str(home / "files" / "one.snap"), "--window", "0s"),
        begin=lambda home: ((home / "files").mkdir(exist_ok=True), _forget("files/one.snap")(home))[1],  # type: ignore[func-returns-value]
        look=lambda home: (home / "files" / "one.snap").exists(),
        reader=lambda home: ("snapshot", "show", str(home / "files" / "one.snap")),
    ),
}
