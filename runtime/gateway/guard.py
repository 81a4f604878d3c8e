"""Who is let in to the gateway, before any route is looked for: the rules as a function, and the layer that holds them.

A page of another site can make a browser send requests here, and by DNS rebinding even read the answers. So `Host` must
be a name of this machine that no foreign site can have, `Origin`, where a browser sends it, the same as `Host`, and
every request needs the token: as a bearer header, or as a cookie that a browser was given for it.
"""

import hmac
import ipaddress
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problem import Problem, problem_response

__all__ = ("BODY_LIMIT", "Door", "Guard", "Knock", "whole_body")

BODY_LIMIT = 128 * 1024
"""Bytes that a request's body may have: a message has at most 64 KiB, which JSON may make longer."""

NAMES = frozenset({b"localhost", b"127.0.0.1", b"[::1]"})
"""What a browser on this machine calls it; no foreign site can have these names."""

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""

SOCKET = "WEBSOCKET"
"""What stands for the method of a WebSocket, which has none. It is not safe: with a cookie it needs an `Origin`."""

HEADERS = (
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
"""What every answer says. The token may stand in an address, so no address is told to anybody."""


ASSETS = "/_nicegui/"
"""Below this are the scripts and styles of the pages: the same for everybody, under a version's name."""


@dataclass(frozen=True, slots=True)
class Knock:
    """What of a request decides whether it is let in; a header that is missing is empty.

    Attributes:
        arrived_at: The address of this machine that the connection came in on.
    """

    method: str
    path: str
    hosts: tuple[bytes, ...] = ()
    origin: bytes = b""
    authorization: bytes = b""
    cookie: bytes = b""
    query: bytes = b""
    length: bytes = b""
    arrived_at: str = ""


class Door:
    """Decides who is let in."""

    def __init__(self, token: str, host: str, port: int) -> None:
        """Keep what is compared.

        Args:
            token: What has to be shown.
            host: The name or address that the gateway was told to listen on.
            port: Where it listens.
        """
        self._token = token.encode()
        self._host = bracketed(host).lower().encode()
        self._cookie_name = f"amrita-fleet-{port}".encode()
        # Cookies go to all ports of a host, so another program there may see it: from this nobody learns the token.
        self._session = hmac.new(self._token, self._cookie_name, sha256).hexdigest().encode()

    @property
    def cookie(self) -> bytes:
        """The header that gives a browser what it shows from then on."""
        return self._cookie_name + b"=" + self._session + b"; Path=/; HttpOnly; SameSite=Strict"

    def enters_by_link(self, knock: Knock) -> bool:
        """Whether a browser comes by the link that holds the token."""
        return knock.method == "GET" and knock.path == "/" and b"token=" in knock.query

    def refusal(self, knock: Knock) -> Problem | None:
        """Why a request is not let in; None: it is."""
        if not self._is_ours(knock):
            said = b", ".join(knock.hosts).decode("latin-1")
            return Problem(
                HTTPStatus.FORBIDDEN,
                f"The Host header {said!r} is no name of this gateway: use the address it printed.",
            )
        if knock.origin and not same_origin(knock.origin, knock.hosts[0]):
            said = knock.origin.decode("latin-1")
            return Problem(HTTPStatus.FORBIDDEN, f"Pages of {said!r} may not use this gateway.")
        return self._without_token(knock)

    def _without_token(self, knock: Knock) -> Problem | None:
        """Why a request does not show the token as it must; None: it does."""
        if self.enters_by_link(knock):
            given = parse_qs(knock.query).get(b"token", [b""])[0]
            return None if hmac.compare_digest(given, self._token) else wrong_token()
        if hmac.compare_digest(bearer(knock.authorization), self._token):
            return None
        if not hmac.compare_digest(self._shown(knock.cookie), self._session):
            return wrong_token() if knock.authorization or knock.cookie else no_token()
        if knock.method in SAFE or knock.origin:
            return None
        advice = "without a browser, send the bearer token."
        return Problem(HTTPStatus.FORBIDDEN, f"A {knock.method} with a cookie needs an Origin header; {advice}")

    def too_large(self, knock: Knock) -> Problem | None:
        """Why the body that a request announces is not read; None: it is, or none is announced."""
        length = knock.length.decode("latin-1")
        return too_large() if length.isdecimal() and int(length) > BODY_LIMIT else None

    def _is_ours(self, knock: Knock) -> bool:
        if len(knock.hosts) != 1:
            return False
        name = without_port(knock.hosts[0]).lower()
        # An address cannot be rebound: who connects to this one has named it.
        return name in NAMES or name == self._host or name == bracketed(knock.arrived_at).encode()

    def _shown(self, cookies: bytes) -> bytes:
        """What a browser shows."""
        for cookie in cookies.split(b";"):
            name, _, value = cookie.strip().partition(b"=")
            if name == self._cookie_name:
                return value
        return b""


class Guard:
    """The layer around the application. What is not let in never reaches it, and what fails in it is told shortly."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        """Stand before `app`."""
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or have it answered."""
        knock = knock_of(scope)
        problem = self._door.refusal(knock) or self._door.too_large(knock)
        if scope["type"] == "websocket":
            # Closed before it is accepted, the browser is answered with 403.
            await (send({"type": "websocket.close"}) if problem else self._app(scope, receive, send))
            return
        if problem is None and self._door.enters_by_link(knock):
            headers = [(b"location", b"/"), (b"set-cookie", self._door.cookie), (b"content-length", b"0"), *HEADERS]
            await send({"type": "http.response.start", "status": int(HTTPStatus.SEE_OTHER), "headers": headers})
            await send({"type": "http.response.body"})
            return
        body = None if problem or knock.method in SAFE else await whole_body(receive)
        if body is not None and len(body) > BODY_LIMIT:
            problem = too_large()
        if problem is not None:
            await problem_response(problem)(scope, receive, with_headers(send))
            return
        sent = with_headers(send, stored=knock.path.startswith(ASSETS))
        await self._app(scope, receive if body is None else replayed(body, receive), sent)


def knock_of(scope: Scope) -> Knock:
    """What a request shows of itself."""
    headers: dict[bytes, bytes] = {}
    hosts: list[bytes] = []
    for name, value in scope["headers"]:
        headers.setdefault(name, value)
        if name == b"host":
            hosts.append(value)
    return Knock(
        method=scope.get("method", SOCKET),
        path=scope["path"],
        hosts=tuple(hosts),
        origin=headers.get(b"origin", b""),
        authorization=headers.get(b"authorization", b""),
        cookie=headers.get(b"cookie", b""),
        query=scope.get("query_string", b""),
        length=headers.get(b"content-length", b""),
        arrived_at=str((scope.get("server") or ("",))[0]),
    )


async def whole_body(receive: Receive) -> bytes:
    """A request's body; of one that is too large, only so much that this is seen. The server passes over the rest."""
    body = b""
    while len(body) <= BODY_LIMIT:
        message = await receive()
        body += message.get("body", b"")
        if message["type"] != "http.request" or not message.get("more_body"):
            break
    return body


def replayed(body: bytes, receive: Receive) -> Receive:
    """The channel of a request whose body was read already."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def with_headers(send: Send, *, stored: bool = False) -> Send:
    """The way back, with the headers that every answer has; `stored`: the browser may keep it."""
    headers = HEADERS[1:] if stored else HEADERS
    names = {name for name, _ in headers}

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [(name, value) for name, value in message.get("headers", []) if name not in names]
            message = {**message, "headers": [*kept, *headers]}
        await send(message)

    return sent


def bearer(authorization: bytes) -> bytes:
    """The token of an `Authorization` header; empty: it has none."""
    scheme, _, token = authorization.strip().partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""


def same_origin(origin: bytes, host: bytes) -> bool:
    """Whether a page comes from the very address that it asks."""
    scheme, _, rest = origin.lower().partition(b"://")
    return scheme in {b"http", b"https"} and rest == host.lower()


def without_port(host: bytes) -> bytes:
    """A `Host` header's name."""
    name, colon, port = host.rpartition(b":")
    return name if colon and port.isdigit() and not name.endswith(b":") else host


def bracketed(host: str) -> str:
    """A host as it stands in an address: IPv6 in brackets."""
    try:
        return f"[{host}]" if ipaddress.ip_address(host).version == 6 else host  # noqa: PLR2004  the protocol's name
    except ValueError:
        return host


def no_token() -> Problem:
    """Nothing was shown."""
    return Problem(
        HTTPStatus.UNAUTHORIZED,
        "This needs the gateway's token: open the link it printed, or send `Authorization: Bearer ...`.",
    )


def wrong_token() -> Problem:
    """Something else was shown."""
    return Problem(HTTPStatus.UNAUTHORIZED, "This is not the gateway's token: take it from its file, or from the link.")


def too_large() -> Problem:
    """A body is too large."""
    return Problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The body has more than {BODY_LIMIT:,} bytes: send a shorter one."
    )
