"""Request signatures of the plain ACL (`AclUtils`, `AclClientRPCHook` of 4.9.8); 5.x signs the same content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mqctl.model.lazy_dataclass import dataclass
from mqctl.protocol.codes import V4_9_3
from mqctl.protocol.frame import RemotingCommand, SerializeType

ACCESS_KEY = "AccessKey"
SIGNATURE = "Signature"
SECURITY_TOKEN = "SecurityToken"
UNIQUE_KEY_QUERY = "_UNIQUE_KEY_QUERY"


@dataclass(frozen=True, slots=True)
class Credentials:
    """An account's keys; the secret never shows in a representation."""

    access_key: str
    secret_key: str
    security_token: str | None = None

    def __repr__(self) -> str:
        return f"Credentials(access_key={self.access_key!r})"


def signed_content(ext_fields: Mapping[str, str], body: bytes) -> bytes:
    """Returns what a signature covers: the values in order of their keys (as Java orders strings), then the body."""
    names = sorted((name for name in ext_fields if name != SIGNATURE), key=lambda name: name.encode("utf-16-be"))
    return "".join([ext_fields[name] for name in names]).encode("utf-8", "replace") + body


def signature(content: bytes, secret_key: str) -> str:
    """Returns the Base64 of the HMAC-SHA1 of `content`."""
    import hmac
    from binascii import b2a_base64

    digest = hmac.digest(secret_key.encode(), content, "sha1")
    return b2a_base64(digest, newline=False).decode()


def sign(command: RemotingCommand, credentials: Credentials) -> RemotingCommand:
    """Returns `command` with access key, token and signature in its ext fields.

    Empty values are left out of binary headers: a Java reader makes null of them, whose text `null` it would check
    (`RocketMQSerializable.readStr`, `AclUtils.combineRequestContent`).
    """
    ext = dict(command.ext_fields or {})
    if command.serialize_type is SerializeType.ROCKETMQ:
        ext = {name: value for name, value in ext.items() if name and value}
    ext[ACCESS_KEY] = credentials.access_key
    if credentials.security_token:
        ext[SECURITY_TOKEN] = credentials.security_token
    ext[SIGNATURE] = signature(signed_content(ext, command.body), credentials.secret_key)
    return replace(command, ext_fields=ext)


def signature_matches(command: RemotingCommand, secret_key: str) -> bool:
    """Tells whether a 4.9.8 broker finds the command's signature right.

    It leaves the unique key flag out of the content, as clients up to 4.9.3 do. Clients from 4.9.4 on sign it too,
    so their queries by unique key are refused (`PlainAccessValidator.parse`).
    """
    ext = dict(command.ext_fields or {})
    ext.pop(UNIQUE_KEY_QUERY, None)
    return _is_signed(ext, command.body, secret_key)


def user_signature_matches(command: RemotingCommand, password: str) -> bool:
    """Tells whether a 5.3.3 broker finds the command's signature right.

    It leaves the unique key flag out for clients up to 4.9.3 only (`DefaultAuthenticationContextBuilder.build`).
    """
    ext = dict(command.ext_fields or {})
    if command.version <= V4_9_3:
        ext.pop(UNIQUE_KEY_QUERY, None)
    return _is_signed(ext, command.body, password)


def _is_signed(ext: Mapping[str, str], body: bytes, secret: str) -> bool:
    import hmac

    given = ext.get(SIGNATURE, "")
    return hmac.compare_digest(given.encode(), signature(signed_content(ext, body), secret).encode())
