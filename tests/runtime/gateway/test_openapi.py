"""The gateway answers as its OpenAPI document says, whatever it is sent, in or out of what the document allows."""

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, TypeAlias

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy
from schemathesis import APIOperation, Case, CheckFunction, GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from amrita_fleet import Agent, Dashboard, Fleet
from amrita_fleet.protocols.providers.script import say
from amrita_fleet.protocols.providers.scripted import scripted

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


EXAMPLES = 20
"""Requests to each route."""

BESIDE: list[CheckFunction] = [positive_data_acceptance, negative_data_rejection]
"""What is not asked of it: the document does not know the fleet's name, or which limits there are; and a parameter of
the query that nobody knows is passed over."""

UNHEALTHY = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
"""What is no matter here."""

Route: TypeAlias = APIOperation[Any, Any, Any, Any]


@contextmanager
def served() -> Generator[Dashboard]:
    """A fleet and its gateway in a thread of their own: what asks them here blocks."""
    found, ended = list[Dashboard](), threading.Event()
    ready = threading.Event()

    async def live() -> None:
        async with Fleet("house", system="local") as fleet:
            await fleet.spawn(Agent(preset=scripted(*[say("Good.")] * 1000)), ["ana", "bob"])
            found.append(await fleet.serve_dashboard())
            ready.set()
            await asyncio.to_thread(ended.wait)
            await fleet.close(0)

    thread = threading.Thread(target=lambda: asyncio.run(live()))
    thread.start()
    try:
        assert ready.wait(30)
        yield found[0]
    finally:
        ended.set()
        thread.join(30)


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_every_route_answers_as_its_document_says(mode: GenerationMode) -> None:
    with served() as dashboard:
        headers = {"Authorization": f"Bearer {dashboard.token}"}
        schema = schemathesis.openapi.from_url(f"{dashboard.url}/api/openapi.json", headers=headers)
        for found in schema.get_all_operations():
            assert isinstance(found, Ok)
            operation: Route = found.ok()
            if operation.path != "/api/events":  # its answer has no end
                ask(operation, mode, headers)


def ask(operation: Route, mode: GenerationMode, headers: dict[str, str]) -> None:
    """Send a route what its document allows, or, in the other mode, does not."""
    cases: SearchStrategy[Case[Any]] = operation.as_strategy(generation_mode=mode)

    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=UNHEALTHY)
    @given(case=cases)
    def asked(case: Case[Any]) -> None:
        answer = case.call_and_validate(headers=headers, excluded_checks=BESIDE)
        assert answer.status_code != HTTPStatus.INTERNAL_SERVER_ERROR
        assert answer.status_code == HTTPStatus.OK or answer.json().keys() == {"error", "help"}

    asked()
