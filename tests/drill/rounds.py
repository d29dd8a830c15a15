"""Drills with faults by chance on the sound cluster: `python -m tests.drill.rounds [ROUNDS] [SEED] [--save FILE]`.

Each must be kept: whatever is out of the ordinary has to be explained by an event. A history that is not kept stays,
with its verdict; the seed of each round is printed and runs it again.
"""

from __future__ import annotations

import json
import platform
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from time import monotonic

from mqctl.commands.drill.running import DrillRequest, run_drill
from mqctl.commands.drill.view import evidence_lines
from mqctl.drill.checker import Checker
from mqctl.drill.plan import DrillPlan, read_plan
from mqctl.model.drill_verdict import DrillState

_STEPS = (
    "{do: kill, consumer: group-1}",
    "{do: leave, consumer: group-2}",
    "{do: join, group: group, consumers: 1}",
    "{do: burst, producer: orders, messages: 100}",
    "{do: kill-broker, broker: broker-a, back_after: 600ms}",
    "{do: stop-broker, broker: broker-b, back_after: 600ms}",
    "{do: lose-power, broker: broker-a, back_after: 600ms}",
    "{do: jump-clock, by: 90s}",
    "{do: jump-clock, by: -3s}",
    "{do: reset-offsets, group: group, back: 1s}",
)


def say(line: str) -> None:
    """Prints a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def plan_by_chance(random: Random) -> DrillPlan:
    """Returns a plan of a few seconds: one mode, one or two kinds of producers, up to three events."""
    mode = random.choice(["concurrent", "orderly", "key-ordered", "broadcast"])
    steps = random.sample(_STEPS[:-1] if mode == "broadcast" else _STEPS, random.randrange(4))
    if _STEPS[-1] in steps:  # neither a broker that is away nor a group that nobody consumes is reset
        steps = [step for step in steps if "broker:" not in step and "consumer:" not in step]
    if not any("join" in step for step in steps):  # somebody has to be there to the end
        steps = [step for step in steps if "group-2" not in step]
    if sum("broker: broker-a" in step for step in steps) > 1:  # a broker that is away cannot die
        steps = [step for step in steps if "lose-power" not in step]
    # A reset is refused by a broker that has had no heartbeat of the group yet.
    times = [random.randrange(100, 1500) + 4_000 * ("reset" in step) for step in steps]
    schedule = "".join(f"  - {step[:-1]}, at: {at}ms}}\n" for at, step in zip(times, steps, strict=True))
    sends = random.choice(["normal", "keyed", "transactional", "delayed"])
    fails = 0 if mode == "broadcast" else random.choice([0, 20])
    text = (
        "title: by chance\n"
        "cluster: {brokers: [broker-a, broker-b]}\n"
        "time_scale: 20\n"
        "limits: {lost_after: 60s}\n"
        f"producers: [{{name: orders, sends: {sends}, messages: 200, rate: 150, keys: 8}}]\n"
        f"groups: [{{name: group, mode: {mode}, consumers: 2, fails: {fails}}}]\n"
        + (f"schedule:\n{schedule}" if schedule else "")
    )
    return read_plan("chance", text.encode(), "chance.yaml")


def main() -> None:
    """Runs the rounds and prints each one's verdict; ends with 1 when one was not kept."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    rounds, seed = [*numbers, *(20, 0)[len(numbers) :]]
    states: Counter[DrillState] = Counter()
    sent = explained = 0
    began = monotonic()
    directory = Path(mkdtemp(prefix="mqctl-rounds-"))
    for number in range(seed, seed + rounds):
        path = directory / f"{number}.history"
        run_drill(plan_by_chance(Random(number)), None, DrillRequest(mark=f"{number}", history=path, ask=say))
        verdict = Checker(path, 2).judge()
        states[verdict.state] += 1
        inside = sum(each.inside for each in verdict.promises)
        sent, explained = sent + verdict.sent, explained + inside
        say(f"{number}: {verdict.state}, {verdict.sent} sent, {inside} explained")
        if verdict.state is DrillState.KEPT:
            path.unlink()
            continue
        for breach in verdict.breaches:
            if breach.allowed_by is None:
                say("\n".join(evidence_lines(breach)))
    say(", ".join(f"{state} {count}" for state, count in states.items()) + f" (histories: {directory})")
    if "--save" in sys.argv:
        figures = {
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "python": platform.python_version(),
            "seed": seed,
            "minutes": round((monotonic() - began) / 60, 1),
            "rounds": rounds,
            "sent": sent,
            "explained_by_events": explained,
            **{state.replace("-", "_"): states[state] for state in DrillState},
        }
        Path(sys.argv[sys.argv.index("--save") + 1]).write_text(json.dumps(figures, indent=1) + "\n")
    sys.exit(states[DrillState.KEPT] != rounds)


if __name__ == "__main__":
    main()
