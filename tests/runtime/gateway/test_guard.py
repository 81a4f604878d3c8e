"""Who is let in to the gateway, by the rules alone."""

from http import HTTPStatus

import pytest

from amrita_fleet.runtime.gateway.guard import BODY_LIMIT, Door, Knock, whole_body

TOKEN = "a-token-that-is-long-enough-for-anybody"
DOOR = Door(TOKEN, "127.0.0.1", 8400)
BEARER = f"Bearer {TOKEN}".encode()
COOKIE = DOOR.cookie.split(b";")[0]


def knock(  # noqa: PLR0913  what a request shows
    method: str = "GET",
    *,
    path: str = "/api/agents",
    host: bytes = b"127.0.0.1:8400",
    origin: bytes = b"",
    authorization: bytes = b"",
    cookie: bytes = b"",
    query: bytes = b"",
    arrived_at: str = "127.0.0.1",
) -> Knock:
    return Knock(method, path, (host,), origin, authorization, cookie, query, arrived_at=arrived_at)


def status(asked: Knock, door: Door = DOOR) -> HTTPStatus | None:
    problem = door.refusal(asked)
    return None if problem is None else problem.status


def test_the_token_is_let_in_as_a_bearer_header() -> None:
    assert status(knock(authorization=BEARER)) is None
    assert status(knock("POST", authorization=BEARER)) is None


@pytest.mark.parametrize(
    "authorization",
    [
        b"",
        b"Bearer",
        b"Bearer ",
        b"Bearer wrong",
        f"Basic {TOKEN}".encode(),
        BEARER + b"x",
        BEARER[:-1],
        b"Bearer \xff\xfe",
    ],
)
def test_nothing_else_is(authorization: bytes) -> None:
    assert status(knock(authorization=authorization)) is HTTPStatus.UNAUTHORIZED


def test_a_browser_shows_the_cookie_it_was_given_which_does_not_hold_the_token() -> None:
    assert TOKEN.encode() not in DOOR.cookie
    assert b"HttpOnly" in DOOR.cookie
    assert b"SameSite=Strict" in DOOR.cookie
    assert status(knock(cookie=COOKIE)) is None
    assert status(knock(cookie=b"theme=dark; " + COOKIE + b"; more=1")) is None


def test_the_token_itself_or_the_cookie_of_another_port_is_no_cookie() -> None:
    name = COOKIE.partition(b"=")[0]
    assert status(knock(cookie=name + b"=" + TOKEN.encode())) is HTTPStatus.UNAUTHORIZED
    other = Door(TOKEN, "127.0.0.1", 8401).cookie.split(b";")[0].partition(b"=")[2]
    assert status(knock(cookie=name + b"=" + other)) is HTTPStatus.UNAUTHORIZED


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_with_a_cookie_what_changes_something_needs_the_gateways_own_origin(method: str) -> None:
    assert status(knock(method, cookie=COOKIE)) is HTTPStatus.FORBIDDEN
    assert status(knock(method, cookie=COOKIE, origin=b"http://127.0.0.1:8400")) is None


@pytest.mark.parametrize(
    "origin",
    [
        b"https://evil.example",
        b"null",
        b"http://localhost:8400",
        b"http://127.0.0.1:3000",
        b"file://",
        b"127.0.0.1:8400",
    ],
)
@pytest.mark.parametrize(("authorization", "cookie"), [(BEARER, b""), (b"", COOKIE)], ids=["bearer", "cookie"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_pages_from_elsewhere_are_refused_whatever_they_show(
    origin: bytes, authorization: bytes, cookie: bytes, method: str
) -> None:
    asked = knock(method, origin=origin, authorization=authorization, cookie=cookie)
    assert status(asked) is HTTPStatus.FORBIDDEN


@pytest.mark.parametrize("host", [b"127.0.0.1:8400", b"localhost:8400", b"LocalHost", b"[::1]:8400", b"localhost:9000"])
def test_it_is_called_by_a_name_of_this_machine_on_any_port_that_leads_here(host: bytes) -> None:
    assert status(knock(host=host, authorization=BEARER)) is None


@pytest.mark.parametrize(
    "host",
    [
        b"evil.example",
        b"evil.example:8400",
        b"127.0.0.1.evil.example",
        b"localhost.evil.example:8400",
        b"",
        b":8400",
        b"10.0.0.9",
    ],
)
def test_a_name_that_a_foreign_site_can_have_is_refused_with_the_right_token_too(host: bytes) -> None:
    assert status(knock(host=host, authorization=BEARER)) is HTTPStatus.FORBIDDEN


def test_the_host_that_it_was_told_to_listen_on_is_its_name_too_and_the_address_that_a_connection_came_in_on() -> None:
    named = Door(TOKEN, "Build.example", 8400)
    assert status(knock(host=b"build.example:8400", authorization=BEARER), named) is None
    wide = Door(TOKEN, "0.0.0.0", 8400)  # noqa: S104  a name to compare with
    assert status(knock(host=b"10.0.0.9:8400", authorization=BEARER, arrived_at="10.0.0.9"), wide) is None
    assert status(knock(host=b"[fd00::9]:8400", authorization=BEARER, arrived_at="fd00::9"), wide) is None
    assert status(knock(host=b"evil.example:8400", authorization=BEARER, arrived_at="10.0.0.9"), wide) is not None


def test_without_a_host_or_with_two_nobody_is_let_in() -> None:
    for hosts in ((), (b"127.0.0.1", b"evil.example")):
        assert status(Knock("GET", "/", hosts, authorization=BEARER)) is HTTPStatus.FORBIDDEN


def test_the_link_lets_in_by_the_right_token_only_and_only_at_the_door() -> None:
    right = f"token={TOKEN}".encode()
    assert status(knock(path="/", query=right)) is None
    assert status(knock(path="/", query=b"token=wrong", cookie=COOKIE)) is HTTPStatus.UNAUTHORIZED
    assert status(knock(path="/", query=b"token=")) is HTTPStatus.UNAUTHORIZED
    assert status(knock(path="/api/agents", query=right)) is HTTPStatus.UNAUTHORIZED
    assert status(knock("POST", path="/", query=right)) is HTTPStatus.UNAUTHORIZED


def test_a_body_is_refused_by_the_length_it_announces() -> None:
    for length, refused in ((b"", False), (str(BODY_LIMIT).encode(), False), (str(BODY_LIMIT + 1).encode(), True)):
        problem = DOOR.too_large(Knock("POST", "/", length=length))
        assert (problem is not None) is refused


@pytest.mark.anyio
async def test_of_a_body_without_an_end_no_more_is_read_than_shows_that_it_is_too_large() -> None:
    read = 0

    async def receive() -> dict[str, object]:
        nonlocal read
        read += 1
        assert read < 100, "it reads for ever"
        return {"type": "http.request", "body": b"x" * 4096, "more_body": True}

    assert BODY_LIMIT < len(await whole_body(receive)) <= BODY_LIMIT + 4096
