"""Access lists for tests, and a peer that signs."""

from __future__ import annotations

from pathlib import Path

from mqctl.protocol.acl import Credentials, sign
from mqctl.protocol.frame import RemotingCommand, SerializeType, encode
from mqctl.protocol.header import Request
from tests.embedded_broker.wire import Peer

ADMIN = Credentials("admin-key", "admin-secret")
USER = Credentials("user-key", "user-secret")
READER = Credentials("reader-key", "12345678")

LIST = """
globalWhiteRemoteAddresses:
  - 10.10.103.*

accounts:
  - accessKey: admin-key
    secretKey: admin-secret
    admin: true

  - accessKey: user-key
    secretKey: user-secret
    whiteRemoteAddress:
    admin: false
    defaultTopicPerm: DENY
    defaultGroupPerm: SUB
    topicPerms:
      - Closed=DENY
      - Both=PUB|SUB
      - In=PUB
      - Out=SUB
    groupPerms:
      - Barred=DENY

  # a number is the text of its digits
  - accessKey: reader-key
    secretKey: 12345678
    defaultTopicPerm: SUB
    defaultGroupPerm: SUB
"""


def write_list(directory: Path, text: str = LIST) -> Path:
    file = directory / "plain_acl.yml"
    file.write_text(text)
    file.chmod(0o600)
    return file


class SigningPeer(Peer):
    """A peer whose requests carry the signature of an account."""

    def __init__(
        self, address: str, credentials: Credentials, *, serialize_type: SerializeType = SerializeType.JSON
    ) -> None:
        super().__init__(address, serialize_type=serialize_type)
        self.credentials = credentials

    def post(self, request: Request, body: bytes = b"", *, oneway: bool = False) -> int:
        command = request.command(
            opaque=self.next_opaque(),
            body=body,
            oneway=oneway,
            version=self.version,
            serialize_type=self.serialize_type,
        )
        return self.put(sign(command, self.credentials))

    def put(self, command: RemotingCommand) -> int:
        self.socket.sendall(encode(command))
        return command.opaque
