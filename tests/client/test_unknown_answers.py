"""Answers of a server to come: a code that nobody knows is a refusal with its number, a field or key that nobody knows
leaves all that is known as it is, and the release of who answered is kept with what it was question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mqctl.client.remoting.answers import AnswerError
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.client.remoting.question import Question
from mqctl.model.release import NEWEST, release_text
from mqctl.protocol.codes import ResponseCode, request_name, version_ordinal, version_text
from mqctl.protocol.frame import RemotingCommand, decode
from tests.client.test_recorded_answers import QUESTIONS
from tests.client.wire_server import Peer, WireServer
from tests.protocol.conftest import RecordedFrame

UNKNOWN_CODES = st.integers(0, 32_767).filter(lambda code: code not in set(ResponseCode))
QUESTION = st.sampled_from(QUESTIONS)
NEWEST_ORDINAL = version_ordinal(release_text(NEWEST))
TIME = 10_000


class Server(WireServer):
    """Answers with what it was given last."""

    def __init__(self) -> None:
        self.answers: dict[int, RemotingCommand] = {}
        super().__init__(self._given)

    def _given(self, peer: Peer, command: RemotingCommand) -> None:
        peer.send(replace(self.answers[command.code], opaque=command.opaque))


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@given(question=QUESTION, code=UNKNOWN_CODES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_code_that_nobody_knows_is_a_refusal_with_its_number(
    server: Server, question: Question[Any], code: int
) -> None:
    if code in question.accepts:
        return
    server.answers[question.request.code] = RemotingCommand(code=code, opaque=0, flag=1, remark="as it will be said")
    with Links() as links, pytest.raises(AnswerError) as refused:
        links.ask(server.address, question, Deadline(TIME))
    assert (refused.value.code, refused.value.remark) == (code, "as it will be said")
    assert f"{code} ({code})" in refused.value.reason
    assert refused.value.exit_code != 0


def recorded_answers(frames: list[RecordedFrame]) -> dict[int, bytes]:
    return {frame.request_code: frame.data for frame in frames if frame.is_response and frame.header["code"] == 0}


@given(data=st.data(), odd=st.text(min_size=1, max_size=12).map(lambda word: f"next{word}"))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_field_that_nobody_knows_leaves_what_is_known_as_it_is(
    server: Server, recorded_frames: list[RecordedFrame], data: st.DataObject, odd: str
) -> None:
    answers = recorded_answers(recorded_frames)
    question = data.draw(st.sampled_from([item for item in QUESTIONS if item.request.code in answers]))
    answer = decode(answers[question.request.code])
    body = answer.body
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    if isinstance(document, dict) and document:
        body = json.dumps({**document, odd: {"a": [1, None]}}).encode()
    with Links() as links:
        server.answers[question.request.code] = answer
        before = links.ask(server.address, question, Deadline(TIME))
        server.answers[question.request.code] = replace(
            answer, body=body, ext_fields={**(answer.ext_fields or {}), odd: "1"}
        )
        assert links.ask(server.address, question, Deadline(TIME)) == before


@given(question=QUESTION, ordinal=st.integers(1, 2_000))
@example(question=QUESTIONS[0], ordinal=NEWEST_ORDINAL)
@example(question=QUESTIONS[0], ordinal=NEWEST_ORDINAL + 1)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_who_answered_as_a_newer_release_is_told_with_what_it_was_asked(
    server: Server, question: Question[Any], ordinal: int
) -> None:
    server.answers[question.request.code] = RemotingCommand(code=0, opaque=0, flag=1, version=ordinal)
    with Links() as links:
        links.get(server.address).call(question.request, body=question.body, deadline=Deadline(TIME))
        unproven = [(peer.address, peer.release, peer.requests) for peer in links.unproven()]
        newer = [peer.address for peer in links.newer_than(NEWEST)]
    steady = question.request.proven_to is None
    name = request_name(question.request.code)
    expected = [(server.address, version_text(ordinal), (name,))] if ordinal > NEWEST_ORDINAL and not steady else []
    assert (unproven, newer) == (expected, [server.address] if ordinal > NEWEST_ORDINAL else [])
