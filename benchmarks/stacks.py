"""How long it takes to read, classify and group a dump of many threads. Run: `python -m benchmarks.stacks [THREADS]`.

The dump is made of the recorded ones in tests/golden/dumps, thread by thread, with names and numbers of their own, so
that no two threads are the same text. Times are CPU times of this process, the best of five.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from time import process_time

from mqctl.stacks.classify import Classifier
from mqctl.stacks.group import report_threads
from mqctl.stacks.parse import read_dumps

DUMPS = Path(__file__).resolve().parents[1] / "tests" / "golden" / "dumps"
_HEAD = re.compile(r'^"ConsumeMessageThread_(\w+)_\d+" #\d+')


def java_dump(threads: int) -> str:
    """Returns a dump as `jstack -l` writes it."""
    text = (DUMPS / "java17-jcmd.txt").read_text(encoding="utf-8")
    head, _, rest = text.partition('\n"')
    blocks = [f'"{block}' for block in rest.split('\n"') if _HEAD.match(f'"{block}')]
    made = []
    for number, block in zip(range(threads), cycle(blocks), strict=False):
        named = _HEAD.sub(rf'"ConsumeMessageThread_\1_{number}" #{number}', block)
        made.append(re.sub(r"nid=0x[0-9a-f]+", f"nid={number + 100:#x}", named))
    return head + "\n" + "\n".join(made) + "\n\nJNI global refs: 1, weak refs: 0\n"


def python_dump(threads: int) -> str:
    """Returns a dump as py-spy writes it."""
    text = (DUMPS / "python311-py-spy.txt").read_text(encoding="utf-8")
    head, *blocks = re.split(r"(?m)^(?=Thread )", text)
    made = []
    for number, block in zip(range(threads), cycle(blocks), strict=False):
        made.append(re.sub(r'^Thread \d+ (.*): "(\w+?)(_\d+)?"', rf'Thread {number + 100} \1: "\2_{number}"', block))
    return head + "".join(made)


def best(work: Callable[[], object], times: int = 5) -> float:
    """Returns the shortest CPU time of `work` in seconds."""
    stacks_read = []
    for _ in range(times):
        began = process_time()
        work()
        stacks_read.append(process_time() - began)
    return min(stacks_read)


def main(arguments: list[str]) -> None:
    threads = int(arguments[0]) if arguments else 5_000
    for name, make in (("jstack", java_dump), ("py-spy", python_dump)):
        text = make(threads)
        dumps = read_dumps(text, source="made")
        assert [len(dump.threads) for dump in dumps] == [threads]
        reading = best(lambda text=text: read_dumps(text, source="made"))
        judging = best(lambda dumps=dumps: report_threads(dumps, Classifier()))
        both = report_threads([dumps[0], *read_dumps(text, source="made")])
        print(
            f"{name}: {threads:,} threads, {len(text) / 1e6:.1f} MB: read {reading:.3f} s, classified and grouped "
            f"{judging:.3f} s, together {reading + judging:.3f} s of CPU; {len(both.groups)} groups"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
