"""SUPPORT.md is true: every code is sent to both servers of both version lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.remoting.handler_table import BROKER, NAMESRV, handlers_of
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import RemotingCommand, encode
from mqctl.protocol.requests import REQUESTS
from tests.conftest import REPOSITORY, Outcome
from tests.embedded_broker.access import write_list
from tests.embedded_broker.wire import Peer

Run = Callable[..., Outcome]
_PROBE = 206
"""A code that every name server answers; what comes before its answer has been answered."""


def told() -> dict[int, tuple[str, str]]:
    rows = (REPOSITORY / "embedded_broker" / "SUPPORT.md").read_text().splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if row.startswith("| ")]
    return {int(cell[0]): (cell[3], cell[4]) for cell in cells if cell[0].isdigit()}


def test_the_list_of_what_is_known_is_what_the_command_prints(mqctl: Run) -> None:
    text = (REPOSITORY / "embedded_broker" / "SUPPORT.md").read_text()
    listed = text.partition("## What mqctl knows")[2].splitlines()
    rows = [
        f"| {row['what']} | {', '.join(row['known']) or 'any'} | {row['otherwise']} |"
        for row in mqctl("version", "--supported", "-o", "json").json["supported"]
    ]
    assert [line for line in listed if line.startswith("| ")][1:] == rows


def is_served(support: str, code: int, *, is_v5: bool) -> bool:
    request = REQUESTS.get(code)
    if support == "absent" or request is None:
        return False
    return code not in range(50, 55) if is_v5 else not request.since.startswith("5.")


@pytest.mark.both_releases
@pytest.mark.parametrize("version", ["4.9.8", "5.3.3"])
def test_every_code_is_answered_as_the_list_says(version: str, tmp_path: Path) -> None:
    is_v5 = version == "5.3.3"
    # Without an access list 4.9 says nothing to whoever asks for its version.
    everybody = None if is_v5 else write_list(tmp_path, "globalWhiteRemoteAddresses: ['*']")
    table = told()
    assert set(table) == set(RequestCode)
    with EmbeddedCluster(version=version, acl_file=everybody) as cluster:
        with Peer(cluster.broker().address) as broker:
            for code, (support, _) in table.items():
                broker.socket.sendall(encode(RemotingCommand(code=code, opaque=code)))
                unknown = broker.answer_to(code).code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
                assert unknown != is_served(support, code, is_v5=is_v5), f"broker, {code}: {support}"
        with Peer(cluster.namesrv) as namesrv:
            for code, (_, support) in table.items():
                namesrv.socket.sendall(encode(RemotingCommand(code=code, opaque=code)))
                namesrv.socket.sendall(encode(RemotingCommand(code=_PROBE, opaque=1_000_000)))
                first = namesrv.receive(lambda _: True)
                if first.opaque == code:
                    namesrv.answer_to(1_000_000)
                served = first.opaque == code and first.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED
                assert served == is_served(support, code, is_v5=is_v5), f"name server, {code}: {support}"
                assert is_v5 or served or first.opaque == 1_000_000, "a 4.x name server says nothing"


def test_a_handler_says_how_well_it_serves() -> None:
    for role in (BROKER, NAMESRV):
        assert all(
            handler.support == "full" or "partial: " in handler.support for handler in handlers_of(role).values()
        )
