"""Chinese of what commands write: advice, subscriptions, heads of tables; and languages that nobody speaks."""

from __future__ import annotations

import re

from embedded_broker import EmbeddedCluster
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.cast import Cast, Scripted
from tests.live.conftest import Run

ZH = {"MQCTL_LANG": "zh"}


def test_n11_advice_is_chinese_where_that_is_asked_for(live: Run, cluster: EmbeddedCluster) -> None:
    shown = live("group", "lag", "-g", "G", "--advise", "--window", "100ms", env=ZH).stdout
    assert "消费组" in shown and "瓶颈" in shown and "启动该组的消费者" in shown
    assert "LAG" not in shown and "within" not in shown, shown


def test_n11_subscriptions_are_chinese_where_that_is_asked_for(live: Run, cluster: EmbeddedCluster) -> None:
    with Cast(cluster) as cast:
        cast.join(Scripted(client_id="one", topics={"Pay": "A"}), Scripted(client_id="two", topics={"Pay": "B"}))
        shown = live("subscription", "check", "-g", "G", env=ZH).stdout
    assert "成员订阅不一致" in shown and "订阅内容" in shown and "Broker 的过滤条件" in shown
    assert "WANTS" not in shown


def test_n11_plans_and_what_they_came_to_are_chinese_where_that_is_asked_for(live: Run) -> None:
    words = ("topic", "update", "-t", "Pay", "--perm", "R--")
    plan = live(*words, env=ZH)
    assert "生产者不能再发送到 Pay" in plan.stdout and "尚未做任何变更" in plan.stdout, plan.stdout
    done = live(*words, "--execute", "--confirm", "Pay", env=ZH)
    assert "：已确认，已完成" in done.stdout and "；回退：mqctl undo" in done.stderr, (done.stdout, done.stderr)
    reset = live("offset", "reset", "-g", "G", "-t", "Pay", "--to-earliest", env=ZH)
    assert "重新消费" in reset.stdout and "consumed again" not in reset.stdout, reset.stdout


def test_n11_machine_forms_have_no_language(live: Run) -> None:
    words = ("topic", "list", "-o")
    for output in ("json", "csv"):
        assert live(*words, output, env=ZH).stdout == live(*words, output).stdout
    assert live(*words, "table", env=ZH).stdout != live(*words, "table").stdout


def test_n11_an_unknown_language_is_refused_by_name(live: Run) -> None:
    for words in (("topic", "list"), ("doctor",)):
        outcome = live(*words, env={"MQCTL_LANG": "klingon"})
        assert (outcome.exit_code, "MQCTL_LANG=klingon" in outcome.stderr) == (78, True), outcome.stderr
    assert live("topic", "list", env={"MQCTL_LANG": "ZH"}).exit_code == 0


def test_n11_cells_of_yes_and_no_are_chinese_and_commands_stay_as_they_are_typed(live: Run) -> None:
    described = live("group", "describe", "G", env=ZH).stdout
    assert "是" in described and " yes " not in described, described
    for words in (("cluster", "describe"), ("broker", "describe", "broker-a"), ("cluster", "list")):
        shown = live(*words, env=ZH).stdout
        assert not {"masters", "waiting,", "name servers:", "application,"} & set(shown.split()), shown
    refused = live("offset", "show", "-g", "G", env=ZH).stderr
    assert "`offset show`" in refused and "`group lag --by queue`" in refused, refused


ENGLISH = re.compile(r"(?<![\w/.:%=-])[a-z]{2,}[,;:]? (?:\d+ )?[a-z]{2,}[,;:]? [a-z]{2,}\b")
WORDS_OF_OURS = re.compile(r"\b(?:steady|growing|caught-up|waiting|held|normal|master|in-sync|early|exhausted)\b")
READ = (
    *(("top", "--once", "--every", "100ms"), ("topic", "describe", "-t", "Pay"), ("topic", "list"), ("ha", "status")),
    *(("topic", "describe", "-t", "Pay"), ("dlq", "list", "-g", "G"), ("lock", "show", "-g", "G")),
    *(("order", "check", "-t", "Pay", "--key", "none"), ("group", "describe", "G"), ("cluster", "export")),
)


def test_n11_no_english_is_left_in_what_people_read(live: Run, cluster: EmbeddedCluster) -> None:
    with Peer(cluster.broker("broker-a").address) as peer:
        peer.call(send("%DLQ%G", properties={"TAGS": "A"}), b"x")
    with Cast(cluster) as cast:
        cast.join(Scripted(client_id="one", topics={"Pay": "A"}))
        for words in READ:
            shown = re.sub(r"`[^`]*`|mqctl [\w -]*", "", live(*words, env=ZH).stdout)
            assert (ENGLISH.findall(shown), WORDS_OF_OURS.findall(shown)) == ([], []), (words, shown)
