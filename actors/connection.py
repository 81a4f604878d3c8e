"""This process's connection to Ray.

Ray allows one a process. The first system that needs it makes it, the last one ends it; a connection that the user's
own `ray.init` made is used and never ended.
"""

import logging
import os
import secrets
import socket
import sys
import sysconfig
from concurrent.futures import Future
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import cast

import ray
from ray._private import services
from ray.exceptions import RayError
from ray.job_config import JobConfig

from ..runtime.errors import ArgumentInvalid, SystemUnavailable

__all__ = ("LOCAL", "RUNNING", "Connection", "check_single", "choose", "connection")

LOCAL = "local"
RUNNING = "auto"
"""Ray's words for a new cluster on this machine, and for one that runs here already."""

OBJECT_STORE = 150 * 2**20
"""Bytes of a local cluster's object store. Agents keep nothing there, and Ray's default is a third of the memory."""

PROBE_PATIENCE = 5.0
"""Seconds a server may take to show that it speaks gRPC."""

HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
"""How HTTP/2, on which gRPC stands, begins: the preface and an empty SETTINGS frame (RFC 9113, 3.4 and 6.5)."""

FRAME_HEADER = 9
SETTINGS = 4
"""Bytes of a frame's header, and the type, its fourth byte, of the first frame a server must send."""


class Connection:
    """Counts who uses this process's Ray. Any thread may use it; both methods block."""

    def __init__(self) -> None:
        """Nothing is connected."""
        self._lock = Lock()
        self._users = 0
        self._address = ""
        self._keeper: Keeper | None = None

    def join(self, address: str) -> None:
        """Use Ray; connect first if nobody has.

        Args:
            address: `host:port` of a cluster, `LOCAL` or `RUNNING`.

        Raises:
            SystemUnavailable: Ray cannot be started or reached, or this process uses another one.
        """
        with self._lock:
            if not ray.is_initialized():
                keeper = Keeper(address)
                keeper.start()
                keeper.connected.result()
                self._keeper, self._users, self._address = keeper, 0, address
            elif self._keeper is not None and address not in {self._address, RUNNING}:
                reason = f"this process already uses the Ray at {self._address!r} and can use no second one."
                raise SystemUnavailable(system="ray", reason=reason)
            self._users += 1

    def leave(self) -> None:
        """Use it no longer; the last one disconnects, which ends a cluster that was started here."""
        with self._lock:
            self._users -= 1
            if self._keeper is not None and not self._users:
                self._keeper.release.set()
                self._keeper.join()
                self._keeper = None


class Keeper(Thread):
    """The thread that connects to Ray, and lives as long as the connection.

    Ray asks Linux to kill the processes of a local cluster when their parent dies (`PR_SET_PDEATHSIG`), and to Linux
    that is the thread that started them: in a pool's thread, which ends when it is idle, a cluster would not last.
    """

    def __init__(self, address: str) -> None:
        """Nothing happens before `start`. A daemon: at exit Ray's own handler ends what is left."""
        super().__init__(name="ray connection", daemon=True)
        self.connected: Future[None] = Future()
        self.release = Event()
        self._address = address

    def run(self) -> None:
        """Connect, stay, disconnect."""
        try:
            connect(self._address)
        except BaseException as error:  # noqa: BLE001  it is raised where `connected` is waited for
            self.connected.set_exception(error)
            return
        self.connected.set_result(None)
        self.release.wait()
        ray.shutdown()


@cache
def connection() -> Connection:
    """The one of this process: state that all systems share, as Ray's own is."""
    return Connection()


def choose(address: str | None, otherwise: str) -> str:
    """The address to use: the one given, else the one that `RAY_ADDRESS` names, else another.

    To Ray, `RUNNING` means the environment first as well.

    Raises:
        ArgumentInvalid: It is no address.
    """
    if address and address != RUNNING:
        return checked("address", address)
    return checked("RAY_ADDRESS", os.environ.get("RAY_ADDRESS") or address or otherwise)


def checked(name: str, address: str) -> str:
    """An address as it is, if it is one; `name` is where it stands.

    Raises:
        ArgumentInvalid: It is none.
    """
    host, _, port = address.rpartition(":")
    if address not in {LOCAL, RUNNING} and (not host or not port.isdecimal() or "/" in host):
        reason = f"it must be host:port of a cluster's head, as in 10.0.0.1:6379, not {address!r}"
        raise ArgumentInvalid(name=name, reason=reason)
    return address


