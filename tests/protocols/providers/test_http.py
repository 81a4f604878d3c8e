import asyncio
import gc
import pickle
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

from amrita_fleet.protocols.errors import (
    AuthRefused,
    BadRequest,
    ProviderBusy,
    ProviderError,
    ProviderOverloaded,
    ProviderUnreachable,
    StreamBroken,
)
from amrita_fleet.protocols.messages import Message, Reply, Role
from amrita_fleet.protocols.presets import ModelConfig, ModelPreset
from amrita_fleet.protocols.providers.base import Delta, Provider, Watcher
from amrita_fleet.protocols.providers.connection import connect
from amrita_fleet.protocols.secret import Secret

from .server import HANG, Server, completion, http, sse

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

KEY = "sk-planted-0123456789"
SOURCE = Path(__file__).resolve().parents[3] / "src"
CHUNK = '{"choices":[{"delta":{"content":"%s"}}]}'
END = '{"choices":[{"delta":{},"finish_reason":"stop"}]}'


def preset(url: str, **fields: Any) -> ModelPreset:  # noqa: ANN401
    given: dict[str, Any] = {"model": "m", "base_url": url, "api_key": Secret(KEY)}
    return ModelPreset(**(given | fields))


async def ask(provider: Provider, watch: Watcher | None = None) -> Reply:
    draft = provider.draft((Message(Role.USER, "hi"),), (), None)
    return await provider.call(draft, 99, watch)


async def ask_once(server: Server, *answers: bytes, watch: Watcher | None = None, **fields: Any) -> Reply:  # noqa: ANN401
    server.answers = list(answers)
    provider = connect(preset(server.url, **fields))
    try:
        return await ask(provider, watch)
    finally:
        await provider.aclose()


async def fail_once(kind: type[ProviderError], server: Server, *answers: bytes, **fields: Any) -> ProviderError:  # noqa: ANN401
    with pytest.raises(kind) as caught:
        await ask_once(server, *answers, **fields)
    return caught.value


async def test_a_request_is_one_post_with_the_key_and_the_body(server: Server) -> None:
    reply = await ask_once(server, http(200, completion("yes"), headers="X-Request-Id: r1\r\n"))
    assert (reply.message.content, reply.request_id) == ("yes", "r1")
    ((headers, body),) = server.requests
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["content-type"] == "application/json"
    assert f"http://{headers['host']}/v1" == server.url
    assert body == b'{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":99}'


async def test_one_connection_serves_many_calls(server: Server) -> None:
    server.answers = [http(200, completion("yes"))]
    provider = connect(preset(server.url))
    for _ in range(5):
        await ask(provider)
    assert (len(server.requests), server.connections) == (5, 1)
    await provider.aclose()


async def test_one_connection_serves_many_streams_and_refusals(server: Server) -> None:
    stream = sse(CHUNK % "a", END, "[DONE]")
    server.answers = [stream, http(429, "{}"), stream, http(500, "{}"), stream]
    provider = connect(preset(server.url, config=ModelConfig(stream=True)))
    for _ in range(2):
        await ask(provider)
        with pytest.raises(ProviderError):
            await ask(provider)
    await ask(provider)
    assert server.connections == 1
    await provider.aclose()


async def test_a_connection_that_the_server_closed_is_not_used_again(server: Server) -> None:
    whole = http(200, completion("yes"))
    server.answers, server.cut = [whole], {whole}
    provider = connect(preset(server.url))
    for _ in range(2):
        assert (await ask(provider)).message.content == "yes"
    assert server.connections == 2
    await provider.aclose()


async def test_a_closed_provider_can_be_closed_again_and_used_again(server: Server) -> None:
    server.answers = [http(200, completion("yes"))]
    provider = connect(preset(server.url))
    await provider.aclose()
    await ask(provider)
    await provider.aclose()
    await provider.aclose()
    await asyncio.wait_for(server.hung_up.wait(), 10)
    assert (await ask(provider)).message.content == "yes"
    await provider.aclose()


async def test_without_a_providers_id_the_reply_has_one_of_ours(server: Server) -> None:
    one = await ask_once(server, http(200, completion("x", id=None)))
    other = await ask_once(server, http(200, completion("x", id=None)))
    assert one.request_id.startswith("local-")
    assert one.request_id != other.request_id


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        pytest.param(http(401, '{"error":{"message":"no"}}'), AuthRefused, id="401"),
        pytest.param(http(429, "{}", headers="Retry-After: 3\r\n"), ProviderBusy, id="429"),
        pytest.param(http(500, "oops"), ProviderOverloaded, id="500"),
        pytest.param(http(302, "", headers="location: http://127.0.0.1:9/\r\n"), BadRequest, id="302"),
        pytest.param(http(200, "no JSON"), BadRequest, id="no JSON"),
        pytest.param(http(200, '{"error":{"code":503}}'), ProviderOverloaded, id="error in an answer"),
    ],
)
async def test_an_attempt_that_fails_is_an_error_and_is_not_made_again(
    server: Server, answer: bytes, kind: type[ProviderError]
) -> None:
    await fail_once(kind, server, answer)
    assert len(server.requests) == 1


