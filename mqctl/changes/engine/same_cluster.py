"""Whether this is the cluster that a change or a plan is about."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.errors import BadInputError
from mqctl.snapshot.live.asking import Asking
from mqctl.text import Word, joined, sentence

_REMEDY = sentence("plan-name-cluster-namesrv-profile", "name that cluster with --namesrv or --profile")


def refuse_other_cluster(asking: Asking, brokers: Mapping[str, str], what: str, otherwise: str = "") -> dict[str, str]:
    """Names alone prove nothing: most clusters are called DefaultCluster, with a broker-a. Addresses of masters do.

    Args:
        brokers: master address by broker name, as they were.
        what: what is about that cluster, for instance `change 20261121-091500-3fa2`.
        otherwise: what else to do than to name that cluster.

    Returns:
        Master address by broker name, of all brokers there are.

    Raises:
        BadInputError: this is another cluster.
    """
    here = {item.broker_name: item.address for item in asking.cluster.masters(asking.deadline)}
    for name, address in sorted(brokers.items()):
        if here.get(name) != address:
            raise BadInputError(
                sentence("plan-made-another-cluster", "{what} was made on another cluster", what=what),
                reason=sentence(
                    "plan-made-here",
                    "it was made on {name} at {address}, which is {here} here",
                    name=name,
                    address=address,
                    here=here.get(name, Word("unknown")),
                ),
                remedy=joined("; ", (_REMEDY, otherwise)) if otherwise else _REMEDY,
            )
    return here
