"""docs/reliability.md from the figures that the commands in tests/reliability saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FIGURES = Path(__file__).resolve().parent / "reliability"
_NOTES = {
    "fuzz": (
        "Hostile input",
        "python -m tests.reliability.fuzz --minutes 480 --seed N --corpus DIR",
        "Readers of frames, headers, bodies, records, batches, compressed bodies, SQL92, thread dumps, "
        "snapshots, YAML, CSV, journals and all store files get damaged recordings; a broker and a client get "
        "damaged frames. Inputs that reach lines which none before them did are kept and edited further. Only named "
        "errors count as an answer, within 5 s of processor time and 256 MiB.",
    ),
    "answers": (
        "Servers that lie",
        "python -m tests.reliability.answers --runs 100000 --seed N",
        "Every read command that asks a cluster, and every one that reads a snapshot, while answers are altered on "
        "their way: other numbers, texts, kinds and counts (up to 70,000 of what was one), lengths that are wrong, "
        "answers of others, errors, answers that nobody asked for, halves, silence. The output format changes from "
        "run to run. None may end with a traceback or a code that is not documented, take more than its timeout "
        "and a tenth (time in which the machine ran others is taken off), need more than 1 GiB, or show what a "
        "server said on more than one line or with its control characters. A run is repeated by its number: "
        "`--only`. Of the four problems of this run, on a machine that was busy with tests, two did not come again "
        "when their numbers were repeated, and two are fixed since: what a decoder says is cut, and `group lag -o "
        "yaml` of thousands of rows, which a broker made up, ends after 3.1 s (3.9 s before, 3.5 s are allowed).",
    ),
    "abuse": (
        "Others under an attack",
        "python -m tests.reliability.abuse --seconds 5",
        "A broker process is attacked as a stranger may, with a few small requests or a few connections, while a "
        "client in a process of its own sends a message every 5 ms; `p99 just before` is the same pair without an "
        "attack, and tells how busy the machine was. The attacks: progress of a group on 20 topics of 65,536 "
        "queues and on one of them, values of 8 MB for the name server, 80,000 pulls that wait on one queue and "
        "messages for it, a hundred messages of 5,000 keys at once, 100,000 groups in a heartbeat and 300 "
        "connections that close, 500 connections with a tenth of a frame of 16 MB each. The suite runs them in a "
        "short form, and asserts that others are served and that memory stays below 512 MiB.",
    ),
    "disks": (
        "Disks that fill, fail and lose power",
        "python -m tests.reliability.disks --rounds 2000 --seed N",
        "A broker works while writes or syncs fail, then loses what was not synced, in any order, and new files whose "
        "directory was not (lost entries); deleted ones come back (reappeared), renames are undone. Then it starts "
        "again. What one life did not sync the disk does not have in the next, either, until that one brings it "
        "there. Topics are deleted meanwhile, and log files expire; brokers as 5.x get timer messages, of which some "
        "are recalled, and then never come. A delivery or commit that comes twice counts as inside when "
        "delayOffset.json, timercheck, or the op record, did not hold it yet when the broker died or checked; any "
        "other is outside and a problem. Offsets beyond their queue's end (ASYNC_FLUSH only) are each named by "
        "`doctor` and corrected at the next pull. Torn configuration files are replaced by their backup or by the "
        "settings of a new broker. Changes by administrators are promised when their file was written, and lost when "
        "one of those did not hold.",
    ),
    "kills": (
        "Kills",
        "python -m tests.reliability.kills --rounds 300 --seed N",
        "`kill -9` of a broker process under sends, delays, timer messages (5.x), transactions, consumption and "
        "administration, and a start on its store. What comes twice is matched with its window as with disks; changes "
        "of topics and groups that were acknowledged must be there.",
    ),
    "pop_kills": (
        "Kills under POP",
        "python -m tests.reliability.pop_kills --rounds 36 --seed N",
        "`kill -9` of a broker process as 5.3.3 under pops, acknowledgements and changes of invisible times; every "
        "second store buffers its checkpoints. What was not acknowledged comes again (else lost). Again from queue: "
        "popped twice, for the consumer offset on the disk lay before it, which is all that a kill takes back. Again "
        "from retry: nothing surely acknowledged a delivery. Unseen: from retry, too, though no delivery was seen, for "
        "the kill cut off the answer.",
    ),
    "pop_stores": (
        "What a group that pops is said to hold",
        "python -m tests.reliability.pop_stores --rounds 400 --seed N",
        "Stores made by random sends, pops, ordered pops, acknowledgements (single, batches, twice, late) and changes "
        "of invisible times, on virtual time, with and without the buffer and with both names of retry topics. Each is "
        "judged live and as a store: ready, invisible, due and waiting must be what clients saw and what the broker "
        "hands out afterwards (else a problem).",
    ),
    "live_stores": (
        "Stores of brokers under load",
        "python -m tests.reliability.live_stores --runs 1000",
        "Every command with `--store` on the store of a broker process that takes all it can, as 4.9.8 and 5.3.3 in "
        "turn: sends in windows that never let up, beside commits, delays, timers and transactions. Of each command "
        "and release at least as many runs as the last table but one says; a run is a process of its own, forked. "
        "Every third broker deletes its log as fast as files fill. Then the load ends, and each command looks again: "
        "no run may fail, find what the same store at rest does not have (but for what is under way: transactions, "
        "rates, advice of severity info), or tell a lag that the broker does not confirm just before and just after. "
        "Those of a broker that deletes its log may only not fail. `report reconcile`, on Spark alone, is not run. The "
        "run that was saved had `--minutes 19`; a thousand of each take some ten hours on two cores.",
    ),
    "failover": (
        "A master and its slave",
        "python -m tests.reliability.failover --rounds 96 --seed N",
        "A master and its slave, a process each, get `kill -9` in turn under sends, SYNC and ASYNC, and start "
        "again on their stores; a consumer reads from the slave while the master is dead. SYNC: what was "
        "acknowledged is on the slave when its master is dead (else lost sync); sends without a slave are stored "
        "and answered otherwise (not replicated). ASYNC: what the slave lacks is exactly what lies behind the end "
        "of its log (behind async: messages; most behind async bytes: at one kill), and is there again when the "
        "master is back. After each kill both logs are equal byte for byte as far as both go, at the end of each "
        "store to the last byte, and both pass `store verify`. Read again after return: what a consumer without "
        "memory would read twice, because the master comes back with older offsets; the one that ran on reads "
        "nothing twice.",
    ),
    "tool": (
        "mqctl itself",
        "python -m tests.reliability.tool --rounds 500 --seed N",
        "Every changing command of mqctl is killed at any instant, loses power there, or has its disk fail from there "
        "on. Then the journal can be read and knows of every change that was sent, the way on or back brings the "
        "cluster exactly there, files are old or new, and no lock, process or temporary file stays.",
    ),
    "drills": (
        "Drills",
        "python -m tests.drill.rounds 200 SEED --save FILE",
        "Drills by chance on the embedded cluster: producers and consumers of every kind while consumers join, leave "
        "and are killed, brokers stop, die, lose power, clocks jump, and offsets are moved ([drills](drill.md)). The "
        "machine was busy with other work. An earlier run (seed 1000, 198 kept) showed a mistake of the judge: a "
        "delayed message that was asked for again when its broker was killed came twice by the retry topic, ten "
        "seconds later, and was called a repeat (seed 1047, kept since); and a drill that lost all its consumers was "
        "not judged, as nobody was owed anything.",
    ),
    "soak": (
        "Soak",
        "python -m tests.reliability.soak --minutes 60",
        "Mixed load at a fixed pace on brokers as 4.9.8 and 5.3.3: push consumers that stay, and that come and go, "
        "lite pull, bare sockets; tags and SQL92, delay levels, timers, transactions of all three ends, batches, "
        "compression, retries and dead letters, long polls, administration, connections that vanish, files that roll "
        "and are deleted. Memory, handles, sockets, threads, disk, tables, what waits, latency and throughput of the "
        "brokers, of the client library's process and of an exporter are held to be flat: the medians of the first and "
        "the last third, after a warm-up, and the slope of all pairs of samples. Every acknowledged message reaches "
        "every group that subscribes it, once; again only where queues change hands or offsets are set back.",
    ),
}


def page() -> str:
    """Returns the page; a run that was not saved is left out."""
    lines = [
        "# Reliability",
        "",
        "What the long runs found, as their commands saved it with `--save`; short versions of all are in the suite.",
        "Generated by docs/generate.py from docs/reliability/*.json; do not edit.",
    ]
    for name, (title, command, note) in _NOTES.items():
        file = _FIGURES / f"{name}.json"
        if file.exists():
            figures: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            lines += ["", f"## {title}", "", note, "", f"```sh\n{command}\n```", "", *_table(figures)]
    return "\n".join(lines) + "\n"


def _table(figures: dict[str, Any]) -> list[str]:
    targets, series = figures.pop("targets", None), figures.pop("series", None)
    lines = ["| figure | value |", "|---|---|"]
    for name, value in figures.items():
        shown = value
        if isinstance(value, dict):
            shown = "; ".join(f"{key}: {_shown(part)}" for key, part in value.items())
        lines.append(f"| {name.replace('_', ' ')} | {len(value) if name == 'problems' else shown} |")
    if targets and "kept" in targets[0]:
        guided = [item for item in targets if item["seed_arcs"]]
        lines.append(f"| arcs of lines that the seeds reach | {sum(item['seed_arcs'] for item in guided)} |")
        lines.append(f"| further arcs that inputs reached | {sum(item['new_arcs'] for item in guided)} |")
        lines.append(f"| inputs kept for it | {sum(item['kept'] for item in guided)} |")
    if targets:
        lines.append(f"| inputs tried | {sum(item['inputs'] for item in targets)} |")
        lines.append(f"| failures | {sum(item['failures'] for item in targets)} |")
        lines += ["", "| target | inputs | refused by name | slowest, ms | new arcs | kept | failures |"]
        lines.append("|---|---:|---:|---:|---:|---:|---:|")
        lines += [
            f"| {item['target']} | {item['inputs']} | {item['refused']} | {item['slowest_ms']} "
            f"| {item.get('new_arcs', '')} | {item.get('kept', '')} | {item['failures']} |"
            for item in targets
        ]
    if series:
        tenths = " | ".join(f"{number}" for number in range(1, 11))
        lines += ["", "Medians of the tenths of the run after the warm-up:", ""]
        lines += [f"| series | {tenths} |", "|---|" + "---:|" * 10]
        lines += [
            f"| {item['series']} | {' | '.join(_short(float(value)) for value in item['tenths'].split())} |"
            for item in series
        ]
    return lines


def _shown(part: object) -> str:
    return ", ".join(f"{key} {value}" for key, value in part.items()) if isinstance(part, dict) else str(part)


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 or value == round(value) else f"{value:.1f}"
