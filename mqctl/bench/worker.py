"""`python -m mqctl.bench.worker`: one process of a bench, which sends or pulls.

It reads its task from the first line of its input, says that it is connected, and begins with the second line. When its
input ends it ends too, with the figures so far: that of a process whose starter was killed does.
"""

from __future__ import annotations

import asyncio
import signal
import sys

import msgspec

from mqctl.bench.receiving import PullLoop
from mqctl.bench.sending import SendLoop
from mqctl.bench.task import BenchTask, Told
from mqctl.errors import MqctlError
from mqctl.text import encoded

_LONGEST_TASK = 1 << 26


def _say(report: Told) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(report, enc_hook=encoded) + b"\n")
    sys.stdout.buffer.flush()


async def _work() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_LONGEST_TASK)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    task = msgspec.json.decode(await reader.readline(), type=BenchTask)
    kind = PullLoop if task.consumer_group else SendLoop
    working = kind(task, lambda second: _say(Told(second=second)))
    await working.connect()
    _say(Told(is_ready=True))
    if not await reader.readline():
        return

    async def wait_for_end() -> None:
        await reader.read()
        working.stop("interrupt")

    waiting = asyncio.create_task(wait_for_end())
    _say(Told(end=await working.run()))
    waiting.cancel()


def main() -> int:
    """Runs the task; the exit code only tells whether it could."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the starter, who ends our input
    try:
        asyncio.run(_work())
    except (MqctlError, OSError) as error:
        _say(Told(trouble=str(error) or type(error).__name__))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
