"""The routes a client knows: queues to publish to, queues to subscribe to, addresses of brokers.

Source: `MQClientInstance.topicRouteData2TopicPublishInfo`, `topicRouteData2TopicSubscribeInfo`,
`findBrokerAddressInSubscribe` of 4.9.8.
"""

from __future__ import annotations

from itertools import count
from threading import Lock

from mqctl.client.admin.cluster import MASTER_ID
from mqctl.client.admin.nameserver import NameServers
from mqctl.client.remoting.answers import AnswerError
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.config import MOST_QUEUES, PERM_READ, PERM_WRITE
from mqctl.model.names import AUTO_CREATE_TOPIC
from mqctl.model.numbers import decimal
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_cluster import TopicRouteData
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.declared import replaced

DEFAULT_TOPIC_QUEUES = 4


def publish_queues(topic: str, route: TopicRouteData) -> tuple[MessageQueue, ...]:
    """Returns the queues that a producer uses: those of the order configuration, or of every writable master."""
    if route.order_topic_conf:
        ordered: list[MessageQueue] = []
        for item in route.order_topic_conf.split(";"):
            name, _, queues = item.partition(":")
            count = decimal(queues, 0, MOST_QUEUES) or 0
            ordered += [MessageQueue(topic, name, queue_id) for queue_id in range(count)]
        return tuple(ordered)
    masters = {data.broker_name for data in route.broker_datas if MASTER_ID in data.broker_addrs}
    return tuple(
        MessageQueue(topic, data.broker_name, queue_id)
        for data in sorted(route.queue_datas, key=lambda item: item.broker_name)
        if data.perm & PERM_WRITE and data.broker_name in masters
        for queue_id in range(data.write_queue_nums)
    )


def subscribe_queues(topic: str, route: TopicRouteData) -> tuple[MessageQueue, ...]:
    """Returns the queues that consumers share: every readable one."""
    return tuple(
        MessageQueue(topic, data.broker_name, queue_id)
        for data in route.queue_datas
        if data.perm & PERM_READ
        for queue_id in range(data.read_queue_nums)
    )


def _comparable(route: TopicRouteData) -> tuple[object, ...]:
    queues = sorted(repr(data) for data in route.queue_datas)
    brokers = sorted(
        (data.broker_name, data.cluster, tuple(sorted(data.broker_addrs.items()))) for data in route.broker_datas
    )
    return (queues, brokers, route.order_topic_conf)


class RouteCache:
    """Routes by topic, shared by the threads of one client.

    Several threads may look at once, and answers may overtake each other: the look that began last wins. (Java lets
    one thread look at a time.) Else a broker that came back could be missing until the next period.
    """

    def __init__(self, name_servers: NameServers) -> None:
        self._name_servers = name_servers
        self._lock = Lock()
        self._routes: dict[str, TopicRouteData] = {}
        self._templates: set[str] = set()
        self._publish: dict[str, tuple[MessageQueue, ...]] = {}
        self._addresses: dict[str, dict[int, str]] = {}
        self._looks = count()
        self._newest_look: dict[str, int] = {}

    def refresh(self, topic: str, deadline: Deadline | None = None) -> bool:
        """Asks where `topic` lives and tells whether that changed. A topic that lives nowhere keeps its old route.

        Raises:
            UnreachableError, DeadlineError: no name server answered.
            AnswerError: one refused for another reason.
        """
        look = next(self._looks)
        try:
            route = self._name_servers.route(topic, deadline)
        except AnswerError as error:
            if error.code == ResponseCode.TOPIC_NOT_EXIST:
                return False
            raise
        return self._store(topic, route, look, template=False)

    def refresh_from_template(self, topic: str, *, queues: int, deadline: Deadline | None = None) -> bool:
        """Takes the brokers that create topics by themselves as the route of a topic that lives nowhere yet.

        Args:
            queues: queues per broker that the producer wishes for.

        Raises:
            NotFoundError: no broker creates topics by itself.
        """
        look = next(self._looks)
        route = self._name_servers.route(AUTO_CREATE_TOPIC, deadline)
        datas = []
        for data in route.queue_datas:
            number = min(queues, data.read_queue_nums)
            datas.append(replaced(data, read_queue_nums=number, write_queue_nums=number))
        return self._store(topic, replaced(route, queue_datas=tuple(datas)), look, template=True)

    def _store(self, topic: str, route: TopicRouteData, look: int, *, template: bool) -> bool:
        with self._lock:
            if look < self._newest_look.get(topic, look):
                return False
            self._newest_look[topic] = look
            known = self._routes.get(topic)
            if known is not None and _comparable(known) == _comparable(route):
                if not template:
                    self._templates.discard(topic)
                return False
            self._routes[topic] = route
            self._publish[topic] = publish_queues(topic, route)
            (self._templates.add if template else self._templates.discard)(topic)
            addresses: dict[str, dict[int, str]] = {}
            for other in self._routes.values():
                for data in other.broker_datas:
                    addresses.setdefault(data.broker_name, {}).update(data.broker_addrs)
            for data in route.broker_datas:  # the newest word about a broker wins
                addresses[data.broker_name] = dict(data.broker_addrs)
            self._addresses = addresses
        return True

    def route(self, topic: str) -> TopicRouteData | None:
        """Returns the known route."""
        return self._routes.get(topic)

    def to_publish(self, topic: str) -> tuple[MessageQueue, ...]:
        """Returns the known queues to send to."""
        return self._publish.get(topic, ())

    def to_subscribe(self, topic: str) -> tuple[MessageQueue, ...]:
        """Returns the known queues to read from; none for a topic that does not exist yet."""
        route = self._routes.get(topic)
        return () if route is None or topic in self._templates else subscribe_queues(topic, route)

    def master(self, broker_name: str) -> str | None:
        """Returns the address of a broker's master."""
        return self._addresses.get(broker_name, {}).get(MASTER_ID)

    def readable(self, broker_name: str, broker_id: int) -> tuple[str, bool] | None:
        """Returns the address to read from and whether it is a slave's: that id's, the next one's, or any."""
        known = self._addresses.get(broker_name)
        if not known:
            return None
        for candidate in (broker_id, broker_id + 1) if broker_id != MASTER_ID else (broker_id,):
            if candidate in known:
                return known[candidate], candidate != MASTER_ID
        lowest = min(known)
        return known[lowest], lowest != MASTER_ID

    def addresses(self, *, masters_only: bool = False) -> tuple[str, ...]:
        """Returns the addresses of all known brokers."""
        return tuple(
            address
            for known in self._addresses.values()
            for broker_id, address in known.items()
            if broker_id == MASTER_ID or not masters_only
        )

    def topics(self) -> tuple[str, ...]:
        """Returns the topics with a known route."""
        return tuple(self._routes)
