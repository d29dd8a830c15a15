"""Commands on real clusters of each release with a producer and a consumer: each answers, and says what is there."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import jmespath
import pytest

from mqctl.cli.catalog_mqadmin import TABLE
from tests.cached import program
from tests.conftest import Outcome
from tests.real.artifacts import RELEASES, jars
from tests.real.cluster import Plan, RealCluster
from tests.real.conftest import require
from tests.real.traffic import flowing

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(3_600)]
Run = Callable[..., Outcome]
# A command, an expression over its answer, and what that must be; VERSION and RELEASE stand for those of the cluster.
FACTS: list[tuple[str, str, object]] = [
    ("cluster list", "clusters[].[cluster, process_count, versions]", [["DefaultCluster", 2, "VERSION"]]),
    ("cluster describe", "[length(brokers), brokers[?problem]]", [2, []]),
    ("broker list", "brokers[].[name, version]", [["broker-a", "VERSION"], ["broker-b", "VERSION"]]),
    ("broker describe broker-a", "broker.problem", None),
    # A busy machine makes answers slow; ports for HA accept and say nothing.
    ("broker reach", "ports[?!contains(['answers', 'slow'], state) && role!='HA'].role", []),
    ("topic route flow", "brokers[].[broker, read_queue_count]", [["broker-a", 8], ["broker-b", 8]]),
    ("topic describe flow", "length(queues)", 16),
    ("topic describe flow", "groups[].group", ["fast"]),
    ("group list", "groups[].[group, member_count, topics]", [["fast", 1, "flow"]]),
    # Those of the topic, and of its retry topic one on each broker, which it takes once it knows of them.
    ("group describe fast", "length(members[?queue_count >= `16` && queue_count <= `18`])", 1),
    ("group lag -g fast", "groups[?topic=='flow'].[queue_count, lost_count]", [[16, 0]]),
    ("group members -g fast", "members[].[language, version, subscriptions]", [["JAVA", "RELEASE", "flow: *"]]),
    ("subscription check -g fast", "consistent", True),
    ("allocation show -g fast", "topics[].[even, orphan_count, double_count]", [[True, 0, 0]]),
    ("producer list", "producers[].group", ["traffic_producer"]),
    ("delay check", "diagnosis.verdict", "ok"),
    ("transaction list --check", "diagnosis.verdict", "ok"),
    ("dlq list", "groups", []),
    ("retry list -g fast", "retries", []),
    ("message get -t flow --key first", "messages[].[keys, tags]", [["first", "A"]]),
    ("message peek -t flow", "messages[?topic!='flow']", []),
    ("order check -t flow", "[keyless_count, spread_key_count]", [0, 0]),
    ("offset reset -g fast -t flow --to-earliest", "[kind, skipped_count]", ["offset-reset", 0]),
    ("message send -t flow --body hello --key mine", "status", "SEND_OK"),
    ("ha status", "replicas[].state", ["master", "master"]),
    ("doctor", "[findings, verdict]", [[], "ok"]),
]


@pytest.fixture(scope="module")
def busy(real: RealCluster, mqctl: Run) -> Iterator[RealCluster]:
    """A cluster with topic `flow`, on which a producer sends and group `fast` consumes."""
    made = mqctl("topic", "create", "-t", "flow", "--execute", "-n", real.namesrv, "--timeout", "60s")
    assert made.exit_code == 0, made.stderr
    with flowing(real, "flow", "push:fast", rate=50):
        yield real


@pytest.mark.parametrize("real", [Plan(release=release, brokers=2) for release in RELEASES], indirect=True, ids=str)
@pytest.mark.parametrize(("command", "expression", "value"), FACTS, ids=[command for command, _, _ in FACTS])
def test_a_command_answers_and_is_right(
    busy: RealCluster, mqctl: Run, command: str, expression: str, value: object
) -> None:
    outcome = mqctl(*command.split(), "-n", busy.namesrv, "--timeout", "60s", "-o", "json")
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    version = "V" + busy.release.replace(".", "_")
    answer = json.dumps(jmespath.search(expression, outcome.json))
    assert answer.replace(version, "VERSION").replace(busy.release, "RELEASE") == json.dumps(value)


@pytest.mark.parametrize("release", RELEASES)
def test_the_table_of_mqadmin_has_what_it_lists(release: str, tmp_path: Path) -> None:
    require(release)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "logback_tools.xml").write_text("<configuration/>")
    words = ["-cp", f"{jars(release)}/*", f"-Drocketmq.home.dir={tmp_path}"]
    listed = subprocess.run(
        [program("java"), *words, "org.apache.rocketmq.tools.command.MQAdminStartup"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    names = set(re.findall(r"^ {3}([A-Za-z]\w+) +\S", listed.stdout, re.MULTILINE))
    assert names == {entry.name for entry in TABLE if release in entry.versions}
