"""A key that cannot be shown by accident."""

from collections.abc import Mapping

from .errors import PresetInvalid

__all__ = ("Secret",)


class Secret:
    """A key. Its `repr` is `***`; the codec refuses it; only `reveal(...)` gives the text.

    `Secret("...")` holds the text itself; `Secret.from_env("NAME")` holds the name of an environment variable that is
    read in the process that makes the call.
    """

    __slots__ = ("_env", "_text")

    def __init__(self, text: str = "", *, env: str = "") -> None:
        """Hold `text`, or the name of the environment variable `env`."""
        self._text = text
        self._env = env

    @classmethod
    def from_env(cls, name: str) -> "Secret":
        """A key that is read from the environment variable `name` when it is needed.

        Raises:
            PresetInvalid: The name is empty.
        """
        if not name.strip():
            reason = "An api_key of `env:` needs a variable's name behind it, as in env:OPENAI_API_KEY."
            raise PresetInvalid(field="api_key", reason=reason)
        return cls(env=name)

    def reveal(self, environ: Mapping[str, str]) -> str:
        """The key itself; empty when there is none.

        Args:
            environ: The environment of the process that makes the call.

        Raises:
            PresetInvalid: The environment variable is not set.
        """
        if not self._env:
            return self._text
        value = environ.get(self._env)
        if value is None:
            raise PresetInvalid(field="api_key", reason=f"The environment variable {self._env} is not set.")
        return value

    @classmethod
    def read(cls, value: object) -> "Secret":
        """A secret as it is, a text as the key itself, `env:NAME` as the variable it is read from.

        Raises:
            PresetInvalid: It is none of these.
        """
        if isinstance(value, Secret):
            return value
        if not isinstance(value, str):
            reason = f"An api_key is a text, env:NAME, or a Secret, not a {type(value).__name__}."
            raise PresetInvalid(field="api_key", reason=reason)
        return cls.from_env(value[4:]) if value.startswith("env:") else cls(value)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: object) -> object:
        """How pydantic reads one, from preset files."""
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(cls.read)

    def __repr__(self) -> str:
        """Never the key."""
        return "***"

    def __eq__(self, other: object) -> bool:
        """Equal when both hold the same text or the same variable's name."""
        return isinstance(other, Secret) and (self._text, self._env) == (other._text, other._env)

    def __hash__(self) -> int:
        """Consistent with equality."""
        return hash((self._text, self._env))
