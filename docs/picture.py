"""The picture of a terminal in the README: recorded from a real run of `mqctl quickstart`, drawn by rich.

`python docs/picture.py` runs it on a terminal of its own (half a minute) and writes docs/quickstart.svg;
`python docs/picture.py --check` tells whether the picture shows what such a run shows today, but for the figures in it.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from html import unescape
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "quickstart.svg"
WORDS = ("quickstart",)
COLUMNS = 84
ROWS = 46
_SAID = re.compile(r"\x1b\[\d*[A-Za-ln-z]|\x1b\[\?\d+[hl]")  # all but colours


def record() -> str:
    """Returns what a run draws on a terminal of 84 columns, colours included."""
    ours, theirs = pty.openpty()
    with TemporaryDirectory() as home:
        told = {"COLUMNS": str(COLUMNS), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        env = {"PATH": os.environ["PATH"], "HOME": home, "PYTHONPATH": str(ROOT), **told}
        command = [sys.executable, "-m", "mqctl", *WORDS]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL, env=env, cwd=home
        )
        os.close(theirs)
        seen = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end was closed
                break
            if not part:
                break
            seen += part
        os.close(ours)
        code = process.wait()
    if code not in (0, 1, 2):
        raise SystemExit(f"mqctl {' '.join(WORDS)} ended with {code}")
    return _SAID.sub("", seen.decode().replace("\r\n", "\n"))


def drawn(text: str) -> str:
    """Returns the first lines as an SVG."""
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(f"$ mqctl {WORDS[0]}\n"))
    for line in text.splitlines()[:ROWS]:
        console.print(Text.from_ansi(line), soft_wrap=False)
    return console.export_svg(title="mqctl quickstart", unique_id="mqctl")


def shown(svg: str) -> list[str]:
    """Returns the words of a picture, row by row, figures left out."""
    rows: dict[float, str] = {}
    for y, text in re.findall(r'<text class="mqctl-r\d+" x="[\d.]+" y="([\d.]+)"[^>]*>(.*?)</text>', svg):
        rows[float(y)] = f"{rows.get(float(y), '')} {unescape(text)}"
    return [" ".join(re.sub(r"[\d.,:+%-]+", "#", row).split()) for _, row in sorted(rows.items())]


def main(arguments: list[str]) -> int:
    """Writes the picture, or checks it; returns 1 when it shows something else."""
    svg = drawn(record())
    if arguments != ["--check"]:
        PICTURE.write_text(svg, encoding="utf-8")
        return 0
    old, new = shown(PICTURE.read_text(encoding="utf-8")), shown(svg)
    lost = [row for row in old if row not in new]
    sys.stdout.write("".join(f"no longer shown: {row}\n" for row in lost) or "the picture shows what happens\n")
    return 1 if len(lost) > len(old) // 4 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
