"""The Tab: words and options from the generated catalog, without typer; names of a live cluster from a cache."""

from __future__ import annotations

from mqctl.cli.catalog import BY_PATH, Options, children, options_of, present_words


def completions_for(words: list[str]) -> str:
    """Returns the completions for the command line `words`, one `word<TAB>description` a line.

    Args:
        words: what stands after `mqctl`, the last one being the word under the cursor (maybe empty).
    """
    *before, current = words or [""]
    option, equals, value = current.partition("=")
    if equals and option.startswith("--"):
        fitting = [item for item in candidates([*before, option], value) if item[0].startswith(value)]
        return "".join(f"{option}={word}\t{summary}\n" for word, summary in fitting)
    return "".join(f"{word}\t{summary}\n" for word, summary in candidates(before, current) if word.startswith(current))


def candidates(before: list[str], current: str) -> list[tuple[str, str]]:
    """Returns the words that may stand after `before`, each with a short description."""
    path: tuple[str, ...] = ()
    before = present_words(before)
    for word in before:
        if (*path, word) in BY_PATH or word in children(path):
            path = (*path, word)
    if path not in BY_PATH:
        words = list(children(path).items())
        return [*words, ("--help", "Show help.")] if current.startswith("-") else words
    options = options_of(path)
    if before and before[-1] in options and options[before[-1]][1]:
        return [(choice, "") for choice in options[before[-1]][1]]
    if not current.startswith("-"):
        known = _known_names(" ".join(path), before, options)
        if known is not None:
            return known
        return [(choice, "") for name, (_, choices) in options.items() if name[0] != "-" for choice in choices]
    return [(name, summary) for name, (summary, _) in options.items() if name[0] == "-" and name not in before]


def _known_names(command: str, before: list[str], options: Options) -> list[tuple[str, str]] | None:
    """Returns the names that this machine or a cluster knows, None where none belong."""
    from mqctl.cli.completion.names import kind_of, names_of_kind
    from mqctl.cli.completion.own_names import own_names

    option = bool(before) and before[-1] in options and before[-1][0] == "-"
    own = own_names(command, before, takes_value=option)
    if own is not None:
        return own
    kind = kind_of(command, before, takes_value=option)
    return None if kind is None else [(name, kind) for name in names_of_kind(kind, before)]
