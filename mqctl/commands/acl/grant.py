"""`mqctl acl grant`: what a user may do, or may not."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.access import (
    ActionsOption,
    DefaultPolicyOption,
    DenyOption,
    ResourceOption,
    SourcesOption,
    UserArgument,
)
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OnlyBrokersOption, OutputOption

EXAMPLES = (
    "mqctl acl grant orders-app --resource Topic:orders --action Pub --action Sub",
    "mqctl acl grant orders-app --resource Group:orders* --action Sub --source 10.0.0.0/8 --execute",
)


def command(
    user: UserArgument,
    resource: ResourceOption,
    action: ActionsOption,
    deny: DenyOption = False,
    source: SourcesOption = None,
    default_policy: DefaultPolicyOption = False,
    broker: OnlyBrokersOption = None,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to add an entry for a user, or to replace the one for that resource; with --execute, do it and read it back.

    Where an allow and a deny match the same request, the order in which they were added decides; the plan names them.
    """
    from mqctl.changes.settings.change import run_setting_change
    from mqctl.commands.acl.plan import plan_grant
    from mqctl.model.access import ALLOW, CUSTOM, DEFAULT, DENY, AccessEntry

    decision, policy = DENY if deny else ALLOW, DEFAULT if default_policy else CUSTOM
    entry = AccessEntry(resource, tuple(action), decision, tuple(source or ()), policy)
    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_grant(asking, user, entry, broker or ()),
        execute=execute,
        confirmed=confirm,
    )
    emit(document, output)
    return code
