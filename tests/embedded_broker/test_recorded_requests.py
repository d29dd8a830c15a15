"""Requests of real clients and tools, byte for byte: the answers mean what the real servers' answers meant."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.release import as_version
from embedded_broker.remoting.handler_table import BROKER, NAMESRV, handlers_of
from mqctl.protocol.fastjson import loads
from mqctl.protocol.frame import RemotingCommand, decode
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer

_SAMPLE = Path(__file__).parents[1] / "golden" / "frames" / "frames.tar.gz"
_TOPICS = ("TopicTest", "TopicBin", "TopicFail", "TopicOrder", "TopicF", "TopicDelay", "TopicFifo")

_OTHER_STATE = {
    36: "the message that is sent back is not in this store",
    46: "SQL92 is refused until it is served",
    50: "asks a broker with an access list: test_access",
    51: "asks a broker with an access list: test_access",
    52: "a broker without an access list gives no answer, as the real one: test_access",
    53: "asks a broker with an access list: test_access",
    101: "nobody put that key here",
    103: "whether there are order topics",
    223: "asks the group's clients, and a heartbeat of the replay has made the test one of them",
    307: "asks a client, which is the test",
    309: "asks a client, which is the test",
    325: "the client that asked is not connected here",
}
"""Requests whose recorded answer depends on what the recording broker held."""

_NO_REMARK = "not set any response code"
"""What some handlers of a real broker leave in the remark of a success; callers ignore it."""


@dataclass(frozen=True)
class Recording:
    """One release's requests, and its answers by request code, header form and response code."""

    requests: list[tuple[str, bytes]]
    answers: dict[tuple[int, int, int], RemotingCommand]


def recording(version: str) -> Recording:
    with tarfile.open(_SAMPLE) as archive:
        files = {member.name: archive.extractfile(member) for member in archive.getmembers()}
        contents = {name: file.read() for name, file in files.items() if file is not None}
    recording_read = Recording([], {})
    for entry in json.loads(contents["index.json"]):
        if not entry["file"].startswith(version):
            continue
        data = contents[entry["file"]]
        if entry["kind"] == "response":
            answer = decode(data)
            recording_read.answers.setdefault((entry["request_code"], answer.serialize_type, answer.code), answer)
        else:
            recording_read.requests.append((entry["file"], data))
    return recording_read


def exchanges(version: str) -> Iterator[tuple[str, RemotingCommand, RemotingCommand | None]]:
    """Replays the requests; gives each answer with the recorded one that has the same code."""
    recorded = recording(version)
    release = as_version(version)
    with (
        EmbeddedCluster(version=version) as cluster,
        Peer(cluster.broker().address) as broker,
        Peer(cluster.namesrv) as namesrv,
    ):
        for topic in _TOPICS:
            for queue_id in range(4):
                broker.call(send(topic, queue_id=queue_id), b"x")
        for role, peer in ((BROKER, broker), (NAMESRV, namesrv)):
            handlers = handlers_of(role, release)
            for name, data in recorded.requests:
                request = decode(data)
                if request.code not in handlers or request.is_oneway or request.code in _OTHER_STATE:
                    continue
                peer.socket.sendall(data)
                answer = peer.answer_to(request.opaque)
                yield name, answer, recorded.answers.get((request.code, answer.serialize_type, answer.code))


def beginning(answer: RemotingCommand) -> list[str]:
    """Returns the first words of a remark; names and offsets come later in it."""
    remark = answer.remark or ""
    return [] if remark in ("", _NO_REMARK) else re.split(r"[ \[<]", remark)[:2]


@pytest.mark.parametrize("version", ["4.9.8", "5.3.3"])
def test_recorded_requests_get_recorded_answers(version: str) -> None:
    checked = 0
    for name, answer, real in exchanges(version):
        if real is None:
            continue  # the recording has no answer of this kind, the state was another
        assert set(answer.ext_fields or {}) == set(real.ext_fields or {}), name
        assert beginning(answer) == beginning(real), name
        if answer.body[:1] == b"{" == real.body[:1]:
            ours, theirs = loads(answer.body), loads(real.body)
            assert isinstance(ours, dict)
            assert isinstance(theirs, dict)
            assert set(ours) <= set(theirs), name  # what is null is left out
        checked += 1
    assert checked >= 20
