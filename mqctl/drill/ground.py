"""Where a drill takes place: a cluster of its own, or somebody else's, with a topic and groups of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mqctl.client.admin.broker_changes import put_group, put_topic, reset_offsets
from mqctl.client.admin.broker_pops import set_request_mode
from mqctl.client.admin.broker_queries import consumer_offset
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.link import LinkSettings
from mqctl.drill.plan import DrillPlan
from mqctl.errors import MqctlError
from mqctl.local.breaking import control
from mqctl.local.scenario import Scenario
from mqctl.local.stage import Stage
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.own_names import Purpose, own_name
from mqctl.protocol.bodies_pop import POP

_TIMEOUT_MS = 10_000
_LOOK_MS = 1_000


class DrillNames:
    """The names of everything that a drill makes, all with its prefix and mark.

    Args:
        mark: tells this run from others.

    Raises:
        UsageError: brokers would refuse such a name.
    """

    def __init__(self, mark: str) -> None:
        self.topic = own_name(Purpose.DRILL, mark)

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
        """Creates topic and groups on a cluster that is thrown away afterwards. Raises what brokers answer."""
        queues = self._plan.queues
        for address in self._masters.values():
            config = TopicConfig(name=self._names.topic, read_queue_count=queues, write_queue_count=queues, perm=6)
            self._cluster.ask(address, put_topic(config))
            for each in self._plan.groups:
                self._cluster.ask(address, put_group(SubscriptionGroupConfig(name=self._names.group(each.name))))

    def set_modes(self) -> None:
        """Has brokers serve the groups of the plan that pop by POP. Raises what brokers answer."""
        popping = [self._names.group(each.name) for each in self._plan.groups if each.mode.startswith("pop")]
        for address in self._masters.values():
            for group in popping:
                self._cluster.ask(address, set_request_mode(group, self._names.topic, POP))

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
        self._control(do, name=name)

    def jump_clock(self, ms: int) -> None:
        """Sets the clock of the drill's own cluster forward, or back. Raises RefusedError, UnreachableError."""
        self._control("jump_clock", ms=ms)

    def _control(self, do: str, **words: object) -> None:
        assert self._stage is not None  # a plan for another cluster has no such step
        at = self._stage.clusters[0].control
        assert at is not None  # every cluster of a stage is started with its control socket
        control(at, do, **words)


@contextmanager
def own_cluster(plan: DrillPlan, names: DrillNames, directory: Path) -> Iterator[DrillGround]:
    """Starts the cluster of a plan, and removes it in the end. Raises MqctlError when it cannot be started."""
    assert plan.cluster is not None
    scenario = Scenario(title=plan.title, planted=(), time_scale=plan.time_scale, clusters=(plan.cluster,))
    with Stage(scenario, directory) as stage, DrillGround(plan, names, stage.namesrv, stage=stage) as ground:
        yield ground
