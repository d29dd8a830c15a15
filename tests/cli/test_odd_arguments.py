"""Arguments at the edge of what can be meant: they are refused in the command's own words, before anything is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mqctl.cli.catalog import ENTRIES, options_of
from mqctl.cli.one_source import refuse_second_source
from mqctl.errors import UsageError
from mqctl.main import load_command
from tests.conftest import Outcome

Run = Callable[..., Outcome]
_NOBODY = ("-n", "127.0.0.1:1")


@pytest.mark.parametrize(
    "words",
    [
        ("topic", "list", *_NOBODY, "--timeout", "999999d"),
        ("topic", "list", *_NOBODY, "--timeout", "9" * 400 + "d"),
        ("offset", "reset", "-g", "G", "-t", "T", *_NOBODY, "--by-duration", "999999d"),
        ("offset", "reset", "-g", "G", "-t", "T", *_NOBODY, "--to-time", "+9999999d"),
        ("delay", "plan", "--levels", "1s", "--at", "+9999999d"),
        ("profile", "add", "x", "--namesrv", "127.0.0.1:1", "--timeout", "999999d"),
    ],
)
def test_the_longest_span_is_told_when_one_is_longer(mqctl: Run, words: tuple[str, ...]) -> None:
    outcome = mqctl(*words)
    assert (outcome.exit_code, outcome.stdout) == (64, ""), outcome.stderr
    assert "is too long" in outcome.stderr
    assert "the longest is 36500d" in outcome.stderr


@pytest.mark.parametrize(
    "address",
    [
        "http://h[1/x",
        "http://h]1/x",
        "http://h:99999/x",
        "http://\udcff/x",
        "http://h/\udcff",
        f"http://{'a' * 64}/x",
        "\udcff:1",
        f"{'a' * 64}:1",
    ],
)
@pytest.mark.parametrize("words", [("topic", "list", "-n"), ("profile", "add", "p", "--namesrv")], ids=lambda w: w[0])
def test_what_is_no_address_is_called_so(mqctl: Run, words: tuple[str, ...], address: str) -> None:
    outcome = mqctl(*words, address)
    assert (outcome.exit_code, outcome.stdout) == (64, ""), outcome.stderr
    assert "is not an address" in outcome.stderr


def test_an_address_service_is_waited_for_as_long_as_one_likes(mqctl: Run) -> None:
    outcome = mqctl("topic", "list", "-n", "http://127.0.0.1:1/x", "--timeout", "300d")
    assert outcome.exit_code == 69, outcome.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("group", "update", "-g", "G", "--retry-max", "99999999999"),
        ("group", "update", "-g", "G", "--retry-queues", "65537"),
        ("group", "create", "-g", "G", "--consume-timeout", "99999999999"),
        ("message", "send", "-t", "T", "--body", "x", "--delay-level", "99999999999"),
        ("local", "up", "--broker-port", "65536"),
        ("local", "up", "--brokers", "99999999999999"),
        ("topic", "create", "-t", "T", "--perm", "\u00b2"),
    ],
)
def test_numbers_that_cannot_be(mqctl: Run, words: tuple[str, ...]) -> None:
    outcome = mqctl(*words)
    assert (outcome.exit_code, outcome.stdout) == (64, ""), outcome.stderr


@pytest.mark.parametrize("levels", ["1s", "1s 5s 1h 2h"])
def test_a_chain_to_the_end_of_the_calendar(mqctl: Run, levels: str) -> None:
    words = ("delay", "plan", "--at", "9999-12-31 23:59:59", "--levels", levels)
    plan = mqctl(*words, "-o", "json")
    assert plan.exit_code == 0, plan.stderr
    assert (plan.json["hop_count"] > 1_000_000, len(plan.json["hops"])) == (True, 1_000)
    assert f"the first 1,000 hops of {plan.json['hop_count']:,} are listed" in plan.stderr
    people = mqctl(*words)
    assert "the first 20 hops of " in people.stderr
    assert len(people.stdout.splitlines()) < 30


def test_no_command_reads_one_of_two_stores_in_silence() -> None:
    """Every command that takes a source takes several of them, or refuses the second one."""
    refused, several = set(), set()
    for entry in ENTRIES:
        for option in {"--store", "--snapshot"} & options_of(entry.path).keys():
            params = load_command(entry.path).params
            typed = (
                [option, "a", option, "b"],
                [f"{option}=a", option, "b"],
                [f"{option}=a", "-o", "json", f"{option}=b"],
            )
            for words in typed:
                refuse_second_source(params, [option, "a", option, "a"])
                try:
                    refuse_second_source(params, words)
                    several.add((*entry.path, option))
                except UsageError:
                    refused.add((*entry.path, option))
    assert ("doctor", "--store") in refused
    assert ("ha", "compare", "--store") in several
    assert not refused & several


def test_a_second_store_is_refused_before_anything_is_read(mqctl: Run, tmp_path: Path) -> None:
    outcome = mqctl("doctor", "--store", tmp_path / "a", "--store", tmp_path / "b")
    assert (outcome.exit_code, outcome.stdout) == (64, "")
    assert "--store names one" in outcome.stderr
