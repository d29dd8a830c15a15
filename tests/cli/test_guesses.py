"""Words of mqadmin and natural guesses typed as commands: refused with ours, its arguments translated."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import pytest
import typer

from mqctl.cli import catalog
from mqctl.cli.carried import carried
from mqctl.cli.catalog_mqadmin import TABLE
from mqctl.cli.guesses import _OF_A_NAME, _OURS
from mqctl.main import load_command
from tests.conftest import Outcome
from tests.each import each

Run = Callable[..., Outcome]


def following(outcome: Outcome) -> str:
    assert (outcome.exit_code, outcome.stdout) == (64, ""), outcome.stderr
    return outcome.stderr.partition("next: ")[2].strip()


@each(
    "typed, ours",
    [
        ("consumerProgress -g G", "mqctl group lag -g G"),
        ("consumerProgress", "mqctl group lag"),
        ("CONSUMERPROGRESS -g G -t T -n h:9876", "mqctl group lag -g G -t T -n h:9876"),
        ("consumerProgress --groupName=G", "mqctl group lag -g G"),
        ("topicRoute -t %RETRY%G", "mqctl topic route -t %RETRY%G"),
        ("resetOffsetByTime -g G -t T -s -10m", "mqctl offset reset -g G -t T --to-time -10m"),
        ("resetOffsetByTime -g G -t T -s now", "mqctl offset reset -g G -t T --to-time now"),
        (
            "resetOffsetByTime -g G -t T -s 2026-11-22#02:30:00:000",
            "mqctl offset reset -g G -t T --to-time '2026-11-22 02:30:00.000'",
        ),
        ("cloneGroupOffset -s A -d B -t T", "mqctl offset clone --from A -g B -t T"),
        ("queryMsgById -i 7F00", "mqctl message get 7F00"),
        ("queryMsgByKey -t T -k 'a b'", "mqctl message get -t T --key 'a b'"),
        ("queryMsgByOffset -t T -b a -i 2 -o 7", "mqctl message peek -t T --queue 2 --broker a --offset 7"),
        ("updateTopicPerm -t T -p 6", "mqctl topic update -t T --perm RW"),
        ("consumerStatus -g G", "mqctl subscription check -g G"),
        ("consumerStatus -g G -i me", "mqctl group members --client me -g G"),
        ("brokerStatus -b broker-a", "mqctl broker describe broker-a"),
        ("topicStatus", "mqctl topic describe -t TOPIC"),
    ],
)
def test_mqadmins_words_are_answered_with_ours(mqctl: Run, typed: str, ours: str) -> None:
    outcome = mqctl(*shlex.split(typed))
    assert following(outcome) == ours
    assert "is a command of mqadmin" in outcome.stderr
    words = shlex.split(ours)[1:]
    path = max((path for path in catalog.BY_PATH if tuple(words[: len(path)]) == path), key=len)
    with load_command(path).make_context("mqctl", words[len(path) :]) as context:
        assert context.params


def test_what_has_no_counterpart_is_named(mqctl: Run) -> None:
    outcome = mqctl("resetOffsetByTime", "-g", "G", "-t", "T", "-s", "now", "-f", "true")
    assert following(outcome) == "mqctl offset reset -g G -t T --to-time now"
    assert "without a counterpart: -f true" in outcome.stderr
    not_offered = mqctl("cleanExpiredCQ", "-n", "h:9876")
    assert "cleanExpiredCQ is a command of mqadmin that mqctl does not offer: forces" in not_offered.stderr
    assert following(not_offered).startswith("`mqctl commands --mqadmin all`")


def test_every_sub_command_is_answered_unless_it_is_a_word_of_ours(mqctl: Run) -> None:
    taken = {entry.name for entry in TABLE if entry.name in catalog.children(())}
    assert taken == {"producer"}
    for entry in TABLE:
        if entry.name not in taken:
            assert entry.name in mqctl(entry.name).stderr


@each(
    "typed, ours",
    [
        ("delay list", "mqctl delay levels"),
        ("delay list --store /x", "mqctl delay levels --store /x"),
        ("topic queues T --timeout 5s", "mqctl topic describe T --timeout 5s"),
        ("offset show G", "mqctl group lag G --by queue"),
        ("lag G", "mqctl group lag G"),
        ("skip G -t T", "mqctl offset skip G -t T"),
        ("trace KEY -t T", "mqctl message trace KEY -t T"),
        ("threads G", "mqctl stacks dump G"),
        ("topics", "mqctl topic list"),
        ("describe topic T", "mqctl topic describe T"),
        ("get groups", "mqctl group list"),
        ("group G", "mqctl group describe G"),
        ("stacks G", "mqctl stacks dump G"),
        ("message KEY-1", "mqctl message get KEY-1 -t TOPIC"),
        ("message " + "0A" * 16, "mqctl message get " + "0A" * 16),
        ("topic lag T", "mqctl group lag -t T"),
        ("transaction pending", "mqctl transaction list"),
        ("overview", "mqctl doctor"),
        ("snapshot create F", "mqctl snapshot save F"),
        ("topic set T --queues 8", "mqctl topic update T --queues 8"),
        ("delay find K", "mqctl message get K -t TOPIC"),
        ("report html", "mqctl doctor --html FILE"),
        ("rules mq203", "mqctl explain MQ203"),
        ("MQ203", "mqctl explain MQ203"),
        ("snapshot save F --anonymize", "mqctl snapshot save F --redact"),
        ("mqadmin consumerProgress -g G", "mqctl group lag -g G"),
        ("why G", "mqctl doctor G"),
        ("wait G", "mqctl group lag G --until 'lag<1'"),
        ("wait -g G --lag 0 --timeout 30s", "mqctl group lag -g G --until 'lag<=0' --timeout 30s"),
        ("message get -k 'a b' -t T", "mqctl message get --key 'a b' -t T"),
        ("check -g G --lag=1000", "mqctl check -g G --max-lag 1000"),
        ("topic update T -q8", "mqctl topic update T --queues 8"),
        ("group wait G", "mqctl group lag G --until 'lag<1'"),
        ("stacks -g G", "mqctl stacks dump -g G"),
        ("group wait G --timeout 30", "mqctl group lag G --until 'lag<1' --timeout 30s"),
        ("group lag G --wait", "mqctl group lag G --until 'lag<1'"),
        ("group lag G --wait 30", "mqctl group lag G --until 'lag<1' --timeout 30s"),
        ("message query -t T -k K", "mqctl message get -t T --key K"),
        ("topic consumers T", "mqctl topic describe T"),
        ("topic consumers T --queue 2", "mqctl topic describe T --queue 2"),
        ("replay -g G -t T --by-duration 5m", "mqctl offset reset -g G -t T --by-duration 5m"),
        ("replay G", "mqctl offset reset G --by-duration 10m"),
        ("replay G --since -2h", "mqctl offset reset G --by-duration 2h"),
        ("replay G --skipped X", "mqctl replay group G --skipped X"),
        ("member stacks G", "mqctl stacks dump G"),
        ("members G --json", "mqctl group members G -o json"),
        ("group lag G --json", "mqctl group lag G -o json"),
        ("group members --client-id me -g G", "mqctl group members --client me -g G"),
        ("topic lag", "mqctl group lag -t TOPIC"),
        ("-n h:9876 group lag G", "mqctl group lag -n h:9876 G"),
        ("--namesrv h:9876 doctor G", "mqctl doctor --namesrv h:9876 G"),
    ],
)
def test_natural_guesses_are_answered_with_ours(mqctl: Run, typed: str, ours: str) -> None:
    outcome = mqctl(*shlex.split(typed))
    assert following(outcome) == ours
    words = shlex.split(ours)[1:]
    path = max((path for path in catalog.BY_PATH if tuple(words[: len(path)]) == path), key=len)
    with load_command(path).make_context("mqctl", words[len(path) :]) as context:
        assert context.params


TAILS = (
    *("", "G", "G H I", "-g G -t T", "G --timeout 30", "--json", "G --wait 5", "-q x", "-q 2 --follow", "-t T -k K"),
    *("--key=K", "--execute true", "--foo bar baz", "-g", "--timeout", "--by-duration 10m", "-x -1", "--", "-"),
)


@each("tail", TAILS)
def test_a_line_to_type_parses_whatever_was_typed(tail: str) -> None:
    for ours in {*_OURS.values(), *_OF_A_NAME.values()}:
        meant = carried(ours, tail.split(), load_command)
        words = shlex.split(meant.line)[1:]
        path = max((path for path in catalog.BY_PATH if tuple(words[: len(path)]) == path), key=len, default=None)
        if path is None:
            assert meant.line == "mqctl --version"
            continue
        try:
            with load_command(path).make_context("mqctl", words[len(path) :]) as context:
                assert not context.args
        except typer.TyperException as error:  # what was not typed has to be added
            assert "Missing" in error.format_message(), (ours, tail, meant, error.format_message())


def test_what_a_guess_cannot_take_is_named_and_a_secret_is_not_repeated(mqctl: Run) -> None:
    outcome = mqctl("lag", "G", "--foo", "7", "--password", "hunter2")
    assert following(outcome) == "mqctl group lag G"
    assert "without a counterpart: --foo 7 --password" in outcome.stderr
    assert "hunter2" not in outcome.stderr


@pytest.mark.parametrize(
    ("typed", "option"),
    [
        ("offset reset G T --to-earliest", "topic"),
        ("message get --since -10m KEY T", "topic"),
        ("offset skip G T", "topic"),
    ],
)
def test_a_second_name_is_the_topic(typed: str, option: str) -> None:
    words = typed.split()
    with load_command((words[0], words[1])).make_context("mqctl", words[2:]) as context:
        assert context.params[option] in ("T", ["T"])


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            "shipping",
            "of a group with that name: mqctl group describe shipping; of a topic: mqctl topic describe shipping",
        ),
        ("topic updates", "mqctl topic update; of a topic with that name: mqctl topic describe updates"),
        ("group waits G", "mqctl group --help"),
    ],
)
def test_a_name_alone_is_answered_with_what_may_be_meant(mqctl: Run, typed: str, said: str) -> None:
    assert following(mqctl(*typed.split())) == said


def test_other_words_have_near_ones_as_before(mqctl: Run) -> None:
    assert "Did you mean 'lag'?" in mqctl("group", "lagg").stderr
    assert "No such command 'nonsense'" in mqctl("nonsense").stderr


@each(
    "typed, said",
    [
        ("group lag --consumer-group G", "(Possible options: --group)"),
        ("group lag --interval 5s", "(Possible options: --every)"),
        ("stacks dump --member x", "(Possible options: --client)"),
        ("group members --client-id me -g G", "(Possible options: --client)"),
        ("topic list --bootstrap-server h:1", "(Possible options: --namesrv)"),
        ("message peek -t T -b broker-a", "(Possible options: --broker)"),
        ("topic update -t T --apply", "(Possible options: --execute)"),
        ("topic update -t T -q 8", "(Possible options: --queues, --read-queues, --write-queues)"),
        ("check -g G --exclude G", "(Possible options: --except)"),
        ("topic route --topc T", "(Possible options: --topic)"),
    ],
)
def test_an_unknown_option_is_answered_by_meaning(mqctl: Run, typed: str, said: str) -> None:
    outcome = mqctl(*typed.split())
    assert outcome.exit_code == 64
    assert outcome.stderr.splitlines()[0].endswith(said), outcome.stderr


def test_letters_alone_suggest_nothing(mqctl: Run) -> None:
    assert mqctl("group", "lag", "--client", "x").stderr.splitlines()[0] == "mqctl: No such option: --client"
