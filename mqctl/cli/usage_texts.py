"""What the parser of command lines says, as texts of ours: it speaks English only."""

from __future__ import annotations

import re

from mqctl.text import sentence

OF_PARSER = {
    "parser-no-such-option": "No such option: {option}",
    "parser-missing-command": "Missing command",
    "parser-missing-argument": "Missing argument {argument}",
    "parser-missing-option": "Missing option {option}",
    "parser-option-without-value": "Option '{option}' does not take a value",
    "parser-option-needs-value": "Option {option} requires an argument",
    "parser-extra-arguments": "Got unexpected extra arguments ({arguments})",
    "parser-extra-argument": "Got unexpected extra argument ({argument})",
    "parser-invalid-value": "Invalid value for {option}: {why}",
    "parser-invalid": "Invalid value: {why}",
    "parser-not-one-of": "'{value}' is not one of {choices}",
    "parser-no-float": "'{value}' is not a valid float",
    "parser-no-int": "'{value}' is not a valid int",
    "parser-no-integer": "'{value}' is not a valid integer",
    "parser-out-of-range": "{value} is not in the range {bounds}",
}
"""What it says by key. It has no fields for what it names, so its sentences are read."""
_PLACE = re.compile(r"\{(\w+)\}")


def of_parser(said: str) -> str:
    """Returns what the parser said as a text; what is none of its sentences as it is."""
    for key, template in OF_PARSER.items():
        form = "".join(
            f"(?P<{part}>.+?)" if number % 2 else re.escape(part) for number, part in enumerate(_PLACE.split(template))
        )
        if match := re.fullmatch(form, said, re.DOTALL):
            values = {name: of_parser(value) if name == "why" else value for name, value in match.groupdict().items()}
            return sentence(key, template, **values)
    return said
