"""No module imports itself by way of others: what is imported for annotations only counts as well."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

from tests.conftest import REPOSITORY

PACKAGES = ("mqctl", "embedded_broker")


def imports(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Returns which of the modules `sources` each of them imports, at its top, in functions or for annotations."""
    edges: dict[str, set[str]] = {module: set() for module in sources}
    for module, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                edges[module] |= {alias.name for alias in node.names if alias.name in sources}
            elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    edges[module] |= {inner if inner in sources else node.module} & sources.keys()
    return edges


def circle(edges: Mapping[str, set[str]]) -> list[str]:
    """Returns one circle of `edges`, first module again at the end; empty where there is none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle
    return []


def _sources() -> dict[str, str]:
    sources = {}
    for package in PACKAGES:
        for path in (REPOSITORY / package).rglob("*.py"):
            parts = path.relative_to(REPOSITORY).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            sources[module] = path.read_text(encoding="utf-8")
    return sources


def test_no_module_imports_itself_by_way_of_others() -> None:
    edges = imports(_sources())
    assert len(edges) > 700
    assert circle(edges) == []


def test_a_circle_through_annotations_and_functions_is_seen() -> None:
    sources = {
        "room": "",
        "room.upper": "from room.lower import Value",
        "room.lower": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from room import other",
        "room.other": "def late() -> None:\n    import room.upper",
    }
    assert set(circle(imports(sources))) == {"room.upper", "room.lower", "room.other"}
    assert circle(imports(sources | {"room.other": "import room"})) == []
