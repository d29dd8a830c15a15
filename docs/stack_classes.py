"""The reference of stack classes: the rule table as it is tried, and how it fares on the recorded dumps."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from mqctl.stacks.classify import Classifier
from mqctl.stacks.names import Role, understand
from mqctl.stacks.parse import read_dumps
from mqctl.stacks.rule_table import CLASS_RULES
from mqctl.stacks.rules import ClassRule, Reach, StackClass

DUMPS = Path(__file__).resolve().parents[1] / "tests" / "golden" / "dumps"
UNDECIDED = ("python-c-call", "none", "native")
_INTRODUCTION = """\
What `mqctl stacks` makes of a thread. The rules are tried in this order, and the first that matches decides. Unless it
says otherwise a rule looks at what the application called: from the innermost call to the line of the application.

A pattern is a dotted name in which `*` stands for anything. `code` is the source line of the innermost Python call,
where the tool tells it: C functions have no frame in Python, so without the line (which a dump taken on the same
machine has, and one of our own client) and without `--native` calls a sleeping thread and one that waits for a lock
look alike; they are called `wait` then, never healthy. Where several dumps show that such a thread used 2 % of a CPU or
more, it computes (or takes turns under Python's interpreter lock) and is called `cpu`, by rule `cpu-time`.

A plain sleep is called `retry` when the application's line, or a call beside it, bears the word retry or backoff in its
name. A plain socket call is called after the driver or library that is found anywhere on the stack.
"""
_MOTION = """\
## Several dumps

A thread that stands at the same line in all dumps and used no processor time in between is *stuck*; one whose calls
change, or that used a little, is *slow*; one that used 30% of a processor or more is *busy*, and one that waits for
work in all of them is *idle*. Processor time is the dump's own (JDK 11 and later), or the system's where a dump is
taken on the same machine. Through the broker there is none: a thread that computes in all dumps is busy then.

A deadlock is *proven* where the JVM reports it (for locks of java.util.concurrent with `jstack -l` only). It is
*suspected* where a circle follows from the locks in a dump, or where tools do not tell locks: two threads or more wait
for locks in all dumps, without moving, and no other thread has a call in the files concerned.

"""
_OWN_RULES = """\
## Your own rules

`mqctl stacks dump --rules-file rules.yaml` tries the rules of a file before these. A rule needs a `class`, one of those
above or a word of your own, and at least one condition; all the conditions that it has must hold.

```yaml
rules:
  - name: order-gateway          # shown beside the class
    class: rpc
    calls: ["com.acme.gateway.*"]      # one of these was called
    top: ["com.acme.gateway.Channel.await"]  # the innermost call
    states: [WAITING, TIMED_WAITING]   # NEW RUNNABLE BLOCKED WAITING TIMED_WAITING TERMINATED IDLE UNKNOWN
    code: ["gateway\\\\.call"]            # Python: regular expressions for the source line
    unless: ["com.acme.gateway.Warmup.*"]
    within: 10                         # among so many innermost calls
    whole-stack: true                  # also below the application's line
application: ["com.alibaba.acme.*"]    # ours, although a library by its name
libraries: ["com.acme.framework.*"]    # not ours: the line to blame is further down
```
"""
_SAMPLES = """\
Consume threads of two programs of ours that do one thing each, dumped by the real tools; see `tests/golden/dumps`. The
rules were written with these at hand, and database, Redis, RPC, pool and RocketMQ calls bear only the libraries' names:
the figures show that nothing is mistaken among them, not how often a stranger's stack is recognised.
"""


@dataclass(frozen=True, slots=True)
class Score:
    """How the threads of one recorded file were judged.

    Attributes:
        undecided: told to wait for something that the dump does not show.
        healthy: judged idle although it is not.
    """

    file: str
    threads: int
    right: int
    undecided: int
    wrong: int
    healthy: int


def scores() -> list[Score]:
    """Returns how the rule table fares on each recorded file."""
    labels = json.loads((DUMPS / "labels.json").read_text(encoding="utf-8"))
    return [
        _score(path, labels) for path in sorted(DUMPS.iterdir()) if path.name != "labels.json" and path.suffix != ".md"
    ]


def _score(path: Path, labels: dict[str, list[str]]) -> Score:
    classifier = Classifier()
    right = undecided = wrong = healthy = 0
    for dump in read_dumps(path.read_text(encoding="utf-8"), source=path.name):
        for thread in dump.threads:
            name = understand(thread.name)
            if name.role is not Role.CONSUME or name.group is None:
                continue
            found = classifier.classify(thread)
            if found.cls in labels[name.group]:
                right += 1
            elif found.rule in UNDECIDED:
                undecided += 1
            else:
                wrong += 1
            healthy += found.cls == StackClass.IDLE and labels[name.group] != ["idle"]
    return Score(path.name, right + undecided + wrong, right, undecided, wrong, healthy)


def page() -> str:
    """Returns the page."""
    parts = ["# Stack classes", "", "Generated from the rule table.", "", _INTRODUCTION]
    parts += ["| # | class | rule | recognises |", "|---|---|---|---|"]
    for number, rule in enumerate(CLASS_RULES, 1):
        parts.append(f"| {number} | `{rule.cls}` | [{rule.name}](#{rule.name}) | {rule.why} |")
    parts += ["", "What no rule matches is `unknown`; its calls are shown.", "", _MOTION + _OWN_RULES]
    parts += ["## On recorded dumps", "", _SAMPLES]
    parts += ["| dump | consume threads | right | undecided | wrong | taken for healthy |", "|---|---|---|---|---|---|"]
    parts += [f"| `{s.file}` | {s.threads} | {s.right} | {s.undecided} | {s.wrong} | {s.healthy} |" for s in scores()]
    parts += ["", "## Rules in full", ""]
    for rule in CLASS_RULES:
        parts += [f"### {rule.name}", "", f"`{rule.cls}`: {rule.why}.", "", *_conditions(rule), ""]
    return "\n".join(parts)


def _conditions(rule: ClassRule) -> list[str]:
    where = "anywhere on the stack" if rule.reach is Reach.WHOLE else "called by the application"
    where += f", among the {rule.within} innermost calls" if rule.within else ""
    told = [
        (f"one of these is {where}", rule.calls),
        ("the innermost call is", rule.top),
        ("the source line matches", rule.code),
        ("the state is", tuple(map(str, rule.states))),
        ("none of these was called", rule.unless),
    ]
    lines = [f"* {what}: {', '.join(f'`{value}`' for value in values)}" for what, values in told if values]
    lines += ["* no application code is on the stack"] if rule.bare else []
    return lines + (["* the innermost call is native code"] if rule.native else [])
