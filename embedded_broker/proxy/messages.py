"""The message types of protocol v2, by their names on the wire.

They live in a pool of their own: an application that runs the cluster in its own process has the types of its client
under the same names, and the library's common pool takes a name once only.
"""

from __future__ import annotations

from base64 import b64decode

from google.protobuf import duration_pb2, timestamp_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message_factory import GetMessageClass

from embedded_broker.proxy.descriptor import DESCRIPTOR

_POOL = DescriptorPool()
for _known in (duration_pb2, timestamp_pb2):
    _POOL.AddSerializedFile(_known.DESCRIPTOR.serialized_pb)
_POOL.AddSerializedFile(b64decode(DESCRIPTOR))
_FILE = _POOL.FindFileByName("messages.proto")

globals().update({name: GetMessageClass(found) for name, found in _FILE.message_types_by_name.items()})
for _name, _enum in _FILE.enum_types_by_name.items():
    globals()[_name] = EnumTypeWrapper(_enum)
