"""A push consumer whose queues the brokers share out: those that its group pops are popped, the others pulled.

As a Java consumer with `clientRebalance=false` does: the classic retry topic is always pulled, so that what was sent
back while the group pulled is not left behind. Source: `RebalanceImpl.getRebalanceResultFromBroker` of 5.3.3.
"""

from __future__ import annotations

from random import choice

from mqctl.client.admin.broker_pops import assignment
from mqctl.client.consumer.consumer_settings import ConsumerSettings
from mqctl.client.consumer.consuming import AfterConsume
from mqctl.client.consumer.popping import Popping, PopSettings
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.received import Listener
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import UsageError
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ConsumerRunningInfo
from mqctl.protocol.bodies_pop import POP
from mqctl.protocol.declared import replaced
from mqctl.text import sentence

STRATEGY = "AVG"
"""Strategy by which brokers share out queues that are pulled, and those that are popped with a limited share."""


class PopConsumer(PushConsumer):
    """Consumes what its group is set to pop. Use as a context manager, or `start` and `shutdown`.

    Args:
        group: consumer group; it pops the topics for which request 401 chose POP, and pulls the others.
        client: name servers, keys, periods.
        listener: consumes messages; called on the consume threads.
        pops: how it pops; `settings` is the rest.
        after_consume: told of every call of the listener, on its thread.
    """

    def __init__(
        self,
        group: str,
        client: ClientSettings,
        listener: Listener,
        settings: ConsumerSettings | None = None,
        *,
        pops: PopSettings | None = None,
        after_consume: AfterConsume | None = None,
    ) -> None:
        super().__init__(group, client, listener, settings, after_consume=after_consume)
        if self.settings.broadcasting:
            raise UsageError(
                sentence("client-consumer-pops-cannot-broadcasting", "a consumer that pops cannot be broadcasting"),
                remedy=sentence("client-use-push-consumer", "use a push consumer"),
            )
        self._pops = pops or PopSettings()
        self._pops.check()
        self.popping = Popping(self._consuming, self._pops, self._subscriptions)
        self.rebalancing.assigned = self._assigned

    def _start_threads(self) -> None:
        super()._start_threads()
        self.popping.start()

    def _end_threads(self, wait_s: float) -> bool:
        return super()._end_threads(wait_s) & self.popping.close(wait_s)

    def suspend(self) -> None:
        super().suspend()
        self.popping.suspended = True

    def resume(self) -> None:
        super().resume()
        self.popping.suspended = False

    def unsubscribe(self, topic: str) -> None:
        super().unsubscribe(topic)
        self.popping.take(topic, set())

    def _assigned(self, topic: str) -> set[MessageQueue] | None:
        """Asks a broker which queues are ours, takes those to be popped and returns the others. Raises MqctlError."""
        route = self.instance.routes.route(topic)
        addresses = [data.broker_addrs[0] for data in route.broker_datas if 0 in data.broker_addrs] if route else []
        if not addresses:
            return None
        question = assignment(self.group, topic, self.client_id, STRATEGY)
        assignments = self.instance.links.ask(
            choice(addresses), question, Deadline(self.instance.settings.api_timeout_ms)
        )
        if assignments is None:
            return None
        popped = {item.message_queue for item in assignments if item.mode == POP}
        self.popping.take(topic, popped)
        return {item.message_queue for item in assignments} - popped

    def running_info(self, *, with_stacks: bool) -> ConsumerRunningInfo:
        info = super().running_info(with_stacks=with_stacks)
        table = {queue: state.info() for queue, state in sorted(self.popping.queues.items())}
        return replaced(info, mq_pop_table=table)
