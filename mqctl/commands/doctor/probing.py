"""What only a send shows: whether masters take messages, and whether their VIP port answers from here."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from mqctl.cli.connection.target import ClusterTarget
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.producer.producer import Producer
from mqctl.client.remoting.answers import AnswerError
from mqctl.client.remoting.reach import PortQuestion, PortState, Speech, reach_ports
from mqctl.errors import MqctlError
from mqctl.model.numbers import decimal
from mqctl.model.probe import SendProbe
from mqctl.model.queue import MessageQueue
from mqctl.model.route import MASTER_ID
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.protocol.requests_admin import GetBrokerRuntimeInfo
from mqctl.snapshot.live.reach import VIP_BELOW

_PORT_TIMEOUT_MS = 3_000
_BODY = b"mqctl doctor --probe"


def probed(state: ClusterSnapshot, target: ClusterTarget) -> ClusterSnapshot:
    """Sends one message to the own topic of each master, tries its VIP port, and adds what came of both."""
    masters = [broker for broker in state.brokers if broker.name and broker.broker_id == MASTER_ID]
    questions = [PortQuestion(_vip(broker), Speech.REMOTING, GetBrokerRuntimeInfo()) for broker in masters]
    limit_ms = max(1, min(_PORT_TIMEOUT_MS, target.timeout_ms // 3))
    ports = reach_ports(questions, timeout_ms=limit_ms, links=target.links())
    with Producer("MQCTL_PRODUCER", target.sender()) as producer:
        brokers = {
            broker.address: replace(
                _sent(producer, broker.name or "", target.timeout_ms),
                vip_open=None if port.state is PortState.UNKNOWN else port.state.open,
            )
            for broker, port in zip(masters, ports, strict=True)
        }
    return replace(state, brokers=tuple(replace(broker, probe=brokers.get(broker.address)) for broker in state.brokers))


def _vip(broker: BrokerSnapshot) -> str:
    host, _, port = (broker.address or "").rpartition(":")
    return f"{host}:{(decimal(port) or 0) - VIP_BELOW}"


def _sent(producer: Producer, name: str, timeout_ms: int) -> SendProbe:
    queue = MessageQueue(name, name, 0)
    message = OutgoingMessage(topic=name, body=_BODY)
    try:
        producer.instance.refresh_route(name)
        began = perf_counter()
        result = producer.send(message, queue=queue, timeout_ms=timeout_ms)
    except AnswerError as error:
        return SendProbe(topic=name, code=error.code, reason=error.remark or error.reason or str(error))
    except MqctlError as error:
        return SendProbe(topic=name, reason=str(error))
    return SendProbe(topic=name, status=result.status.name, took_ms=round((perf_counter() - began) * 1000, 1))
