"""The examples of docs/embedded-broker.md run, and its tables name what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.testing.control_socket import ControlSocket
from embedded_broker.testing.options import parser
from tests.conftest import REPOSITORY

_PAGE = (REPOSITORY / "docs" / "embedded-broker.md").read_text()
_EXAMPLES = re.findall(r"(?<! -->\n)```python\n(.*?)```", _PAGE, re.DOTALL)
"""Those of gRPC clients, which are marked, need a client of others: tests/interop/test_grpc.py runs them."""


@pytest.mark.parametrize("example", _EXAMPLES)
def test_an_example_runs(example: str, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    names: dict[str, object] = {}
    exec(compile(example, "embedded-broker.md", "exec"), names)
    for name, value in names.items():
        if name.startswith("test_") and callable(value):
            value(cluster)


def test_every_verb_and_option_is_told(cluster: EmbeddedCluster) -> None:
    verbs = cluster.on_loop(lambda running: ControlSocket(running).verbs)
    assert set(verbs) <= set(re.findall(r"`([a-z_]+)`", _PAGE))
    options = set(re.findall(r"--[a-z-]+", parser().format_help()))
    assert options - {"--help", "--host", "--cluster", "--name-servers", "--log-level"} <= set(
        re.findall(r"--[a-z-]+", _PAGE)
    )
