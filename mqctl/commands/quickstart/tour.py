"""The tour of `mqctl quickstart`: what is typed, what it says, what that means."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from mqctl.cli.places import state_dir
from mqctl.cli.terminal.interrupts import terminable
from mqctl.commands.quickstart.narration import Narrator
from mqctl.commands.quickstart.steps import Behind, Said, TourSteps, needs_no_spark
from mqctl.errors import ExitCode
from mqctl.local.keeping import Keeper, detach_keeper, kept_scenario
from mqctl.local.scenario import Scenario
from mqctl.local.state import LocalCluster
from mqctl.local.supervisor import Supervisor
from mqctl.model.command_line import command_line
from mqctl.render.scenarios import HEALTHY, meanings, scale_text
from mqctl.text import restored, sentence

SCENARIO = "quickstart"
_JUDGED = frozenset({ExitCode.OK, ExitCode.WARNING, ExitCode.ERROR})
_RULE = "prefix:-"
_NEXT = (
    ("mqctl quickstart --keep", sentence("quickstart-keep", "the same, and the cluster stays up")),
    ("mqctl local scenario list", sentence("quickstart-scenarios", "each fault alone, to try commands on")),
    ("mqctl playbook list", sentence("quickstart-playbooks", "what to do about each")),
    (
        "mqctl doctor --namesrv HOST:PORT",
        sentence("quickstart-own-cluster", "your own cluster; nothing is changed there"),
    ),
    ("mqctl doctor --store DIR", sentence("quickstart-own-store", "a broker's files, or a copy of them")),
)


@contextmanager
def running(scenario: Scenario, *, keep: bool) -> Iterator[LocalCluster]:
    """Runs the quickstart's scenario: within this process, or for `keep` in one that stays when all went well.

    Raises:
        MqctlError: it could not be started; nothing of it is left.
    """
    places = state_dir() / "local"
    if not keep:
        with terminable(), kept_scenario(Keeper(places, SCENARIO, scenario, lambda _: None)) as cluster:
            yield cluster
        return
    with terminable():
        cluster = detach_keeper(places, SCENARIO, ["local", "scenario", "run", SCENARIO, "--name", SCENARIO])
        try:
            yield cluster
        except BaseException:
            Supervisor(places).down(SCENARIO)
            raise


class Tour:
    """Shows a cluster.

    Attributes:
        exit_code: 0, or that of the first command that could not be shown.
    """

    def __init__(self, page: Narrator, scenario: Scenario, cluster: LocalCluster) -> None:
        self.exit_code: int = ExitCode.OK
        self._page = page
        self._scenario = scenario
        self._cluster = cluster
        self._steps = TourSteps(cluster)

    def tell(self, started_s: float) -> None:
        """Tells everything. A command that fails is told, and the tour goes on."""
        page = self._page
        page.say(
            sentence(
                "quickstart-settled",
                "They run and have settled, after {started_ms}. The planted faults:",
                started_ms=round(started_s) * 1000,
            )
        )
        for line in self._scenario.planted:
            page.item(line)
        page.say(sentence("quickstart-time-scale", "Time scale {scale}.", scale=scale_text(self._cluster.time_scale)))
        if self._cluster.trouble:
            page.say(
                sentence(
                    "quickstart-slow-machine", "This machine is slow today: {trouble}", trouble=self._cluster.trouble
                )
            )
        stores = [f"{broker.name}={broker.store}" for broker in self._cluster.ready.brokers]
        report = ["report", "backlog", "-g", "matching", "--by", "queue"]
        report += [word for store in stores for word in ("--store", store)]
        with self._steps.behind(report) as spark:
            self._doctor()
            self._allocation()
            self._stacks()
            self._report(report, spark)

    def _doctor(self) -> None:
        page = self._page
        page.heading(sentence("quickstart-what-is-wrong", "1. What is wrong?"))
        words = ["doctor"]
        page.command(self._steps.typed(words))
        said = self._steps.hear([*words, "-o", "json"])
        if said.exit_code not in _JUDGED:
            self._failed(said)
            return
        report = json.loads(said.stdout)
        for finding in report["findings"]:
            page.finding(finding["severity"], finding["code"], finding["subject"], _what(finding))
        page.say(
            sentence(
                "quickstart-rules-run",
                "({rules:rule}. What each finding does to messages, and what to do, is left out here.)",
                rules=len(report["rules_run"]),
            )
        )
        expected = meanings(finding["code"] for finding in report["findings"])
        for text in [*expected, HEALTHY]:
            page.meaning(text) if text is expected[0] else page.item(text, "=>")

    def _allocation(self) -> None:
        self._page.heading(sentence("quickstart-who-consumes", "2. Who consumes which queue?"))
        if self._show(["allocation", "show", "-g", "settlement", "--room-rule", _RULE]):
            self._page.meaning(
                sentence(
                    "quickstart-owner-decides",
                    "Every queue has one owner, and the owner's tags decide: other messages are skipped, "
                    "without an error and for the entire group. `mqctl subscription check -g settlement` "
                    "counts the lost messages by tag.",
                )
            )

    def _stacks(self) -> None:
        self._page.heading(sentence("quickstart-threads", "3. What do the threads of billing do?"))
        if self._show(["stacks", "dump", "-g", "billing", "--dumps", "1"]):
            self._page.meaning(
                sentence(
                    "quickstart-threads-wait",
                    "All its threads are in one line of the application, which calls a payment service without "
                    "a time limit. More threads or instances would wait there as well.",
                )
            )

    def _report(self, words: Sequence[str], spark: Behind) -> None:
        page = self._page
        page.heading(sentence("quickstart-report", "4. The backlog, read from the brokers' files (Spark)"))
        page.command(self._steps.typed(words, live=False))
        said = spark.wait(page.spoken(sentence("quickstart-spark-reads", "Spark reads the stores")))
        if needs_no_spark(said):
            page.say(sentence("quickstart-without-spark", "Without Spark: {trouble}.", trouble=said.trouble))
            page.say(sentence("quickstart-small-stores", "Small stores are read without it:"))
            page.command(self._steps.typed([*words, "--no-spark"], live=False))
            said = self._steps.hear([*words, "--no-spark"])
        if said.exit_code != ExitCode.OK:
            self._failed(said)
            return
        page.output(said.stdout.rstrip("\n").split("\n"))
        page.meaning(
            sentence(
                "quickstart-files-tell",
                "The files alone tell it, so a copy of a dead broker's store would do. Nearly all that waits for "
                "matching lies in one queue: that of the one account.",
            )
        )

    def _show(self, words: Sequence[str]) -> bool:
        self._page.command(self._steps.typed(words))
        code = self._steps.show(words)
        if code not in _JUDGED:
            self.exit_code = self.exit_code or code
            return False
        return True

    def _failed(self, said: Said) -> None:
        self._page.say(sentence("quickstart-did-not-work", "That did not work: {trouble}", trouble=said.trouble))
        self.exit_code = self.exit_code or said.exit_code

    def say_what_next(self, *, keep: bool) -> None:
        """Says what to type next, and how the cluster ends."""
        page = self._page
        page.heading(sentence("type-next", "What to type next"))
        if keep:
            page.say(sentence("quickstart-stays-up", "The cluster stays up:"))
            page.to_type(self._steps.typed(shlex.split(line)[1:]) for line in self._scenario.next_commands)
            page.say(sentence("quickstart-seen-enough", "and, when you have seen enough:"))
            page.to_type([command_line("mqctl local down --name {}", self._cluster.name)])
            return
        for line, what in _NEXT:
            page.to_type([line])
            page.item(what, "     ")


def _what(finding: Mapping[str, Any]) -> str:
    """Returns what `doctor` said in JSON as the sentence that it is."""
    return restored(finding["what"], finding["key"], finding["values"])
