"""Typed bodies, all in one place; `body_type` finds one by the name that a request declares."""

from __future__ import annotations

from mqctl.protocol import bodies_access, bodies_client, bodies_cluster, bodies_ha, bodies_pop, bodies_stats
from mqctl.protocol.bodies_access import *  # noqa: F403
from mqctl.protocol.bodies_client import *  # noqa: F403
from mqctl.protocol.bodies_cluster import *  # noqa: F403
from mqctl.protocol.bodies_ha import *  # noqa: F403
from mqctl.protocol.bodies_pop import *  # noqa: F403
from mqctl.protocol.bodies_stats import *  # noqa: F403
from mqctl.protocol.body import Body, BodyError

BODIES: dict[str, type[Body]] = {
    name: kind
    for module in (bodies_access, bodies_client, bodies_cluster, bodies_ha, bodies_pop, bodies_stats)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, Body) and kind is not Body
}
CONFIGURATIONS = frozenset({"DataVersion", "TopicConfig", "SubscriptionGroupConfig"})
"""Bodies that are values of `mqctl.model.config`; `body.read_...` and `body.write_...` convert them."""

RAW = frozenset({"", "payload", "batch", "message", "messages", "properties", "json", "raw"})
"""Words of a declaration for bodies without a type."""


def body_type(name: str) -> type[Body] | None:
    """Returns the declared body `name`, or None for raw ones and configurations."""
    return BODIES.get(name)


__all__ = ["BODIES", "CONFIGURATIONS", "RAW", "Body", "BodyError", "body_type", *BODIES]  # noqa: PLE0604
