"""`mqctl doctor`: judge a cluster, a store directory, a snapshot or a recorded moment by every rule that its evidence
allows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, ProxyOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.options.common import (
    AtOption,
    BrokerNameOption,
    BrokersOption,
    GroupOption,
    LangOption,
    LevelsOption,
    NoColorOption,
    OptionalStoreOption,
    OutputOption,
    QuickOption,
    SnapshotOption,
    StacksOption,
    TopicOption,
)
from mqctl.cli.options.doctor import (
    ExplainOption,
    FailOnOption,
    HtmlOption,
    KnownOption,
    OnlyOption,
    ProbeOption,
    RecordingOption,
    SkipOption,
    TimeScaleOption,
    WindowOption,
    time_scale_of,
    window_ms,
)
from mqctl.cli.options.room import RoomRuleOption, rule_of
from mqctl.cli.options.spark import ConfOption, OptionalMasterOption
from mqctl.cli.sources.named import require_broker, require_group, require_topic
from mqctl.cli.sources.snapshot_source import LiveOptions, next_source, read_snapshot
from mqctl.commands.doctor.known_states import load_known
from mqctl.errors import UsageError
from mqctl.lag.advice import BacklogAdvice, backlog_advice
from mqctl.model.command_line import shell_words
from mqctl.model.finding import Severity
from mqctl.model.lang import Lang
from mqctl.model.names import is_retry_topic
from mqctl.model.origin import OriginKind
from mqctl.model.room_rule import RoomRule
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.render.document import Document
from mqctl.render.findings import diagnosis_document
from mqctl.render.summary import verdict_again
from mqctl.rules import Diagnosis, Settings, diagnose
from mqctl.rules.engine.coverage import coverage, earned, with_standing
from mqctl.rules.engine.known import Judged, set_aside
from mqctl.rules.engine.scope import groups_of, of_topics, topics_of, within
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.store.verify import Verifier

EXAMPLES = (
    "mqctl doctor",
    "mqctl doctor --namesrv 10.0.0.1:9876 -g order-service --window 60s",
    "mqctl doctor --known accepted.yaml --fail-on error",
    "mqctl doctor --store /backup/store",
    "mqctl doctor --store /backup/store --only 'MQ7*' --explain",
    "mqctl doctor --store /backup/store --master 'local[8]'",
    "mqctl doctor --recording /var/lib/mqctl/prod --at 'yesterday 03:00' -g order-service",
    "mqctl doctor --snapshot ticket-4711.snap -o json",
    "mqctl doctor -g order-service -g billing --html ticket.html",
    "mqctl doctor --store /backup/store --fail-on error && echo good enough",
)


def command(
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    proxy: ProxyOption = None,
    timeout: TimeoutOption = None,
    store: OptionalStoreOption = None,
    snapshot: SnapshotOption = None,
    recording: RecordingOption = None,
    group: GroupOption = None,
    topic: TopicOption = None,
    broker: BrokersOption = None,
    window: WindowOption = None,
    stacks: StacksOption = False,
    probe: ProbeOption = False,
    time_scale: TimeScaleOption = None,
    room_rule: RoomRuleOption = None,
    only: OnlyOption = None,
    skip: SkipOption = None,
    known: KnownOption = None,
    fail_on: FailOnOption = Severity.WARNING,
    explain: ExplainOption = False,
    html: HtmlOption = None,
    quick: QuickOption = False,
    at: AtOption = None,
    levels: LevelsOption = None,
    broker_name: BrokerNameOption = None,
    master: OptionalMasterOption = None,
    conf: ConfOption = None,
    lang: LangOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Diagnose a live cluster, a store directory, a saved snapshot or a recorded moment, and say what to do.

    Ends with 0 when nothing is wrong, 1 for warnings, 2 for errors and worse, 3 when evidence is missing and nothing
    worse was found. Nothing is changed (--probe sends a message). Rules about movement (stuck offsets) need --window;
    a recording has the looks before, and rules about weeks need it.
    """
    options = LiveOptions(
        namesrv=namesrv,
        profile=profile,
        timeout=timeout,
        proxies=proxy,
        groups=group,
        topics=topic,
        brokers=broker,
        window_ms=window_ms(window),
        with_stacks=stacks,
    )
    files = {"store": store, "snapshot": snapshot}
    reading = {"levels": levels, "broker_name": broker_name}
    with _verifier(store, master, conf, quick=quick) as verify:
        state = _gathered(recording, at, options, files, reading, quick=quick, probe=probe, verify=verify)
    state = _ready(state, options, probe=probe)
    settings = _settings(state, store, time_scale, rule_of(room_rule, profile))
    backlogs = _backlogs(state, options, settings)
    judged = _judged(state, options, settings, backlogs, rules=(only or (), skip or ()), known=known)
    document = _document(state, judged, options, settings, backlogs, explain=explain)
    _show(document, output, state, options, html, lang, settings)
    return _told(state, judged.diagnosis).exit_code(fail_on)


