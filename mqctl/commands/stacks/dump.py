"""`mqctl stacks dump`: what consume threads do, and why."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, ProxyOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.gaps import tell_gaps
from mqctl.cli.options.common import LangOption, NoColorOption, OutputOption
from mqctl.cli.options.stacks import (
    ClientOption,
    DumpsOption,
    EveryOption,
    NativeOption,
    NonblockingOption,
    PidOption,
    StackGroupOption,
)
from mqctl.cli.times import parse_span_ms
from mqctl.commands.stacks.gather import DEFAULT_DUMPS, StackRequest, gather_stacks
from mqctl.errors import ExitCode, UsageError
from mqctl.model.command_line import shell_words
from mqctl.model.stack_look import StackEvidence
from mqctl.text import composed, joined, sentence

if TYPE_CHECKING:
    from mqctl.commands.stacks.dump_view import StackView
    from mqctl.render.document import Document
    from mqctl.stacks.classify import Classifier

EXAMPLES = (
    "mqctl stacks dump -g order-service",
    "mqctl stacks dump --pid 4711 --explain",
    "mqctl stacks dump --client 10.0.0.1@4711#1 -g order-service --save now.txt",
    "mqctl stacks dump --file jstack.txt -o wide",
    "mqctl stacks dump --snapshot ticket-4711.snap -g order-service",
    "jstack -l 4711 | mqctl stacks dump --file -",
    "mqctl stacks dump -g order-service --watch --every 10s --count 6 -o ndjson",
    "mqctl stacks dump --pid 4711 --dumps 20 --every 100ms --collapsed | flamegraph.pl > consume.svg",
)


_File = Annotated[
    list[Path] | None,
    typer.Option(
        "--file",
        metavar="DUMP",
        help="A saved or pasted dump, `-` for stdin; may be repeated.",
    ),
]
_Snapshot = Annotated[
    Path | None,
    typer.Option("--snapshot", metavar="FILE", help="The stacks in a snapshot, of one group with -g."),
]
_RulesFile = Annotated[
    Path | None,
    typer.Option("--rules-file", metavar="FILE", help="Class rules of your own (YAML), tried before the built-in."),
]
_Collapsed = Annotated[bool, typer.Option("--collapsed", help="Print collapsed stacks for flame graph tools instead.")]
_Save = Annotated[
    Path | None,
    typer.Option("--save", metavar="PATH", help="Keep the dumps as their tool wrote them."),
]


def command(
    pid: PidOption = None,
    client: ClientOption = None,
    group: StackGroupOption = None,
    file: _File = None,
    snapshot: _Snapshot = None,
    dumps: DumpsOption = DEFAULT_DUMPS,
    every: EveryOption = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Repeat until interrupted; shows how long each state has lasted.")
    ] = False,
    count: Annotated[
        int | None, typer.Option("--count", metavar="N", min=1, help="Stop --watch after this many samples.")
    ] = None,
    native: NativeOption = False,
    nonblocking: NonblockingOption = False,
    rules_file: _RulesFile = None,
    everything: Annotated[bool, typer.Option("--all", help="Other threads too, not only consume threads.")] = False,
    calls: Annotated[bool, typer.Option("--calls", help="Show the calls of every row.")] = False,
    collapsed: _Collapsed = False,
    save: _Save = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show each finding's evidence in full.")] = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    proxy: ProxyOption = None,
    timeout: TimeoutOption = None,
    lang: LangOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show what consume threads do: busy, stuck, waiting for what, or idle, and what that means for the backlog.

    Reads a process of this machine, one or all instances of a group through their brokers, or saved dumps of jstack,
    jcmd, py-spy, or a consumer's running information. Equal stacks are one row; several dumps show what moves. Live
    consumers are judged with what they hold in their queues and how far their group is behind. An incomplete answer
    is shown as such and ends with the code of its cause (exit-codes.md), or 74 for a file that is cut off.

    --watch ends with Ctrl-C (130) or --count, or with 66 when the process ends; it follows instances that come and go.
    """
    from mqctl.commands.stacks.files import classifier_of

    if collapsed and output is not Output.TABLE:
        raise UsageError(
            sentence("stacks-collapsed-cannot-combined", "--collapsed cannot be combined with -o"),
            reason=sentence("collapsed-stacks-format-own", "collapsed stacks have a format of their own"),
        )
    request = StackRequest(
        pid=pid,
        client_id=client,
        group=group,
        files=tuple(file or ()),
        snapshot=snapshot,
        dump_count=dumps,
        every_ms=parse_span_ms(every or ("5s" if watch else "1s")),
        native=native,
        nonblocking=nonblocking,
        namesrv=namesrv,
        profile=profile,
        timeout=timeout,
        proxies=tuple(proxy or ()),
    )
    if watch or count is not None:
        from mqctl.commands.stacks.rounds import watch_stacks

        of_one_look = {"--file": file, "--snapshot": snapshot, "--rules-file": rules_file, "--all": everything}
        of_one_look |= {"--calls": calls, "--collapsed": collapsed, "--save": save, "--explain": explain}
        _check_watch([name for name, given in of_one_look.items() if given], watch=watch)
        return watch_stacks(request, count, output)
    classifier = classifier_of(rules_file)
    evidence = gather_stacks(request)
    _keep(evidence, save)
    if collapsed:
        return _print_collapsed(evidence, everything=everything)
    from mqctl.commands.stacks.dump_view import StackView

    view = StackView(lang=lang, source=_source_words(request), everything=everything, calls=calls, explain=explain)
    emit(_judged(evidence, classifier, view), output)
    return _told(evidence)


