"""For each reading sub-command of mqadmin: ask mqctl the same, and compare the numbers with what mqadmin printed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import takewhile
from typing import Any

from tests.conftest import Outcome
from tests.live.mqadmin import mqadmin_text as text
from tests.live.mqadmin.replay import MqadminRun, runs

Ask = Callable[..., Outcome]


def answer(ask: Ask, *words: str, partly: bool = False) -> Any:
    """Asks with `-o json`; `partly` accepts that other parts of a wider question were not recorded, and so refused."""
    outcome = ask(*words, "-o", "json")
    assert outcome.exit_code in ({0, 76} if partly else {0}), outcome.stderr
    return outcome.json


def _of(run: MqadminRun, name: str) -> str:
    value = run.option(name)
    assert value is not None, run.argv
    return value


def cluster_list(run: MqadminRun, ask: Ask) -> None:
    listed = text.rows(run.out, "#Cluster Name")
    if not listed:  # what mqadmin shows as an empty table is no cluster to us
        assert ask("broker", "list", "-o", "json").exit_code == 66
        return
    brokers = {row["address"]: row for row in answer(ask, "broker", "list")["brokers"]}
    raw = {
        (row["broker"], row["address"], row["key"]): row["value"]
        for row in answer(ask, "broker", "describe", "--counters")["settings"]
    }
    assert len(listed) == len(brokers)
    if "-m" in run.argv:
        for (cluster, name, put_before, get_before, put, get), row in zip(listed, brokers.values(), strict=True):
            assert (cluster, name) == (row["cluster"], row["name"])
            assert (int(put), int(get)) == (row["put_today_count"], row["get_today_count"])
            for printed, what in ((put_before, "Put"), (get_before, "Get")):
                today, before = (
                    int(raw[name, row["address"], f"msg{what}Total{day}Morning"]) for day in ("Today", "Yesterday")
                )
                assert int(printed) == today - before
        return
    for cluster, name, broker_id, address, version, put, get, wait_ms, _, space in listed:
        row = brokers[address]
        assert (cluster, name, int(broker_id), version) == (
            row["cluster"],
            row["name"],
            row["broker_id"],
            row["version"],
        )
        # Where the broker has no sample yet, mqadmin prints 0.00 and we say that it is not known.
        assert [float(value.partition("(")[0]) for value in (put, get)] == [row["put_tps"] or 0, row["get_tps"] or 0]
        assert put.partition("(")[2].partition(",")[0] == raw[name, address, "sendThreadPoolQueueSize"]
        assert wait_ms == raw[name, address, "pageCacheLockTimeMills"]
        assert float(space) == row["disk_used_share"]


def broker_status(run: MqadminRun, ask: Ask) -> None:
    statuses: dict[str, dict[str, str]] = {}
    for row in answer(ask, "broker", "describe", "--counters")["settings"]:
        statuses.setdefault(row["address"], {})[row["key"]] = row["value"].strip()
    one = run.option("-b")
    printed: dict[str, dict[str, str]] = {}
    for line in run.out.splitlines():
        address, rest = (one, line) if one else line.split(maxsplit=1)
        key, _, value = rest.partition(": ")
        printed.setdefault(address, {})[key.strip()] = value.strip()
    assert printed == {address: statuses[address] for address in printed}


def topic_status(run: MqadminRun, ask: Ask) -> None:
    queues = answer(ask, "topic", "describe", "-t", _of(run, "-t"), partly=True)["queues"]
    by_queue = {(row["broker"], row["queue_id"]): row for row in queues}
    printed = text.rows(run.out, "#Broker Name")
    assert len(printed) == len(by_queue)
    for broker, queue_id, low, high, *when in printed:
        row = by_queue[broker, int(queue_id)]
        assert (int(low), int(high)) == (row["min_offset"], row["max_offset"])
        assert (text.time_ms(" ".join(when)) if when else None) == row["last_store_time_ms"]


def topic_list(run: MqadminRun, ask: Ask) -> None:
    listed = answer(ask, "topic", "list", "--all")["topics"]
    if "-c" not in run.argv:
        assert {line for line in run.out.split() if line} <= {row["topic"] for row in listed}
        return
    groups: dict[str, set[str]] = {}
    for _, topic, *group in text.rows(run.out, "#Cluster Name"):
        groups.setdefault(topic, set()).update(group)
    assert groups.keys() <= {row["topic"] for row in listed}
    groups_of = {row["topic"]: {g["group"] for g in row["groups"]} for row in _traffic(ask)}
    assert any(groups_of.values())
    assert all(groups_of[topic] == groups[topic] for topic in groups_of if groups_of[topic] and topic in groups)


def _traffic(ask: Ask, *words: str) -> Any:
    return answer(ask, "topic", "traffic", *(words or ("--all",)), partly=True)["topics"]


def topic_route(run: MqadminRun, ask: Ask) -> None:
    printed = json.loads(run.out.replace("{0:", '{"0":').replace(",1:", ',"1":')) if "-l" not in run.argv else None
    brokers = answer(ask, "topic", "route", "-t", _of(run, "-t"))["brokers"]
    if printed is None:
        assert {line.split()[1] for line in run.out.splitlines() if line.startswith("DefaultCluster")} == {
            row["broker"] for row in brokers
        }
        return
    addresses = {item["brokerName"]: item["brokerAddrs"] for item in printed["brokerDatas"]}
    for item in printed["queueDatas"]:
        (row,) = (row for row in brokers if row["broker"] == item["brokerName"])
        assert (row["read_queue_count"], row["write_queue_count"]) == (item["readQueueNums"], item["writeQueueNums"])
        letters = "".join(c if item["perm"] & bit else "-" for c, bit in (("R", 4), ("W", 2), ("X", 1)))
        assert (row["perm"], row["master"]) == (letters, addresses[item["brokerName"]]["0"])


def topic_cluster_list(run: MqadminRun, ask: Ask) -> None:
    brokers = answer(ask, "topic", "route", "-t", _of(run, "-t"))["brokers"]
    assert set(run.out.split()) == {row["cluster"] for row in brokers}


def consumer_progress(run: MqadminRun, ask: Ask) -> None:
    if "-g" not in run.argv:
        _progress_of_all(run, ask)
        return
    progress = answer(ask, "group", "lag", "-g", _of(run, "-g"), "--all", partly=True)
    by_queue = {(row["topic"], row["broker_name"], row["queue_id"]): row for row in progress["queues"]}
    printed = text.rows(run.out, "#Topic")
    with_address = "#Client IP" in run.out
    for topic, broker, queue_id, high, consumed, *rest in printed:
        row = by_queue.pop((topic, broker, int(queue_id)))
        assert (row["broker_offset"], row["consumer_offset"]) == (int(high), int(consumed))
        if with_address:
            assert [owner.partition("@")[0] for owner in row["owners"]] == [rest[0]]
        assert row["lag_count"] == int(rest[1 if with_address else 0])
    assert not by_queue
    rates = {row["consume_tps"] for row in progress["groups"]}
    assert rates == {float(text.properties(run.out, "Consume TPS:")[""])}
    assert sum(row["lag_count"] for row in progress["queues"]) == int(text.properties(run.out, "Diff Total:")[""])


def _progress_of_all(run: MqadminRun, ask: Ask) -> None:
    lags: Counter[str] = Counter()
    for row in answer(ask, "group", "lag", partly=True)["groups"]:
        lags[row["group"]] += row["lag_count"] or 0
    printed = {words[0]: int(words[-1]) for words in text.rows(run.out, "#Group")}
    assert lags, "at least one group was recorded with the run"
    assert {group: printed[group] for group in lags} == dict(lags)


def consumer_connection(run: MqadminRun, ask: Ask) -> None:
    members = answer(ask, "group", "members", "-g", _of(run, "-g"), partly=True)
    listed = sorted(text.rows(run.out, "#ClientId"))
    assert listed == sorted(
        [m["client_id"], m["addresses"], m["language"], "V" + m["version"].replace(".", "_")]
        for m in members["members"]
    )
    wanted = {topic: " ".join(rest) for topic, *rest in text.rows(run.out, "#Topic")}
    assert wanted == {row["topic"]: row["expression"] for row in members["subscriptions"]}
    printed = text.properties(run.out, ": ")
    assert (printed["ConsumeType"], printed["MessageModel"], printed["ConsumeFromWhere"]) == (
        members["consume_type"],
        members["message_model"],
        members["consume_from_where"],
    )


def consumer_status(run: MqadminRun, ask: Ask) -> None:
    if "-i" in run.argv:
        _instance(run, ask)
        return
    members = answer(ask, "group", "members", "-g", _of(run, "-g"), partly=True)
    listed = {client: version for _, client, version, _ in text.rows(run.out, "#Index")}
    assert listed == {m["client_id"]: "V" + m["version"].replace(".", "_") for m in members["members"]}
    verdict = ask("subscription", "check", "-g", _of(run, "-g"))
    if "Different subscription" in run.out or "WARN" in run.out:
        assert verdict.exit_code in {1, 2}
    else:  # 3 where an instance's own account was not recorded with the run
        assert "Same subscription" in run.out
        assert verdict.exit_code in {0, 3}, verdict.stdout


def _instance(run: MqadminRun, ask: Ask) -> None:
    member = answer(ask, "group", "members", "--client", _of(run, "-i"), "-g", _of(run, "-g"))
    head = "\n".join(takewhile(lambda line: not line.startswith("#Consumer Subscription"), run.out.splitlines()))
    assert text.properties(head, " : ") == {key: value.strip() for key, value in member["properties"].items()}
    held = {
        (topic, broker, int(queue)): int(offset)
        for topic, broker, queue, offset in _four(run, "#Topic", "#Consumer Offset#")
    }
    assert held == {(q["topic"], q["broker"], q["queue_id"]): q["commit_offset"] for q in member["queues"]}


def _four(run: MqadminRun, heading: str, after: str) -> list[list[str]]:
    return [row[:4] for row in text.rows(run.out[run.out.index(after) :], heading)]


def consumer_config(run: MqadminRun, ask: Ask) -> None:
    (row,) = answer(ask, "group", "describe", "-g", _of(run, "-g"), partly=True)["brokers"]
    printed = text.properties(run.out, " =  ")
    ours = {
        "groupName": _of(run, "-g"),
        "consumeEnable": row["consume_enable"],
        "consumeFromMinEnable": row["consume_from_min_enable"],
        "consumeBroadcastEnable": row["consume_broadcast_enable"],
        "retryQueueNums": row["retry_queue_count"],
        "retryMaxTimes": row["retry_max_times"],
        "brokerId": row["broker_id"],
        "whichBrokerWhenConsumeSlowly": row["which_broker_when_consume_slowly"],
        "notifyConsumerIdsChangedEnable": row["notify_consumer_ids_changed_enable"],
    }
    assert printed == {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in ours.items()
    }


def broker_config(run: MqadminRun, ask: Ask) -> None:
    printed = {name: value for name, value in text.properties(run.out, " =  ").items() if not name.startswith("=")}
    rows = answer(ask, "broker", "config")["settings"]
    addresses = {row["address"] for row in rows}
    for address in addresses if len(addresses) == 1 else ():
        assert {r["key"]: r["value"].strip() for r in rows if r["address"] == address} == printed
    assert printed.keys() == {row["key"] for row in rows}


def namesrv_config(run: MqadminRun, ask: Ask) -> None:
    rows = answer(ask, "cluster", "describe", "--config")["settings"]
    assert text.properties(run.out, " =  ") == {row["key"]: row["value"].strip() for row in rows}


def producers(run: MqadminRun, ask: Ask) -> None:
    rows_listed = answer(ask, "producer", "list", "--all")["producers"]
    printed = set()
    for line in run.out.splitlines():
        group = line.partition("(")[2].partition(")")[0]
        fields = dict(part.strip().split("=", 1) for part in line.partition(" : ")[2].split(","))
        printed.add((group, fields["clientId"], fields["remoteIP"].lstrip("/"), int(fields["lastUpdateTimestamp"])))
    assert printed == {(r["group"], r["client_id"], r["addresses"], r["last_heartbeat_ms"]) for r in rows_listed}


def producer_connection(run: MqadminRun, ask: Ask) -> None:
    rows_listed = answer(ask, "producer", "list", "-g", _of(run, "-g"))["producers"]
    printed = [line.split()[1:] for line in run.out.splitlines() if line.strip()]
    assert sorted(printed) == sorted(
        [r["client_id"], r["addresses"], r["language"], "V" + r["version"].replace(".", "_")] for r in rows_listed
    )


def message(run: MqadminRun, ask: Ask) -> None:
    printed = text.message_fields(run.out)
    if run.sub_command == "queryMsgByOffset":
        words = [
            "peek",
            "-t",
            _of(run, "-t"),
            "--broker",
            _of(run, "-b"),
            "-q",
            _of(run, "-i"),
            "--offset",
            _of(run, "-o"),
        ]
        words += ["--count", "1"]
    else:
        words = ["get", _of(run, "-i"), *_topic(run)]
    if run.sub_command == "queryMsgById" and printed["OffsetID"] != _of(run, "-i"):
        # The message is gone; the broker answered with another one, and mqadmin prints it as if it were the one.
        assert ask("message", *words).exit_code == 66
        return
    (message_got,) = answer(ask, "message", *words)["messages"]
    fields = dict(part.split("=", 1) for part in printed["Properties"].strip("{}").split(", "))
    added = {"MIN_OFFSET", "MAX_OFFSET"}  # by the Java client to what it pulls
    held = {name: value for name, value in message_got["properties"].items() if name not in added}
    assert held == {name: value for name, value in fields.items() if name not in added}
    assert printed["Topic"] == message_got["topic"]
    numbers = ("Queue ID", "Queue Offset", "CommitLog Offset", "Reconsume Times", "System Flag")
    ours = ("queue_id", "queue_offset", "physical_offset", "reconsume_times", "sys_flag")
    assert [int(printed[name]) for name in numbers] == [message_got[name] for name in ours]
    times = [text.time_ms(printed[name]) for name in ("Born Timestamp", "Store Timestamp")]
    assert times == [message_got["born_time_ms"], message_got["store_time_ms"]]
    assert (printed["Born Host"], printed["Store Host"]) == (message_got["born_host"], message_got["store_host"])
    if run.sub_command != "queryMsgByOffset":
        tracks(run, ask)


def tracks(run: MqadminRun, ask: Ask) -> None:
    """What mqadmin appends to a message: which groups have consumed it."""
    tracks_shown = answer(ask, "message", "trace", _of(run, "-i"), *_topic(run), partly=True)["tracks"]
    printed = dict(re.findall(r"MessageTrack \[consumerGroup=(\w+), trackType=(\w+)", run.out))
    assert printed
    assert printed == {row["group"]: row["track_type"] for row in tracks_shown if row["group"] in printed}


def traces(run: MqadminRun, ask: Ask) -> None:
    sends = answer(ask, "message", "trace", _of(run, "-i"), partly=True)["sends"]
    (printed,) = text.rows(run.out, "#Type")
    kind, group, host, day, clock, cost, status = printed
    (sent,) = sends
    assert [kind, group, host, status] == [
        sent["kind"],
        sent["group"],
        sent["client_host"],
        "success" if sent["succeeded"] else "failed",
    ]
    assert (text.time_ms(f"{day} {clock}"), cost) == (sent["time_ms"] // 1000 * 1000, f"{sent['cost_ms']}ms")


def _topic(run: MqadminRun) -> tuple[str, ...]:
    return ("-t", _of(run, "-t")) if "-t" in run.argv else ()


def messages_by_key(run: MqadminRun, ask: Ask) -> None:
    messages_got = answer(ask, "message", "get", "-t", _of(run, "-t"), "--key", _of(run, "-k"), partly=True)["messages"]
    printed = {(unique, int(queue), int(offset)) for unique, queue, offset in text.rows(run.out, "#Message ID")}
    assert printed == {(m["properties"]["UNIQ_KEY"], m["queue_id"], m["queue_offset"]) for m in messages_got}


def printed_messages(run: MqadminRun, ask: Ask) -> None:
    of_one_queue = ["--broker", _of(run, "-a"), "-q", _of(run, "-i")] if run.option("-i") else []
    words = ["message", "peek", "-t", _of(run, "-t"), "--from-start", "--count", "100", *of_one_queue]
    messages_got = answer(ask, *words)["messages"]
    counted = dict(re.findall(r"^Tag: (\S+) +Count: (\d+)", run.out, re.MULTILINE))
    if counted:  # `-f true` counts the tags and prints no message
        seen = {tag: int(number) for tag, number in counted.items()}
        tagged = [message["tags"] for message in messages_got if message["tags"]]
        assert Counter(tagged[: sum(seen.values())]) == seen  # the recorded store went on after the run
        return
    ours = {(m["queue_id"], m["queue_offset"]): m for m in messages_got}
    printed = list(text.messages(run.out))
    assert printed
    for item in printed:
        row = ours[item.queue_id, item.queue_offset]
        assert (item.physical_offset, item.store_time_ms) == (row["physical_offset"], row["store_time_ms"])
        assert (item.unique_id, item.size_bytes) == (row["unique_key"], row["size_bytes"])


def stats_all(run: MqadminRun, ask: Ask) -> None:
    words = ("-t", _of(run, "-t")) if "-t" in run.argv else ("--all",)
    by_topic = {row["topic"]: row for row in _traffic(ask, *words)}
    compared = 0
    for words_of_row in text.rows(run.out, "#Topic"):
        topic = words_of_row[0]
        row = by_topic[topic]
        if words_of_row[-1] == "NO_CONSUMER":
            put_tps, put_day = words_of_row[-3], words_of_row[-2]
        else:
            put_tps, out_tps, put_day, out_day = words_of_row[-4:]
            group = next((g for g in row["groups"] if g["group"] == words_of_row[1]), None)
            if group is not None and group["out_day_count"] is not None:
                assert (group["out_tps"], group["out_day_count"]) == (float(out_tps), int(out_day))
                compared += 1
        if row["in_day_count"] is not None:
            assert (row["in_tps"], row["in_day_count"]) == (float(put_tps), int(put_day))
            compared += 1
    assert compared


def queue_entries(run: MqadminRun, ask: Ask) -> None:
    words = ["topic", "entries", "-t", _of(run, "-t"), "-q", _of(run, "-q"), "--offset", _of(run, "-i")]
    words += ["--count", _of(run, "-c"), *(("-g", _of(run, "-g")) if "-g" in run.argv else ())]
    entries = answer(ask, *words)
    bounds = dict(
        part.strip().split(": ")
        for part in run.out.partition("max: ")[2].splitlines()[0].join(["max: ", ""]).split(",")
    )
    (queue,) = entries["queues"]
    assert (int(bounds["max"]), int(bounds["min"])) == (queue["max_offset"], queue["min_offset"])
    lines = [line for line in run.out.splitlines() if line.startswith("ConsumeQueueData")]
    assert len(lines) == len(entries["entries"])
    for line, row in zip(lines, entries["entries"], strict=True):
        assert f"physicOffset={row['physical_offset']}, physicSize={row['size_bytes']}," in line
        if row["store_time_ms"]:
            assert f'"msgStoreTime":{row["store_time_ms"]},' in line
            assert f'"tagsCode":{row["tags_code"]}}}' in line


def broker_consume_stats(run: MqadminRun, ask: Ask) -> None:
    lags = answer(ask, "group", "lag", "--all", partly=True)["queues"]
    by_queue = {(r["topic"], r["group"], r["broker_name"], r["queue_id"]): r for r in lags}
    for topic, group, broker, queue_id, high, consumed, lag, *_ in text.rows(run.out, "#Topic"):
        row = by_queue[topic, group, broker, int(queue_id)]
        assert (row["broker_offset"], row["consumer_offset"], row["lag_count"]) == (int(high), int(consumed), int(lag))
    # A level hides rows, not their part of the total: the groups are those of the run without one.
    whole = runs()[f"{run.release}/brokerConsumeStats"]
    groups = {(topic, group) for topic, group, *_ in text.rows(whole.out, "#Topic")}
    total = sum(row["lag_count"] for row in lags if (row["topic"], row["group"]) in groups)
    assert total == int(text.properties(run.out, "Diff Total:")[""])


def exported_settings(run: MqadminRun, ask: Ask) -> None:
    (printed,) = (json.loads(content) for content in run.files.values())
    rows = answer(ask, "broker", "config")["settings"]
    ours = {row["key"]: row["value"].strip() for row in rows}
    for settings in printed["brokerConfigs"].values():
        assert settings == {key: ours[key] for key in settings}


def exported_metadata(run: MqadminRun, ask: Ask) -> None:
    (printed,) = (json.loads(content) for content in run.files.values())
    topics = {row["topic"]: row for row in answer(ask, "topic", "list", "--all")["topics"]}
    for name, config in printed.get("topicConfigTable", {}).items():
        row = topics[name]
        assert (row["read_queue_count"], row["write_queue_count"]) == (
            config["readQueueNums"],
            config["writeQueueNums"],
        )
    for name, config in printed.get("subscriptionGroupTable", {}).items():
        (row,) = answer(ask, "group", "describe", "-g", name, partly=True)["brokers"]
        assert (row["retry_max_times"], row["consume_enable"]) == (config["retryMaxTimes"], config["consumeEnable"])
    assert printed.get("topicConfigTable") or printed.get("subscriptionGroupTable")


def exported_metrics(run: MqadminRun, ask: Ask) -> None:
    (printed,) = (json.loads(content) for content in run.files.values())
    brokers = {row["name"]: row for row in answer(ask, "broker", "list")["brokers"]}
    for name, report in printed["evaluateReport"].items():
        assert report["runtimeVersion"]["rocketmqVersion"] == brokers[name]["version"]
        assert float(report["runtimeQuota"]["diskRatio"]["commitLogDiskRatio"]) == brokers[name]["disk_used_share"]


def nothing(run: MqadminRun, ask: Ask) -> None:
    """mqadmin failed or printed nothing, and ended with 0; ours says so by its exit code or an empty list."""
    words = {
        "topicStatus": ("topic", "describe", "-t"),
        "topicRoute": ("topic", "route", "-t"),
        "consumerProgress": ("group", "lag", "-g"),
        "consumerConnection": ("group", "members", "-g"),
        "consumerStatus": ("group", "members", "-g"),
        "getConsumerConfig": ("group", "describe", "-g"),
        "producerConnection": ("producer", "list", "-g"),
        "queryMsgById": ("message", "get", "-i"),
        "queryMsgByUniqueKey": ("message", "get", "-i"),
        "queryMsgByKey": ("message", "get", "-t"),
        "printMsgByQueue": ("message", "peek", "-t"),
        "topicList": ("topic", "list"),
    }[run.sub_command]
    words_used = (*words[:2], *((_of(run, "-i"),) if words[-1] == "-i" else ()))
    words_used += tuple(
        word
        for option, ours in (("-t", "-t"), ("-g", "-g"), ("-k", "--key"))
        if option in words or option == "-k"
        for word in ((ours, _of(run, option)) if option in run.argv else ())
    )
    outcome = ask(*words_used, "-o", "json")
    if outcome.exit_code == 0:
        held = [value for value in outcome.json.values() if isinstance(value, list)]
        assert not any(held), outcome.stdout
    else:
        assert outcome.exit_code in {64, 65, 66, 69, 76, 77}, outcome.stderr
        assert outcome.stderr


COMPARED: dict[str, Callable[[MqadminRun, Ask], None]] = {
    "brokerConsumeStats": broker_consume_stats,
    "brokerStatus": broker_status,
    "clusterList": cluster_list,
    "consumerConnection": consumer_connection,
    "consumerProgress": consumer_progress,
    "consumerStatus": consumer_status,
    "exportConfigs": exported_settings,
    "exportMetadata": exported_metadata,
    "exportMetrics": exported_metrics,
    "getBrokerConfig": broker_config,
    "getConsumerConfig": consumer_config,
    "getNamesrvConfig": namesrv_config,
    "printMsg": printed_messages,
    "printMsgByQueue": printed_messages,
    "producer": producers,
    "producerConnection": producer_connection,
    "queryCq": queue_entries,
    "queryMsgById": message,
    "queryMsgByKey": messages_by_key,
    "queryMsgByOffset": message,
    "queryMsgByUniqueKey": message,
    "queryMsgTraceById": traces,
    "statsAll": stats_all,
    "topicClusterList": topic_cluster_list,
    "topicList": topic_list,
    "topicRoute": topic_route,
    "topicStatus": topic_status,
}
