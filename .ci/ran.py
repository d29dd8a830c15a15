"""Names the ten modules whose tests took longest and the tests that no run took up, and counts the tests that ran more
than once. Fails when there are any, or when a shell's completion or the man pages were not tried.

Usage: python .ci/ran.py JUNIT_XML...
"""

from __future__ import annotations

import sys
from collections import Counter
from xml.etree import ElementTree

# Part of the class, part of the name.
WANTED = (
    *(("tests.cli.test_shells", f"-{shell}]") for shell in ("bash", "zsh", "fish")),
    *(("tests.live.test_completion", f"-{shell}]") for shell in ("bash", "zsh", "fish")),
    ("tests.docs.test_man", "test_mandoc"),
    ("tests.docs.test_man", "test_man_shows"),
)


def main(files: list[str]) -> int:
    """Returns 1 when something that must run did not, or ran again."""
    ran: Counter[tuple[str, str]] = Counter()
    seconds: Counter[str] = Counter()
    left_out: dict[tuple[str, str], str | None] = {}
    for case in (case for file in files for case in ElementTree.parse(file).iter("testcase")):
        name = (case.get("classname", ""), case.get("name", ""))
        seconds[name[0]] += float(case.get("time", "0"))
        skipped = case.find("skipped")
        if skipped is None:
            ran[name] += 1
        else:
            left_out[name] = skipped.get("message")
    for name, why in left_out.items():
        if name not in ran:
            sys.stdout.write(f"left out: {'.'.join(name)}: {why}\n")
    for module, took in seconds.most_common(10):
        sys.stdout.write(f"{took:6.1f} s  {module}\n")
    retries = ran.total() - len(ran)
    sys.stdout.write(f"tests: {len(ran)}, retries: {retries}\n")
    lost = [want for want in WANTED if not any(want[0] in place and want[1] in name for place, name in ran)]
    for place, part in lost:
        sys.stderr.write(f"no test of {place} with {part} ran\n")
    return 1 if lost or retries else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
