"""`check --webhook`: what does not hold is posted as JSON; a webhook that fails changes no verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.client.wire_server import closed_address
from tests.live.conftest import Run

BROKEN = ("check", "--group", "nobody", "--max-lag", "1")


class Receiver:
    """A server that answers with the codes that it is given, the last of them again and again."""

    def __init__(self) -> None:
        self.codes = [200]
        self.bodies: list[bytes] = []
        received = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                received.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                codes = received.codes
                self.send_response(codes.pop(0) if len(codes) > 1 else codes[0])
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?token=secret"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = Thread(target=server.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.server.shutdown()
    thread.join()
    server.server.server_close()


def test_what_does_not_hold_is_posted_again_until_it_is_taken(live: Run, receiver: Receiver) -> None:
    receiver.codes = [503, 200]
    outcome = live(*BROKEN, "--webhook", receiver.url)
    assert (outcome.exit_code, outcome.exit_code == 0, len(receiver.bodies)) == (live(*BROKEN).exit_code, False, 2)
    posted = json.loads(receiver.bodies[-1])
    assert posted["state"] in posted["text"].lower()
    assert "nobody" in posted["results"][0]["subject"]


def test_a_template_is_filled_and_stays_json(live: Run, receiver: Receiver, tmp_path: Path) -> None:
    template = tmp_path / "chat.json"
    content = '{"content": "[$state] $text"}'
    template.write_text('{"msgtype": "text", "text": ' + content + ', "failed": "$failed", "price": "$5"}')
    live(*BROKEN, "--webhook", receiver.url, "--webhook-template", template)
    posted = json.loads(receiver.bodies[0])
    assert (posted["msgtype"], posted["failed"], posted["price"]) == ("text", "1", "$5")
    assert "nobody" in posted["text"]["content"]
    template.write_text("state: $state")
    refused = live(*BROKEN, "--webhook", receiver.url, "--webhook-template", template)
    assert (refused.exit_code, len(receiver.bodies)) == (64, 1)


@pytest.mark.parametrize("code", [404, 302])
def test_a_webhook_that_refuses_is_told_once_and_changes_nothing(live: Run, receiver: Receiver, code: int) -> None:
    receiver.codes = [code]
    outcome = live(*BROKEN, "--webhook", receiver.url)
    assert (outcome.exit_code, len(receiver.bodies)) == (live(*BROKEN).exit_code, 1)
    assert f"it answers {code}" in outcome.stderr
    assert "secret" not in outcome.stdout + outcome.stderr


def test_a_webhook_that_is_gone_changes_no_verdict(live: Run) -> None:
    outcome = live(*BROKEN, "--webhook", f"http://{closed_address()}/")
    assert outcome.exit_code == live(*BROKEN).exit_code
    assert "the verdict stands" in outcome.stderr


def test_the_address_may_come_from_the_environment(live: Run, receiver: Receiver) -> None:
    outcome = live(*BROKEN, env={"MQCTL_WEBHOOK": receiver.url})
    assert (outcome.exit_code != 0, len(receiver.bodies)) == (True, 1)
    assert "token" not in outcome.stdout + outcome.stderr


def test_nothing_is_posted_when_all_holds(live: Run, receiver: Receiver) -> None:
    assert live("check", "--brokers", "2", "--webhook", receiver.url).exit_code == 0
    assert receiver.bodies == []
