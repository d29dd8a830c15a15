"""Twenty things that a night shift asks of a cluster with 2,000 groups: each answered within two screens."""

from __future__ import annotations

import gzip
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from tests.browser import DESK, page_of
from tests.client.consuming import wait_until
from tests.conftest import REPOSITORY, Outcome
from tests.live.conftest import Run
from tests.usability.night import night

# A cluster of 2,000 groups is no quick start.
pytestmark = pytest.mark.slow

TWO_SCREENS = 100
_SCREEN = 50 - 1  # a prompt
_SLOW = "order-service"
_CLIPPED = """() => [...document.querySelectorAll("body *")].filter(one => one.checkVisibility()
    && one.scrollWidth > one.clientWidth + 1
    && getComputedStyle(one).display != "inline").map(one => one.outerHTML)"""
"""What is wider than its box: a column that has to be scrolled to, or that paper cuts off."""


@dataclass(frozen=True)
class Step:
    """A command line, what its answer must and must not say, how it ends, and how many lines it may have.

    Attributes:
        code: a whole number, or those that time alone decides between.
        leaves: what is still on the screen when it has ended.
    """

    line: str
    says: tuple[str, ...]
    most: int = TWO_SCREENS
    code: int | tuple[int, ...] = 0
    never: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()


def step(
    line: str,
    *says: str,
    most: int = TWO_SCREENS,
    code: int | tuple[int, ...] = 0,
    never: tuple[str, ...] = (),
    leaves: tuple[str, ...] = (),
) -> Step:
    return Step(line, says, most, code, never, leaves)


