"""Runs a playbook: step by step, until its end, a stop condition, or anything that it does not expect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from mqctl.errors import BadInputError
from mqctl.model.command_line import shell_words
from mqctl.model.lang import Lang
from mqctl.model.playbook import Argument, Playbook, PlaybookEnd, PlaybookStep, Words
from mqctl.model.playbook_run import Ending, Identity, PlaybookRun, Scalar, StepRun, StepState
from mqctl.playbook import conditions, identity, template
from mqctl.playbook.child import Spoken
from mqctl.playbook.world import World
from mqctl.text import argv_of, composed, joined, sentence

_IDENTITY_TIMEOUT_MS = 30_000
_STOPPING = {
    StepState.UNEXPECTED: Ending.UNEXPECTED,
    StepState.TIMED_OUT: Ending.TIMED_OUT,
    StepState.REFUSED: Ending.REFUSED,
    StepState.UNDECIDED: Ending.UNDECIDED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a playbook is to be run.

    Attributes:
        values: of all parameters, None for absent ones.
        cluster, fingerprint: what the cluster must be.
        timeout_ms: limit of every step instead of its own.
    """

    values: dict[str, Argument]
    execute: bool
    lang: Lang
    cluster: str | None = None
    fingerprint: str | None = None
    timeout_ms: int | None = None


