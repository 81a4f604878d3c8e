"""The gateway's token: made once for each user, and kept in a file that nobody else may read."""

import os
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..errors import SystemUnavailable
from ..journal.choose import default_folder

__all__ = ("token_file", "token_in")

OTHERS = stat.S_IRWXG | stat.S_IRWXO
"""What a group and others may not do with the file."""

BYTES = 32
"""Of randomness in a token."""


def token_file(*, environ: Mapping[str, str], home: Path) -> Path:
    """Where a user's token is: beside the journals. The arguments are those of `default_folder`."""
    return default_folder(environ=environ, home=home) / "gateway-token"


def token_in(path: Path) -> str:
    """The token in a file, which is made if it is missing. It blocks.

    Raises:
        SystemUnavailable: The file cannot be made or read, holds no token, or others may use it.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_once(path)
        return read(path)
    except OSError as error:
        raise SystemUnavailable(
            system="gateway", reason=f"its token {path} cannot be kept: {error.strerror}."
        ) from error


def write_once(path: Path) -> None:
    """Make the file with a new token, unless it is there. Whoever reads it meanwhile finds a whole token or no file."""
    if path.exists():
        return
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{secrets.token_urlsafe(BYTES)}\n")
        with suppress(FileExistsError):  # somebody else was first
            path.hardlink_to(fresh)
    finally:
        fresh.unlink(missing_ok=True)


def read(path: Path) -> str:
    """Read the token.

    Raises:
        SystemUnavailable: It is none, or not safe there.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW)) as file:
        facts = os.fstat(file.fileno())
        token = file.read().strip()
    advice = "delete it, and a new one is made."
    if facts.st_uid != os.getuid() or facts.st_mode & OTHERS:
        raise SystemUnavailable(system="gateway", reason=f"others than its user may use its token {path}: {advice}")
    if len(token) < BYTES or not token.isascii() or not token.isprintable() or " " in token:
        raise SystemUnavailable(system="gateway", reason=f"the file {path} holds no token: {advice}")
    return token
