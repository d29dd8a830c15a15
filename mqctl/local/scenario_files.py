"""Scenario files: those that come with mqctl, and anybody's own."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import msgspec

from mqctl.errors import BadInputError, NotFoundError
from mqctl.local.faults import AnswerFault, Fault, KillConsumer, LoseNameServer, ResizeTopic, StartNameServer
from mqctl.local.scenario import Scenario
from mqctl.model.command_line import command_line
from mqctl.protocol.yaml_text import UnreadableYaml, decode_yaml
from mqctl.store.plain_files import read_named, refused
from mqctl.text import composed, joined, literal, sentence

_SUFFIX = ".yaml"


def scenario_names() -> tuple[str, ...]:
    """Returns the names of the scenarios that come with mqctl, sorted."""
    directory = files("mqctl.local") / "scenarios"
    return tuple(sorted(item.name.removesuffix(_SUFFIX) for item in directory.iterdir() if item.name.endswith(_SUFFIX)))


def load_scenario(name: str) -> Scenario:
    """Returns a scenario by its name, or from a file whose path ends in `.yaml`.

    Raises:
        NotFoundError: there is none.
        BadInputError: the file declares what cannot be.
    """
    if name.endswith(_SUFFIX):
        path = Path(name)
        try:
            return read_scenario(path.stem, read_named(path), str(path))
        except FileNotFoundError as error:
            raise NotFoundError(
                sentence("no-file", "there is no file {file}", file=path),
                remedy=command_line("mqctl local scenario list"),
            ) from error
        except OSError as error:
            raise refused(sentence("could-not-read", "could not read {file}", file=path), error) from error
    if name not in scenario_names():
        raise NotFoundError(
            sentence("local-no-scenario", "there is no scenario {name}", name=name),
            reason=sentence("common-there", "there are {there}", there=scenario_names()),
            remedy=sentence("local-scenario-list-name", "mqctl local scenario list; or name a file that ends in .yaml"),
        )
    file = files("mqctl.local") / "scenarios" / f"{name}{_SUFFIX}"
    return _with_texts(read_scenario(name, file.read_bytes(), str(file)))


def _with_texts(scenario: Scenario) -> Scenario:
    """Returns a scenario of ours with texts that catalogues have; what other files declare is their own words."""
    said = [scenario.title, *scenario.planted]
    title, *planted = (
        sentence(f"scenario-{scenario.name}-{number}", literal(line)) for number, line in enumerate(said)
    )
    return msgspec.structs.replace(scenario, title=title, planted=tuple(planted))


def read_scenario(name: str, data: bytes, where: str) -> Scenario:
    """Reads a scenario. Raises BadInputError, with the place of the mistake."""
    try:
        decoded = decode_yaml(data, Scenario)
    except UnreadableYaml as error:
        raise BadInputError(
            sentence("local-could-not-read-scenario", "could not read the scenario {name}", name=name),
            reason=composed("{where}: {error}", where=where, error=error),
        ) from error
    scenario = msgspec.structs.replace(decoded, name=name)
    mistakes = list(_mistakes(scenario))
    if mistakes:
        raise BadInputError(
            sentence("local-scenario-contradicts-itself", "the scenario {name} contradicts itself", name=name),
            reason=composed("{where}: {mistakes}", where=where, mistakes=joined("; ", mistakes)),
        )
    return scenario


def _mistakes(scenario: Scenario) -> list[str]:
    """Returns what names something that the scenario does not have."""
    mistakes = [*_unknown_brokers(scenario), *_twice(scenario)]
    topics = {topic.name for topic in scenario.topics}
    sent = [*(item.topic for item in scenario.messages), *(item.topic for item in scenario.streams)]
    sent += [item.topic for item in scenario.offsets]
    mistakes += [
        sentence("local-scenario-topic-not-declared", "topic {name} is not declared", name=name)
        for name in sorted(set(sent) - topics)
    ]
    numbers = [item.cluster for item in scenario.consumers] + [item.cluster for item in scenario.streams]
    numbers += [item.cluster for item in scenario.looks]
    rooms = {room for cluster in scenario.clusters for room in cluster.rooms}
    lost = [item.room for item in scenario.faults if isinstance(item, LoseNameServer | StartNameServer)]
    lost += [item.to for item in scenario.faults if isinstance(item, LoseNameServer)]
    mistakes += [
        sentence("local-scenario-no-room", "there is no room {room}", room=room) for room in sorted(set(lost) - rooms)
    ]
    last = len(scenario.clusters) - 1
    mistakes += [
        sentence("no-cluster", "there is no cluster {name}", name=number)
        for number in sorted(set(numbers))
        if not 0 <= number <= last
    ]
    mistakes += [
        sentence(
            "local-scenario-no-grpc",
            "consumer {consumer} speaks gRPC, which cluster {cluster} does not serve",
            consumer=item.name,
            cluster=item.cluster,
        )
        for item in scenario.consumers
        if item.client == "grpc" and 0 <= item.cluster <= last and not scenario.clusters[item.cluster].grpc
    ]
    if scenario.time_scale <= 0:
        mistakes.append(
            sentence(
                "local-scenario-time-scale", "time cannot run {scale:.4g} times as fast", scale=scenario.time_scale
            )
        )
    return mistakes


def _unknown_brokers(scenario: Scenario) -> Iterator[str]:
    """Yields what topics, looks and messages say of brokers, and faults of brokers and slaves, that do not exist."""
    names = {broker for cluster in scenario.clusters for broker in cluster.brokers}
    members = names | {slave for cluster in scenario.clusters for slave in cluster.slave_names}
    named = [
        (sentence("shared-topic", "topic {topic}", topic=topic.name), name, names)
        for topic in scenario.topics
        for name in topic.brokers
    ]
    named += [
        (sentence("local-scenario-look", "look {number}", number=number), look.store, names)
        for number, look in enumerate(scenario.looks, 1)
        if look.store
    ]
    named += [
        (
            sentence("local-scenario-messages", "messages of {topic}", topic=item.topic),
            item.queue.partition("/")[0],
            names,
        )
        for item in scenario.messages
        if item.queue
    ]
    named += [
        (sentence("local-scenario-fault", "a fault {kind}", kind=type(item).__name__), broker, members)
        for item in scenario.faults
        for broker in _brokers(item)
    ]
    for where, name, known in named:
        if name not in known:
            yield sentence(
                "local-scenario-no-broker", "{where} names no broker of the scenario: {name}", where=where, name=name
            )


def _twice(scenario: Scenario) -> Iterator[str]:
    """Yields names that two brokers or two consumers have."""
    brokers = [broker for cluster in scenario.clusters for broker in cluster.brokers]
    consumers = [consumer.name for consumer in scenario.consumers]
    for name in sorted({name for name in brokers if brokers.count(name) > 1}):
        yield sentence("local-scenario-two-brokers", "two brokers are called {name}", name=name)
    for name in sorted({name for name in consumers if consumers.count(name) > 1}):
        yield sentence("local-scenario-two-consumers", "two consumers are called {name}", name=name)


def _brokers(fault: Fault) -> tuple[str, ...]:
    match fault:
        case KillConsumer() | LoseNameServer() | StartNameServer():
            return ()
        case ResizeTopic():
            return fault.brokers
        case AnswerFault():
            return (fault.broker,) if fault.broker else ()
        case _:
            return (fault.broker,)