# In the order of the shift: what changes the cluster comes after what only looks.
TASKS: dict[str, tuple[Step, ...]] = {
    "overview": (
        step("cluster describe", "2 masters", "groups", most=15),
        step("broker describe --counters", "50 of ", "--limit all", most=60),
        step("broker describe broker-a --key '*Tps'", "getTotalTps", most=15),
        step("broker config broker-a", "--limit all", most=60),
        step("topic traffic", "50 of ", "--limit all", most=60),
        step(
            "doctor",
            "FATAL",
            "first: mqctl ",
            "MQ401",
            "worst first",
            "more (-o json for all)",
            "without members online: 2,002",
            code=2,
            leaves=("FATAL: ", "first: mqctl "),
        ),
    ),
    "which groups are behind": (
        step(
            "group lag",
            "\norder-service",
            "groups without members online, not shown: 2,00",
            "(--sort lag shows them)",
            "of these behind: ",
            "most recently fell behind: ",
            "TOPIC     MEMBERS  QUEUES",
            "why, and what to do: mqctl doctor order-service; until when: mqctl group lag order-service --advise",
            never=("\nsvc-",),
            most=15,
        ),
        step("group lag --sort lag", "\nsvc-", "shown; --limit all", most=62),
        step("group lag --sort lag --min-lag 1 --limit 3", "order-service", "3 of 2,0", most=8),
        step("group lag --online", _SLOW, "billing", "MEMBERS", never=("svc-", "groups behind"), most=9),
        step("top --once --every 2s", "svc-1991", "40 of 4,0", "--limit all", never=("%RETRY%svc",), most=75),
        step("billing", "it is a consumer group", "next: mqctl group describe billing", code=64, most=2),
        step("topic orders", "in mqctl it is `topic describe`", "next: mqctl topic describe orders", code=64, most=2),
        step("doctor oder-service", "did you mean order-service?", code=66, most=2),
        step("allocation show oder-service", "did you mean order-service?", code=66, most=2),
        step("group lag oder-service", "did you mean order-service?", code=66, most=2),
        step(
            "topic describe order-service",
            "it is a consumer group",
            "mqctl group describe order-service",
            code=66,
            most=2,
        ),
        step("group describe orders", "it is a topic", "mqctl topic describe orders", code=66, most=2),
        step("doctor orders", "it is a topic", "mqctl topic describe orders", code=66, most=2),
    ),
    "why is this group behind": (
        step(f"group lag {_SLOW} --advise --window 1s", "CONSUMED/S", "COMMITTED/S", "LIMITED BY", most=40),
        step(
            f"doctor {_SLOW} --skip MQ315",  # which speaks from the first minute on
            "OK: 0 findings",
            f"{_SLOW} on orders: ",
            " waiting, the oldest for ",
            "--advise",
            never=("billing", "svc-"),
            most=40,
        ),
    ),
    "who consumes queue 2": (
        step("topic describe orders", "mqctl topic describe orders -q 0", most=22),
        step("topic describe orders -q 2", _SLOW, "127.0.0.1@one", "OWNER ADDRESS", "127.0.0.1:", "LAG TIME", most=16),
        step(f"allocation show {_SLOW} -q 2", "127.0.0.1@two", "ADDRESS", "127.0.0.1:", most=14),
        step(
            "allocation show -t orders -q 2", "next: add -g GROUP", "mqctl topic describe orders -q 2", code=64, most=2
        ),
        step("group lag -t orders --queue 2", "127.0.0.1@one", "127.0.0.1@two", most=8),
        step("topic describe orders -q 9", "no queue 9", "0 to 3", code=66, most=2),
        step("topic describe stream-3 -q 0", "nobody", "50 of 400 shown", most=70),
        step("topic consumers orders", "mqctl topic describe orders", code=64, most=3),
        step("consumer lag billing", "mqctl group lag billing", code=64, most=3),
    ),
    "tags that differ": (
        step("subscription check billing", "members differ", "card || cash", "mqctl doctor billing", code=2, most=17),
        step(
            "subscription check",
            "billing",
            "differ",
            "groups without members online, not shown: 2,00",
            never=("svc-",),
            code=2,
            most=30,
        ),
        step("subscription check --all", "differ", "of 2,0", "--limit all", code=2),
        step("subscription check biling", "did you mean billing?", code=66, most=2),
        step(
            "doctor billing --only MQ203",
            "MQ203",
            "the newest 40 messages",
            code=2,
            most=20,
        ),
        step("group describe billing", "how members consume: CLUSTERING", most=20),
    ),
    "find a message and who consumed it": (
        step("message get ORD-7", "orders queue ", _SLOW, "who consumed it: mqctl message trace ", most=20),
        step("message get NOBODY orders", "no message has the key NOBODY in orders: it expired", most=2),
        step("message get ORD-7 -t orders", "orders queue ", " on broker-", "KEYS = ORD-7", most=20),
        step("message peek orders", "BROKER", "ORD-399", "one in full: mqctl message peek -t orders -q ", most=30),
        step("message peek orders --count 40", "50 of 320 shown; --limit all", "ORD-399", most=60),
        step("message peek orders -q 2 --broker broker-b --offset 49 --count 1", "on broker-b", "body ", most=12),
        step("message trace ORD-7 -t orders", _SLOW, most=25),
    ),
    "threads of a slow consumer": (step(f"stacks dump {_SLOW}", "slowly", most=40),),
    "when does the delayed message come": (
        step("message get ORD-LATER", "orders: waiting on level 16, due ", " (in ", "mqctl delay levels", most=15),
        step("delay list", "delay levels", code=64, most=3),
        step("delay levels", "16", "30 min", most=40),  # 18 levels of two brokers
    ),
    "pending transactions": (
        step("transaction list", "pending", "SINCE", "bank", "check loops", most=10),
        step("transaction list -t orders", "no transaction is pending", never=("check loops",), most=2),
        step("doctor -t orders --only MQ72*", "OK: 0 findings", never=("bank",), most=6),
        # A half message that nobody answers for is news at first, and a warning after a minute.
        step("transaction list --check", "MQ720", code=(0, 1), never=("No consumer group has members",), most=20),
    ),
    "wait in a script": (
        step("group lag billing --until 'lag<1 and lag_time<1m' --timeout 30s", "billing", most=15),
        step("group lag svc-1999 --until lag<1 --timeout 5s", "in time (still waiting: 82)", code=75, most=10),
    ),
    "check in CI": (
        step("check -g 'svc-*' --except 'svc-1*' --max-lag 10", "ERROR", "next: mqctl playbook", code=2, most=70),
        step("check -g 'svc-*' --max-lag 10", "lag: 1,", " of 2,000 not held", code=2, most=58),
        step("check -g 'svc-1*' --lag 10", "next: mqctl check -g 'svc-1*' --max-lag 10", code=64, most=2),
        step(f"check {_SLOW} --max-lag 10", "no file", f"mqctl check -g {_SLOW}", code=64, most=2),
        step(
            f"check -g {_SLOW} --max-lag 100000 --require-members --brokers 2",
            "OK: 3 expectations",
            "behind on orders",
            most=8,
        ),
        step("check -g oder-service --max-lag 1", "no members online: check the name", code=3, most=8),
        step("check -g 'aud*' --require-members", "group audit", "0 online", code=2, most=8),
        step("check -g '*' --except 'svc-*' --max-lag 99999 --require-members", "group audit", code=2, most=60),
    ),
    "metrics": (
        step(
            "export prometheus --once -g order-service -g billing",
            'mqctl_brokers{cluster="DefaultCluster"} 2.0',
            "mqctl_up 1.0",
            never=("svc-",),
        ),
        step(
            "export prometheus --once --limit 10",
            'group="order-service"',
            'dead_letter_messages{cluster="DefaultCluster",group="audit"}',
            'mqctl_groups{cluster="DefaultCluster"} 2',
            " without metrics, 10 with",
            "--limit all",
            most=140,
        ),
    ),
    "completion": (
        step("completion bash", "mqctl", most=400),
        step("__complete explain MQ20", "MQ203", most=20),
        step("__complete doctor --only MQ20", "MQ203", most=20),
    ),
    "dead letters": (
        step("dlq list", "audit", "mqctl dlq list audit", most=6),
        step(
            "dlq list audit",
            "INV-0",
            "3 dead letters",
            "as early as these were (failures: 1); the group's own limit",
            "mqctl dlq resend audit --to %RETRY%audit",
            most=18,
        ),
        step("dlq resend audit", "3 to send", "nothing was sent", most=12),
        step("dlq resend audit --key INV-0", "no group consumes invoices", "no member of audit is online now", most=7),
        step("dlq resend audit --execute --confirm audit", "sent", most=20),
        step("dlq resend audit", "3 already resent", most=12),
    ),
    "more queues, and back": (
        step("topic update invoices -q 8", "next: mqctl topic update invoices --queues 8", code=64, most=2),
        step(
            "topic update invoices --queues 8",
            "write queues of 2 brokers together: 8 now, 16 then",
            "nothing was changed",
            never=("of which", "puts them: 0"),
            most=11,
        ),
        step(
            "topic update invoices --queues 8 --execute --confirm invoices", "confirmed", "undo: mqctl undo 2", most=20
        ),
        step("history", "undo the newest: mqctl undo 2", never=("UNDO WITH",), most=12),
        step("__complete undo 2", "change", most=3),
        step("undo --last --execute --confirm invoices", "confirmed", most=20),
        step("topic describe invoices", "in 8 queues on 2 brokers", most=20),
    ),
    "skip to now, and back": (
        step(f"offset skip {_SLOW} -t orders", "nothing was changed", most=20),
        step(f"offset skip {_SLOW} -t orders --execute --confirm {_SLOW}", "confirmed", most=25),
        step("undo --last", "skipped before will be consumed, ", most=25),
        step(f"undo --last --execute --confirm {_SLOW}", "confirmed", most=25),
    ),
    "replay ten minutes": (
        step(f"offset reset {_SLOW} -t orders --to-time=-10m", "consumed again, 0 skipped", most=25),
    ),
}