def _gathered(
    recording: str | None,
    at: str | None,
    options: LiveOptions,
    files: Mapping[str, Path | None],
    reading: Mapping[str, str | None],
    *,
    quick: bool,
    probe: bool,
    verify: Verifier | None,
) -> ClusterSnapshot:
    """Reads a recording, or what else was named: a store, a snapshot, a live cluster."""
    now = datetime.now().astimezone()
    if recording is not None:
        from mqctl.cli.sources.recorded import read_recorded  # with all that asks a live cluster

        unfit = (*reading.values(), quick, probe)
        return read_recorded(recording, at=at, now=now, live=options, elsewhere=files.values(), unfit=unfit)
    return read_snapshot(
        store=files["store"],
        snapshot=files["snapshot"],
        at=at,
        now=now,
        levels=reading["levels"],
        broker_name=reading["broker_name"],
        quick=quick,
        live=options,
        verifier=verify,
    )


@contextmanager
def _verifier(
    store: Path | None, master: str | None, conf: list[str] | None, *, quick: bool
) -> Iterator[Verifier | None]:
    """Yields what verifies the store on Spark, where that was asked for.

    Raises:
        UsageError: there is nothing to verify.
    """
    if master is None and conf is None:
        yield None
        return
    if store is None:
        raise UsageError(
            sentence("doctor-master-conf-say-where", "--master and --conf say where a store is verified"),
            remedy=sentence("doctor-name-store-dir", "name one with --store DIR"),
        )
    if quick:
        raise UsageError(
            sentence("doctor-quick-verifies-nothing", "--quick verifies nothing"),
            remedy=sentence("doctor-leave-quick-out-master", "leave --quick out, or --master and --conf"),
        )
    from mqctl.cli.sources.verifying import verifier  # with all that reads stores

    with verifier(str(store.absolute()), on_spark=False, master=master, conf=conf) as verify:
        yield verify


def _settings(state: ClusterSnapshot, store: Path | None, scale: float | None, room_rule: RoomRule | None) -> Settings:
    used = time_scale_of(scale, namesrv=state.origin.location, store=store)
    return Settings(time_scale=used, room_rule=room_rule)


def _probed(state: ClusterSnapshot, options: LiveOptions) -> ClusterSnapshot:
    """Sends what only a send shows. Raises UsageError: nothing can be sent to files."""
    if state.origin.kind is not OriginKind.LIVE or state.origin.archive is not None:
        raise UsageError(
            sentence("doctor-probe-needs-live-cluster", "--probe needs a live cluster"),
            remedy=sentence("doctor-name-namesrv-profile", "name it with --namesrv or --profile"),
        )
    from mqctl.commands.doctor.probing import probed

    return probed(state, cluster_target(options.namesrv, options.profile, options.timeout))


def _scoped(
    diagnosis: Diagnosis,
    state: ClusterSnapshot,
    options: LiveOptions,
    rules: Collection[str],
    backlogs: list[BacklogAdvice],
) -> Diagnosis:
    """Leaves out what was not asked for, and adds what was asked for by name and could not be judged."""
    names = _names(options)
    used = None if options.topics else topics_of(state, options.groups or ())
    users = None if options.groups else groups_of(state, options.topics or ())
    diagnosis_in_scope = earned(within(diagnosis, **names, used=used, users=users), state, **names, rules=rules)
    return diagnosis_in_scope if rules else with_standing(diagnosis_in_scope, backlogs)


