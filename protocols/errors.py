"""The root of the error tree and what a peer or a provider can do wrong.

    FleetError                       retryable = False
    ├── ProtocolError                a peer broke the wire format
    │   ├── DecodeError              bytes that are not ours
    │   ├── VersionMismatch          bytes of another version of ours
    │   └── SecretRefused            a key was about to be written
    ├── OutputMissing (ValueError)   an outcome without the typed output that was asked for
    ├── PresetInvalid (ValueError)   a preset that cannot work
    │   └── UndefinedAdapter         a protocol name nobody registered
    ├── ProviderError                a model provider refused or failed
    │   ├── ProviderBusy             429: retryable, says when
    │   ├── ProviderOverloaded       5xx, 529: retryable
    │   ├── ProviderUnreachable      no connection: retryable, nothing was billed
    │   ├── StreamBroken             the answer ended early: retryable, may be billed
    │   ├── ContextOverflow          the request is longer than the model's window
    │   ├── AuthRefused              the key is wrong or missing
    │   ├── QuotaSpent               the account has no money left
    │   ├── ContentRefused           a content filter answered
    │   └── BadRequest               any other 4xx
    └── RunError                     runtime/errors.py

Every class has a keyword-only constructor whose arguments become attributes of the same names; the sentence a person
reads is made from them once. They survive pickling because the root rebuilds an error from its attributes, never by
calling its constructor (an exception with a keyword-only constructor and no `__reduce__` reaches the other side of a
Ray call as `UnserializableException`).
"""

from typing import Any, ClassVar, Self, TypedDict, Unpack, cast

__all__ = (
    "AuthRefused",
    "BadRequest",
    "Circumstances",
    "ContentRefused",
    "ContextOverflow",
    "DecodeError",
    "FleetError",
    "OutputMissing",
    "PresetInvalid",
    "ProtocolError",
    "ProviderBusy",
    "ProviderError",
    "ProviderOverloaded",
    "ProviderUnreachable",
    "QuotaSpent",
    "SecretRefused",
    "StreamBroken",
    "UndefinedAdapter",
    "VersionMismatch",
)

GUIDE = "docs/troubleshooting.md"
"""The document that has an entry for every class of the tree, from the root of the repository."""

BODY_SHOWN = 2000
"""Characters of a provider's body that an error keeps."""


def rebuild(cls: type["FleetError"], args: tuple[object, ...], facts: dict[str, Any]) -> "FleetError":
    """Make an error of `cls` again from what `FleetError.__reduce__` took apart."""
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(facts)
    return error


class FleetError(Exception):
    """Root of every error this project raises on purpose; `str()` is one sentence for a person."""

    retryable: ClassVar[bool] = False
    """Whether the same call may succeed later without a change."""

    @property
    def help(self) -> str:
        """Where the project's documents say what to do about it, as `file#heading`."""
        return f"{GUIDE}#{type(self).__name__.lower()}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Survive a process border with type, sentence and facts."""
        return rebuild, (type(self), self.args, self.__dict__)


class ProtocolError(FleetError):
    """A peer, or a file, broke the wire format."""


class DecodeError(ProtocolError):
    """Bytes that cannot be read. `reason` says why."""

    def __init__(self, *, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"These bytes cannot be decoded: {reason}.")
        self.reason = reason


class VersionMismatch(ProtocolError):
    """Bytes written by another version of the format; `theirs` and `ours` are version bytes."""

    def __init__(self, *, theirs: int, ours: int) -> None:
        """Keep the facts."""
        super().__init__(
            f"These bytes have format version {theirs}, this program reads {ours}: upgrade the older side."
        )
        self.theirs = theirs
        self.ours = ours


class SecretRefused(ProtocolError):
    """A `Secret` reached the codec; `where` is the attribute path."""

    def __init__(self, *, where: str) -> None:
        """Keep the facts."""
        super().__init__(f"A secret may not be written: {where}. Give its environment variable's name instead.")
        self.where = where


