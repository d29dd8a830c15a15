"""Consumers of scenarios that speak gRPC: the push consumer of `rocketmq-python-client`, as applications use it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from mqctl.client.message.received import Consumed
from mqctl.errors import ConfigurationError
from mqctl.local.behaviours import Handle
from mqctl.local.scenario import ConsumerDeclared
from mqctl.model.command_line import command_line
from mqctl.text import sentence

_LIBRARY = "rocketmq"
"""Another library for Python has the same name; the one for gRPC has a part `v5`."""


def check_library() -> None:
    """Passes where the library is installed, without importing it. Raises ConfigurationError."""
    spec = find_spec(_LIBRARY)
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    if not any((Path(place) / "v5").is_dir() for place in places):
        raise ConfigurationError(
            sentence("local-could-not-start-grpc", "could not start a gRPC consumer"),
            reason=sentence("local-rocketmq-python-client-not", "rocketmq-python-client is not installed"),
            remedy=command_line("pip install 'mqctl[grpc]' rocketmq-python-client"),
        )


class _Handed(NamedTuple):
    keys: list[str]


def start_grpc_consumer(declared: ConsumerDeclared, endpoint: str, handle: Handle) -> None:
    """Starts the consumer that is declared; its threads run on behind. Raises what the library does."""
    from rocketmq.v5.client import ClientConfiguration, Credentials
    from rocketmq.v5.consumer import PushConsumer
    from rocketmq.v5.consumer.push.message_listener import ConsumeResult, MessageListener
    from rocketmq.v5.model.filter_expression import FilterExpression

    class Listener(MessageListener):  # type: ignore[misc]
        def consume(self, message: Any) -> Any:
            outcome = handle(_Handed(sorted(message.keys)))
            return ConsumeResult.SUCCESS if outcome is Consumed.SUCCESS else ConsumeResult.FAILURE

    PushConsumer(
        ClientConfiguration(endpoint, Credentials()),
        declared.group,
        Listener(),
        {topic: FilterExpression(expression) for topic, expression in declared.topics.items()},
        consumption_thread_count=declared.threads,
    ).startup()
