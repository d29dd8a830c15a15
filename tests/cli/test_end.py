"""A process ends with its command's exit code, whatever its threads are doing."""

from __future__ import annotations

import subprocess
import sys

import pytest

# The interpreter's own end aborts here always, as it does at times under a thread of C++.
_PROGRAM = """
import atexit, ctypes, sys, threading
from mqctl.__main__ import run

ctypes.pythonapi.Py_AtExit(ctypes.CDLL(None).abort)
atexit.register(lambda: print("registered"))
{meanwhile}
sys.argv = ["mqctl", *{words}]
sys.exit(run())
"""
_STUCK = "threading.Thread(target=threading.Event().wait, daemon=True).start()"
_NATIVE = "import pyarrow"
_ENDS_SOON = "threading.Timer(0.05, lambda: print('it ended')).start()"
_ABORTED = -6


@pytest.mark.parametrize(("words", "code"), [(["--version"], 0), (["explain", "MQ999"], 66)])
@pytest.mark.parametrize(
    ("meanwhile", "by_itself", "awaited"),
    [("", True, False), (_STUCK, False, False), (_NATIVE, False, False), (_ENDS_SOON, True, True)],
    ids=["alone", "stuck", "native", "ends-soon"],
)
def test_threads_at_the_end(meanwhile: str, by_itself: bool, awaited: bool, words: list[str], code: int) -> None:
    """The interpreter ends by itself where no thread can notice; one that is no daemon is awaited."""
    program = _PROGRAM.format(meanwhile=meanwhile, words=words)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == (_ABORTED if by_itself else code), ended.stderr
    lines = ended.stdout.splitlines()
    assert ("registered" in lines, "it ended" in lines) == (True, awaited)
