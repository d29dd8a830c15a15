"""Names the ten modules whose tests took longest and the tests that a run left out, and fails when a shell's completion
or the man pages were not tried.

Usage: python .ci/ran.py JUNIT_XML
       python .ci/ran.py --failed JUNIT_XML    prints how many tests failed
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


def main(file: str) -> int:
    """Returns 1 when something that must run did not."""
    ran: list[tuple[str, str]] = []
    seconds: Counter[str] = Counter()
    for case in ElementTree.parse(file).iter("testcase"):
        name = (case.get("classname", ""), case.get("name", ""))
        seconds[name[0]] += float(case.get("time", "0"))
        skipped = case.find("skipped")
        if skipped is None:
            ran.append(name)
        else:
            sys.stdout.write(f"left out: {'.'.join(name)}: {skipped.get('message')}\n")
    for module, took in seconds.most_common(10):
        sys.stdout.write(f"{took:6.1f} s  {module}\n")
    lost = [want for want in WANTED if not any(want[0] in place and want[1] in name for place, name in ran)]
    for place, name in lost:
        sys.stderr.write(f"no test of {place} with {name} ran\n")
    return 1 if lost else 0


def failed(file: str) -> int:
    """Returns how many tests failed, in their setup or teardown too."""
    cases = ElementTree.parse(file).iter("testcase")
    return sum(any(case.find(kind) is not None for kind in ("failure", "error")) for case in cases)


if __name__ == "__main__":
    if sys.argv[1] == "--failed":
        sys.stdout.write(f"{failed(sys.argv[2])}\n")
    else:
        sys.exit(main(sys.argv[1]))
