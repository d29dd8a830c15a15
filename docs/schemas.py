"""The machine forms of all commands: schema name to type."""

from __future__ import annotations

from mqctl.commands.rules.explain import RuleExplained
from mqctl.commands.rules.list import RuleList
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.render.backlog import BacklogReport
from mqctl.render.delay import DelayReport
from mqctl.render.findings import DiagnosisReport
from mqctl.render.lag import LagReport
from mqctl.render.local_clusters import LocalStatus
from mqctl.render.messages_view import MessageList
from mqctl.render.profiles import ProfileList
from mqctl.render.verification import Verification

SCHEMAS: dict[str, type] = {
    "delay.check/1": DelayReport,
    "doctor/1": DiagnosisReport,
    "group.lag/1": LagReport,
    "local.status/1": LocalStatus,
    "profile.list/1": ProfileList,
    "report.backlog/1": BacklogReport,
    "rules.explain/1": RuleExplained,
    "rules.list/1": RuleList,
    "snapshot.show/1": ClusterSnapshot,
    "store.cat/1": MessageList,
    "store.describe/1": ClusterSnapshot,
    "store.verify/1": Verification,
}