@pytest.fixture(scope="module")
def shift(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    with night(tmp_path_factory.mktemp("night")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def ask(mqctl: Run, shift: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory) -> Run:
    home = tmp_path_factory.mktemp("shift")
    places = {name: str(home / name.lower()) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}
    env = {**places, "MQCTL_NAMESRV": shift.namesrv}
    return lambda *words, env=env: mqctl(*words, env=env)


def hold(seen: Outcome, wanted: Step) -> None:
    said = seen.stdout + seen.stderr
    codes = wanted.code if isinstance(wanted.code, tuple) else (wanted.code,)
    assert seen.exit_code in codes, (wanted.line, said[-2_000:])
    assert [text for text in wanted.says if text not in said] == [], (wanted.line, said[-2_000:])
    assert [text for text in wanted.never if text in said] == [], (wanted.line, said[-2_000:])
    assert len(said.splitlines()) <= wanted.most, (wanted.line, said[-2_000:])
    screen = "\n".join(seen.stdout.splitlines()[-_SCREEN:])
    assert [text for text in wanted.leaves if text not in screen] == [], (wanted.line, screen)


@pytest.mark.long  # what the night shift costs is a fortieth of the first ring; each room has tests of its own
@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_answered_within_two_screens(ask: Run, task: str) -> None:
    for each in TASKS[task]:
        hold(ask(*shlex.split(each.line)), each)


def test_all_twenty_tasks_have_a_row_and_the_scores_are_summed_up_as_they_are() -> None:
    """Seventeen scripts and three tests below, each with a row in the table; what nobody played has no score."""
    text = (REPOSITORY / "docs" / "usability.md").read_text()
    rows = re.findall(r"^\| ([^|]+?) \| \d+ \| ([\d.]+|-) \|", text, re.MULTILINE)
    others = {"save for a colleague", "a broker is killed", "page for a ticket"}
    assert ({name for name, _ in rows}, len(rows)) == ({*TASKS, *others}, 20)
    scores = [Decimal(score) for _, score in rows if score != "-"]
    mean = sum(scores) / len(scores)
    assert f"Mean {mean:.2f} of 10 over {len(scores)} tasks, the lowest {min(scores)};" in text


@pytest.mark.long
def test_what_a_colleague_gets_names_no_machine(ask: Run, shift: EmbeddedCluster, tmp_path: Path) -> None:
    saved = tmp_path / "night.snap"
    hold(ask("snapshot", "save", saved, "--redact"), step("snapshot save --redact", "wrote", most=5))
    text = gzip.decompress(saved.read_bytes()).decode()
    assert [word for word in ("127.0.0.1", str(shift.data_dir)) if word in text] == []
    lag = step(
        "group lag --snapshot",
        "MEMBERS",
        f"\n{_SLOW}",
        "without members online, not shown: 2,0",
        never=("\nsvc-",),
        most=12,
    )
    hold(ask("group", "lag", "--snapshot", saved, "--min-lag", 1), lag)
    shown = ask("snapshot", "show", saved)
    hold(
        shown, step("snapshot show", "retry topics without messages, not shown: 2,00", never=("%RETRY%svc-",), most=60)
    )
    assert shown.stdout.index("\norders ") < shown.stdout.index("\n%DLQ%audit")


@pytest.mark.long
@pytest.mark.parametrize(
    "line",
    ["report run --no-spark", "report skew --no-spark", "report backlog --no-spark", "store describe", "doctor"],
)
def test_the_store_of_thousands_of_groups_is_answered_within_two_screens(
    ask: Run, shift: EmbeddedCluster, line: str
) -> None:
    said = ask(*shlex.split(line), "--store", shift.data_dir / "broker-a").stdout
    assert ("--limit all" in said or "-o json for all" in said, len(said.splitlines()) <= TWO_SCREENS) == (True, True)


@pytest.mark.long
def test_the_page_for_a_ticket_says_its_verdict_first(ask: Run, shift: EmbeddedCluster, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    offsets = shift.data_dir / "broker-a" / "config" / "consumerOffset.json"
    wait_until(lambda: _SLOW in offsets.read_text() and "@billing" in offsets.read_text(), "offsets on disk")
    groups = ("-g", _SLOW, "-g", "billing", "-g", "svc-0003")
    made = ask("report", "run", "--store", shift.data_dir / "broker-a", "--no-spark", *groups, "--html", page)
    assert made.exit_code == 0, made.stderr
    text = page.read_text()
    assert "cluster DefaultCluster" in text
    verdict = text.index('<p class="verdict ')
    assert verdict < text.index("What stands out") < text.index("svc-0003 on stream-3")
    assert text.count('class="report" open') < text.count('class="report"')
    with page_of(page, DESK) as shown:
        colour = shown.locator(".verdict").evaluate("one => getComputedStyle(one).color")
        severity = shown.locator(".verdict").evaluate("one => one.classList[1]")
        assert shown.evaluate("document.documentElement.scrollHeight") <= 2 * DESK["height"]
        assert shown.evaluate(_CLIPPED) == []
        shown.emulate_media(media="print")
        assert shown.evaluate(_CLIPPED) == []
        printed = shown.pdf(format="A4")
    # As the night goes on the backlog of the slow group becomes an error.
    assert colour == {"warning": "rgb(138, 90, 0)", "error": "rgb(176, 0, 32)"}[severity]
    assert len(re.findall(rb"/Type /Page\b", printed)) in (1, 2)


@pytest.mark.long
def test_a_page_of_a_live_cluster_and_of_a_snapshot_needs_no_recording(
    ask: Run, shift: EmbeddedCluster, tmp_path: Path
) -> None:
    page, saved = tmp_path / "ticket.html", tmp_path / "night.snap"
    hold(ask("ticket"), step("ticket", "next: mqctl doctor --html FILE", code=64, most=2))
    groups = (_SLOW, "billing", "svc-0003", "audit")
    hold(ask("doctor", *groups, "--html", page), step("doctor --html", "FATAL", "wrote", code=2, most=50))
    text = page.read_text()
    assert 'class="verdict error">FATAL: ' in text
    assert text.index("cluster DefaultCluster") < text.index('class="verdict') < text.index('class="finding fatal"')
    for wanted in (f"groups {_SLOW}, billing", "2 brokers: broker-a, broker-b", "MQ203", "MQ401", "MQ406"):
        assert wanted in text
    table = re.sub("<[^>]+>", " ", text[text.index("<main>") :])
    assert re.search(r"billing\s+payments\s+2\s+0", table) and re.search(r"audit\s+-\s+0\s+-\s+-\s+3", table)
    # One group on two brokers is one finding.
    assert (text.count("Group svc-0003 is"), text.count("the backlog grows until the group")) == (1, 1)
    assert ask("snapshot", "save", saved).exit_code == 0
    assert ask("doctor", "--snapshot", saved, "-g", "svc-0003", "--html", page).exit_code == 2
    assert re.search(r"svc-0003\s+stream-3\s", re.sub("<[^>]+>", " ", page.read_text()))
    hold(ask("doctor", "--html", tmp_path / "no" / "t.html"), step("no directory", "its directory", code=74, most=3))


@pytest.mark.long
def test_a_page_of_a_store_takes_a_group_that_has_dead_letters_alone(ask: Run, shift: EmbeddedCluster) -> None:
    store = ("--store", shift.data_dir / "broker-b", "--store", shift.data_dir / "broker-a", "--no-spark")
    hold(ask("report", "run", *store, "-g", "audit"), step("report run", "audit: ", "dead letters", most=20))
    hold(ask("report", "run", *store, "-g", "nobody"), step("report run", "no consumer group nobody", code=66, most=4))


@pytest.mark.long
def test_a_page_fits_two_screens_and_paper(ask: Run, tmp_path: Path) -> None:
    page = tmp_path / "ticket.html"
    ask("doctor", _SLOW, "billing", "svc-0003", "--html", page)
    text = page.read_text()
    assert ("127.0.0.1@one" in text, "a faster listener" in text) == (True, True)
    with page_of(page, DESK) as shown:
        assert shown.evaluate("document.documentElement.scrollHeight") <= 2 * DESK["height"]
        assert shown.evaluate(_CLIPPED) == []
        shown.emulate_media(media="print")
        assert (shown.evaluate(_CLIPPED), len(re.findall(rb"/Type /Page\b", shown.pdf(format="A4"))) <= 2) == ([], True)


@pytest.mark.long
def test_a_broker_that_is_killed_is_nowhere_fine(ask: Run, shift: EmbeddedCluster) -> None:
    assert ask("broker", "list").exit_code == 0  # a look before, as monitors have it
    shift.broker("broker-b").kill()
    for line in ("group lag --limit 3", "cluster describe", "topic list --limit 3", "broker list"):
        seen = ask(*shlex.split(line))
        gone = re.search(r"broker-b \(\S+\) is not registered any more, and was .* ago", seen.stderr)
        in_part = 3 if line.startswith("group lag") else 0
        assert (seen.exit_code, gone is not None) == (in_part, True), (line, seen)
    seen = ask("doctor", _SLOW, "--only", "MQ6*")  # how grave it is depends on what was sent to the broker lately
    assert (seen.exit_code in {1, 2}, "broker-b" in seen.stdout) == (True, True), seen
    hold(
        ask("check", "--brokers", "2", "-g", _SLOW, "--require-members"),
        step("check", "1 of 1 registered answer, declared at least 2", code=2),
    )
    metrics = ask("export", "prometheus", "--once", "-g", _SLOW).stdout
    assert 'mqctl_brokers{cluster="DefaultCluster"} 1.0' in metrics
    assert 'mqctl_brokers_expected{cluster="DefaultCluster"} 2.0' in metrics
    shift.broker("broker-a").kill()
    for line, code in (("doctor", 2), ("group list", 66), ("check --brokers 2", 2), ("export prometheus --once", 69)):
        seen = ask(*shlex.split(line))
        lines = len((seen.stdout + seen.stderr).splitlines())
        assert (seen.exit_code, lines <= TWO_SCREENS) == (code, True), (line, seen)