async def test_a_busy_provider_says_when_to_come_again(server: Server) -> None:
    date = "Retry-After: Wed, 21 Oct 2015 07:28:30 GMT\r\nDate: Wed, 21 Oct 2015 07:28:00 GMT\r\n"
    assert (await fail_once(ProviderBusy, server, http(429, "{}", headers=date))).after == 30.0


async def test_a_refused_connection_names_the_address_and_the_cause() -> None:
    provider = connect(preset("http://127.0.0.1:9/v1"))
    with pytest.raises(ProviderUnreachable) as caught:
        await ask(provider)
    assert caught.value.sentence == "http://127.0.0.1:9/v1 refused the connection."
    assert not caught.value.billed


async def test_a_host_that_does_not_exist_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    provider = connect(preset("https://user:password@host.invalid/v1"))
    with pytest.raises(ProviderUnreachable, match=r"^https://host.invalid/v1 has a host name that cannot be found"):
        await ask(provider)
    await provider.aclose()


async def test_a_server_without_tls_is_said_so(server: Server) -> None:
    server.greeting = b"HTTP/1.1 400 X\r\n\r\n"
    provider = connect(preset(server.url.replace("http:", "https:")))
    with pytest.raises(ProviderUnreachable, match="does not speak TLS as it should"):
        await ask(provider)
    await provider.aclose()


@pytest.mark.slow
async def test_a_server_that_never_shakes_hands_was_sent_nothing(server: Server) -> None:
    provider = connect(preset(server.url.replace("http:", "https:"), config=ModelConfig(timeout=0.4)))
    with pytest.raises(ProviderUnreachable, match=r"did not accept a connection within 0.2 s"):
        await ask(provider)
    await provider.aclose()


async def test_an_address_that_is_none_is_a_bad_request() -> None:
    with pytest.raises(BadRequest, match="cannot be called"):
        await ask(connect(preset("http://127.0.0.1:9/\x00v1")))


@pytest.mark.slow
async def test_an_answer_that_never_comes_is_given_up_after_the_time_out(server: Server) -> None:
    error = await fail_once(StreamBroken, server, HANG, config=ModelConfig(timeout=0.2))
    assert error.sentence == f"{server.url} gave no whole answer within 0.2 s."
    assert error.billed


async def test_an_answer_that_is_cut_is_broken(server: Server) -> None:
    half = http(200, completion("yes"))[:-5]
    server.cut = {half}
    error = await fail_once(StreamBroken, server, half)
    assert "closed the connection before its answer was whole" in str(error)


async def test_an_answer_whose_compression_is_broken_is_broken(server: Server) -> None:
    answer = http(200, "no gzip", headers="content-encoding: gzip\r\n")
    assert "compression" in str(await fail_once(StreamBroken, server, answer))


class TestStreams:
    streaming = ModelConfig(stream=True, timeout=20)

    async def test_pieces_are_watched_as_they_come(self, server: Server) -> None:
        seen: list[Delta] = []
        answer = sse(CHUNK % "a", CHUNK % "b", END, "[DONE]")
        reply = await ask_once(server, answer, watch=seen.append, config=self.streaming)
        assert (reply.message.content, seen) == ("ab", [Delta("a"), Delta("b")])

    async def test_a_socket_left_open_after_the_end_is_not_waited_for(self, server: Server) -> None:
        reply = await ask_once(server, sse(CHUNK % "a", "[DONE]", whole=False), config=self.streaming)
        assert reply.message.content == "a"
        await asyncio.wait_for(server.hung_up.wait(), 10)

    async def test_a_stream_that_is_cut_is_broken(self, server: Server) -> None:
        half = sse(CHUNK % "a", whole=False)
        server.cut = {half}
        assert (await fail_once(StreamBroken, server, half, config=self.streaming)).billed

    async def test_a_stream_that_ends_too_early_is_broken(self, server: Server) -> None:
        await fail_once(StreamBroken, server, sse(CHUNK % "a"), config=self.streaming)

    async def test_an_error_in_a_stream_is_the_error(self, server: Server) -> None:
        answer = sse(CHUNK % "a", '{"error":{"message":"busy","code":429}}', headers="x-request-id: r1\r\n")
        error = await fail_once(ProviderBusy, server, answer, config=self.streaming)
        assert error.request_id == "r1"

    async def test_a_whole_answer_where_a_stream_was_asked_for_is_read(self, server: Server) -> None:
        reply = await ask_once(server, http(200, completion("yes")), config=self.streaming)
        assert reply.message.content == "yes"

    async def test_a_stream_where_a_whole_answer_was_asked_for_is_read(self, server: Server) -> None:
        assert (await ask_once(server, sse(CHUNK % "a", END))).message.content == "a"

    async def test_a_call_that_is_cancelled_hangs_up(self, server: Server) -> None:
        server.answers = [HANG]
        provider = connect(preset(server.url, config=self.streaming))
        call = asyncio.ensure_future(ask(provider))
        await asyncio.wait_for(server.asked.wait(), 10)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(server.hung_up.wait(), 10)
        await provider.aclose()


