"""One run of a drill: its cluster, its directory, its history."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import time_ns

from mqctl.cli.connection.target import ClusterTarget
from mqctl.drill.client_process import OURS
from mqctl.drill.conductor import Conductor, DrillMeans
from mqctl.drill.ground import DrillGround, DrillNames, own_cluster
from mqctl.drill.plan import Ask, DrillPlan
from mqctl.drill.writing import HistoryWriter
from mqctl.errors import UsageError
from mqctl.render.drill import DrillAnnounced


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillRequest:
    """What one run was told.

    Attributes:
        mark: tells its topic and groups from those of other runs.
        program: words of the clients' program; None for ours.
    """

    mark: str
    history: Path
    program: tuple[str, ...] | None = None


def announced(plan: DrillPlan, mark: str, namesrv: str) -> DrillAnnounced:
    """Returns what a drill would do on a cluster, at most."""
    names = DrillNames(mark)
    return DrillAnnounced(
        plan=plan.name,
        title=plan.title,
        namesrv=namesrv,
        topic=names.topic,
        groups=[names.group(each.name) for each in plan.groups],
        messages=plan.quota.messages,
        mebibytes=plan.quota.mebibytes,
        time=plan.quota.time,
        asks=[step.text for step in plan.schedule if isinstance(step, Ask)],
    )


def run_drill(
    plan: DrillPlan,
    target: ClusterTarget | None,
    request: DrillRequest,
    tell: Callable[[str], None],
    ask: Callable[[str], None],
) -> list[str]:
    """Runs a drill on its own cluster, or on `target`; returns what it could not remove there, in words.

    Raises:
        UsageError: our clients cannot reach the cluster.
        MqctlError: the drill could not be run to its end; its history is there as far as it went.
    """
    if target is not None and target.tls is not None and request.program is None:
        raise UsageError("our drill clients do not speak TLS", remedy="give a program of yours with --client")
    names = DrillNames(request.mark)
    with tempfile.TemporaryDirectory(prefix="mqctl-drill-") as made:
        directory = Path(made)
        keys = None
        if target is not None and target.credentials is not None:
            keys = (target.credentials.access_key, target.credentials.secret_key)
        means = DrillMeans(program=request.program or OURS, tell=tell, ask=ask, directory=directory, keys=keys)
        if target is None:
            with own_cluster(plan, names, directory / "cluster") as ground:
                return _conducted(plan, names, ground, request, means)
        with DrillGround(plan, names, target.namesrv, target.links()) as ground:
            return _conducted(plan, names, ground, request, means)


def _conducted(
    plan: DrillPlan, names: DrillNames, ground: DrillGround, request: DrillRequest, means: DrillMeans
) -> list[str]:
    with HistoryWriter(request.history, time_ns() // 1000, lambda: time_ns() // 1000) as history:
        return Conductor(plan, names, ground, history, means).conduct()
