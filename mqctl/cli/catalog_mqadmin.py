"""mqadmin's sub-commands and what mqctl offers for each.

The names are those that `MQAdminStartup.initCommand` registers: 57 in 4.9.7, 56 in 4.9.8, 89 in 5.3.3, 90
in 5.4.0, 96 in 5.5.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from enum import StrEnum

from mqctl.errors import NotFoundError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import sentence

RELEASES = ("4.9.7", "4.9.8", "5.3.3", "5.4.0", "5.5.0")
"""Those whose sub-commands are in the table, the oldest first."""


class CommandCoverage(StrEnum):
    """How much of a sub-command mqctl answers or does."""

    WHOLE = "whole"
    PART = "part"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class SubCommand:
    """One sub-command of mqadmin.

    Attributes:
        name: as mqadmin spells it; it takes names in any case.
        coverage: how much of it mqctl offers.
        ours: command lines of mqctl that answer the same, the best first.
        note: what is different, left out, or why it is not offered.
        since: the first of RELEASES that registers it.
        last: the last one that does.
    """

    name: str
    coverage: CommandCoverage
    ours: tuple[str, ...] = ()
    note: str = ""
    since: str = RELEASES[0]
    last: str = RELEASES[-1]

    @property
    def versions(self) -> tuple[str, ...]:
        """The releases that have it, the oldest first."""
        return RELEASES[RELEASES.index(self.since) : RELEASES.index(self.last) + 1]


def span_of(versions: Sequence[str]) -> str:
    """The first and the last of releases, once where there is one only."""
    return "-".join(dict.fromkeys((versions[0], versions[-1])))


def _whole(name: str, *ours: str, note: str = "") -> SubCommand:
    return SubCommand(name, CommandCoverage.WHOLE, ours, note)


def _part(name: str, *ours: str, note: str) -> SubCommand:
    return SubCommand(name, CommandCoverage.PART, ours, note)


def _none(name: str, note: str) -> SubCommand:
    return SubCommand(name, CommandCoverage.NONE, (), note)


def _only_5(name: str, coverage: CommandCoverage, note: str, *ours: str, since: str = "5.3.3") -> SubCommand:
    return SubCommand(name, coverage, ours, note, since=since)


def _only_4(name: str, note: str, *ours: str) -> SubCommand:
    coverage = CommandCoverage.WHOLE if ours else CommandCoverage.NONE
    return SubCommand(name, coverage, ours, note, last="4.9.8")


_NO_ARGUMENT = sentence(
    "cli-password-file-terminal", "the password comes from a file or the terminal, not from the words of a command"
)
_REPLICAS = sentence(
    "cli-elections-controller", "elections and replica sets are the controller's business; a wrong push loses messages"
)
_STATIC = sentence(
    "cli-static-topics-map",
    "static topics map queues across brokers; a half-done mapping cannot be undone from outside",
)
_SERVER = sentence(
    "cli-server-settings-belong", "server settings belong in its configuration, where a restart finds them again"
)
_CLEANING = sentence(
    "cli-forces-deletion", "forces the broker to delete files ahead of its own schedule; there is no way back"
)
_LITE = sentence("cli-lite-topics-not-read", "lite topics are not read yet")

TABLE: tuple[SubCommand, ...] = (
    # topics
    _whole(
        "updateTopic",
        "topic create -t TOPIC",
        "topic update -t TOPIC",
        note=sentence("cli-plan-fewer-queues-only", "a plan; fewer queues only when they are read"),
    ),
    _only_5(
        "updateTopicList",
        CommandCoverage.WHOLE,
        sentence("cli-one-plan-file", "one plan for all of a file"),
        "cluster apply FILE",
    ),
    _whole(
        "deleteTopic",
        "topic delete -t TOPIC",
        note=sentence(
            "cli-refused-while-group-subscribes", "refused while a group subscribes to it or has not read it"
        ),
    ),
    _whole("updateTopicPerm", "topic update -t TOPIC --perm RW"),
    _whole(
        "topicRoute",
        "topic route -t TOPIC",
        note=sentence("cli-asks-every-name-server", "asks every name server and shows where they disagree"),
    ),
    _whole("topicStatus", "topic describe -t TOPIC"),
    _whole("topicClusterList", "topic describe -t TOPIC", "cluster list"),
    _whole(
        "topicList",
        "topic list",
        note=sentence(
            "cli-mqadmin-option-topic-groups", "`-c` of mqadmin, the groups of each topic, is in `topic describe`"
        ),
    ),
    _part(
        "allocateMQ",
        "allocation simulate --queues N --clients N",
        "allocation show -g GROUP -t TOPIC",
        note=sentence(
            "cli-counts-names-live-group",
            "counts and names of a live group instead of a list of addresses; every strategy, not AVG alone",
        ),
    ),
    _whole(
        "updateOrderConf",
        "topic update -t TOPIC --order CONFIG",
        note=sentence("cli-written-every-name-server", "written to every name server, and read back"),
    ),
    _only_5("updateStaticTopic", CommandCoverage.NONE, _STATIC),
    _only_5("remappingStaticTopic", CommandCoverage.NONE, _STATIC),
    # consumer groups and offsets
    _whole(
        "updateSubGroup",
        "group create -g GROUP",
        "group update -g GROUP",
        note=sentence("cli-what-is-not-given-stays", "what is not given stays"),
    ),
    _only_5(
        "updateSubGroupList",
        CommandCoverage.WHOLE,
        sentence("cli-one-plan-file", "one plan for all of a file"),
        "cluster apply FILE",
    ),
    _only_5(
        "setConsumeMode",
        CommandCoverage.NONE,
        sentence("cli-switching-pull-pop", "switching a group between pull and pop is the application's decision"),
    ),
    _whole(
        "deleteSubGroup",
        "group delete -g GROUP --with-topics",
        note=sentence("cli-refused-while-somebody-consumes", "refused while the group has members"),
    ),
    _whole("getConsumerConfig", "group describe -g GROUP"),
    _whole("consumerProgress", "group lag -g GROUP", "group lag"),
    _whole(
        "consumerStatus",
        "subscription check -g GROUP",
        "allocation show -g GROUP",
        "group members --client CLIENT-ID -g GROUP",
        note=sentence(
            "cli-judges-what-differs-mqadmin", "judges what differs; mqadmin prints `Rebalance OK` without looking"
        ),
    ),
    _whole("consumerConnection", "group members -g GROUP", "group describe -g GROUP"),
    _part(
        "startMonitoring",
        "doctor --window 60s",
        note=sentence("cli-judges-once-exits-verdict", "judges once, exits with a verdict; a scheduler repeats it"),
    ),
    _whole("resetOffsetByTime", "offset reset -g GROUP -t TOPIC --to-time TIME"),
    _whole("skipAccumulatedMessage", "offset skip -g GROUP -t TOPIC"),
    _whole("cloneGroupOffset", "offset clone --from GROUP -g GROUP -t TOPIC"),
    # messages
    _part(
        "queryMsgById",
        "message get ID",
        "message trace ID",
        note=sentence("cli-no-resending-to-client", "no resending to a client"),
    ),
    _whole("queryMsgByKey", "message get -t TOPIC --key KEY"),
    _part(
        "queryMsgByUniqueKey",
        "message get ID -t TOPIC",
        "message trace ID -t TOPIC",
        note=sentence("cli-no-resending-to-client", "no resending to a client"),
    ),
    _whole("queryMsgByOffset", "message peek -t TOPIC --queue N --broker NAME --offset N"),
    _whole("queryMsgTraceById", "message trace ID"),
    _whole(
        "printMsg",
        "message peek -t TOPIC",
        note=sentence("cli-creates-consumer-group-retry", "creates no consumer group and no retry topic to do so"),
    ),
    _whole("printMsgByQueue", "message peek -t TOPIC --queue N --broker NAME"),
    _whole("sendMessage", "message send -t TOPIC --body TEXT"),
    _whole("consumeMessage", "message consume -t TOPIC", "message tail -t TOPIC"),
    _whole("checkMsgSendRT", "message probe -t TOPIC"),
    _only_5(
        "dumpCompactionLog",
        CommandCoverage.NONE,
        sentence("cli-compaction-not-read", "compaction logs are not read yet"),
    ),
    # brokers, clusters, counters
    _whole("brokerStatus", "broker describe BROKER", "broker describe BROKER --counters"),
    _whole(
        "updateBrokerConfig",
        "broker set NAME=VALUE",
        note=sentence("cli-refuses-properties-broker-would", "refuses properties that a broker would forget"),
    ),
    _whole("getBrokerConfig", "broker config BROKER"),
    _whole(
        "brokerConsumeStats",
        "group lag",
        note=sentence("cli-every-group-every-broker", "every group of every broker, by count and by time"),
    ),
    _whole("sendMsgStatus", "message probe --broker NAME"),
    _none("cleanExpiredCQ", _CLEANING),
    _none("deleteExpiredCommitLog", _CLEANING),
    _none("cleanUnusedTopic", _CLEANING),
    _whole("clusterList", "broker list", "cluster list"),
    _whole("clusterRT", "message probe", note=sentence("cli-one-round", "one round; a scheduler repeats it")),
    _whole("statsAll", "topic traffic", "group lag"),
    _whole("queryCq", "topic entries -t TOPIC -q N"),
    _whole("producer", "producer list --all"),
    _whole("producerConnection", "producer list -g GROUP"),
    _whole("updateKvConfig", "cluster kv NAMESPACE --set KEY=VALUE", "topic update -t TOPIC --order CONFIG"),
    _whole("deleteKvConfig", "cluster kv NAMESPACE --delete KEY", "topic update -t TOPIC --no-order"),
    _whole("wipeWritePerm", "broker write BROKER off"),
    _whole("addWritePerm", "broker write BROKER on"),
    _whole("getNamesrvConfig", "cluster describe --config"),
    _none("updateNamesrvConfig", _SERVER),
    _only_5(
        "addBroker",
        CommandCoverage.NONE,
        sentence("cli-adds-container-broker", "adds a broker to a container process; {server}", server=_SERVER),
    ),
    _only_5(
        "removeBroker",
        CommandCoverage.NONE,
        sentence("cli-removes-container-broker", "removes a broker from a container process; {server}", server=_SERVER),
    ),
    _only_5("resetMasterFlushOffset", CommandCoverage.NONE, _REPLICAS),
    _only_5(
        "haStatus",
        CommandCoverage.WHOLE,
        sentence("cli-beside-masters", "beside what masters say: how far each slave really is"),
        "ha status BROKER -o wide",
    ),
    _only_5(
        "getSyncStateSet",
        CommandCoverage.WHOLE,
        sentence("cli-asks-controllers", "asks the controllers that masters name"),
        "ha status -o wide",
    ),
    _only_5(
        "getBrokerEpoch",
        CommandCoverage.NONE,
        sentence("cli-epoch-history", "a broker's history of epochs is not asked for"),
    ),
    _only_5(
        "getColdDataFlowCtrInfo",
        CommandCoverage.NONE,
        sentence("cli-cold-data-not-read", "cold-data flow control is not read yet"),
    ),
    _only_5("updateColdDataFlowCtrGroupConfig", CommandCoverage.NONE, _SERVER),
    _only_5("removeColdDataFlowCtrGroupConfig", CommandCoverage.NONE, _SERVER),
    _only_5("setCommitLogReadAheadMode", CommandCoverage.NONE, _SERVER),
    _only_5(
        "checkRocksdbCqWriteProgress",
        CommandCoverage.NONE,
        sentence("cli-rocksdb-queues-offline", "consume queues in RocksDB are read offline only"),
    ),
    _only_5(
        "rocksDBConfigToJson",
        CommandCoverage.NONE,
        sentence(
            "cli-rocksdb-settings-offline", "settings in RocksDB are read offline only, by every command with --store"
        ),
    ),
    _only_5(
        "switchTimerEngine",
        CommandCoverage.NONE,
        sentence(
            "cli-timer-engine-switch",
            "a switch may deliver messages a second time, and no command of mqctl plans it yet",
        ),
        since="5.4.0",
    ),
    # lite topics
    *(
        _only_5(name, CommandCoverage.NONE, _LITE, since="5.5.0")
        for name in (
            *("getBrokerLiteInfo", "getParentTopicInfo", "getLiteTopicInfo", "getLiteClientInfo"),
            *("getLiteGroupInfo", "triggerLiteDispatch"),
        )
    ),
    # controllers
    _only_5(
        "getControllerMetaData",
        CommandCoverage.NONE,
        sentence("cli-asked-ha-doctor", "asked by `ha status` and `doctor`, not shown by itself"),
    ),
    _only_5("getControllerConfig", CommandCoverage.NONE, _REPLICAS),
    _only_5("updateControllerConfig", CommandCoverage.NONE, _REPLICAS),
    _only_5("electMaster", CommandCoverage.NONE, _REPLICAS),
    _only_5("cleanBrokerMetadata", CommandCoverage.NONE, _REPLICAS),
    # exports
    _whole(
        "exportMetadata",
        "cluster export -o yaml",
        note=sentence("cli-cluster-apply-makes-another", "`cluster apply` makes another cluster have them"),
    ),
    _part(
        "exportConfigs",
        "broker config -o json",
        note=sentence("cli-every-key-instead-chosen", "every key instead of a chosen few"),
    ),
    _part(
        "exportMetrics",
        "broker describe --counters -o json",
        note=sentence("cli-raw-counters-rates-come", "raw counters; rates come from `doctor --window`"),
    ),
    _only_5(
        "exportMetadataInRocksDB",
        CommandCoverage.NONE,
        sentence(
            "cli-rocksdb-settings-offline", "settings in RocksDB are read offline only, by every command with --store"
        ),
    ),
    _only_5(
        "exportPopRecord",
        CommandCoverage.NONE,
        sentence(
            "cli-lag-shows-popped",
            "`group lag` shows what is popped; the key-value store of pops (off by default) is not read",
        ),
    ),
    # access control
    _only_4(
        "updateAclConfig",
        sentence("cli-secret-file-terminal", "the secret key comes from a file or the terminal"),
        "acl put KEY",
    ),
    _only_4("deleteAclConfig", "", "acl delete KEY"),
    _only_4("clusterAclConfigVersion", "", "acl list"),
    SubCommand(
        "getAclConfig",
        CommandCoverage.PART,
        ("acl list",),
        sentence("cli-without-passwords", "without passwords"),
        last="4.9.7",
    ),
    _only_4(
        "updateGlobalWhiteAddr",
        sentence("cli-undo-former-list", "undo brings the former list back, given a copy"),
        "acl put --white-list ADDRESS",
    ),
    _only_5("createUser", CommandCoverage.WHOLE, _NO_ARGUMENT, "acl put USER --new --password-file FILE"),
    _only_5("updateUser", CommandCoverage.WHOLE, _NO_ARGUMENT, "acl put USER --existing"),
    _only_5(
        "deleteUser",
        CommandCoverage.WHOLE,
        sentence("cli-entries-in-record", "its entries are in the record"),
        "acl delete USER",
    ),
    _only_5(
        "getUser",
        CommandCoverage.PART,
        sentence("cli-without-password", "without the password"),
        "acl list --user USER",
    ),
    _only_5("listUser", CommandCoverage.PART, sentence("cli-without-passwords", "without passwords"), "acl list"),
    _only_5(
        "copyUser",
        CommandCoverage.NONE,
        sentence("cli-would-carry-password", "would carry a password from broker to broker"),
    ),
    _only_5("createAcl", CommandCoverage.WHOLE, "", "acl grant USER --resource RESOURCE --action ACTION"),
    _only_5("updateAcl", CommandCoverage.WHOLE, "", "acl grant USER --resource RESOURCE --action ACTION"),
    _only_5("deleteAcl", CommandCoverage.WHOLE, "", "acl revoke USER --resource RESOURCE"),
    _only_5("getAcl", CommandCoverage.WHOLE, "", "acl list --user USER"),
    _only_5("listAcl", CommandCoverage.WHOLE, "", "acl list"),
    _only_5(
        "copyAcl",
        CommandCoverage.NONE,
        sentence("cli-acl-list-differ", "`acl list` shows where brokers differ; `acl grant` goes to all of them"),
    ),
)


def find(name: str) -> SubCommand:
    """Returns the sub-command called `name`, in any case as mqadmin takes it; raises NotFoundError."""
    by_name = {entry.name.lower(): entry for entry in TABLE}
    if sub_command := by_name.get(name.lower()):
        return sub_command
    near = [by_name[word].name for word in get_close_matches(name.lower(), by_name, n=3)]
    raise NotFoundError(
        sentence("cli-cannot-look-up-mqadmin", "cannot look up mqadmin's sub-command {name}", name=name),
        reason=sentence("cli-no-release-has-name", "none of {releases} has one of that name", releases=list(RELEASES)),
        remedy=sentence(
            "cli-did-mean-commands-mqadmin",
            "did you mean {near}? `mqctl commands --mqadmin all` lists them all",
            near=near,
        )
        if near
        else sentence("cli-commands-mqadmin-all-lists", "`mqctl commands --mqadmin all` lists them all"),
    )
