"""How a provider words what it refuses; each wire format has its own way."""

from collections.abc import Sequence
from typing import Protocol

from .errors import Refused

__all__ = ("BodyWords", "ServiceWords", "Words")


class BodyWords(Protocol):
    """Refusals of a body. `path` is where in it something is wrong, in the provider's spelling."""

    def member(self, path: str, name: str) -> str:
        """The path of the field `name` of the object at `path`."""
        ...

    def element(self, path: str, place: int) -> str:
        """The path of the element number `place`, from 0, of the array at `path`."""
        ...

    def unknown(self, path: str) -> Refused:
        """There is no such field."""
        ...

    def missing(self, path: str) -> Refused:
        """The field has to be there."""
        ...

    def mistyped(self, path: str, wanted: type, got: object) -> Refused:
        """The value `got` is not of the type `wanted`."""
        ...

    def empty(self, path: str) -> Refused:
        """The array has no element."""
        ...

    def too_small(self, path: str, low: int, got: int) -> Refused:
        """The whole number is below `low`."""
        ...

    def outside(self, path: str, low: float, high: float, got: float) -> Refused:
        """The number is not within `low` and `high`."""
        ...

    def unsupported(self, path: str, got: str, supported: Sequence[str]) -> Refused:
        """The text is none of the supported ones."""
        ...


class ServiceWords(Protocol):
    """Refusals that have nothing to do with what a body says."""

    def not_json(self) -> Refused:
        """The body is no JSON."""
        ...

    def key_missing(self) -> Refused:
        """A key is wanted, and none came."""
        ...

    def key_wrong(self) -> Refused:
        """The key is none that is let in."""
        ...

    def model_missing(self, model: str) -> Refused:
        """There is no model of this name."""
        ...

    def busy(self, after: float) -> Refused:
        """Too many requests; the client may try again after `after` seconds."""
        ...

    def overloaded(self) -> Refused:
        """The provider has too much to do."""
        ...

    def failed(self) -> Refused:
        """The provider is at fault."""
        ...


class Words(BodyWords, ServiceWords, Protocol):
    """The refusals that every provider has."""
