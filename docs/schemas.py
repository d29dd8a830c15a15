"""The machine forms of all commands: schema name to type, and the contract that they make together."""

from __future__ import annotations

from typing import Any

import msgspec

from mqctl.bench.probe_view import Probe
from mqctl.changes.offsets.view import OffsetChangeReport, OffsetPlanReport
from mqctl.changes.plan.settings_file import SettingsFile
from mqctl.changes.settings.view import SettingChangeReport, SettingPlanReport
from mqctl.changes.steps.view import StepReport
from mqctl.cli.version import VersionReport
from mqctl.commands.acl.rows import AccessExplanation, AccessReport
from mqctl.commands.allocation.simulate_view import Simulation
from mqctl.commands.allocation.view import AllocationReport
from mqctl.commands.broker.reach_view import PortList
from mqctl.commands.changes.view import History
from mqctl.commands.cluster.describe_view import ClusterDescription
from mqctl.commands.cluster.view import ClusterList, KeyValueList, NameServerSettingList
from mqctl.commands.delay.check_view import DelayCheckReport
from mqctl.commands.delay.plan_view import ChainReport, RelayReport
from mqctl.commands.delay.view import DelayLevels
from mqctl.commands.dlq.resend_view import ResendPlanReport, ResendReport
from mqctl.commands.explain.rows import Explanations
from mqctl.commands.filter.view import FilterVerdict, LintReport
from mqctl.commands.group.advice_rows import AdviceReport
from mqctl.commands.group.rows import GroupListReport, GroupMembers, InstanceReport
from mqctl.commands.ha.compare_rows import StoreComparison
from mqctl.commands.ha.status_view import ReplicationStatus
from mqctl.commands.local.view import LocalStatus
from mqctl.commands.message.consume_view import ConsumeReport
from mqctl.commands.message.send_view import SentMessage
from mqctl.commands.message.trace_view import TraceReport
from mqctl.commands.meta.commands_view import CommandList, MqadminList
from mqctl.commands.meta.version_view import Supported
from mqctl.commands.playbook.view import DryRun, PlaybookList, PlaybookShown
from mqctl.commands.producer.rows import ProducerList
from mqctl.commands.replay.follow_view import FollowPlan, FollowReport
from mqctl.commands.replay.view import ReplayList, ReplayPlanReport, ReplayReport
from mqctl.commands.report.backlog_view import BacklogReport
from mqctl.commands.report.runs_view import RunDiff, RunReported
from mqctl.commands.rules.list import RuleList
from mqctl.commands.stacks.dump_view import StackDumpReport
from mqctl.commands.stacks.find_view import ProcessList
from mqctl.commands.stacks.rounds_view import StackRound
from mqctl.commands.store.verify_view import Verification
from mqctl.commands.subscription.view import ReleaseReport, SubscriptionCheckAll, SubscriptionReport
from mqctl.commands.top.view import TopFrame
from mqctl.commands.topic.entries_view import EntryList
from mqctl.commands.topic.rows import Route, TopicDescription, TopicListReport
from mqctl.commands.topic.traffic_view import Traffic
from mqctl.commands.transaction.list_view import TransactionCheckReport
from mqctl.commands.transaction.view import TransactionDetail, TransactionList
from mqctl.lag.current import LagReport
from mqctl.model.bench import BENCH_SCHEMA, BenchRun
from mqctl.model.bench_comparison import BenchComparison
from mqctl.model.drill_verdict import DrillVerdict
from mqctl.model.lag_trend import LagRound
from mqctl.model.over_time import TrendsReported
from mqctl.model.playbook_run import PlaybookRun
from mqctl.model.reconciliation import Reconciliation
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.model.timeline import TimelineReported
from mqctl.render.brokers import BrokerDescription, BrokerList, SettingList
from mqctl.render.checks import CheckReport
from mqctl.render.dead_letters import DeadLetterList, RetryList
from mqctl.render.findings import DiagnosisReport
from mqctl.render.locks import LockReport, OrderCheckReport
from mqctl.render.messages_view import MessageList
from mqctl.render.profiles import ProfileList
from mqctl.render.reports.tables import (
    CapacityReported,
    DelayReported,
    DuplicatesReported,
    OrderReported,
    RetriesReported,
    SkewReported,
    TagsReported,
    TransactionsReported,
)
from mqctl.render.scenarios import RunningScenario, ScenarioList

