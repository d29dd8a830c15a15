"""Every recorded answer of mqadmin, asked of mqctl against the recorded frames: equal numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqctl.cli.catalog_mqadmin import TABLE, CommandCoverage
from tests.conftest import Outcome
from tests.live.conftest import Run
from tests.live.mqadmin.mqadmin_equal import COMPARED, nothing
from tests.live.mqadmin.replay import MqadminRun, exchanges, replaying, runs

RECORDED = {(exchange.release, exchange.run) for exchange in exchanges() if exchange.run}
NAMED = {entry.name: entry for entry in TABLE}

# Changes a cluster or sends to it; plans, and tests of their own, stand for what mqctl does instead.
CHANGES = {
    "addWritePerm", "checkMsgSendRT", "cleanExpiredCQ", "cleanUnusedTopic", "cloneGroupOffset", "clusterRT",
    "consumeMessage", "createAcl", "createUser", "deleteAclConfig", "deleteExpiredCommitLog", "deleteKvConfig",
    "deleteSubGroup", "deleteTopic", "remappingStaticTopic", "resetOffsetByTime", "sendMessage", "sendMsgStatus",
    "skipAccumulatedMessage", "updateAclConfig", "updateBrokerConfig", "updateColdDataFlowCtrGroupConfig",
    "updateGlobalWhiteAddr", "updateKvConfig", "updateNamesrvConfig", "updateOrderConf", "updateSubGroup",
    "updateTopic", "updateTopicPerm", "wipeWritePerm",
}  # fmt: skip

# mqadmin's answer is there; what was asked and answered on the wire for it is not.
UNRECORDED = {
    "4.9.8/consumerProgress_after": "no progress of any group was recorded in that minute",
    "4.9.8/consumerProgress_offline_all": "no progress of any group was recorded in that minute",
    "4.9.8/topicList_nobroker": "the cluster without brokers was not recorded",
}

# A reading sub-command with a client's id hands the message to that client for consumption.
HANDED_OUT = {
    "4.9.8/queryMsgById_direct",
    "4.9.8/queryMsgByUniqueKey_direct",
    "5.3.3/online_04_queryMsgByUniqueKey",
}

# mqadmin's own words rather than a cluster's.
OWN_WORDS = {"help", "nosuchcmd"}

# Not comparable: mqadmin deals the queues out in the order of the route, which no client does (clients sort first).
WRONG = {"allocateMQ"}

# Recorded without their traffic, and with passwords that mqctl shows nobody; or without the settings and users that
# `acl list` asks for beside the versions of files. test_acl.py and test_access_files.py ask brokers.
OF_USERS = {"clusterAclConfigVersion", "getAcl", "getUser", "listAcl", "listUser"}

# What controllers and replication ports said was recorded without the logs that `ha status` sets beside it:
# test_controllers.py and test_ha_status.py ask for it.
REPLICATION = {"getSyncStateSet", "haStatus"}


def has_frames(run: MqadminRun) -> bool:
    """The main runs of 5.3.3, and a few of 4.9.8, were recorded without their traffic."""
    return (run.release, run.name) in RECORDED


def compared() -> list[str]:
    candidates = ((key, run) for key, run in runs().items() if run.sub_command in COMPARED and has_frames(run))
    return [key for key, _ in candidates if key not in UNRECORDED and key not in HANDED_OUT]


@pytest.mark.parametrize("name", sorted({run.sub_command for run in runs().values()} - OWN_WORDS))
def test_every_sub_command_that_was_recorded_has_its_place(name: str) -> None:
    entry = NAMED[name]
    read = name in COMPARED
    if read or name in CHANGES | WRONG | OF_USERS | REPLICATION:
        assert not (read and name in CHANGES)
        assert not read or entry.ours, "what is compared is offered"
    else:
        assert (entry.coverage, bool(entry.note)) == (CommandCoverage.NONE, True), "what is not offered has a reason"


def test_most_of_what_was_recorded_is_compared() -> None:
    assert UNRECORDED.keys() | HANDED_OUT <= runs().keys()
    assert len(compared()) >= 108


@pytest.mark.parametrize("key", compared())
def test_the_numbers_are_mqadmins(mqctl: Run, tmp_path: Path, key: str) -> None:
    run = runs()[key]
    places = {name: str(tmp_path / name.lower()) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}
    failed = not run.out.strip() and not run.files  # and ended with 0 all the same
    with replaying(run) as replay:

        def ask(*words: str) -> Outcome:
            outcome = mqctl(*map(replay.now, words), env={**places, "MQCTL_NAMESRV": replay.namesrv})
            return Outcome(outcome.exit_code, replay.then(outcome.stdout), replay.then(outcome.stderr))

        (nothing if failed else COMPARED[run.sub_command])(run, ask)
