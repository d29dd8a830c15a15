"""Files around stacks: a user's class rules, and dumps as their tools wrote them."""

from __future__ import annotations

import re
from pathlib import Path

from mqctl.errors import BadInputError, NotFoundError, StorageError, UsageError
from mqctl.model.stack_look import StackEvidence, StackInstance
from mqctl.protocol.yaml_text import UnreadableYaml, load_yaml
from mqctl.stacks.classify import Classifier
from mqctl.stacks.rules import user_rules
from mqctl.store.own_files import make_directory, new_stream
from mqctl.store.plain_files import read_named, refused
from mqctl.text import sentence

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._@#-]+")


def classifier_of(file: Path | None) -> Classifier:
    """Returns the class table, with the rules of a user's file before it.

    Raises:
        NotFoundError: there is no such file.
        BadInputError: it is no YAML, or no rules.
        StorageError: the operating system refuses.
    """
    if file is None:
        return Classifier()
    if not file.is_file():
        raise NotFoundError(
            sentence("no-file", "there is no file {file}", file=file),
            remedy=sentence("stacks-see-docs-stack-classes", "see docs/stack-classes.md"),
        )
    try:
        content = load_yaml(read_named(file))
    except OSError as error:
        raise refused(sentence("could-not-read", "could not read {file}", file=file), error) from error
    except UnreadableYaml as error:
        raise BadInputError(
            sentence("stacks-not-yaml", "{file} is not YAML", file=file),
            reason=str(error),
            remedy=sentence("stacks-see-docs-stack-classes", "see docs/stack-classes.md"),
        ) from error
    return Classifier(user_rules(content, str(file)))


def save_raw(evidence: StackEvidence, target: Path) -> list[Path]:
    """Writes the dumps as their tools wrote them: one file, or a directory with one for each of several instances.

    Raises:
        UsageError: there is nothing to save: the dumps come from files.
        StorageError: a file exists already, or the operating system refuses.
    """
    wanted = [instance for instance in evidence.instances if instance.raws]
    if not wanted:
        raise UsageError(
            sentence("stacks-save-nothing", "--save has nothing to save"),
            reason=sentence("stacks-come-files-none", "the stacks come from files, or none were seen"),
        )
    if len(wanted) == 1 and not target.is_dir():
        files = {target: wanted[0]}
    else:
        files = {target / f"{_NOT_IN_NAMES.sub('_', item.source)}.txt": item for item in wanted}
    for file, instance in files.items():
        _write(file, instance)
    return list(files)


def _write(file: Path, instance: StackInstance) -> None:
    text = "\n".join(raw if raw.endswith("\n") else f"{raw}\n" for raw in instance.raws)
    try:
        make_directory(file.parent)
        with new_stream(file) as stream:
            stream.write(text.encode())
    except FileExistsError as error:
        raise StorageError(
            sentence("could-not-write", "could not write {path}", path=file),
            reason=sentence("common-exists", "it exists"),
            remedy=sentence("stacks-name-another", "name another one"),
        ) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(
            sentence("could-not-write", "could not write {path}", path=file),
            reason=reason,
            remedy=sentence("name-writable-place", "name a writable place"),
        ) from error
