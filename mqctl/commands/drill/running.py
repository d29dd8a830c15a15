"""One run of a drill: its cluster, its directory, its history."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING

from mqctl.changes.settings.own_topics import OwnPlace, Quota, provide
from mqctl.changes.settings.own_topics_cleaning import clean
from mqctl.cli.connection.target import ClusterTarget
from mqctl.drill.client_process import OURS
from mqctl.drill.conductor import Conductor, DrillMeans
from mqctl.drill.ground import DrillGround, DrillNames, own_cluster
from mqctl.drill.plan import Ask, DrillPlan
from mqctl.drill.scratch import Scratch
from mqctl.drill.writing import HistoryWriter
from mqctl.errors import MqctlError, UsageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.own_names import Purpose
from mqctl.model.spans import span_ms
from mqctl.render.document import Document
from mqctl.text import sentence

if TYPE_CHECKING:
    from collections.abc import Iterator


_LEFT = sentence(
    "bench-clean-shows-left", "mqctl bench clean shows what is left on the cluster; with --execute it removes it"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillRequest:
    """What one run was told.

    Attributes:
        mark: tells its topic and groups from those of other runs.
        program: words of the clients' program; None for ours.
        keys: access and secret key, where the cluster wants them.
    """

    mark: str
    history: Path
    program: tuple[str, ...] | None = None
    tell: Callable[[str], None] = lambda _: None
    ask: Callable[[str], None] = lambda _: None
    keys: tuple[str, str] | None = None


def prepare(
    plan: DrillPlan, target: ClusterTarget, request: DrillRequest, *, execute: bool
) -> tuple[Document, int] | None:
    """Makes topic and groups on a cluster that is not the drill's own, by plan.

    Returns:
        None when the drill may begin; else the document and the exit code with which the command ends.
    """
    names = DrillNames(request.mark)
    quota = Quota(
        messages=plan.quota.messages,
        size_bytes=plan.quota.mebibytes << 20,
        time_ms=round(span_ms(plan.quota.time) or 0),
    )
    announced = [
        sentence(
            "drill-sends-topic-groups-removed",
            "sends to {topic}: {sentence}; topic and groups are removed at the end",
            topic=names.topic,
            sentence=quota.sentence(),
        ),
        *(
            sentence("drill-asks", "asks you: {step}", step=step.text)
            for step in plan.schedule
            if isinstance(step, Ask)
        ),
    ]
    groups = [names.group(each.name) for each in plan.groups]
    place = OwnPlace(purpose=Purpose.DRILL, topic=names.topic, queues=plan.queues, groups=groups)
    stopped = provide(target, place, announced, execute=execute)
    if stopped is not None and stopped[1]:  # the next run has names of its own: it does not go on with these
        request.tell(_LEFT)
    return stopped


def run_drill(plan: DrillPlan, target: ClusterTarget | None, request: DrillRequest) -> None:
    """Runs a drill on its own cluster, or on `target`, where `prepare` made what it needs, which is removed.

    Raises:
        UsageError: our clients cannot reach the cluster.
        MqctlError: the drill could not be run to its end; its history is there as far as it went.
    """
    if target is not None and target.tls is not None and request.program is None:
        raise UsageError(
            sentence("our-drill-clients-not", "our drill clients do not speak TLS"),
            remedy=sentence("drill-give-program-yours-client", "give a program of yours with --client"),
        )
    names = DrillNames(request.mark)
    with Scratch() as scratch:
        directory = scratch.path
        if target is None:
            with own_cluster(plan, names, directory / "cluster") as ground:
                ground.make()
                conduct(plan, ground, request, directory)
            return
        with cleaned(target, request), DrillGround(plan, names, target.namesrv, target.links()) as ground:
            conduct(plan, ground, replace(request, keys=_keys(target)), directory)


def conduct(plan: DrillPlan, ground: DrillGround, request: DrillRequest, directory: Path) -> None:
    """Conducts a drill where topic and groups are there. Raises MqctlError: it could not be run to its end."""
    ground.set_modes()
    program = request.program or OURS
    means = DrillMeans(program=program, tell=request.tell, ask=request.ask, directory=directory, keys=request.keys)
    with HistoryWriter(request.history, time_ns() // 1000, lambda: time_ns() // 1000) as history:
        Conductor(plan, DrillNames(request.mark), ground, history, means).conduct()


def _keys(target: ClusterTarget) -> tuple[str, str] | None:
    credentials = target.credentials
    return None if credentials is None else (credentials.access_key, credentials.secret_key)


@contextmanager
def cleaned(target: ClusterTarget, request: DrillRequest) -> Iterator[None]:
    """Removes topic and groups of a run at its end, as a change in the journal; what cannot be removed is named."""
    try:
        yield
    finally:
        code = 1
        try:
            _, code = clean(target, (), execute=True, prefixes=[Purpose.DRILL + request.mark])
        except MqctlError as error:
            request.tell(
                sentence("drill-topic-groups-not-removed", "topic and groups were not removed: {error}", error=error)
            )
        finally:  # also when somebody does not wait for the clean-up
            if code:
                request.tell(_LEFT)
