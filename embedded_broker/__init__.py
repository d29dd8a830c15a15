"""A RocketMQ name server and broker in pure Python.

`with EmbeddedCluster(brokers=2) as cluster:` starts one on a thread of this process; `cluster.namesrv` is what clients
need. `python -m embedded_broker` starts one as a process of its own, and the pytest plugin brings the fixtures
`mq_cluster` and `mq_broker`. Names are imported at their first use, so that the plugin costs a test run nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from embedded_broker.remoting.faults import Alter, Answer, CloseConnection, CutFrame, Delay, Drop
    from embedded_broker.testing.embedded import EmbeddedBroker, EmbeddedCluster

__all__ = ["Alter", "Answer", "CloseConnection", "CutFrame", "Delay", "Drop", "EmbeddedBroker", "EmbeddedCluster"]

_HOMES = dict.fromkeys(
    ("Alter", "Answer", "CloseConnection", "CutFrame", "Delay", "Drop"), "embedded_broker.remoting.faults"
)
_HOMES |= dict.fromkeys(("EmbeddedBroker", "EmbeddedCluster"), "embedded_broker.testing.embedded")


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(home), name)
