"""Every row scores what the page of incidents says of it, and no healthy twin is accused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mqctl.rules import RULES
from tests.incidents.corpus import INCIDENTS
from tests.incidents.incident import Incident, Stage, accusations, is_named

_NAMED = [incident for incident in INCIDENTS if incident.score == "named"]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    built = Stage(Path(tmp_path_factory.mktemp("incidents")))
    yield built
    built.close()


def test_every_row_is_there_once_and_says_what_it_is() -> None:
    assert [incident.number for incident in INCIDENTS] == list(range(1, 61))
    for incident in INCIDENTS:
        named = incident.code in RULES and incident.world is not None and incident.healthy is not None
        explained = bool(incident.shown_by and incident.unseen)
        assert [named, explained, bool(incident.waits_for)].count(True) == 1, incident.number


@pytest.mark.parametrize("incident", _NAMED, ids=lambda incident: f"{incident.number}-{incident.code}")
def test_its_rule_is_the_first_or_second_to_speak(incident: Incident, stage: Stage) -> None:
    assert is_named(incident, stage)


@pytest.mark.parametrize("incident", _NAMED, ids=lambda incident: f"{incident.number}-{incident.code}")
def test_its_healthy_twin_is_not_accused(incident: Incident, stage: Stage) -> None:
    assert accusations(incident, stage) == []
