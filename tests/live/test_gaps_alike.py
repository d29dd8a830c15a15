"""The same gap ends every read command alike: each request that one broker refuses, denies or leaves unanswered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from embedded_broker import Answer, CloseConnection, Drop, EmbeddedCluster
from mqctl.cli.catalog import ENTRIES, options_of
from mqctl.cli.exit import run_guarded
from mqctl.main import main
from mqctl.model.gap import Cause
from tests.live.doctor.stage import ONE, TWO, staged

REFUSED = 13
"""A code with which no broker says anything in particular."""
NO_PERMISSION = 16
RUNTIME, TOPICS, GROUPS, PULL, PRODUCERS, MEMBERS, RUNNING, BOUNDS = 28, 21, 201, 11, 328, 203, 307, 202
FAULTS: dict[Cause, tuple[Answer | CloseConnection, int]] = {
    Cause.REFUSED: (Answer(REFUSED, remark="not now"), 76),
    Cause.DENIED: (Answer(NO_PERMISSION, remark="not you"), 77),
    Cause.SILENT: (CloseConnection(), 69),
}
TIMED_OUT = 75
THREAD = f"{'ConsumeMessageThread_1':<40}"
STACKS = f"{THREAD}TID: 27 STATE: WAITING\n{THREAD}java.lang.Object.wait(Native Method)\n\n"


class Read(NamedTuple):
    """How a read command is run here.

    Attributes:
        codes: the only requests to fail, of commands that look at the whole cluster: what a look makes of its gaps is
            the same for all of them, and `snapshot save` goes through every one.
        unhurt: requests without which the answer is whole all the same.
        end: what it ends with whatever the cause is; None for the code of the cause.
    """

    words: tuple[str, ...] = ()
    codes: tuple[int, ...] = ()
    unhurt: tuple[int, ...] = ()
    end: int | None = None


OF_GROUP, OF_TOPIC = ("-g", "G"), ("-t", "Pay")
READS: dict[str, Read] = {
    "allocation show": Read(OF_GROUP, codes=(MEMBERS, RUNNING)),
    "broker config": Read(),
    "broker describe": Read(("broker-b",)),
    "broker list": Read(),
    "cluster describe": Read(),
    "cluster list": Read(),
    "delay check": Read(unhurt=(26, 61), end=3),
    "delay levels": Read(unhurt=(26, RUNTIME)),
    "cluster export": Read(),
    "dlq list": Read(OF_GROUP),
    "ha status": Read(unhurt=(26,)),
    "doctor": Read(codes=(MEMBERS, GROUPS), end=3),
    "group describe": Read(OF_GROUP),
    # What groups pop, and by when they must be repaired, stands beside their lag.
    "group lag": Read(unhurt=(30, 31, 402, PULL, 26, 45)),
    "group list": Read(),
    "group members": Read(OF_GROUP),
    "lock show": Read(OF_GROUP, codes=(MEMBERS, RUNNING)),
    "message get": Read((*OF_TOPIC, "--key", "k")),
    "message peek": Read(OF_TOPIC),
    "message tail": Read((*OF_TOPIC, "--lines", "1")),
    "order check": Read(OF_TOPIC, end=3),
    "producer list": Read(unhurt=(MEMBERS,)),  # a note about proxies is all that it tells
    "retry list": Read(OF_GROUP, codes=(TOPICS, 26, 43, 45)),
    "snapshot save": Read(unhurt=(RUNNING,)),
    "stacks dump": Read((*OF_GROUP, "--dumps", "1")),
    "subscription check": Read(OF_GROUP, codes=(MEMBERS, RUNNING), end=3),
    "top": Read(("--count", "1", "--every", "100ms"), unhurt=(26, 30, 31, 38, MEMBERS, 208, RUNNING, 402)),
    "topic describe": Read((*OF_TOPIC, "--retained")),
    "topic entries": Read((*OF_TOPIC, "-q", "0")),
    "topic list": Read(),
    "topic traffic": Read(OF_TOPIC),
    # How many checks there may be stands beside how many were made.
    "transaction list": Read(unhurt=(26,)),
}
ELSEWHERE = {
    "acl explain": "needs a user, an action and a resource; asks as acl list does",
    "acl list": "asks 5.x brokers that check access (test_acl)",
    "allocation simulate": "computes from the group or the route that it is given, or not at all",
    "broker reach": "tries ports, and its answer is what came of each (test_broker_reach)",
    "check": "has results that are unknown (test_check)",
    "delay plan": "computes; asks one broker's levels, or fails",
    "export prometheus": "says NaN (test_export)",
    "message trace": "needs the id of a message (test_tracing)",
    "record": "writes down what nobody answered, and goes on (test_record)",
    "replay status": "reads records of this machine",
    "stacks find": "shows processes of this machine (test_stacks_find)",
    "subscription simulate": "needs a release to simulate; gathers as subscription check does",
    "topic route": "asks name servers only (below)",
    "transaction show": "needs the id of a transaction; gathers as transaction list does",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, name_servers=1, version="5.3.3") as running, staged(running) as stage:
        for client in (ONE, TWO):
            stage.cast.change(client, stacks=STACKS)
        yield running


Ran = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> Ran:
    """Runs a command line in this process: some hundreds of them are looked at here."""
    monkeypatch.setenv("MQCTL_NAMESRV", cluster.namesrv)
    for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    cluster.clear_faults()

    def typed(name: str, *more: str) -> tuple[int, str, str]:
        words = [*name.split(), *READS[name].words, *more]
        if name == "snapshot save":
            words += [f"{tmp_path}/x.snap", "--force"]
        code = run_guarded(words, main)
        written = capsys.readouterr()
        return code, written.out, written.err

    return typed


def test_the_catalog_has_no_live_read_command_that_is_not_looked_at() -> None:
    reads = {" ".join(item.path) for item in ENTRIES if item.impact == "reads"}
    assert {name for name in reads if "--namesrv" in options_of(tuple(name.split()))} == READS.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize("name", READS)
def test_a_request_that_fails_ends_a_read_command_with_the_code_of_its_cause(
    cluster: EmbeddedCluster, run: Ran, name: str
) -> None:
    read = READS[name]
    cluster.record_requests()
    assert run(name)[0] == 0
    codes_asked = {request.code for request in cluster.requests(server="broker-b")}
    cluster.record_requests(on=False)
    assert codes_asked
    ends = {}
    for code in sorted(codes_asked & set(read.codes) if read.codes else codes_asked):
        for cause, (action, end) in FAULTS.items():
            cluster.clear_faults()
            cluster.fault(code, action, server="broker-b")
            got, _, errors = run(name, "--timeout", "20s")
            # A broker that closes a connection is lost for the rest of the look as well.
            wanted = 0 if code in read.unhurt and got == 0 else read.end or end
            ends[code, cause] = (got, wanted, "not read: " in errors or bool(read.end) or not wanted)
    assert {key: end_codes for key, end_codes in ends.items() if end_codes[0] != end_codes[1] or not end_codes[2]} == {}


@pytest.mark.parametrize("name", [name for name, read in READS.items() if read.end is None and not read.codes])
def test_machine_output_names_the_cause(cluster: EmbeddedCluster, run: Ran, name: str) -> None:
    cluster.fault(None, Answer(NO_PERMISSION, remark="not you"), server="broker-b")
    code, out, _ = run(name, *([] if name == "snapshot save" else ["-o", "json"]))
    assert code == 77
    if name != "snapshot save":
        gaps = json.loads(out)["unavailable"]
        assert {gap["cause"] for gap in gaps} == {"denied"}
        assert {"part", "reason", "scope", "subject", "broker"} <= gaps[0].keys()


@pytest.mark.parametrize("name", ["broker list", "group lag", "topic describe", "message peek", "group members"])
def test_a_broker_that_never_answers_has_timed_out(cluster: EmbeddedCluster, run: Ran, name: str) -> None:
    cluster.fault(None, Drop(), server="broker-b")
    assert run(name, "--timeout", "600ms")[0] == TIMED_OUT


@pytest.fixture(scope="module")
def twin() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=1, name_servers=2, version="5.3.3") as running:
        yield running


@pytest.mark.parametrize("cause", FAULTS)
@pytest.mark.parametrize(
    "words", ["cluster list", "cluster describe", "cluster describe --config", "cluster kv N", "topic route -t TBW102"]
)
def test_a_name_server_that_fails_ends_them_alike_too(
    twin: EmbeddedCluster,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    cause: Cause,
) -> None:
    monkeypatch.setenv("MQCTL_NAMESRV", twin.namesrv)
    action, end = FAULTS[cause]
    twin.clear_faults()
    twin.fault(None, action, server="namesrv-1")
    code = run_guarded([*words.split(), "-o", "json"], main)
    written = capsys.readouterr()
    assert (code, {gap["cause"] for gap in json.loads(written.out)["unavailable"]}) == (end, {str(cause)}), written.err
    assert f"(name server {twin.namesrv.split(';')[1]})" in written.err or words.startswith("topic")
