"""The outside of a playbook's run: children on the same cluster, the terminal, the clock."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from time import time

from mqctl.cli.catalog import BY_PATH, options_of
from mqctl.cli.connection.credentials import with_secrets
from mqctl.cli.emit import tell
from mqctl.commands.playbook.words import STATES
from mqctl.errors import MqctlError, UsageError
from mqctl.model.lang import Lang
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.playbook import Playbook, PlaybookStep
from mqctl.model.playbook_run import StepRun
from mqctl.playbook.child import Spoken, run_child
from mqctl.render.translation import spoken
from mqctl.text import composed, printable, sentence

_ELSEWHERE = ("--store", "--snapshot", "--file")


def choices(playbook: Playbook, given: Sequence[str]) -> dict[str, str]:
    """Reads `--choose STEP=CHOICE`. Raises UsageError for a step that is no decision, or a choice that it has not."""
    decisions = {step.id: step for step in playbook.steps if step.options}
    chosen: dict[str, str] = {}
    for word in given:
        name, _, choice = word.partition("=")
        step = decisions.get(name)
        if step is None:
            there = ", ".join(decisions) or "none"
            raise UsageError(
                sentence("playbook-no-decision", "{slug} has no decision {name}", slug=playbook.slug, name=name),
                reason=sentence("common-there", "there are {there}", there=there),
            )
        if choice not in step.options:
            raise UsageError(
                sentence("playbook-no-choice", "{name} has no choice {choice!r}", name=name, choice=choice),
                reason=sentence("common-there", "there are {there}", there=step.options),
            )
        chosen[name] = choice
    return chosen


def _has_own_cluster(words: Sequence[str]) -> bool:
    """Tells whether a command is a drill that makes the cluster it works on, or cannot even begin."""
    if tuple(words[:2]) != ("drill", "run"):
        return False
    from mqctl.drill.plan import load_plan

    try:
        return load_plan(words[2]).cluster is not None
    except MqctlError:
        return True  # the command itself says what is wrong with the plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """A run as the user sees it: everything is told on stderr as it happens.

    Attributes:
        cluster_options: `--namesrv X` or `--profile X`, for the steps.
        chosen: decisions taken beforehand.
        confirmed: names confirmed beforehand.
    """

    cluster_options: Sequence[str]
    chosen: Mapping[str, str]
    confirmed: Sequence[str]
    lang: Lang
    total: int
    environment: Mapping[str, str] = field(default_factory=lambda: with_secrets(os.environ))

    def now_ms(self) -> int:
        return int(time() * 1000)

    def connected(self, words: Sequence[str]) -> list[str] | None:
        path = tuple(words[:2]) if tuple(words[:2]) in BY_PATH else tuple(words[:1])
        takes = "--namesrv" in options_of(path)
        if not takes or any(word in _ELSEWHERE for word in words) or _has_own_cluster(words):
            return None
        return [*words, *self.cluster_options]

    def speak(
        self,
        words: Sequence[str],
        timeout_ms: int,
        heard: Callable[[str], None],
        plan: bytes | None = None,
        *,
        asks: bool = False,
    ) -> Spoken:
        environment = {**self.environment, "MQCTL_LANG": self.lang.value}
        return run_child(words, timeout_ms=timeout_ms, environment=environment, heard=heard, plan=plan, asks=asks)

    def choose(self, step: PlaybookStep) -> str | None:
        if step.id in self.chosen:
            return self.chosen[step.id]
        for name, words in step.options.items():
            tell(f"      {name}: {words[self.lang]}")
        if not _can_ask():
            tell(
                sentence(
                    "playbook-unchosen", "      there is no terminal to ask on: --choose {step}=CHOICE", step=step.id
                )
            )
            return None
        answer = _ask(spoken(sentence("playbook-options", "Choose one, or nothing to stop here"), self.lang))
        return answer if answer in step.options else None

    def confirm(self, name: str) -> bool:
        if name in self.confirmed:
            return True
        if not _can_ask():
            tell(sentence("playbook-unconfirmed", "      there is no terminal to ask on: --confirm {name}", name=name))
            return False
        question = sentence("playbook-confirm", "Type {name} to change it, anything else to stop", name=name)
        return _ask(spoken(question, self.lang)) == name

    def begins(self, number: int, step: PlaybookStep, command: str | None) -> None:
        tell(f"[{number}/{self.total}] {step.id}: {step.about[self.lang]}")
        if command is not None:
            tell(f"      $ {printable(command)}")

    def heard(self, line: str) -> None:
        tell(f"      | {printable(line)}")

    def ended(self, step: StepRun) -> None:
        state = STATES[step.state]
        if step.command is not None:
            tell(composed("      = {state} ({took_ms})", state=state, took_ms=step.took_ms))
        elif step.choice:
            tell(composed("      = {state}", state=state))
        else:
            tell(composed("        {step}: {state}", step=step.id, state=state))
        for text in step.means:
            tell(f"        {printable(text)}")


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _ask(question: str) -> str:
    sys.stderr.write(f"      {question}: ")
    sys.stderr.flush()
    return sys.stdin.readline().strip()
