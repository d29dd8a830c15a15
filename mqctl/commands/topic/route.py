"""`mqctl topic route`: where a topic lives, as each name server tells it."""

from __future__ import annotations

from dataclasses import replace

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OneTopicOption, OutputOption, SnapshotOption
from mqctl.cli.sources.live_or_saved import looking
from mqctl.commands.topic.view import route_document
from mqctl.errors import NotFoundError
from mqctl.model.command_line import command_line
from mqctl.text import joined, sentence

EXAMPLES = ("mqctl topic route -t orders", "mqctl topic route -t orders -o json | jq -r '.brokers[].master'")


def command(
    topic: OneTopicOption,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show the brokers and queues of a topic. Asks every name server and names those that disagree."""
    with looking(namesrv, profile, timeout, snapshot) as look:
        views, gaps = look.routes(topic)
    known = {view.address: view.routes[0] for view in views if view.routes}
    if not known and gaps:
        problem = sentence(
            "topic-route-not-asked", "no name server could be asked for the route of {topic}", topic=topic
        )
        together = replace(gaps[0], reason=joined("; ", (gap.reason for gap in gaps)))
        raise together.as_error(
            problem, sentence("check-name-server-addresses", "check the addresses of the name servers"), so_far=""
        )
    if not known:
        raise NotFoundError(
            sentence("topic-no-name-server-knows", "no name server knows a route of {topic}", topic=topic),
            remedy=command_line("mqctl topic list --all"),
        )
    first = next(iter(known.values()))
    unknown = {gap.address for gap in gaps}
    differing = [view.address for view in views if known.get(view.address) != first and view.address not in unknown]
    return answer(route_document(topic, first, views, differing), gaps, output)