LIVE: dict[str, type] = {
    "acl.explain/1": AccessExplanation,
    "acl.list/1": AccessReport,
    "check/1": CheckReport,
    "allocation.show/1": AllocationReport,
    "broker.config/1": SettingList,
    "broker.describe/1": BrokerDescription,
    "broker.list/1": BrokerList,
    "broker.reach/1": PortList,
    "broker.counters/1": SettingList,
    "ha.status/1": ReplicationStatus,
    "cluster.describe/1": ClusterDescription,
    "cluster.config/1": NameServerSettingList,
    "cluster.kv/1": KeyValueList,
    "cluster.list/1": ClusterList,
    "cluster.settings/1": SettingsFile,
    "dlq.list/1": DeadLetterList,
    "dlq.plan/1": ResendPlanReport,
    "dlq.resend/1": ResendReport,
    "delay.levels/1": DelayLevels,
    "group.advice/1": AdviceReport,
    "group.describe/1": GroupMembers,
    "group.lag.watch/1": LagRound,
    "group.list/1": GroupListReport,
    "group.member/1": InstanceReport,
    "group.members/1": GroupMembers,
    "message.consume/1": ConsumeReport,
    "message.list/1": MessageList,
    "message.trace/1": TraceReport,
    "message.probe/1": Probe,
    BENCH_SCHEMA: BenchRun,
    "message.send/1": SentMessage,
    "offset.change/1": OffsetChangeReport,
    "offset.plan/1": OffsetPlanReport,
    "producer.list/1": ProducerList,
    "retry.list/1": RetryList,
    "stacks.find/1": ProcessList,
    "stacks.dump.watch/1": StackRound,
    "subscription.check-all/1": SubscriptionCheckAll,
    "replay.preview/1": ReplayPlanReport,
    "replay.report/1": ReplayReport,
    "replay.follow-plan/1": FollowPlan,
    "replay.follow/1": FollowReport,
    "settings.change/1": SettingChangeReport,
    "settings.plan/1": SettingPlanReport,
    "subscription.check/1": SubscriptionReport,
    "subscription.simulate/1": ReleaseReport,
    "top/1": TopFrame,
    "topic.describe/1": TopicDescription,
    "topic.entries/1": EntryList,
    "topic.list/1": TopicListReport,
    "topic.route/1": Route,
    "topic.traffic/1": Traffic,
    "lock.show/1": LockReport,
    "order.check/1": OrderCheckReport,
    "transaction.check/1": TransactionCheckReport,
    "transaction.list/1": TransactionList,
}
"""Those of commands that only a live cluster answers."""

SCHEMAS: dict[str, type] = {
    **LIVE,
    "bench.compare/1": BenchComparison,
    "filter.lint/1": LintReport,
    "filter.test/1": FilterVerdict,
    "allocation.simulate/1": Simulation,
    "commands/1": CommandList,
    "commands.mqadmin/1": MqadminList,
    "delay.check/1": DelayCheckReport,
    "delay.plan/1": ChainReport,
    "delay.relay/1": RelayReport,
    "delay.repair/1": StepReport,
    "doctor/1": DiagnosisReport,
    "drill.verdict/1": DrillVerdict,
    "group.lag/1": LagReport,
    "history/1": History,
    "stacks.dump/1": StackDumpReport,
    "local.scenario.list/1": ScenarioList,
    "local.scenario.run/1": RunningScenario,
    "local.status/1": LocalStatus,
    "playbook.dry-run/1": DryRun,
    "playbook.list/1": PlaybookList,
    "playbook.run/1": PlaybookRun,
    "playbook.show/1": PlaybookShown,
    "profile.show/1": ProfileList,
    "replay.list/1": ReplayList,
    "report.backlog/1": BacklogReport,
    "report.capacity/1": CapacityReported,
    "report.diff/1": RunDiff,
    "report.reconcile/1": Reconciliation,
    "report.run/1": RunReported,
    "report.delay/1": DelayReported,
    "report.retries/1": RetriesReported,
    "report.tags/1": TagsReported,
    "report.transactions/1": TransactionsReported,
    "report.duplicates/1": DuplicatesReported,
    "report.order/1": OrderReported,
    "report.skew/1": SkewReported,
    "report.trends/1": TrendsReported,
    "timeline/1": TimelineReported,
    "explain/1": Explanations,
    "version/1": VersionReport,
    "rules.list/1": RuleList,
    "version.supported/1": Supported,
    "snapshot.show/1": ClusterSnapshot,
    "store.cat/1": MessageList,
    "store.describe/1": ClusterSnapshot,
    "message.recall/1": StepReport,
    "transaction.resume/1": StepReport,
    "transaction.show/1": TransactionDetail,
    "ha.compare/1": StoreComparison,
    "store.verify/1": Verification,
}


DIALECT = "https://json-schema.org/draft/2020-12/schema"


def contract() -> str:
    """Returns all machine forms as one JSON schema: names and types without prose, and a field a line, so that the
    difference between two versions is what a reader of the answers has to know."""
    references, types = msgspec.json.schema_components(SCHEMAS.values(), ref_template="#/$defs/{name}")
    forms = [_entry(name, reference) for name, reference in sorted(zip(SCHEMAS, references, strict=True))]
    defined = [_definition(name, _without_prose(types[name])) for name in sorted(types)]
    parts = (
        f'{{\n"$schema": "{DIALECT}",\n"forms": {{',
        ",\n".join(forms),
        '},\n"$defs": {',
        ",\n".join(defined),
        "}}\n",
    )
    return "\n".join(parts)


def _without_prose(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in {"title", "description"}}


def _definition(name: str, schema: dict[str, Any]) -> str:
    """Sets a type on one line, the fields of an object on one each."""
    fields = schema.pop("properties", None)
    if fields is None:
        return _entry(name, schema)
    head = msgspec.json.encode(schema).decode().removesuffix("}")
    return f'"{name}": {head},"properties":{{\n' + ",\n".join(f"  {_field(*it)}" for it in fields.items()) + "}}"


def _field(name: str, value: dict[str, Any]) -> str:
    """Sets a field on a line, without an empty default: msgspec to 0.22 writes down other ones than later releases."""
    return _entry(name, {key: item for key, item in value.items() if key != "default" or item not in ([], {})})


def _entry(name: str, value: object) -> str:
    return f'"{name}": {msgspec.json.encode(value).decode()}'
