"""`mqctl transaction check`: judge transactions."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import (
    AtOption,
    BrokersOption,
    LangOption,
    NoColorOption,
    OptionalStoreOption,
    OutputOption,
    SnapshotOption,
)
from mqctl.cli.options.doctor import time_scale_of
from mqctl.cli.sources.snapshot_source import next_source
from mqctl.commands.transaction.check_view import check_document
from mqctl.commands.transaction.gather import TransactionSource, read_transactions
from mqctl.rules import Settings, diagnose

EXAMPLES = ("mqctl transaction check", "mqctl transaction check --store /backup/store -o json")
RULES = ("MQ72*",)


def command(
    store: OptionalStoreOption = None,
    snapshot: SnapshotOption = None,
    at: AtOption = None,
    brokers: BrokersOption = None,
    lang: LangOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Check transactions: what is pending, what was or soon will be given up, and where brokers can ask nobody.

    From a store also what was committed without an op message, or twice: that needs the whole commit log. Ends with 0
    fine, 1 warning, 2 critical, 3 unknown.
    """
    source = TransactionSource(
        store=store,
        snapshot=snapshot,
        at=at,
        deep=True,
        brokers=tuple(brokers or ()),
        namesrv=namesrv,
        profile=profile,
        timeout=timeout,
    )
    state = read_transactions(source)
    scale = time_scale_of(None, namesrv=state.origin.location, store=store)
    diagnosis = diagnose(state, only=RULES, settings=Settings(time_scale=scale))
    emit(check_document(state, diagnosis, source=next_source(state, namesrv, profile)), output)
    return diagnosis.exit_code()