class OutputMissing(FleetError, ValueError):
    """The outcome of `run` has no output of the type that was asked for, because of `reason`."""

    def __init__(self, *, run: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"The run {run} has no such output: {reason}.")
        self.run = run
        self.reason = reason


class PresetInvalid(FleetError, ValueError):
    """A preset or configuration that cannot work; `field` and `reason` say where and why."""

    def __init__(self, *, field: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(reason)
        self.field = field
        self.reason = reason


class UndefinedAdapter(PresetInvalid):
    """A protocol name that no adapter registered; `name`, `nearest` where one is near, and the `known` ones."""

    def __init__(self, *, name: str, nearest: str | None, known: tuple[str, ...] = ()) -> None:
        """Keep the facts."""
        hint = f"Did you mean {nearest!r}?" if nearest else f"There are {', '.join(known)}."
        super().__init__(field="protocol", reason=f"Undefined protocol adapter: {name}. {hint}")
        self.name = name
        self.nearest = nearest
        self.known = known


class Circumstances(TypedDict, total=False):
    """What every `ProviderError` can be told beside its sentence."""

    status: int | None
    request_id: str
    after: float | None
    billed: bool | None


class ProviderError(FleetError):
    """A model provider refused or failed.

    Attributes:
        sentence: What happened, in the provider's words where it had any.
        status: HTTP status, or None when there was no answer.
        request_id: The id to quote to the provider; empty when there is none.
        after: Seconds to wait before the next attempt, where the provider said so.
        billed: False when it is certain that nothing was billed (no connection, a 4xx).
    """

    billed: bool = False

    def __init__(
        self,
        *,
        sentence: str,
        status: int | None = None,
        request_id: str = "",
        after: float | None = None,
        billed: bool | None = None,
    ) -> None:
        """Keep the facts; `billed` is what the class says unless this one error is known to differ."""
        shown = sentence[:BODY_SHOWN]
        id_shown = f" (request_id={request_id})" if request_id else ""
        super().__init__(f"{shown}{id_shown}")
        self.sentence = shown
        self.status = status
        self.request_id = request_id
        self.after = after
        if billed is not None:
            self.billed = billed

    def quoted(self, sentence: str, request_id: str) -> Self:
        """The same facts in other words, and under another id."""
        words = ProviderError(sentence=sentence, request_id=request_id)
        facts = self.__dict__ | {"sentence": words.sentence, "request_id": request_id}
        return cast("Self", rebuild(type(self), words.args, facts))


class ProviderBusy(ProviderError):
    """429: too many requests; wait `after` seconds and try again."""

    retryable = True


class ProviderOverloaded(ProviderError):
    """A 5xx or 529: the provider cannot answer now; what it billed is unknown."""

    retryable = True
    billed = True


class ProviderUnreachable(ProviderError):
    """No connection was made, so nothing was billed."""

    retryable = True


class StreamBroken(ProviderError):
    """The answer broke off or never came after the request was sent; what it billed is unknown."""

    retryable = True
    billed = True


class ContextOverflow(ProviderError):
    """The request is longer than the model's window.

    Attributes:
        tokens: How long it is, where the provider said so.
        limit: How long it may be, where the provider said so.
    """

    def __init__(
        self, *, sentence: str, tokens: int | None = None, limit: int | None = None, **facts: Unpack[Circumstances]
    ) -> None:
        """Keep the facts."""
        super().__init__(sentence=sentence, **facts)
        self.tokens = tokens
        self.limit = limit


class AuthRefused(ProviderError):
    """401 or 403: the key is wrong, missing or not allowed."""


class QuotaSpent(ProviderError):
    """The account has no quota or money left; waiting does not help."""


class ContentRefused(ProviderError):
    """A content filter refused the request."""


class BadRequest(ProviderError):
    """Any other 4xx, or a 200 whose body is not an answer."""
