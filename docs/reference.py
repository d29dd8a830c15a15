"""The texts of all generated files that git carries, made from the code they describe."""

from __future__ import annotations

from docs.dependencies import page as dependency_page
from docs.incident_page import page as incident_page
from docs.incident_page import readme
from docs.kafka_page import page as kafka_page
from docs.literature_page import page as literature_page
from docs.numbers_page import page as numbers_page
from docs.playbook_scripts import scripts
from docs.protocol_v2 import files as protocol_v2
from docs.reliability_page import page as reliability
from docs.schemas import contract
from docs.settings import pages as setting_pages
from docs.stack_classes import page as stack_classes
from docs.support import support
from mqctl.cli import catalog_mqadmin as mqadmin
from mqctl.cli.completion.scripts import FILE_NAMES, script
from mqctl.commands.explain.rows import CAUSES, CODES
from mqctl.model.gap import exit_code_of_cause
from mqctl.model.lang import Lang


def files() -> dict[str, str]:
    """Returns the text of every committed one by its path below the repository's root."""
    return {
        "docs/exit-codes.md": exit_codes(),
        "docs/mqadmin.md": mqadmin_table(),
        "docs/incidents.md": incident_page(),
        "docs/kafka.md": kafka_page(Lang.EN),
        "docs/kafka.zh.md": kafka_page(Lang.ZH),
        "docs/literature.md": literature_page(Lang.EN),
        "docs/literature.zh.md": literature_page(Lang.ZH),
        "docs/numbers.md": numbers_page(Lang.EN),
        "docs/numbers.zh.md": numbers_page(Lang.ZH),
        "README.md": readme(),
        "docs/reliability.md": reliability(),
        "docs/stack-classes.md": stack_classes(),
        "embedded_broker/SUPPORT.md": support(),
        "docs/dependencies.md": dependency_page(),
        "docs/schemas.json": contract(),
        **protocol_v2(),
        **scripts(),
        **setting_pages(),
        **{f"completions/{name}": script(shell) for shell, name in FILE_NAMES.items()},
    }


def mqadmin_table() -> str:
    """Returns the table of mqadmin's sub-commands with what stands in for each."""
    lines = [
        "# From mqadmin",
        "",
        f"Every sub-command of mqadmin {', '.join(mqadmin.RELEASES)}, and what to type instead.",
        "",
    ]
    lines += ["| mqadmin | in | mqctl | coverage | note |", "|---|---|---|---|---|"]
    for entry in mqadmin.TABLE:
        ours = "<br>".join(f"`mqctl {line}`" for line in entry.ours)
        versions = mqadmin.span_of(entry.versions)
        lines.append(f"| `{entry.name}` | {versions} | {ours} | {entry.coverage} | {entry.note} |")
    return "\n".join([*lines, ""])


def exit_codes() -> str:
    """Returns the exit code reference."""
    rows = [f"| {int(code)} | {meaning} |" for code, meaning in CODES.items()]
    causes = [f"| {cause} | {meaning} | {int(exit_code_of_cause(cause))} |" for cause, meaning in CAUSES.items()]
    return "\n".join([*_EXIT_CODES_BEGIN, *rows, *_GAPS_BEGIN, *causes, ""])


_EXIT_CODES_BEGIN = (
    "# Exit codes",
    "",
    "The same for every command; `mqctl explain 75` says what one means.",
    "",
    "| code | meaning |",
    "|---|---|",
)
_GAPS_BEGIN = (
    "",
    "## An answer in part",
    "",
    "A command that reads and could not ask everything shows the rest, names each gap on stderr and under",
    "`unavailable` of machine output, and ends with the code of its cause; of several causes the highest counts. A",
    "judging command ends with 3 unless it found something.",
    "",
    "| cause | meaning | code |",
    "|---|---|---|",
)
