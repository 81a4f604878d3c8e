from collections.abc import AsyncIterator

import pytest

from amrita_fleet.protocols.messages import Message, Role
from amrita_fleet.protocols.presets import ModelPreset
from amrita_fleet.protocols.providers.base import Draft
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat

from .server import Server


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def adapter() -> OpenAIChat:
    return OpenAIChat(ModelPreset(model="m", base_url="http://127.0.0.1/v1"))


@pytest.fixture
def draft(adapter: OpenAIChat) -> Draft:
    return adapter.draft((Message(Role.USER, "hi"),), (), None)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Server() as running:
        yield running
