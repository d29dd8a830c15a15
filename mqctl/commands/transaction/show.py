"""`mqctl transaction show`: one transaction with all its records."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OptionalStoreOption, OutputOption
from mqctl.errors import NotFoundError
from mqctl.text import sentence

EXAMPLES = (
    "mqctl transaction show 7F00000152C818B4AAC2155CF67B0000",
    "mqctl transaction show 7F00000152C818B4AAC2155CF67B0000 --store /backup/store",
)


def command(
    unique_key: Annotated[str, typer.Argument(metavar="ID", help="The unique id that sending it returned.")],
    store: OptionalStoreOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Show what became of a transaction: the copies of its half message, what was committed, whether it was given up.

    Live brokers find its records by their index files, as far back as those reach.
    """
    from mqctl.commands.transaction.details import detail_of
    from mqctl.commands.transaction.view import detail_document

    limits: dict[str | None, int | None] = {}
    if store is not None:
        from mqctl.snapshot.transaction_stories import store_story

        one = store_story(store, unique_key)
        stories = [one] if one is not None else []
    else:
        from mqctl.cli.sources.brokers import asking_of, open_brokers
        from mqctl.model.numbers import decimal
        from mqctl.snapshot.live.brokers import ask_settings, ask_topics, masters_of
        from mqctl.snapshot.transaction_stories import live_story

        target = cluster_target(namesrv, profile, timeout)
        with target.open() as cluster:
            asking = asking_of(cluster, target)
            masters = masters_of(open_brokers(asking))
            ask_topics(asking, masters)
            ask_settings(asking, masters)
            limits = {master.name: decimal(master.config.get("transactionCheckMax")) for master in masters}
            stories = [story for master in masters if (story := live_story(asking, master, unique_key)) is not None]
    if not stories:
        raise NotFoundError(
            sentence(
                "no-half-message-transaction",
                "there is no half message of a transaction {unique_key}",
                unique_key=unique_key,
            ),
            reason=sentence(
                "transaction-neither-half-topic-nor", "it is in neither the half topic nor the discard topic"
            ),
            remedy=sentence(
                "transaction-list-message-find",
                "mqctl transaction list; mqctl message get --unique-key looks for a committed one",
            ),
        )
    emit(detail_document(detail_of(unique_key, stories, limits)), output)