def _check_watch(of_one_look: list[str], *, watch: bool) -> None:
    if not watch:
        raise UsageError(sentence("stacks-count-needs-watch", "--count needs --watch"))
    if of_one_look:
        raise UsageError(
            sentence("stacks-cannot-combined", "{named:and} cannot be combined", named=["--watch", *of_one_look]),
            reason=sentence("stacks-options-of-one-look", "--watch shows a table of its own each round"),
        )


def _keep(evidence: StackEvidence, place: Path | None) -> None:
    if place is None:
        return
    from mqctl.commands.stacks.files import save_raw

    for saved in save_raw(evidence, place):
        tell(sentence("stacks-saved", "mqctl: saved {saved}", saved=saved))


def _source_words(request: StackRequest) -> str:
    """Returns the option that names the source, for commands to type next."""
    if request.snapshot is not None:
        return shell_words(["--snapshot", str(request.snapshot)])
    return cluster_target(request.namesrv, request.profile, None).option if request.namesrv or request.profile else ""


def _print_collapsed(evidence: StackEvidence, *, everything: bool) -> int:
    from mqctl.stacks.collapsed import collapsed
    from mqctl.text import printable

    looks = [dump for instance in evidence.instances for dump in instance.dumps]
    sys.stdout.writelines(f"{printable(line)}\n" for line in collapsed(looks, everything=everything))
    return _told(evidence)


def _judged(evidence: StackEvidence, classifier: Classifier, view: StackView) -> Document:
    from mqctl.commands.stacks.dump_view import stack_document
    from mqctl.rules.judge_stacks import judge_evidence

    return stack_document(
        judge_evidence(evidence, classifier),
        view,
        observed_at_ms=evidence.now_ms,
        unavailable=evidence.unavailable,
        notes=evidence.notes,
    )


def _told(evidence: StackEvidence) -> int:
    """Names on stderr what is missing, and returns the exit code."""
    for note in evidence.notes:
        tell(composed("mqctl: {note}", note=note))
    code = tell_gaps(evidence.unavailable)
    cut = [dump for instance in evidence.instances for dump in instance.dumps if dump.truncated or dump.notes]
    for dump in cut:
        tell(
            composed(
                "mqctl: {source}: {truncated}{notes}",
                source=dump.source,
                truncated=sentence("stacks-incomplete", "incomplete: ") if dump.truncated else "",
                notes=joined("; ", dump.notes) or sentence("stacks-cut-off", "cut off"),
            )
        )
    return max(code, ExitCode.IO if any(dump.truncated for dump in cut) else ExitCode.OK)