class TestKeys:
    @pytest.mark.parametrize(
        "answer",
        [
            pytest.param(http(401, f'{{"error":{{"message":"Incorrect API key: {KEY}"}}}}'), id="refusal"),
            pytest.param(http(200, f"not JSON {KEY}"), id="no JSON"),
            pytest.param(sse(f'{{"error":{{"message":"{KEY}"}}}}'), id="stream"),
        ],
    )
    async def test_a_key_that_a_provider_repeats_is_not_in_the_error(self, server: Server, answer: bytes) -> None:
        error = await fail_once(ProviderError, server, answer)
        assert KEY not in repr(vars(error))
        assert KEY not in "".join(traceback.format_exception(error))
        assert KEY.encode() not in pickle.dumps(error)
        assert "***" in str(error)

    async def test_no_repr_shows_the_key(self, server: Server) -> None:
        server.answers = [http(200, completion("yes"))]
        provider = connect(preset(server.url))
        await ask(provider)
        assert KEY not in repr(provider) + repr(vars(provider))
        await provider.aclose()

    async def test_a_key_that_is_not_there_is_an_error_of_the_call(self, server: Server) -> None:
        error = await fail_once(AuthRefused, server, HANG, api_key=Secret.from_env("AMRITA_FLEET_NO_SUCH_KEY"))
        assert "AMRITA_FLEET_NO_SUCH_KEY is not set" in str(error)
        assert server.connections == 0

    async def test_a_header_that_cannot_be_sent_is_not_shown(self, server: Server) -> None:
        error = await fail_once(BadRequest, server, HANG, extra_headers={"api-key": f"{KEY}\n"})
        assert KEY not in "".join(traceback.format_exception(error))


class TestProxies:
    async def test_the_proxy_of_the_environment_is_used(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        server.answers = [http(200, completion("yes"))]
        provider = connect(preset("http://far.invalid/v1"))
        assert (await ask(provider)).message.content == "yes"
        assert server.requests[0][0]["host"] == "far.invalid"
        await provider.aclose()

    async def test_a_proxy_that_refuses_is_named(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("https_proxy", server.url.removeprefix("http://").removesuffix("/v1"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        server.greeting = b"HTTP/1.1 403 Forbidden\r\n\r\n"
        provider = connect(preset("https://far.invalid/v1"))
        with pytest.raises(ProviderUnreachable, match="the proxy answered 403 Forbidden"):
            await ask(provider)
        await provider.aclose()

    async def test_a_proxy_that_cannot_be_used_is_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("https_proxy", "gopher://127.0.0.1:9")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with pytest.raises(BadRequest, match="cannot be called"):
            await ask(connect(preset("https://far.invalid/v1")))

    async def test_this_machine_is_called_without_one(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        assert (await ask_once(server, http(200, completion("yes")))).message.content == "yes"


async def test_a_query_of_the_address_stays_behind_the_path(server: Server) -> None:
    provider = connect(preset(f"{server.url}/?api-version=1"))
    server.answers = [http(200, completion("yes"))]
    await ask(provider)
    assert server.paths == ["/v1/chat/completions?api-version=1"]
    await provider.aclose()


@pytest.mark.slow
def test_connecting_loads_no_httpx() -> None:
    script = (
        "import sys; from amrita_fleet.protocols.presets import ModelPreset; "
        "from amrita_fleet.protocols.providers.connection import connect; "
        "connect(ModelPreset(model='m', base_url='https://x/v1')); print(sorted(m for m in sys.modules if 'http' in m))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, check=True
    )
    assert "'httpx'" not in done.stdout


@pytest.mark.slow
async def test_nothing_is_left_behind(server: Server) -> None:
    await ask_once(server, sse(CHUNK % "a", "[DONE]", whole=False), config=ModelConfig(stream=True))
    gc.collect()  # an unclosed connection or generator would warn here, and warnings are errors


async def test_an_error_without_an_id_gets_one_of_ours_to_be_found_by(server: Server) -> None:
    error = await fail_once(BadRequest, server, http(400, '{"error":{"message":"no"}}'))
    assert error.request_id.startswith("local-")
    assert error.request_id in str(error)
