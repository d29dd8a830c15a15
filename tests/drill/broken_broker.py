"""A broker that breaks promises, one message each: what a drill must accuse of exactly that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from threading import Event

from embedded_broker import Alter, EmbeddedCluster
from mqctl.drill.ground import DrillNames
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import RemotingCommand

LOST, TWICE, REFUSED, MISPLACED, SWAPPED, HELD = 21, 24, 27, 30, 33, 36
KEYS, BODY_BYTES = 10, 100
HALF_WAY = 90
LEDGER, MAIL = "ledger", "mail"
_QUEUE_OFFSET = slice(20, 28)
_COMMIT, _ROLL_BACK = "8", "12"


class Liar:
    """The lies of one broker to the clients of one drill.

    Attributes:
        half_way: set when about half of the messages came.
        ahead: queue, first offset that was not committed, and the offset that was said to be.
        back: queue and offset to which a commit seemed to go back.
    """

    def __init__(self, cluster: EmbeddedCluster, names: DrillNames) -> None:
        self._cluster = cluster
        self._topic = names.topic
        self._groups = {names.group(name): name for name in (LEDGER, MAIL)}
        self.half_way = Event()
        self.ahead: tuple[str, int, int] | None = None
        self.back: tuple[str, int] | None = None
        self._told: set[int | str] = set()
        self._held: tuple[str, bytes] | None = None
        self._held_queue = ""
        self._ends: defaultdict[str, int] = defaultdict(int)
        self._seen: defaultdict[tuple[str | None, str], int] = defaultdict(int)
        self._commits: defaultdict[tuple[str | None, str], int] = defaultdict(int)

    def lie(self) -> None:
        """Begins."""
        for code, alter in (
            (RequestCode.SEND_MESSAGE_V2, Alter(request=_without_delay, answer=self._stored)),
            (RequestCode.PULL_MESSAGE, Alter(answer=self._pulled)),
            (RequestCode.END_TRANSACTION, Alter(request=self._rolled_back)),
            (RequestCode.UPDATE_CONSUMER_OFFSET, Alter(request=self._commits_seen)),
            (RequestCode.QUERY_CONSUMER_OFFSET, Alter(answer=self._committed)),
        ):
            self._cluster.fault(int(code), alter)

    def _once(self, lie: int | str) -> bool:
        first = lie not in self._told
        self._told.add(lie)
        return first

    # Sends

    def _stored(self, request: RemotingCommand, answer: RemotingCommand) -> RemotingCommand:
        ext = dict(answer.ext_fields or {})
        if request.ext("b") == self._topic and answer.code == ResponseCode.SUCCESS:
            self._ends[ext["queueId"]] = int(ext["queueOffset"]) + 1
        if request.body.startswith(_named(HALF_WAY)):
            self.half_way.set()
        if request.body.startswith(_named(REFUSED)):
            return replace(answer, code=int(ResponseCode.SYSTEM_BUSY), remark="broker busy", ext_fields={})
        if request.body.startswith(_named(MISPLACED)):
            return replace(answer, ext_fields={**ext, "queueOffset": str(int(ext["queueOffset"]) - 1)})
        return answer

    def _rolled_back(self, request: RemotingCommand) -> RemotingCommand:
        """Commits the first that is rolled back."""
        if request.ext("commitOrRollback") == _ROLL_BACK and self._once(_ROLL_BACK):
            return replace(request, ext_fields={**(request.ext_fields or {}), "commitOrRollback": _COMMIT})
        return request

    # Pulls

    def _pulled(self, request: RemotingCommand, answer: RemotingCommand) -> RemotingCommand:
        group = self._groups.get(request.ext("consumerGroup") or "")
        if answer.code != ResponseCode.SUCCESS or request.ext("topic") != self._topic or group is None:
            return answer
        records = _split(answer.body)
        if group == MAIL:
            return self._to_mail(answer, records)
        return self._to_ledger(request.ext("queueId") or "", answer, records)

    def _to_mail(self, answer: RemotingCommand, records: list[bytes]) -> RemotingCommand:
        """Leaves one out, and gives another one, which has to come alone, twice."""
        twice = _find(records, TWICE)
        if twice is not None and TWICE not in self._told:
            if twice == 0:
                self._told.add(TWICE)
            return _answered(answer, records[: twice or 1], next_offset=_offset(records[twice]))
        return _answered(answer, [record for record in records if _named(LOST) not in record])

    def _to_ledger(self, queue: str, answer: RemotingCommand, records: list[bytes]) -> RemotingCommand:
        """Swaps two of a key, and gives one after those behind it were consumed."""
        swapped, held = _find(records, SWAPPED), _find(records, HELD)
        if swapped is not None and SWAPPED not in self._told:
            other = _find(records, SWAPPED + KEYS)
            if other is None:  # it has not been sent yet
                return _answered(answer, records[:swapped], next_offset=_offset(records[swapped]))
            self._told.add(SWAPPED)
            first, second = _body(records[swapped]), _body(records[other])
            records[swapped] = records[swapped].replace(first, second)
            records[other] = records[other].replace(second, first)
            return _answered(answer, records)
        if held is not None and HELD not in self._told:
            if held == len(records) - 1:  # nothing is behind it yet
                return _answered(answer, records[:held], next_offset=_offset(records[held]))
            self._told.add(HELD)
            late, overtaking = records[held : held + 2]
            self._held = queue, late
            self._held_queue = queue
            # one overtakes it, however many lie behind it: each of those would be an accusation of its own
            return _answered(answer, [*records[:held], overtaking], next_offset=_offset(overtaking) + 1)
        if self._held is not None and self._held[0] == queue:
            begin, late = _offset(records[0]), self._held[1]
            if self._commits[LEDGER, queue] <= _offset(late) + 1:
                return _answered(answer, [], next_offset=begin)
            self._held = None
            return _answered(answer, [late], next_offset=begin)
        return answer

    # Offsets

    def _commits_seen(self, request: RemotingCommand) -> RemotingCommand:
        if request.ext("topic") == self._topic:
            group = self._groups.get(request.ext("consumerGroup") or "")
            self._commits[group, request.ext("queueId") or ""] = int(request.ext("commitOffset") or 0)
        return request

    def _committed(self, request: RemotingCommand, answer: RemotingCommand) -> RemotingCommand:
        """Tells once that more is committed than is there, and of another queue that less is."""
        queue, group = request.ext("queueId") or "", self._groups.get(request.ext("consumerGroup") or "")
        if answer.code != ResponseCode.SUCCESS:
            return answer
        ext = dict(answer.ext_fields or {})
        offset = int(ext["offset"])
        seen, self._seen[group, queue] = self._seen[group, queue], offset
        if not self.half_way.is_set():
            return answer
        if group == MAIL:
            if self.ahead is None:
                self.ahead = queue, offset, self._ends[queue] + 1
            if self.ahead[0] == queue:
                ext["offset"] = str(max(offset, self.ahead[2]))
        elif group == LEDGER and self.back is None and seen > 1 and queue != self._held_queue:
            self.back = queue, 1
            ext["offset"] = "1"
        return replace(answer, ext_fields=ext)


def _without_delay(request: RemotingCommand) -> RemotingCommand:
    ext = dict(request.ext_fields or {})
    ext["i"] = "\x02".join([part for part in ext["i"].split("\x02") if not part.startswith("DELAY\x01")])
    return replace(request, ext_fields=ext)


def _named(number: int) -> bytes:
    return b"orders %d " % number


def _split(data: bytes) -> list[bytes]:
    records = []
    while data:
        size = int.from_bytes(data[:4], "big")
        records.append(data[:size])
        data = data[size:]
    return records


def _offset(record: bytes) -> int:
    return int.from_bytes(record[_QUEUE_OFFSET], "big")


def _body(record: bytes) -> bytes:
    at = record.index(b"orders ")
    return record[at : at + BODY_BYTES]


def _find(records: Sequence[bytes], number: int) -> int | None:
    return next((at for at, record in enumerate(records) if _named(number) in record), None)


def _answered(answer: RemotingCommand, records: list[bytes], next_offset: int | None = None) -> RemotingCommand:
    ext = dict(answer.ext_fields or {})
    if next_offset is not None:
        ext["nextBeginOffset"] = str(next_offset)
    code = ResponseCode.SUCCESS if records else ResponseCode.PULL_RETRY_IMMEDIATELY
    return replace(answer, code=int(code), ext_fields=ext, body=b"".join(records))