class _End(Exception):
    """The run ends here."""

    def __init__(self, ending: Ending, why: str) -> None:
        super().__init__(why)
        self.ending = ending


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A change as it was shown: the command line, whether it asks a cluster, what became of it, and its plan."""

    words: Sequence[str]
    asks: bool
    outcome: StepRun
    plan: bytes


@dataclass
class _Run:
    playbook: Playbook
    options: RunOptions
    world: World
    captured: dict[str, Scalar] = field(default_factory=dict)
    exits: dict[str, int] = field(default_factory=dict)
    choices: dict[str, str] = field(default_factory=dict)
    done: dict[str, bool] = field(default_factory=dict)
    steps: list[StepRun] = field(default_factory=list)
    first: Identity | None = None
    running: tuple[PlaybookStep, str | None] | None = None

    def walk(self) -> None:
        for number, step in enumerate(self.playbook.steps, start=1):
            if step.when is not None and not self._holds(step.when):
                self._ended(self._outcome(step, StepState.SKIPPED))
                continue
            outcome = self._decide(number, step) if step.options else self._command(number, step)
            self._ended(outcome)
            if outcome.state in _STOPPING:
                raise _End(
                    _STOPPING[outcome.state],
                    composed("{step}: {joined}", step=step.id, joined=joined("; ", outcome.means)),
                )
            self._stop_at(step, outcome)

    def _facts(self) -> dict[str, object]:
        facts = {"exit": self.exits, "choice": self.choices, "done": self.done}
        return {**self.options.values, **self.captured, **facts}

    def _holds(self, condition: str) -> bool:
        return conditions.condition_holds(condition, self._facts(), self.options.values)

    def _text(self, words: Words) -> str:
        """Returns words with what is known in their places."""
        return template.fill(words[self.options.lang], self._facts(), unknown=True)

    def _outcome(self, step: PlaybookStep, state: StepState, *means: str) -> StepRun:
        return StepRun(id=step.id, state=state, about=self._text(step.about), means=list(means))

    def _ended(self, outcome: StepRun) -> None:
        self.running = None
        self.steps.append(outcome)
        self.world.ended(outcome)

    def _decide(self, number: int, step: PlaybookStep) -> StepRun:
        step = replace(
            step, options={name: dict.fromkeys(words, self._text(words)) for name, words in step.options.items()}
        )
        self.world.begins(number, step, None)
        chosen = self.world.choose(step)
        if chosen is None:
            return self._outcome(
                step,
                StepState.UNDECIDED,
                sentence("playbook-choose-one", "choose one of {names}", names=step.options),
            )
        self.choices[step.id] = chosen
        return replace(self._outcome(step, StepState.DECIDED, self._text(step.options[chosen])), choice=chosen)

    def _command(self, number: int, step: PlaybookStep) -> StepRun:
        assert step.command is not None
        try:
            words = template.filled(step.command, self._facts())
        except BadInputError as error:
            return self._outcome(step, StepState.UNEXPECTED, str(error))
        connected = self.world.connected(words)
        if connected is not None and self.first is None:
            self._look_at_cluster()
        if step.asks and self.options.execute:
            return self._asking(number, step, [*(connected or words), "--execute"])
        line = shell_words(["mqctl", *(connected or words)])
        self.running = (step, line)
        self.world.begins(number, step, line)
        spoken = self._speak(step, connected or words)
        outcome = self._judged(step, line, spoken, StepState.PLANNED if step.changes else StepState.EXPECTED)
        if not step.changes or not self.options.execute or outcome.state is not StepState.PLANNED:
            return outcome
        if spoken.plan is None and spoken.exit_code:
            return replace(outcome, state=StepState.EXPECTED)  # a refusal that the step reckons with: nothing to change
        if spoken.plan is None:
            return replace(
                outcome,
                state=StepState.UNEXPECTED,
                means=[sentence("playbook-no-plan-shown", "it showed no plan; nothing was changed")],
            )
        shown = _Shown(words=connected or words, asks=connected is not None, outcome=outcome, plan=spoken.plan)
        return self._change(step, shown)

    def _asking(self, number: int, step: PlaybookStep, words: Sequence[str]) -> StepRun:
        """Carries out a command that asks somebody while it works."""
        line = shell_words(["mqctl", *words])
        self.running = (step, line)
        self.world.begins(number, step, line)
        limit_ms = self.options.timeout_ms or step.timeout_ms
        return self._judged(
            step, line, self.world.speak(words, limit_ms, self.world.heard, asks=True), StepState.EXPECTED
        )

    def _change(self, step: PlaybookStep, shown: _Shown) -> StepRun:
        """Carries out what was just shown, on the same cluster, once the name is confirmed."""
        planned = shown.outcome
        name = template.fill(step.confirm or "", self._facts())
        if not self.world.confirm(name):
            return replace(
                planned,
                state=StepState.REFUSED,
                means=[sentence("playbook-not-confirmed", "{name} was not confirmed; nothing was changed", name=name)],
            )
        if shown.asks:
            self._look_at_cluster()
        words = [*shown.words, "--execute", "--confirm", name]
        line = shell_words(["mqctl", *words])
        self.running = (step, line)
        self.world.heard(f"$ {line}")
        spoken = self._speak(step, words, shown.plan)
        change = spoken.document.get("id") if isinstance(spoken.document, dict) else None
        # Without an entry in the journal there was nothing to change: the plan itself was the answer.
        outcome = self._judged(step, line, spoken, StepState.CHANGED if change else StepState.EXPECTED)
        self.done[step.id] = outcome.state is StepState.CHANGED
        return replace(outcome, change=change, took_ms=planned.took_ms + outcome.took_ms)

    def _speak(self, step: PlaybookStep, words: Sequence[str], plan: bytes | None = None) -> Spoken:
        return self.world.speak(words, self.options.timeout_ms or step.timeout_ms, self.world.heard, plan)

    def _judged(self, step: PlaybookStep, line: str, spoken: Spoken, good: StepState) -> StepRun:
        run = replace(
            self._outcome(step, good),
            command=line,
            command_argv=argv_of(line),
            exit_code=spoken.exit_code,
            took_ms=spoken.took_ms,
            said=spoken.stdout,
            complained=spoken.stderr,
        )
        if spoken.exit_code is None:
            limit_ms = self.options.timeout_ms or step.timeout_ms
            return replace(
                run,
                state=StepState.TIMED_OUT,
                means=[sentence("playbook-step-no-end", "no end within {limit_ms}", limit_ms=limit_ms)],
            )
        self.exits[step.id] = spoken.exit_code
        meanings = step.meanings
        expected = {0, *meanings} if good is StepState.PLANNED else meanings or {0: {}}
        if spoken.exit_code not in expected:
            wanted = ", ".join(map(str, sorted(expected)))
            return replace(
                run,
                state=StepState.UNEXPECTED,
                means=[
                    sentence(
                        "playbook-exit-expected",
                        "exit {exit_code}; expected {expected}",
                        exit_code=spoken.exit_code,
                        expected=wanted,
                    )
                ],
            )
        try:
            captured = {name: conditions.read(expression, spoken.document) for name, expression in step.capture.items()}
            self.captured.update(captured)
            held = [result for result in step.results if self._holds(result.when)]
        except BadInputError as error:
            return replace(run, state=StepState.UNEXPECTED, means=[str(error)])
        words = [meanings[spoken.exit_code]] if spoken.exit_code in meanings else []
        means = [self._text(text) for text in [*words, *(result.means for result in held)]]
        return replace(run, means=means, captured=captured, result=held[0].id if held else None)

    def _stop_at(self, step: PlaybookStep, outcome: StepRun) -> None:
        for result in step.results:
            if result.stop is not None and self._holds(result.when):
                ending = Ending.DONE if result.stop is PlaybookEnd.DONE else Ending.ATTENTION
                raise _End(ending, self._text(result.means))

    def _look_at_cluster(self) -> None:
        """Asks which cluster it is, and ends the run when it is another one than expected."""
        words = self.world.connected(identity.COMMAND)
        spoken = self.world.speak(words or identity.COMMAND, _IDENTITY_TIMEOUT_MS, lambda _: None)
        seen = identity.identity_of(spoken.document)
        if seen is None:
            lines = spoken.stderr.strip().splitlines()
            raise _End(
                Ending.NO_CLUSTER,
                lines[0] if lines else sentence("playbook-no-cluster", "the name servers know no cluster"),
            )
        wrong = identity.unlike(
            seen, cluster=self.options.cluster, fingerprint=self.options.fingerprint, first=self.first
        )
        self.first = self.first or seen
        if wrong is not None:
            raise _End(Ending.OTHER_CLUSTER, wrong)


def run_playbook(playbook: Playbook, options: RunOptions, world: World) -> PlaybookRun:
    """Runs a playbook and returns what became of it; it ends by itself at an interruption as well.

    Raises:
        StorageError: no command can be started here.
    """
    began_at_ms = world.now_ms()
    state = _Run(playbook, options, world)
    ending, why = Ending.COMPLETE, ""
    try:
        state.walk()
    except _End as end:
        ending, why = end.ending, str(end)
    except BadInputError as error:
        ending, why = Ending.UNEXPECTED, str(error)
    except KeyboardInterrupt:
        ending = Ending.INTERRUPTED
        if state.running is not None:
            step, line = state.running
            state.steps.append(
                StepRun(
                    id=step.id,
                    state=StepState.INTERRUPTED,
                    about=step.about[options.lang],
                    command=line,
                    command_argv=argv_of(line),
                )
            )
    return PlaybookRun(
        playbook=playbook.slug,
        title=playbook.title[options.lang],
        began_at_ms=began_at_ms,
        took_ms=world.now_ms() - began_at_ms,
        executed=options.execute,
        ending=ending,
        why=why,
        parameters=options.values,
        cluster=state.first,
        steps=state.steps,
        rollback=list(playbook.rollback[options.lang]),
    )