def _names(options: LiveOptions) -> dict[str, Collection[str]]:
    return {"groups": options.groups or (), "topics": options.topics or (), "brokers": options.brokers or ()}


def _ready(state: ClusterSnapshot, options: LiveOptions, *, probe: bool) -> ClusterSnapshot:
    """Returns the state with what was asked for in it. Raises NotFoundError: a name is none of its own."""
    for names, require in (
        (options.brokers, require_broker),
        (options.topics, require_topic),
        (options.groups, require_group),
    ):
        for name in names or ():
            require(state, name, options)
    return _probed(state, options) if probe else state


def _judged(
    state: ClusterSnapshot,
    options: LiveOptions,
    settings: Settings,
    backlogs: list[BacklogAdvice],
    *,
    rules: tuple[Collection[str], Collection[str]],
    known: Path | None,
) -> Judged:
    """Judges by rules (those asked for, those left out), sets aside what is known, and tells of what
    was known until a day that is over."""
    only, skip = rules
    asked_of = of_topics(state, options.topics or ())
    diagnosis = diagnose(asked_of, only=tuple(only), skip=tuple(skip), settings=settings)
    judged = set_aside(
        _scoped(diagnosis, state, options, only, backlogs),
        load_known(known) if known else (),
        datetime.now().astimezone().date(),
    )
    for old in judged.expired:
        tell(
            sentence(
                "doctor-accepted-until-counts-again",
                "mqctl: {known}: {code} ({subject}) was accepted until {until}; it counts again",
                known=known,
                code=old.code,
                subject=old.subject,
                until=old.until,
            )
        )
    return judged


def _backlogs(state: ClusterSnapshot, options: LiveOptions, settings: Settings) -> list[BacklogAdvice]:
    """Returns how the backlogs moved that were asked for; they move between two looks only."""
    return [
        item
        for item in (backlog_advice(state, settings) if state.earlier is not None else [])
        if item.group in (options.groups or [item.group]) and item.topic in (options.topics or [item.topic])
    ]


def _document(
    state: ClusterSnapshot,
    judged: Judged,
    options: LiveOptions,
    settings: Settings,
    backlogs: list[BacklogAdvice],
    *,
    explain: bool,
) -> Document:
    return diagnosis_document(
        state,
        judged.diagnosis,
        explain=explain,
        source=_source(state, options),
        silenced=judged.silenced,
        backlogs=backlogs,
        time_scale=settings.time_scale,
        covered=coverage(judged.diagnosis, state, **_names(options)),
        groups=options.groups or (),
    )


def _show(
    document: Document,
    output: Output,
    state: ClusterSnapshot,
    options: LiveOptions,
    page: Path | None,
    lang: Lang | None,
    settings: Settings,
) -> None:
    """Emits the answer, and writes it as a page as well where that is asked for."""
    emit(verdict_again(document), output)
    if page is not None:
        from mqctl.cli.text_files import write_text
        from mqctl.commands.doctor.page import findings_page

        groups = options.groups or ()
        named = [item for item in backlog_advice(state, settings) if item.group in groups] if groups else []
        advices = [item for item in named if not is_retry_topic(item.topic)]
        write_text(page, findings_page(document, state, groups, lang, advices))
        tell(sentence("common-wrote", "mqctl: wrote {page} ({size_bytes})", page=page, size_bytes=page.stat().st_size))


def _source(state: ClusterSnapshot, options: LiveOptions) -> str | None:
    """Returns the options that lead to the cluster; that of a recording is asked as it is now."""
    if state.past is not None:
        return shell_words(["--namesrv", state.origin.location])
    option = next_source(state, options.namesrv, options.profile)
    named = [shell_words(["--proxy", address]) for address in options.proxies or ()]
    return None if option is None else " ".join([option, *named])


def _told(state: ClusterSnapshot, diagnosis: Diagnosis) -> Diagnosis:
    """Tells what helps where a live cluster did not say all that rules need."""
    if state.origin.kind is OriginKind.LIVE and diagnosis.not_judged:
        from mqctl.cli.gaps import tell_remedies

        tell_remedies(gap for unknown in diagnosis.not_judged for gap in unknown.gaps)
    return diagnosis
