"""Prints the measures of the house: `python -m benchmarks.measures`, from the repository's root.

`--base REV` measures another commit as well, in a temporary work tree, and prints both columns.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from xml.etree import ElementTree

from benchmarks.measures import history, sources, startup, trips

REPOSITORY = Path(__file__).resolve().parents[2]
_SUBJECTS = 50

Section = Mapping[str, float]
"""Numbers by name."""


def seconds_by_room(junit: Path) -> dict[str, float]:
    """Returns the seconds of each test room, most first, from a file of `pytest --junitxml`."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for case in ElementTree.parse(junit).iter("testcase"):
        room = case.get("classname", "").split(".")[:2]
        seconds["/".join(room)] += float(case.get("time", "0"))
    return {room: round(took, 1) for room, took in sorted(seconds.items(), key=lambda room: -room[1])}


def measured(root: Path, options: argparse.Namespace) -> dict[str, Section]:
    """Measures the tree at `root`, but for its start-up: its sections by title."""
    parsed: list[sources.Source] = []

    def read() -> list[sources.Source]:
        if not parsed:
            parsed.extend(sources.sources(root))
        return parsed

    def lines() -> Section:
        rooms = sources.lines_by_room(read())
        sums = {f"{top}, all": sum(rooms[room] for room in rooms if room.split("/")[0] == top) for top in _TOPS}
        rooms.pop("tests", None)  # a sum already
        return {**sums, "all": sum(sums.values()), **rooms}

    def commits() -> Section:
        return history.rooms(history.last_commits(root, options.commits))

    def code() -> Section:
        return {
            "twin records": len(sources.twins(product())),
            f"functions above complexity {sources.COMPLEXITY}": len(sources.complex_functions(product())),
            f"functions above {sources.COMPLEXITY} by ruff's C901": sources.complex_to_ruff(root),
        }

    def product() -> list[sources.Source]:
        return [source for source in read() if source.path.parts[0] in sources.PACKAGES]

    def subjects() -> Section:
        last = history.last_commits(root, _SUBJECTS)
        return {"commits": len(last), f"longer than {history.SUBJECT} characters": history.subjects(last)}

    def sharpness(root: Path) -> Section:
        file = root / "benchmarks" / "mutation" / "scores.json"
        kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        return {f"{room}, seed {of['seed']}": 100 * of["noticed"] / of["planted"] for room, of in kept.items()}

    parts: dict[str, Callable[[], Mapping[str, Section]]] = {
        "trips": lambda: {f"trip: {name}": numbers for name, numbers in trips.trips(root).items()},
        "rules": lambda: {
            "files that name or register a rule": sources.rule_files(root, product()),
            "files of the last commits with a new rule": history.rule_commits(root, options.rule_commits),
        },
        "rooms": lambda: {"rooms of the last commits": commits()},
        "lines": lambda: {"lines of code by room": lines()},
        "code": lambda: {"code": code()},
        "subjects": lambda: {"subjects of the last commits": subjects()},
        "mutation": lambda: {"planted faults noticed, percent": sharpness(root)},
    }
    taken: dict[str, Section] = {}
    for name, take in parts.items():
        if not options.only or name in options.only:
            taken.update(take())
    return taken


_TOPS = (*sources.PACKAGES, "tests")


def table(now: Mapping[str, Section], base: Mapping[str, Section] | None) -> Iterator[str]:
    """Yields the lines of a table: a section, and a row for each of its numbers."""
    titles = [*now, *(title for title in base or {} if title not in now)]
    for title in titles:
        yield f"\n{title}"
        ours, theirs = now.get(title, {}), (base or {}).get(title, {})
        for name in [*ours, *(name for name in theirs if name not in ours)]:
            cells = [ours.get(name)] if base is None else [theirs.get(name), ours.get(name)]
            yield f"  {name:62}" + "".join(f"{_shown(cell):>10}" for cell in cells)


def _shown(number: float | None) -> str:
    return "-" if number is None else f"{number:,.1f}".removesuffix(".0")


@contextmanager
def work_tree(revision: str) -> Iterator[Path]:
    """Gives a temporary work tree of a commit."""
    git = ("git", "-C", str(REPOSITORY))
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "tree"
        subprocess.run((*git, "worktree", "add", "--quiet", "--detach", str(root), revision), check=True)
        try:
            yield root
        finally:
            subprocess.run((*git, "worktree", "remove", "--force", str(root)), check=True)


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.measures", description=__doc__)
    add = parser.add_argument
    add("--base", metavar="REV", help="measure this commit as well")
    add("--json", action="store_true", help="print one JSON object")
    add("--junit", type=Path, metavar="FILE", help="add the seconds of each test room from a file of --junitxml")
    add("--list", action="store_true", help="list the twin records and end")
    add("--only", action="append", metavar="PART", choices=_PARTS, help=f"one of {', '.join(_PARTS)}; may be repeated")
    add("--commits", type=int, default=100, metavar="N", help="commits whose rooms are counted (default %(default)s)")
    add("--rule-commits", type=int, default=20, metavar="N", help="so with those of rules (default %(default)s)")
    add("--runs", type=int, default=5, metavar="N", help="runs of each start-up (default %(default)s)")
    return parser.parse_args()


_PARTS = ("trips", "rules", "rooms", "lines", "code", "subjects", "mutation", "startup")


def main() -> None:
    """Measures and prints."""
    options = _parsed()
    if options.list:
        for one, other, shared in sources.twins(sources.sources(REPOSITORY, sources.PACKAGES)):
            pair = " and ".join(f"{record.path}:{record.name} ({len(record.fields)})" for record in (one, other))
            print(f"{shared:3}  {pair}")
        return
    with ExitStack() as stack:
        roots = [REPOSITORY]
        if options.base is not None:
            roots.append(stack.enter_context(work_tree(options.base)))
        trees = [measured(root, options) for root in roots]
        if not options.only or "startup" in options.only:
            for tree, costs in zip(trees, startup.over_bases_ms(roots, options.runs), strict=True):
                tree["start-up, CPU ms over the base"] = costs
    now, base = trees[0], trees[1] if options.base is not None else None
    if options.junit is not None:
        now["seconds by test room"] = seconds_by_room(options.junit)
    if options.json:
        json.dump(now if base is None else {"base": base, "now": now}, sys.stdout, indent=2)
        print()
        return
    if base is not None:
        print(f"{'':64}{options.base[:9]:>10}{'now':>10}")
    print("\n".join(table(now, base)).lstrip("\n"))


if __name__ == "__main__":
    main()
