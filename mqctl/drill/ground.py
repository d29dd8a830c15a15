"""Where a drill takes place: a cluster of its own, or somebody else's, with a topic and groups of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mqctl.client.admin.broker_changes import delete_group, delete_topic, put_group, put_topic, reset_offsets
from mqctl.client.admin.broker_pops import set_request_mode
from mqctl.client.admin.broker_queries import consumer_offset
from mqctl.client.admin.cluster import Cluster
from mqctl.client.admin.nameserver import delete_route
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.link import LinkSettings
from mqctl.drill.plan import DrillPlan
from mqctl.errors import MqctlError, NotFoundError
from mqctl.local.breaking import control
from mqctl.local.scenario import Scenario
from mqctl.local.stage import Stage
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.protocol.bodies_pop import POP

PREFIX = "mqctl-drill-"
_TIMEOUT_MS = 10_000
_LOOK_MS = 1_000


class DrillNames:
    """The names of everything that a drill makes, all with its prefix and mark.

    Args:
        mark: tells this run from others.
    """

    def __init__(self, mark: str) -> None:
        self.topic = f"{PREFIX}{mark}"

    def group(self, name: str) -> str:
        """Returns a consumer group's, or a producer group's, own name."""
        return f"{self.topic}-{name}"


class DrillGround:
    """A cluster during a drill.

    Args:
        namesrv: `host:port;host:port`.
        stage: the drill's own cluster; None on one that somebody else runs.
    """

    def __init__(
        self,
        plan: DrillPlan,
        names: DrillNames,
        namesrv: str,
        links: LinkSettings | None = None,
        stage: Stage | None = None,
    ) -> None:
        self.namesrv = namesrv
        self._plan = plan
        self._names = names
        self._cluster = Cluster(namesrv, links, call_timeout_ms=_TIMEOUT_MS)
        self._stage = stage
        self._masters = {each.broker_name: each.address for each in self._cluster.masters()}

    def __enter__(self) -> DrillGround:
        return self

    def __exit__(self, *_: object) -> None:
        self._cluster.__exit__(None, None, None)

    @property
    def brokers(self) -> tuple[str, ...]:
        """The masters by name."""
        return tuple(sorted(self._masters))

    def make(self) -> None:
        """Creates topic and groups. Raises what brokers answer."""
        groups = [(each, self._names.group(each.name)) for each in self._plan.groups]
        queues = self._plan.queues
        for address in self._masters.values():
            config = TopicConfig(name=self._names.topic, read_queue_count=queues, write_queue_count=queues, perm=6)
            self._cluster.ask(address, put_topic(config))
            for each, group in groups:
                self._cluster.ask(address, put_group(SubscriptionGroupConfig(name=group)))
                if each.mode.startswith("pop"):
                    self._cluster.ask(address, set_request_mode(group, self._names.topic, POP))

    def clean(self) -> list[str]:
        """Removes topic and groups; returns what could not be removed, in words."""
        left = []
        for broker, address in self._masters.items():
            for each in self._plan.groups:
                group = self._names.group(each.name)
                try:
                    self._cluster.ask(address, delete_group(group, with_offsets=True))
                except NotFoundError:
                    continue
                except MqctlError as error:
                    left.append(f"group {group} on {broker}: {error}")
            for topic in (self._names.topic, *(f"%RETRY%{self._names.group(each.name)}" for each in self._plan.groups)):
                try:
                    self._cluster.ask(address, delete_topic(topic))
                except MqctlError as error:
                    left.append(f"topic {topic} on {broker}: {error}")
        try:
            for server in self._cluster.name_servers.addresses():
                self._cluster.ask(server, delete_route(self._names.topic))
        except MqctlError as error:
            left.append(f"the route of {self._names.topic}: {error}")
        return left

    def offsets(self, group: str) -> Iterator[tuple[str, int, int]]:
        """Yields broker, queue id and committed offset; a broker that does not answer is left out."""
        for broker, address in self._masters.items():
            for queue_id in range(self._plan.queues):
                question = consumer_offset(group, self._names.topic, queue_id)
                try:
                    offset = self._cluster.ask(address, question, Deadline(_LOOK_MS))
                except MqctlError:
                    break
                if offset is not None:
                    yield broker, queue_id, offset

    def reset(self, group: str, to_ms: int) -> None:
        """Moves a group's offsets to where they were at a time, while it consumes. Raises what brokers answer."""
        for address in self._masters.values():
            self._cluster.ask(address, reset_offsets(self._names.topic, group, to_ms, force=True))

    def broker(self, do: str, name: str) -> None:
        """Has the drill's own cluster kill, stop or start a broker. Raises RefusedError, UnreachableError."""
        assert self._stage is not None  # a plan for another cluster has no such step
        at = self._stage.clusters[0].control
        assert at is not None  # every cluster of a stage is started with its control socket
        control(at, do, name=name)


@contextmanager
def own_cluster(plan: DrillPlan, names: DrillNames, directory: Path) -> Iterator[DrillGround]:
    """Starts the cluster of a plan, and removes it in the end. Raises MqctlError when it cannot be started."""
    assert plan.cluster is not None
    scenario = Scenario(title=plan.title, planted=(), time_scale=plan.time_scale, clusters=(plan.cluster,))
    with Stage(scenario, directory) as stage, DrillGround(plan, names, stage.namesrv, stage=stage) as ground:
        yield ground
