"""What `check` found, posted to a webhook: JSON, tried again when it fails, and never in the way of the verdict."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from pathlib import Path
from string import Template
from time import sleep
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from mqctl.cli.emit import tell
from mqctl.errors import NotFoundError, UsageError
from mqctl.model.expectation import CheckResult, CheckState, worst
from mqctl.model.lazy_dataclass import dataclass
from mqctl.store.plain_files import read_named
from mqctl.text import sentence

_WAITS_S = (0.2, 1.0)
_TIMEOUT_S = 5.0
_SHOWN = 20
_FIELDS = ("state", "text", "failed", "observed_at_ms")


class _NoRedirect(HTTPRedirectHandler):
    """What is posted goes where it was sent to, or nowhere."""

    def redirect_request(self, *_: object) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where to post, and what.

    Attributes:
        template: the text of a JSON document; None posts the state and what does not hold.
    """

    url: str
    template: str | None = None

    @property
    def place(self) -> str:
        """The host; the rest of an address is often a secret."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    def body(self, results: Sequence[CheckResult], observed_at_ms: int) -> bytes:
        """Returns what is posted."""
        state = worst(tuple(results))
        failed = [item for item in results if item.state is not CheckState.OK]
        lines = [f"{item.state} {item.subject} {item.check}: {item.message}" for item in failed[:_SHOWN]]
        more = [f"and {len(failed) - _SHOWN} more"] if len(failed) > _SHOWN else []
        text = "\n".join(
            [f"mqctl check: {str(state).upper()}, {len(failed)} of {len(results)} do not hold", *lines, *more]
        )
        if self.template is not None:
            values = dict(zip(_FIELDS, (str(state), text, str(len(failed)), str(observed_at_ms)), strict=True))
            return _filled(self.template, values).encode()
        rows = [
            {"check": item.check, "subject": item.subject, "state": str(item.state), "message": item.message}
            for item in failed
        ]
        document = {"state": str(state), "text": text, "observed_at_ms": observed_at_ms, "results": rows}
        return json.dumps(document).encode()

    def post(self, results: Sequence[CheckResult], observed_at_ms: int) -> None:
        """Posts what does not hold; three attempts, and one sentence on stderr when all fail."""
        if worst(tuple(results)) is CheckState.OK:
            return
        body, problem = self.body(results, observed_at_ms), ""
        for wait_s in (0.0, *_WAITS_S):
            sleep(wait_s)
            problem, again = self._attempt(body)
            if not problem:
                return
            if not again:
                break
        tell(
            sentence(
                "check-webhook-not-reached-verdict",
                "mqctl: the webhook at {place} was not reached: {problem}; the verdict stands",
                place=self.place,
                problem=problem,
            )
        )

    def _attempt(self, body: bytes) -> tuple[str, bool]:
        """Returns what went wrong, if anything did, and whether another attempt may help."""
        request = Request(self.url, data=body, headers={"Content-Type": "application/json"}, method="POST")
        try:
            with build_opener(_NoRedirect).open(request, timeout=_TIMEOUT_S):
                return "", False
        except HTTPError as error:
            error.close()
            return sentence(
                "check-answers", "it answers {code}", code=error.code
            ), error.code >= 500 or error.code == 429
        except (OSError, HTTPException) as error:
            return str(getattr(error, "reason", error)) or type(error).__name__, True


def webhook_of(url: str | None, template: Path | None) -> Webhook | None:
    """Reads the options, before anything is asked.

    Raises:
        UsageError: the address is none, or the template is no JSON.
        NotFoundError: there is no such template.
    """
    if url is None:
        if template is not None:
            raise UsageError(
                sentence("check-webhook-template-without", "--webhook-template without --webhook"),
                remedy=sentence("check-add-webhook-url", "add --webhook URL"),
            )
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            sentence("check-webhook-takes-http-https", "--webhook takes an HTTP or HTTPS URL"),
            remedy=sentence("check-write-https-host-path", "write https://HOST/PATH"),
        )
    if template is None:
        return Webhook(url)
    try:
        text = read_named(template).decode(errors="replace")
    except OSError as error:
        problem = sentence(
            "checks-could-not-read-template", "could not read the template {template}", template=template
        )
        raise NotFoundError(
            problem, reason=error.strerror or "", remedy=sentence("check-name-file-json", "name a file with JSON in it")
        ) from error
    try:
        json.loads(_filled(text, dict.fromkeys(_FIELDS, "0")))
    except ValueError as error:
        raise UsageError(
            sentence("check-template-no-json", "the template {template} is not JSON", template=template),
            reason=str(error),
            remedy=sentence("check-see-help", "see --help"),
        ) from error
    except RecursionError as error:
        reason = sentence("nested-too-deeply", "it is nested too deeply")
        raise UsageError(
            sentence("check-template-no-json", "the template {template} is not JSON", template=template),
            reason=reason,
            remedy=sentence("check-see-help", "see --help"),
        ) from error
    return Webhook(url, text)


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Fills in values as the inside of JSON strings; `$` and a name that is none of theirs stays."""
    return Template(template).safe_substitute({name: json.dumps(value)[1:-1] for name, value in values.items()})
