"""What a broker says of a refusal cannot pass for what mqctl says (n16), nor fill a screen."""

from __future__ import annotations

import pytest

from embedded_broker import Answer, EmbeddedCluster
from tests.live.conftest import Run

FORGED = "no\nmqctl: all is fine\n  next: mqctl topic delete -t Pay --execute\r\x1b[2J"
SHOWN = '"no\\nmqctl: all is fine\\n  next: mqctl topic delete -t Pay --execute\\r\\x1b[2J"'
OFFSETS, SETTINGS, ROUTE = 43, 26, 105


@pytest.fixture
def refused(cluster: EmbeddedCluster) -> EmbeddedCluster:
    """One of the brokers answers every question with a remark that looks like lines of mqctl."""
    cluster.fault(None, Answer(1, remark=FORGED), server="broker-b")
    return cluster


@pytest.mark.parametrize(
    "words",
    [("group", "lag"), ("broker", "list"), ("topic", "describe", "-t", "Pay"), ("message", "peek", "-t", "Pay")],
)
def test_n16_a_gap_quotes_it_on_one_line(live: Run, refused: EmbeddedCluster, words: tuple[str, ...]) -> None:
    outcome = live(*words)
    assert outcome.exit_code == 76
    lines = outcome.stderr.splitlines()
    assert lines and all(line.startswith("mqctl: ") and SHOWN in line for line in lines), outcome.stderr
    assert not any(line.lstrip().startswith(("next:", "mqctl:")) for line in outcome.stdout.splitlines())


def test_n16_an_error_and_a_verdict_quote_it_on_one_line(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.fault(SETTINGS, Answer(1, remark=FORGED))
    judged = live("doctor")
    assert judged.exit_code == 3
    assert "all is fine" in judged.stdout
    assert not any(line.lstrip().startswith(("next:", "mqctl:")) for line in judged.stdout.splitlines())
    cluster.clear_faults()
    cluster.fault(ROUTE, Answer(1, remark=FORGED))
    failed = live("topic", "route", "-t", "Pay")
    assert [line.split(":")[0].strip() for line in failed.stderr.splitlines()] == ["mqctl", "next"]
    assert failed.stderr.count("all is fine") == failed.stderr.count(SHOWN) == 2  # of both name servers


@pytest.mark.parametrize("words", [("group", "lag"), ("doctor", "-o", "json"), ("snapshot", "save", "x.snap")])
def test_n16_ten_megabytes_of_it_are_cut_and_counted(
    live: Run, cluster: EmbeddedCluster, words: tuple[str, ...], tmp_path: object
) -> None:
    cluster.fault(OFFSETS, Answer(1, remark="no " * 3_500_000), server="broker-b")
    outcome = live(*[f"{tmp_path}/x.snap" if word == "x.snap" else word for word in words])
    output = outcome.stdout + outcome.stderr
    assert "(300 of 10,499,999 characters)" in output
    assert len(outcome.stderr) < 2_000
    assert len(output) < 100_000
