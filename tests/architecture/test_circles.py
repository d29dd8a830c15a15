"""No module imports itself by way of others: what is imported for annotations only counts as well."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from tests.sources import Source, in_every_module, parsed

Import = tuple[str, tuple[str, ...]]


def imports(source: Source) -> Iterator[Import]:
    """Yields for each import of a module, at its top, in functions or for annotations, the module and what it may have
    named: a module of a package, or else the package."""
    for node in source.nodes:
        if isinstance(node, ast.Import):
            yield from ((source.module, (alias.name,)) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            yield from ((source.module, (f"{node.module}.{alias.name}", node.module)) for alias in node.names)
    yield source.module, ()


all_imports = in_every_module(imports)


def graph(found: Iterable[Import]) -> dict[str, set[str]]:
    """Returns which of the modules that import something each of them imports."""
    imports_found = list(found)
    edges: dict[str, set[str]] = {module: set() for module, _ in imports_found}
    for module, named in imports_found:
        edges[module] |= set([name for name in named if name in edges][:1])
    return edges


def circle(edges: Mapping[str, set[str]]) -> list[str]:
    """Returns one circle of `edges`, first module again at the end; empty where there is none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle
    return []


def test_no_module_imports_itself_by_way_of_others() -> None:
    edges = graph(all_imports())
    assert len(edges) > 700
    assert circle(edges) == []


def test_a_circle_through_annotations_and_functions_is_seen() -> None:
    texts = {
        "room/__init__.py": "",
        "room/upper.py": "from room.lower import Value",
        "room/lower.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from room import other",
        "room/other.py": "def late() -> None:\n    import room.upper",
    }
    assert set(circle(_graph_of(texts))) == {"room.upper", "room.lower", "room.other"}
    assert circle(_graph_of(texts | {"room/other.py": "import room"})) == []


def _graph_of(texts: Mapping[str, str]) -> dict[str, set[str]]:
    return graph(one for name, text in texts.items() for one in imports(parsed(name, text)))
