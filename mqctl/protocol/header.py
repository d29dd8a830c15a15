"""Typed headers: ext fields declared once, with RocketMQ's rules for their text.

Source: `RemotingCommand.decodeCommandCustomHeader` of 4.9.8: strings as they are, numbers decimal, booleans true only
for `true` in any case; a number that cannot be read counts as missing, except in the headers decoded the fast way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeAlias

from mqctl.errors import RefusedError, UsageError
from mqctl.model.numbers import decimal
from mqctl.model.release import NEWEST, Release
from mqctl.model.remark import quoted
from mqctl.protocol.codes import V4_9_8, Language, RequestCode
from mqctl.protocol.declared import Declared, Field, field
from mqctl.protocol.fastjson import java_double
from mqctl.protocol.frame import FLAG_ONEWAY, RemotingCommand, SerializeType
from mqctl.text import composed, sentence

Int32: TypeAlias = int
Int64: TypeAlias = int

_RANGES = {"Int32": 1 << 31, "Int64": 1 << 63}
_SURE_DIGITS = {"str": None, "Int32": 9, "Int64": 18}
_UNBOXING = {"Int32": "Integer.intValue", "Int64": "Long.longValue", "bool": "Boolean.booleanValue"}
_UNBOXING["float"] = "Double.doubleValue"
_JAVA_HEADERS = "org.apache.rocketmq.common.protocol.header."


class HeaderFieldError(RefusedError):
    """A header without a field it needs, or with a number that is none.

    Attributes:
        remark: what a 4.9.8 broker answers with code 1 (without the stack frame it appends).
    """

    def __init__(self, problem: str, *, reason: str = "", remedy: str = "", remark: str = "") -> None:
        super().__init__(problem, reason=reason, remedy=remedy)
        self.remark = remark


class HeaderValueError(UsageError):
    """A value that its field cannot carry: the other side would read another one, or none."""


class ExtHeader(Declared):
    """A header whose fields travel as ext fields."""

    _short: ClassVar[bool] = False
    _fast: ClassVar[bool] = False
    _reading: ClassVar[tuple[tuple[str, str, int | None, Field], ...]] = ()

    @classmethod
    def from_ext(cls, ext_fields: Mapping[str, str] | None) -> Self:
        """Reads the header from ext fields; unknown ones are ignored.

        Raises:
            HeaderFieldError: a required field is missing, or a number of a required field cannot be read.
        """
        ext = ext_fields or {}
        values: dict[str, object] = {}
        for key, name, digits, item in cls.__dict__.get("_reading") or cls._read_by():
            text = ext.get(key)
            if text is None:
                if item.required:
                    raise cls._missing(item, None)
            elif digits is None:
                values[name] = text
            elif len(text) <= digits and text.isdigit() and text.isascii():
                values[name] = int(text)
            elif (value := cls._parse(item, text)) is not None:
                values[name] = value
            elif item.required:
                raise cls._missing(item, text)
        return cls._complete(values)

    @classmethod
    def _read_by(cls) -> tuple[tuple[str, str, int | None, Field], ...]:
        """Returns for each field its key, its name, and up to how many digits are surely its number; None for text."""
        cls._reading = tuple(
            (item.short if cls._short else item.wire, item.name, _SURE_DIGITS.get(item.kind, 0), item)
            for item in cls.fields()
        )
        return cls._reading

    @classmethod
    def _parse(cls, item: Field, text: str) -> object:
        kind = item.kind
        if kind == "bool":
            return text.lower() == "true"
        try:
            if kind == "float":
                return float(text)
            bound = _RANGES[kind]
            value = decimal(text.removeprefix("+"), -bound, bound - 1)
            if value is not None and text[:2] != "+-":
                return value
        except ValueError:
            pass
        if cls._fast:
            raise HeaderFieldError(
                sentence("wire-could-not-read", "{name} cannot be read", name=cls.__name__),
                reason=sentence("wire-field-value", "{wire} is {text}", wire=item.wire, text=quoted(text)),
                remark=f'java.lang.NumberFormatException: For input string: "{text}"',
            )
        return None

    @classmethod
    def _missing(cls, item: Field, text: str | None) -> HeaderFieldError:
        getter = f"{_JAVA_HEADERS}{cls.__name__}RequestHeader.get{item.wire[:1].upper()}{item.wire[1:]}()"
        unboxing = _UNBOXING.get(item.kind)
        cause = f'Cannot invoke "java.lang.{unboxing}()" because ' if unboxing else ""
        return HeaderFieldError(
            sentence("wire-could-not-read", "{name} cannot be read", name=cls.__name__),
            reason=sentence("wire-field-missing", "{wire} is missing", wire=item.wire)
            if text is None
            else sentence("wire-field-value", "{wire} is {text}", wire=item.wire, text=quoted(text)),
            remark=f'java.lang.NullPointerException: {cause}the return value of "{getter}" is null',
        )

    def to_ext(self) -> dict[str, str]:
        """Writes the header as ext fields in declared order, leaving out what is None."""
        ext: dict[str, str] = {}
        own, short = self.__dict__, self._short
        for item in self.fields():
            value = own[item.name]
            if value is not None:
                ext[item.short if short else item.wire] = _text(value)
        return ext


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return java_double(value) if isinstance(value, float) else str(value)


def _not_utf8(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return sentence("wire-no-text", "{piece!r} is not a text", piece=text[error.start : error.end])
    return ""


class NoFields(ExtHeader):
    """The header of a response that has none."""


class Request(ExtHeader):
    """Base of all requests; subclasses register themselves under their code.

    Class arguments:
        code: request code; a second request with the same code fails at import.
        reply: header of the response.
        body, reply_body: name of the typed body in `mqctl.protocol.bodies`, or a word for raw ones
            (`message`, `messages`, `properties`); empty when there is none.
        oneway: Java never waits for an answer.
        since: first release with the code.
        steady: clients of every release live by it, so that none may change what it means.

    Attributes:
        proven_to: the newest release whose answers were tried; None for a steady one. `Links.unproven` names those of
            later ones.
    """

    code: ClassVar[RequestCode]
    reply: ClassVar[type[ExtHeader]] = NoFields
    body: ClassVar[str] = ""
    reply_body: ClassVar[str] = ""
    oneway: ClassVar[bool] = False
    since: ClassVar[str] = "4.0"
    proven_to: ClassVar[Release | None] = NEWEST

    bname: str | None = field(default=None, since="4.9.5")

    def __init_subclass__(
        cls,
        *,
        code: RequestCode | None = None,
        reply: type[ExtHeader] | None = None,
        body: str | None = None,
        reply_body: str | None = None,
        oneway: bool | None = None,
        since: str | None = None,
        steady: bool = False,
        short: bool = False,
        fast: bool = False,
        **rest: Any,
    ) -> None:
        super().__init_subclass__(**rest)
        given = {"reply": reply, "body": body, "reply_body": reply_body, "oneway": oneway, "since": since}
        for name, value in given.items():
            if value is not None:
                setattr(cls, name, value)
        if steady:
            cls.proven_to = None
        cls._short = short
        cls._fast = fast
        if code is not None:
            cls.code = code
            if code in _REQUESTS:
                raise TypeError(f"{cls.__name__} and {_REQUESTS[code].__name__} both declare request code {code}")
            _REQUESTS[code] = cls

    def to_ext(self) -> dict[str, str]:
        """Writes the request as ext fields.

        Raises:
            HeaderValueError: a number that its Java type does not hold (brokers answer a NullPointerException), or text
                that is no UTF-8.
        """
        for item in self.fields():
            value = self.__dict__[item.name]
            if isinstance(value, str):
                wrong = "" if value.isascii() else _not_utf8(value)
            else:
                bound = _RANGES.get(item.kind)
                out = bound is not None and value is not None and not -bound <= value < bound
                wrong = (
                    sentence(
                        "wire-not-fit-bits", "{value} does not fit into {bits} bits", value=value, bits=item.kind[3:]
                    )
                    if out
                    else ""
                )
            if wrong:
                raise HeaderValueError(
                    sentence("wire-could-not-send", "{name} cannot be sent", name=type(self).__name__),
                    reason=composed("{wire}: {wrong}", wire=item.wire, wrong=wrong),
                    remedy=sentence("nothing-sent", "nothing was sent"),
                )
        return super().to_ext()

    def command(
        self,
        *,
        opaque: int,
        body: bytes = b"",
        oneway: bool = False,
        version: int = V4_9_8,
        language: Language = Language.PYTHON,
        serialize_type: SerializeType = SerializeType.JSON,
        remark: str | None = None,
    ) -> RemotingCommand:
        """Builds the frame that carries this request."""
        return RemotingCommand(
            code=self.code,
            opaque=opaque,
            flag=FLAG_ONEWAY if oneway else 0,
            version=version,
            language=language,
            remark=remark,
            ext_fields=self.to_ext() or None,
            body=body,
            serialize_type=serialize_type,
        )


_REQUESTS: dict[int, type[Request]] = {}
"""Every declared request by code; complete once `mqctl.protocol.requests` is imported."""


def proven_to(code: int) -> Release | None:
    """Returns the newest release on which a declared request was tried; None where it holds on all of them."""
    return _REQUESTS[code].proven_to
