"""50, 51, 53, 52: the access list: puts an account, drops one, replaces the white list, tells file versions.

A broker without access control answers the changes with a failure without text, and 52 not at all: what it does when it
looks for a list that it does not have (`AdminBrokerProcessor` of 4.9.8).
"""

from __future__ import annotations

import json
import logging

from embedded_broker.acl.access_list import AccessList
from embedded_broker.acl.addresses import AddressPatternError
from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.errors import MqctlError
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_admin import (
    CreateAccessConfig,
    DeleteAccessConfig,
    GetBrokerAclConfig,
    GetBrokerAclConfigReply,
    UpdateGlobalWhiteAddrsConfig,
)

log = logging.getLogger("embedded_broker")


@handles(CreateAccessConfig, support="partial: a remark about keys that are too short does not show the secret")
def put_account(broker: Broker, request: CreateAccessConfig, call: Call) -> RemotingCommand:
    failed = ResponseCode.UPDATE_AND_CREATE_ACL_CONFIG_FAILED
    access = broker.access.plain
    if access is None:
        return call.answer(failed)
    given: dict[str, object] = {
        "accessKey": request.access_key,
        "secretKey": request.secret_key,
        "whiteRemoteAddress": request.white_remote_address,
        "admin": request.admin,
        "defaultTopicPerm": request.default_topic_perm or None,
        "defaultGroupPerm": request.default_group_perm or None,
        "topicPerms": _list(request.topic_perms),
        "groupPerms": _list(request.group_perms),
    }
    try:
        access.put({name: value for name, value in given.items() if value is not None})
    except AddressPatternError as error:
        return call.answer(failed, remark=error.remark)
    except MqctlError as error:
        return call.answer(failed, remark=str(error))
    return call.answer()


@handles(DeleteAccessConfig)
def delete_account(broker: Broker, request: DeleteAccessConfig, call: Call) -> RemotingCommand:
    failed = ResponseCode.DELETE_ACL_CONFIG_FAILED
    access = broker.access.plain
    if access is None:
        return call.answer(failed)
    try:
        if access.remove(request.access_key):
            return call.answer()
    except MqctlError as error:
        return call.answer(failed, remark=str(error))
    remark = f"The accesskey[{request.access_key}] corresponding to accessConfig has been deleted failed."
    return call.answer(failed, remark=remark)


@handles(
    UpdateGlobalWhiteAddrsConfig,
    support="partial: addresses that cannot be read are refused (4.9.8 writes them down and cannot start again), "
    "and so are files outside the access list",
)
def replace_white_list(broker: Broker, request: UpdateGlobalWhiteAddrsConfig, call: Call) -> RemotingCommand:
    failed = ResponseCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED
    access = broker.access.plain
    if access is None:
        return call.answer(failed)
    addresses = _list(request.global_white_addrs) or []
    try:
        if access.replace_white(addresses, request.acl_file_full_path):
            return call.answer()
    except MqctlError as error:
        return call.answer(failed, remark=str(error))
    remark = f"The globalWhiteAddresses[{request.global_white_addrs}] has been updated failed."
    return call.answer(failed, remark=remark)


@handles(GetBrokerAclConfig)
def tell_versions(broker: Broker, request: GetBrokerAclConfig, call: Call) -> RemotingCommand | None:
    access = broker.access.plain
    if access is None:
        log.warning("%s: asked for the versions of an access list that it does not have", broker.name)
        return None
    reply = GetBrokerAclConfigReply(
        version=_text(access.version.document()),
        all_acl_file_version=_text(_all_versions(access)),
        broker_name=broker.name,
        broker_addr=broker.address,
        cluster_name=broker.cluster,
    )
    return call.answer(reply=reply)


def _all_versions(access: AccessList) -> dict[str, object]:
    return {str(path): version.document() for path, version in access.versions.items()}


def _text(document: dict[str, object]) -> str:
    return json.dumps(document, separators=(",", ":"))


def _list(text: str | None) -> list[str] | None:
    """Splits as `String.split(",")` does: nothing is one empty item, empty items at the end are dropped."""
    if text is None:
        return None
    items = text.split(",")
    while text and items and not items[-1]:
        items.pop()
    return items