def connect(address: str) -> None:
    """Start Ray or connect to it.

    Raises:
        SystemUnavailable: It cannot be.
    """
    job = JobConfig(_py_driver_sys_path=own_folders()[::-1])  # a worker puts each before those it has
    init = partial(ray.init, address, log_to_driver=False, logging_level=logging.ERROR, job_config=job)
    try:
        if address == LOCAL:
            ensure_token()
            init(include_dashboard=False, object_store_memory=OBJECT_STORE)
        elif address == RUNNING:
            check_single()
            init()
        else:
            probe(address)
            init()
    except (RayError, OSError, RuntimeError, ValueError) as error:
        ray.shutdown()  # what was started of it
        raise SystemUnavailable(system="ray", reason=failure(address, error)) from error


def own_folders() -> list[str]:
    """Folders in which this process looks for modules, besides those of its installation: its workers look there too.

    Of itself Ray tells them only the folder of the program and the current one, so a tool whose module lies beside a
    fleet file, or in a folder that a program added to `sys.path`, would be found here and not there.
    """
    installed = {Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders = [Path(folder).resolve() for folder in sys.path if folder and Path(folder).is_dir()]
    return [str(folder) for folder in folders if not any(folder.is_relative_to(each) for each in installed)]


def failure(address: str, error: Exception) -> str:
    """What went wrong, in one line."""
    said = " ".join(str(error).split()).rstrip(".")
    if address == LOCAL:
        return f"it could not be started: {said}."
    hint = "" if address == RUNNING or not isinstance(error, ConnectionError) else " Is its token this one?"
    return f"it could not be reached at {address!r}: {said}.{hint}"


def check_single() -> None:
    """Refuse to choose between clusters: Ray itself would take any of them, so another person's as well.

    Raises:
        SystemUnavailable: Several run on this machine, or none.
    """
    found = sorted(cast("frozenset[str]", services.find_gcs_addresses()))  # type: ignore[no-untyped-call]
    if not found:
        advice = "begin a fleet on Ray, or name a cluster as address, by --address or in RAY_ADDRESS"
        raise SystemUnavailable(system="ray", reason=f"no cluster runs on this machine: {advice}.")
    if len(found) > 1:
        advice = "name one as address, by --address or in RAY_ADDRESS"
        reason = f"several clusters run on this machine, at {', '.join(found)}: {advice}."
        raise SystemUnavailable(system="ray", reason=reason)


def probe(address: str) -> None:
    """Make sure that a gRPC server answers: Ray itself tries for a quarter of an hour before it gives up.

    Raises:
        SystemUnavailable: None does.
    """
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), PROBE_PATIENCE) as line:
            # With TLS the server answers only after a handshake; that it listens must do.
            speaks = os.environ.get("RAY_USE_TLS", "0") != "0" or greeted(line)
    except OSError as error:
        reason = f"nothing answers at {address}: {error}."
        raise SystemUnavailable(system="ray", reason=reason) from None
    if not speaks:
        raise SystemUnavailable(system="ray", reason=f"what answers at {address} is no Ray.")


def greeted(line: socket.socket) -> bool:
    """Whether the server begins as one of HTTP/2 does."""
    line.sendall(HELLO)
    with suppress(TimeoutError), line.makefile("rb") as said:
        head = said.read(FRAME_HEADER)
        return len(head) == FRAME_HEADER and head[3] == SETTINGS
    return False


def ensure_token() -> None:
    """Write the token that protects a new cluster, unless there is one. Ray would let everybody on the machine read it.

    Raises:
        OSError: It cannot be written.
    """
    named = {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys()
    if named or os.environ.get("RAY_AUTH_MODE", "token").lower() != "token":
        return
    path = Path.home() / ".ray" / "auth_token"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError), open(path, "x", opener=owners_only) as file:
        file.write(secrets.token_hex(32))


def owners_only(path: str, flags: int) -> int:
    """Open a new file that only its owner may read."""
    return os.open(path, flags, 0o600)
